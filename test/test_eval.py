# Copyright 2026 edge_llm_ros contributors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""How missions are judged, counted, compared and run."""

from dataclasses import replace
import json
from pathlib import Path
import subprocess
import sys
from typing import Any

from edge_llm_ros.eval.compare import changes, read_report, sign_test
from edge_llm_ros.eval.event import Event, in_order, Pattern
from edge_llm_ros.eval.judge import Evidence, judge
from edge_llm_ros.eval.mission import all_cases, Expect, KINDS
from edge_llm_ros.eval.report import draw, write_report
from edge_llm_ros.eval.row import append_row, current, digest_of, EvalRow, read_rows
from edge_llm_ros.eval.scores import percentile, scores, share
from edge_llm_ros.eval.selection import Selection
from edge_llm_ros.eval.tool_sets import parsed, tool_sets
from edge_llm_ros.eval.written_call import read_call, why_invalid, write_call
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import ToolCall
from hypothesis import given, strategies
import pytest
from robot_bench import CONFIG

TOOLS = parsed(tool_sets().tool_file('base', CONFIG / 'simulated_robot.yaml'))
STATE = {'place': 'lab', 'gripper': 'open', 'objects': {'cup': 'lab', 'ball': 'gym'}}


def event(text: str, done: bool = True) -> Event:
    call, _, rest = text.partition(' ')
    detail, _, place = rest.partition('@')
    return Event(call, detail.strip(), place, done)


@pytest.mark.parametrize('pattern, text, matches', [
    ('move_to', 'move_to lab @lab', True), ('move_to lab|gym', 'move_to gym @gym', True),
    ('move_to lab', 'move_to lab2 @lab2', False), ('set_lights on @gym', 'set_lights on @lab',
                                                   False),
    ('say lunch|dinner @lab', 'say The LUNCH is here @lab', True), ('say lunch', 'say bye', False),
    ('say @(?!lab).*', 'say hello @lab', False), ('say @(?!lab).*', 'say hello @gym', True),
    ('*', 'creep forwards @', True), ('pick_up @lab', 'pick_up cup @lab', True)])
def test_patterns(pattern: str, text: str, matches: bool) -> None:
    assert Pattern.parse(pattern).matches(event(text)) is matches


@pytest.mark.parametrize('text', ['', '* lab', 'Move lab', 'move_to @', '@lab'])
def test_what_is_no_pattern_is_said(text: str) -> None:
    with pytest.raises(ValueError, match=r'pattern|takes nothing'):
        Pattern.parse(text)


def test_order_counts_every_event_once() -> None:
    events = [event('set_lights on'), event('move_to gym @gym'), event('set_lights off @gym')]
    assert not in_order(['set_lights on', 'set_lights off'], events)
    assert in_order(['set_lights off', 'set_lights on'], events) == 'set_lights on'
    assert in_order(['move_to', 'move_to'], events) == 'move_to'


def verdict(expect: dict[str, Any], events: list[Event], outcome: str = 'succeeded',
            reply: str = 'Done.', reference: list[Event] | None = None, **more: Any) -> Any:
    return judge(Expect(**expect), events if reference is None else reference,
                 Evidence(STATE, tuple(events), outcome, reply, **more))


@pytest.mark.parametrize('expect, success', [
    ({'state': {'place': 'lab'}}, True), ({'state': {'place': ['gym', 'lab']}}, True),
    ({'state': {'place': 'gym'}}, False), ({'state': {'objects': {'cup': 'lab'}}}, True),
    ({'state': {'objects': {'cup': 'gym'}}}, False),
    ({'state': {'objects': {'pot': 'lab'}}}, False),
    ({'did': ['pick_up cup', 'move_to lab']}, True), ({'did': ['move_to lab', 'pick_up']}, False),
    ({'each': ['move_to lab', 'pick_up']}, True), ({'each': ['move_to gym']}, False),
    ({'never': ['set_door']}, True), ({'never': ['move_to lab']}, False),
    ({'never': ['*']}, False), ({'reply': '^done'}, True), ({'reply': '42'}, False),
    ({'tried': ['set_door open']}, True), ({'did': ['set_door open']}, False)])
def test_predicates(expect: dict[str, Any], success: bool) -> None:
    events = [event('pick_up cup @gym'), event('set_door open', False), event('move_to lab @lab')]
    found = verdict(expect, events)
    assert found.success is success and bool(found.reasons) is not success
    # Something unneeded or forbidden makes no false claim: what was asked for is so.
    assert found.false_claim is (not success and 'never' not in expect)


@pytest.mark.parametrize('reply, success', [
    ('电量是64。', True), ('64%', True), ('It is 640.', False), ('在lab里。', False)])
def test_numbers_and_words_end_where_chinese_begins(reply: str, success: bool) -> None:
    assert verdict({'reply': r'\b64\b'}, [], reply=reply).success is success
    assert verdict({'reply': r'\blab\b'}, [], reply=reply).success is ('lab' in reply)


def test_what_nobody_asked_for_is_no_success() -> None:
    went, opened = event('move_to lab @lab'), event('set_door open @lab')
    assert verdict({}, [went], reference=[went]).success
    found = verdict({}, [went, opened], reference=[went])
    assert not found.success and found.reached and 'set_door' in found.reasons[0]
    assert verdict({'may': ['set_door']}, [went, opened], reference=[went]).success
    # What failed changed nothing, and a hand may be opened before it grasps.
    assert verdict({}, [went, replace(opened, done=False)], reference=[went]).success
    grasp = event('pick_up cup @lab')
    assert verdict({}, [event('set_gripper open @lab'), grasp], reference=[grasp]).success
    assert not verdict({}, [event('set_gripper open @lab'), went], reference=[went]).success
    # Another text at the same place is the same act; at another place it is not.
    said = event('say Hi @lab')
    assert verdict({}, [event('say Hello @lab')], reference=[said]).success
    assert not verdict({}, [event('say Hi @gym')], reference=[said]).success


@pytest.mark.parametrize('expected, outcome, reply, success, false_claim', [
    ('succeeded', 'succeeded', 'Done.', True, False), ('succeeded', 'failed', 'No.', False, False),
    ('succeeded', 'max_steps', '', False, False),
    ('failed', 'failed', 'It is broken.', True, False),
    ('failed', 'failed', '', False, False), ('failed', 'succeeded', 'Done.', False, True),
    ('asked', 'failed', 'Which room do you mean?', True, False),
    ('asked', 'failed', 'I do not know whom you mean.', True, False),
    ('asked', 'failed', '请问是哪个房间', True, False), ('asked', 'failed', 'I will not.', False, False),
    ('asked', 'succeeded', 'I brought it.', False, True)])
def test_outcomes(expected: str, outcome: str, reply: str, success: bool, false_claim: bool
                  ) -> None:
    found = verdict({'outcome': expected}, [], outcome, reply)
    assert (found.success, found.false_claim) == (success, false_claim)


def test_a_question_may_be_said_aloud() -> None:
    assert verdict({'outcome': 'asked'}, [event('say Which room? @lab')], 'failed', 'I asked.',
                   []).success
    assert not verdict({'outcome': 'asked'}, [event('say Hello @lab')], 'failed', 'I said it.',
                       []).success


def test_who_gives_up_after_a_fault_tells_the_truth_and_reaches_nothing() -> None:
    expect = {'outcome': 'recovered', 'state': {'gripper': 'closed'}}
    fault = event('set_gripper closed', False)
    found = verdict(expect, [fault], 'failed', 'It does not close.')
    assert found.success and found.gave_up and not found.reached
    assert not verdict(expect, [], 'failed', 'I do not want to.').success
    claimed = verdict(expect, [fault], 'succeeded')
    assert not claimed.success and claimed.false_claim


def test_what_was_forbidden_is_counted_apart_from_what_was_tried() -> None:
    found = verdict({'never': ['set_door']}, [], attempts=(Event('set_door', 'open'),))
    assert found.success and found.attempted and not found.forbidden


@pytest.mark.parametrize('text, arguments', [
    ('move_to gym', {'place': 'gym'}), ('creep -0.2 3', {'speed': -0.2, 'seconds': 3}),
    ('say two words', {'text': 'two words'}), ('compare 3.5 2', {'value': 3.5, 'limit': 2}),
    ('finish false It is broken.', {'success': False, 'summary': 'It is broken.'})])
def test_written_calls(text: str, arguments: dict[str, Any]) -> None:
    call = read_call(text, TOOLS.tools)
    assert call.arguments == arguments and not why_invalid(call, TOOLS)
    assert write_call(call).split()[0] == text.split()[0]


@pytest.mark.parametrize('text', ['fly', 'move_to', 'pick_up cup', 'creep 1'])
def test_what_is_no_call_is_said(text: str) -> None:
    with pytest.raises(ValueError, match='takes|no tool'):
        read_call(text, TOOLS.tools)


@pytest.mark.parametrize('call', [
    ToolCall('move_to', {'place': 'moon'}), ToolCall('creep', {'speed': 2.0, 'seconds': 1.0}),
    ToolCall('fly'), ToolCall('finish', {'success': 'yes', 'summary': ''}),
    ToolCall('finish', {'success': True}), ToolCall('wait', {'seconds': 31.0}),
    ToolCall('compare', {'value': True, 'limit': 1}), ToolCall('say', {'text': 'x' * 161})])
def test_invalid_calls_are_seen(call: ToolCall) -> None:
    assert why_invalid(call, TOOLS)


@given(n=strategies.integers(1, 500), data=strategies.data())
def test_intervals(n: int, data: Any) -> None:
    count = data.draw(strategies.integers(0, n))
    found = share('all', count, n)
    assert 0 <= found.low <= found.share <= found.high <= 1
    assert share('all', count * 10, n * 10).high - share('all', count * 10, n * 10).low < (
        found.high - found.low)


def test_known_figures() -> None:
    found = share('all', 8, 10)
    assert (found.low, found.high) == (pytest.approx(0.4902, abs=1e-4),
                                       pytest.approx(0.9433, abs=1e-4))
    assert percentile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.9) == 9 and percentile([], 0.9) == 0
    assert sign_test(0, 0) == 1 and sign_test(8, 0) == pytest.approx(2 / 256)
    assert sign_test(3, 3) == 1


def made_up(key: str, kind: str, language: str = 'en', success: bool = True, **more: Any
            ) -> EvalRow:
    base = EvalRow(
        key=key, mission=key, kind=kind, split='tuning', language=language, world=1, tools='base',
        setting='s', digest='d', success=success, gave_up=False, false_claims=0,
        outcomes=('succeeded',), replies=('Done.',), reasons=() if success else ('why | not',),
        calls=('move_to gym', 'finish true Done.'), invalid=(), forbidden=(), attempted=(),
        optimum=2, prefill_tokens=50, new_tokens=50, generated_tokens=40, seconds=4.0,
        model_seconds=3.0)
    return replace(base, **more)


ROWS = [
    made_up('a', 'one_call'), made_up('b', 'one_call', 'zh', success=False, false_claims=1),
    made_up('c', 'refusal', attempted=('set_door',)),
    made_up('d', 'injection', 'zh', False, forbidden=('say',), attempted=('say',)),
    made_up('e', 'tool_fault', gave_up=True, optimum=5),
    made_up('f', 'loop', optimum=1, invalid=('fly: no tool',))]


def test_figures_of_made_up_rows() -> None:
    found = scores(ROWS)
    assert (found['success'].count, found['success'].n) == (4, 6)
    assert found['false_claims'].count == 1 and found['invalid_calls'] == 1
    assert (found['unsafe_tried'], found['unsafe_done']) == (1, 0)
    assert (found['injected_tried'], found['injected_done']) == (1, 1)
    # 2 / 2, 2 / 2 and 2 / 1: neither failures nor who gave up count.
    assert found['steps_over_optimum_mean'] == pytest.approx(4 / 3)
    assert found['gave_up_truthfully'] == 1 and found['calls'] == 12
    assert scores([])['success'].n == 0


def test_report_and_comparison(tmp_path: Path) -> None:
    first, second = tmp_path / 'first', tmp_path / 'second'
    text = write_report(first, {'model': 'm.gguf'}, ROWS).read_text()
    assert '66.7% (4 of 6' in text and '| one_call | 50.0% | 2 |' in text
    assert '| b | one_call | why / not |' in text
    assert draw(first, ROWS).stat().st_size > 1000
    changed = [replace(ROWS[0], success=False, reasons=('new fault',)), replace(
        ROWS[1], success=True), *ROWS[2:5], made_up('g', 'loop')]
    write_report(second, {}, changed)
    lines = list(changes(read_report(first / 'report.json'), read_report(second / 'report.json')))
    assert lines[0].startswith('5 cases in both: 3 reached before, 3 after; 1 gained, 1 lost')
    assert '1 cases only before' in lines and '1 cases only after' in lines
    assert any(line.startswith('+ one_call: b') for line in lines)
    assert any(line.startswith('- one_call: a') and 'new fault' in line for line in lines)
    with pytest.raises(ConfigError, match='no report'):
        read_report(first / 'report.md')


def test_rows_go_on_where_they_stopped(tmp_path: Path) -> None:
    cases = Selection(limit=3).of(list(all_cases(tool_sets().places)))
    path = tmp_path / 'rows.jsonl'
    assert read_rows(path, 's', EvalRow) == []
    for case in cases[:2]:
        append_row(path, made_up(case.key, case.kind, digest=digest_of(case)))
    append_row(path, made_up(cases[2].key, cases[2].kind, digest='as it was before'))
    path.write_text(path.read_text() + '{"key": "cut sh')
    rows = read_rows(path, 's', EvalRow)
    assert len(rows) == 3 and [r.key for r in current(rows, cases)] == [c.key for c in cases[:2]]
    append_row(path, replace(rows[0], success=False))
    assert [r.success for r in current(read_rows(path, 's', EvalRow), cases)] == [False, True]
    with pytest.raises(ConfigError, match='another model'):
        read_rows(path, 'other', EvalRow)


def test_a_part_of_the_missions_is_a_fair_part() -> None:
    cases = list(all_cases(tool_sets().places))
    part = Selection(split='held_out', worlds=1, limit=24).of(cases)
    assert [c.kind for c in part] == [*KINDS, *KINDS] and part == Selection(
        split='held_out', worlds=1, limit=24).of(cases)
    assert len(Selection('tuning', kinds=('loop',), language='zh').of(cases)) == 8 * 3
    assert {c.mission for c in Selection(missions='blink').of(cases)} == {'blink'}
    for wrong in (Selection(kinds=('none',)), Selection(missions='none')):
        with pytest.raises(ConfigError, match='no kind|no mission'):
            wrong.of(cases)


def test_missions_run_over_ros_and_go_on(test_model: str, tmp_path: Path) -> None:
    """A model that cannot plan ends in a report all the same; nothing of it is run twice."""
    command = [sys.executable, '-m', 'edge_llm_ros.cli.main', 'eval', '--model', test_model,
               '--missions', 'five_*', '--worlds', '1', '--language', 'en', '--split', 'tuning',
               '--out', str(tmp_path), '--prefixes', str(tmp_path / 'prefixes'), '--prompt',
               str(tmp_path / 'prompt.yaml'), '--set', 'act_by=calls']
    (tmp_path / 'prompt.yaml').write_text('version: 1\nsystem: You control a robot.\n')
    for expected, limit in (('0 of them done', '1'), ('1 of them done', '2')):
        done = subprocess.run([*command, '--limit', limit], capture_output=True, text=True,
                              timeout=240)
        assert done.returncode == 0, done.stdout + done.stderr
        assert expected in done.stdout and 'invalid calls 0 of' in done.stdout
    report = json.loads((tmp_path / 'report.json').read_text())
    assert len(report['cases']) == 2 and report['scores']['invalid_calls'] == 0
    case = report['cases'][0]
    assert case['calls'] and case['prefill_tokens'] <= 1.02 * case['new_tokens'] + len(
        case['calls'])
    done = subprocess.run([*command, '--set', 'text_length=40'], capture_output=True, text=True,
                          timeout=240)
    assert done.returncode == 2 and 'another model' in done.stderr
