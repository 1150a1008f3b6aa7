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

"""The agent's branches, with a scripted model and scripted tools."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
import json
import threading
import time

from edge_llm_ros.agent.agent import Agent
from edge_llm_ros.agent.recovery_hints import RecoveryHints
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.errors import CallCutShort, ContextFull, EngineError
from edge_llm_ros.flow.event import Event, EventKind, Finished
from edge_llm_ros.flow.goal import FinishCheckMode, Goal
from edge_llm_ros.flow.metrics import TokenCounts
from edge_llm_ros.flow.model import CallCanceled, CallMade, Prefilling, Writing
from edge_llm_ros.flow.result import Outcome, Result
from edge_llm_ros.flow.tool import (
    FallbackCall, FINISH, NO_FACTS, Observation, Status, ToolCall, ToolSchema, WAIT)
from edge_llm_ros.prompt.named_values import NamedValues
from edge_llm_ros.prompt.words import Words
import pytest

LOOK, DONE = ToolCall('look'), ToolCall(FINISH, {'success': True, 'summary': 'Seen.'})


class Script:
    """A model that makes the calls of a list, and keeps what it is told."""

    def __init__(self, calls: Sequence[ToolCall | Exception]) -> None:
        self._calls = iter(calls)
        self.told: list[object] = []
        self.ended = 0
        self.listeners: list[Callable[[str], None]] = []
        self.allowed: list[object] = []
        self.among: frozenset[str] | None = None

    def conversation(self, session_id: str) -> 'Script':
        return self

    def on_failure(self, callback: Callable[[str], None]) -> Callable[[], None]:
        self.listeners.append(callback)
        return lambda: self.listeners.remove(callback)

    def end(self, note: str) -> None:
        self.ended += 1
        self.note = note

    def instruct(self, instruction: str, context: str) -> None:
        self.told.append((instruction, context))

    def observe(self, call: ToolCall, observation: Observation) -> None:
        self.told.append(observation.text)

    def next_call(self, allowed, cancellation: Cancellation, choices=None, occasion=None
                  ) -> Iterator[object]:
        self.choices = choices
        self.allowed.append(allowed)
        yield Prefilling(1, 1)
        yield Writing('{"na')
        if cancellation.canceled:
            yield CallCanceled(TokenCounts(prefill=3), 0.1)
            return
        call = next(self._calls)
        if isinstance(call, Exception):
            raise call
        yield CallMade(
            call, TokenCounts(cached=10, prefill=2, new=2, sampled=3, forced=4, decode_calls=3),
            0.01, 0.03, among=self.among)


class Tools:
    """Tools whose observations come from a function."""

    fallback: FallbackCall | None = None

    def __init__(self, work=lambda call, cancellation, progress: '{}') -> None:
        self._work = work
        self.known = NO_FACTS
        self.dry_run: list[bool] = []

    def schemas(self):
        return ()

    def facts(self, allowed, cancellation):
        return self.known

    def call(self, call, cancellation, *, allowed, dry_run, on_progress, facts):
        self.allowed = allowed
        self.dry_run.append(dry_run)
        text = self._work(call, cancellation, on_progress)
        return text if isinstance(text, Observation) else Observation(Status.SUCCEEDED, text)


def run(calls, tools: Tools | None = None, cancellation: Cancellation | None = None, **goal
        ) -> tuple[Result, list[Event], Script]:
    model = Script(calls)
    agent = Agent(model, tools or Tools())
    *events, end = agent.run(Goal('Look.', **goal), cancellation or Cancellation())
    assert isinstance(end, Finished) and model.ended == 1
    return end.result, events, model


def test_finish_gives_its_summary_and_costs() -> None:
    result, events, model = run([LOOK, DONE], Tools(lambda *_: '{"seen": 1}'), context='Noon.')
    assert (result.outcome, result.message) == (Outcome.SUCCEEDED, 'Seen.')
    assert [s.tool for s in result.steps] == ['look', FINISH]
    assert model.told == [('Look.', 'Noon.'), '{"seen": 1}']
    metrics = result.metrics
    assert (metrics.steps, metrics.tokens.prompt, metrics.tokens.generated) == (2, 24, 14)
    assert metrics.first_token == 0.01 and metrics.decode_tokens_per_second == pytest.approx(
        12 / 0.04)
    kinds = [e.kind for e in events]
    assert kinds == [EventKind.PREFILL, EventKind.TEXT, EventKind.CALL, EventKind.STEP_DONE] * 2


def routed(calls, among: set[str], tools: Tools | None = None, **goal) -> tuple[Script, Tools]:
    """Run a goal whose model chose some tools with its first call."""
    model, tools = Script(calls), tools or Tools()
    model.among = frozenset(among)
    *_, end = Agent(model, tools).run(Goal('Look.', **goal), Cancellation())
    assert isinstance(end, Finished)
    return model, tools


def test_what_the_model_chose_are_the_tools_of_the_goal() -> None:
    model, tools = routed([LOOK, ToolCall('see'), DONE], {'look', 'see', FINISH})
    assert model.allowed == [None, model.among, model.among] and tools.allowed == model.among
    model, _ = routed([LOOK, DONE], {'look', 'see', FINISH},
                      allowed_tools=frozenset({'look', 'hear', FINISH}))
    assert model.allowed[1] == {'look', FINISH}
    model, _ = routed([LOOK, DONE], {'fly'}, allowed_tools=frozenset({'look', FINISH}))
    assert model.allowed[1] == {'look', FINISH}


def test_a_failure_opens_all_tools_again() -> None:
    failing = Tools(lambda *_: Observation(Status.FAILED, '{"error": "dark"}', 'dark'))
    model, _ = routed([LOOK, LOOK, DONE], {'look', FINISH}, failing)
    # What is said with later calls chooses nothing.
    assert model.allowed == [None, None, None]


def test_a_no_with_chosen_tools_is_said_again_with_all() -> None:
    no = ToolCall(FINISH, {'success': False, 'summary': 'No door.'})
    model, _ = routed([LOOK, no, no], {'look', FINISH})
    assert model.allowed == [None, model.among, None]
    assert Words().route_opened in str(model.told[-1])
    model, _ = routed([no, no], {'look', FINISH})
    assert model.allowed == [None, None]
    # Where nothing was chosen, a no is a no.
    result, *_ = run([no])
    assert result.outcome is Outcome.FAILED and len(result.steps) == 1


def test_a_question_at_the_end_opens_all_tools_again() -> None:
    model, _ = routed([LOOK, DONE, DONE], {'look', FINISH}, check_finish=FinishCheckMode.ALL)
    assert model.allowed == [None, model.among, None]


def test_the_model_s_no_is_a_failure() -> None:
    result, *_ = run([ToolCall(FINISH, {'success': False, 'summary': 'No arm.'})])
    assert (result.outcome, result.message) == (Outcome.FAILED, 'No arm.')


def test_equal_calls_with_equal_results_are_a_loop() -> None:
    result, *_ = run([LOOK] * 9, max_steps=9)
    assert result.outcome is Outcome.LOOP and len(result.steps) == 3


def test_readings_that_change_and_waiting_are_no_loop() -> None:
    readings = iter(range(99))
    result, *_ = run([LOOK] * 6, Tools(lambda *_: str(next(readings))), max_steps=6)
    assert result.outcome is Outcome.MAX_STEPS
    result, *_ = run([ToolCall(WAIT, {'seconds': 1})] * 6, max_steps=6)
    assert result.outcome is Outcome.MAX_STEPS


def test_waiting_between_equal_readings_does_not_hide_a_loop() -> None:
    calls = [LOOK, ToolCall(WAIT, {'seconds': 1})] * 3
    result, *_ = run(calls, max_steps=9)
    assert result.outcome is Outcome.LOOP and len(result.steps) == 5


def test_other_arguments_are_another_call() -> None:
    result, *_ = run([ToolCall('look', {'at': i % 2}) for i in range(6)], max_steps=6)
    assert result.outcome is Outcome.MAX_STEPS


@pytest.mark.parametrize('error, outcome', [
    (ContextFull('full'), Outcome.CONTEXT_FULL), (EngineError('broken'), Outcome.ENGINE_ERROR),
    (EngineError('gone'), Outcome.ENGINE_ERROR)])
def test_faults_of_ours_are_typed(error: Exception, outcome: Outcome) -> None:
    result, _, model = run([LOOK, error])
    assert (result.outcome, result.message) == (outcome, str(error))
    assert len(result.steps) == 1


def test_a_call_that_was_cut_short_is_a_failed_step_with_its_costs() -> None:
    error = CallCutShort('cut', TokenCounts(prefill=4, sampled=9), 0.5)
    result, _, model = run([LOOK, error])
    assert (result.outcome, result.message) == (Outcome.ENGINE_ERROR, 'cut')
    assert [s.status for s in result.steps] == [Status.SUCCEEDED, Status.FAILED]
    assert result.metrics.tokens.sampled == 12 and result.metrics.inference == 0.53
    assert len(model.told) == 2


def test_a_goal_that_is_canceled_before_it_starts_leaves_no_trace() -> None:
    cancellation = Cancellation()
    cancellation.cancel(Outcome.DEACTIVATED)
    result, events, model = run([LOOK], cancellation=cancellation)
    assert result.outcome is Outcome.DEACTIVATED and not (result.steps or events or model.told)


@pytest.mark.parametrize('reason', [
    Outcome.CANCELED, Outcome.PREEMPTED, Outcome.STOPPED, Outcome.DEACTIVATED, Outcome.TIMEOUT])
def test_a_cancel_ends_a_waiting_tool_and_says_why(reason: Outcome) -> None:
    cancellation = Cancellation()

    def work(call, cancel, progress):
        assert cancel.wait(20)
        return Observation(Status.CANCELED, '{"error": "canceled"}', 'canceled')

    threading.Timer(0.05, cancellation.cancel, [reason]).start()
    result, *_ = run([LOOK], Tools(work), cancellation)
    assert result.outcome is reason and result.steps[0].status is Status.CANCELED
    assert result.message


def test_a_cancel_while_the_model_writes_keeps_no_call() -> None:
    cancellation = Cancellation()

    def work(call, cancel, progress):
        return '{}'

    model = Script([LOOK, LOOK])
    seen = []
    for event in Agent(model, Tools(work)).run(Goal('Look.'), cancellation):
        seen.append(event)
        if isinstance(event, Event) and event.kind is EventKind.TEXT and event.step.index == 1:
            cancellation.cancel(Outcome.CANCELED)
    result = seen[-1].result
    assert [s.status for s in result.steps] == [Status.SUCCEEDED, Status.CANCELED]
    assert result.metrics.steps == 1 and result.metrics.tokens.prefill == 5


def test_a_goal_that_was_ended_is_told_to_the_next_one() -> None:
    _, _, model = run([LOOK] * 9, max_steps=2)
    assert model.note == 'The goal before this one was ended: The goal was not reached in 2 steps.'
    for success in (True, False):
        _, _, model = run([ToolCall(FINISH, {'success': success, 'summary': ''})])
        assert model.note == ''


def test_the_time_budget_is_a_cancel() -> None:
    cancellation = Cancellation()
    cancellation.limit(0.05)
    result, *_ = run([LOOK] * 3, Tools(lambda c, cancel, p: cancel.wait(9) and '{}'), cancellation)
    assert result.outcome is Outcome.TIMEOUT


def test_feedback_of_a_call_is_passed_on_while_it_runs() -> None:
    release = threading.Event()

    def work(call, cancel, progress):
        progress('half')
        assert release.wait(9)
        return '{}'

    texts = []
    for event in Agent(Script([LOOK, DONE]), Tools(work)).run(Goal('Look.'), Cancellation()):
        if isinstance(event, Event) and event.kind is EventKind.PROGRESS:
            texts.append(event.text)
            release.set()
    assert texts == ['half']


def test_a_call_that_tells_nothing_needs_no_thread() -> None:
    def work(call, cancel, progress):
        if call.arguments:
            raise RuntimeError('a bug')
        threads.append(threading.current_thread().name)
        return '{}'

    class Silent(Tools):
        def schemas(self):
            return (ToolSchema('look', 'Look.', {'properties': {}}, silent=True),
                    ToolSchema('go', 'Drive.', {'properties': {}}))

    threads: list[str] = []
    tools = Silent(work)
    result, *_ = run([LOOK, ToolCall('go'), DONE], tools)
    assert result.outcome is Outcome.SUCCEEDED
    assert threads == [threading.current_thread().name, 'tool call']
    with pytest.raises(RuntimeError, match='a bug'):
        run([ToolCall('look', {'at': 1})], tools)


def test_dry_run_is_the_toolset_s_to_honour() -> None:
    tools = Tools()
    run([LOOK, DONE], tools, dry_run=True)
    assert tools.dry_run == [True]


def test_the_first_reason_of_a_cancellation_wins() -> None:
    cancellation, calls = Cancellation(), []
    withdraw = cancellation.on_cancel(lambda: calls.append('withdrawn'))
    cancellation.on_cancel(lambda: calls.append('kept'))
    withdraw()
    assert not cancellation.canceled and not cancellation.wait(0.01)
    cancellation.cancel(Outcome.STOPPED)
    cancellation.cancel(Outcome.CANCELED)
    cancellation.on_cancel(lambda: calls.append('late'))
    assert cancellation.reason is Outcome.STOPPED and calls == ['kept', 'late']
    start = time.monotonic()
    assert cancellation.wait(9) and time.monotonic() - start < 5


HOME = FallbackCall(ToolCall('go_home', {'fast': False}), 'The robot goes home.')


@pytest.mark.parametrize('calls, outcome', [
    ([LOOK] * 3, Outcome.LOOP), ([EngineError('gone')], Outcome.ENGINE_ERROR),
    ([ContextFull('full')], Outcome.CONTEXT_FULL)])
def test_a_fallback_is_one_call_after_the_planner_could_not_go_on(calls, outcome) -> None:
    made: list[str] = []

    def work(call, *_):
        made.append(call.name)
        return '{}'

    tools = Tools(work)
    tools.fallback = HOME
    result, events, model = run(calls, tools)
    assert result.outcome is outcome and made[-1] == 'go_home' and made.count('go_home') == 1
    assert result.steps[-1].tool == 'go_home' and result.steps[-1].arguments == '{"fast": false}'
    assert result.message.endswith(
        'The robot goes home. The fallback call go_home was made.')
    assert 'go_home' in model.note


def test_a_fallback_is_not_for_what_somebody_decided() -> None:
    tools = Tools(lambda call, *_: '{}')
    tools.fallback = HOME
    for calls, limits in (([DONE], {}), ([LOOK, LOOK], {'max_steps': 1})):
        result, *_ = run(calls, tools, **limits)
        assert 'go_home' not in [step.tool for step in result.steps]
    for reason in (Outcome.CANCELED, Outcome.STOPPED, Outcome.DEACTIVATED, Outcome.PREEMPTED):
        cancellation = Cancellation()
        cancellation.cancel(reason)
        result, *_ = run([LOOK], tools, cancellation)
        assert result.outcome is reason and not result.steps


def test_a_fallback_that_is_refused_is_told() -> None:
    tools = Tools(lambda call, *_: Observation(Status.REFUSED, '{}', 'refused: stopped'))
    tools.fallback = HOME
    result, *_ = run([EngineError('gone')], tools)
    assert result.message.endswith('The fallback call go_home failed: refused: stopped.')


@pytest.mark.parametrize('call', [LOOK, EngineError('gone')])
def test_an_operator_ends_a_fallback(call: ToolCall | Exception) -> None:
    cancellation = Cancellation()

    def work(call, cancellation_of_call, _):
        cancellation.cancel(Outcome.STOPPED)
        assert cancellation_of_call.wait(10.0), 'a second reason ends it'
        return Observation(Status.CANCELED, '{}', 'canceled')

    tools = Tools(work)
    tools.fallback = HOME
    if call is LOOK:
        cancellation.cancel(Outcome.TIMEOUT)
    start = time.monotonic()
    result, *_ = run([call], tools, cancellation)
    assert result.outcome in (Outcome.TIMEOUT, Outcome.ENGINE_ERROR)
    assert result.steps[-1].status is Status.CANCELED and time.monotonic() - start < 5


def test_a_model_that_fails_while_a_tool_works_ends_the_goal() -> None:
    model, cancellation = Script([LOOK, DONE]), Cancellation()

    def work(call, cancellation_of_call, _):
        if call.name == 'go_home':
            return '{}'
        tell, = model.listeners
        threading.Timer(0.05, tell, ['the engine process was ended by SIGKILL.']).start()
        assert cancellation_of_call.wait(10.0)
        return Observation(Status.CANCELED, '{}', 'canceled')

    tools = Tools(work)
    tools.fallback = HOME
    *events, end = Agent(model, tools).run(Goal('Look.'), cancellation)
    result = end.result
    assert result.outcome is Outcome.ENGINE_ERROR
    assert result.message.startswith('the engine process was ended by SIGKILL. The robot goes')
    assert [(s.tool, s.status) for s in result.steps] == [
        ('look', Status.CANCELED), ('go_home', Status.SUCCEEDED)]
    assert model.told[1:] == ['{}'] and 'SIGKILL' in model.note and not model.listeners


class SlowScript(Script):
    """A model that thinks for long."""

    def next_call(self, allowed, cancellation: Cancellation, choices=None,
                  occasion=None) -> Iterator[object]:
        yield Prefilling(1, 1)
        if cancellation.wait(5.0):
            yield CallCanceled(TokenCounts(prefill=3), 0.1)
            return
        yield CallMade(DONE, TokenCounts(), 0.01, 0.03)


def test_a_step_that_takes_too_long_ends_the_goal() -> None:
    agent = Agent(SlowScript([]), Tools())
    cancellation = Cancellation()
    *_, end = agent.run(Goal('Look.', step_budget=0.05), cancellation)
    assert end.result.outcome is Outcome.TIMEOUT and 'step_budget = 0.05' in end.result.message
    assert not cancellation.canceled, 'only the step'
    cancellation.cancel(Outcome.CANCELED)
    *_, end = agent.run(Goal('Look.', step_budget=0.05), cancellation)
    assert end.result.outcome is Outcome.CANCELED


NOT_DONE = ToolCall(FINISH, {'success': False, 'summary': 'No.'})


def fails(*names: str):
    """Return the work of tools of which some fail as often as they are named."""
    left = list(names)

    def work(call, cancellation, progress):
        if call.name in left:
            left.remove(call.name)
            return Observation(Status.FAILED, '{"error": "the arm is stuck", "code": 3}',
                               'the arm is stuck')
        return '{"message": "ok"}'

    return Tools(work)


def test_a_goal_is_ended_only_after_the_record_was_put_against_it() -> None:
    result, events, model = run([LOOK, DONE, DONE], check_finish=FinishCheckMode.ALL, max_steps=2)
    assert (result.outcome, result.message) == (Outcome.SUCCEEDED, 'Seen.')
    question = json.loads(model.told[-1])
    assert question['goal'] == 'Look.' and question['done'] == ['look(): {}']
    assert question['ended'] is False and 'failed' not in question
    assert [s.tool for s in result.steps] == ['look', FINISH], 'what was not ended is no step'
    metrics = result.metrics
    assert metrics.steps == 2 and metrics.tokens.prompt == 36 and metrics.tokens.generated == 21
    assert metrics.inference == pytest.approx(0.09)
    assert [e.kind for e in events].count(EventKind.CALL) == 2


def test_a_model_that_is_asked_can_go_on_and_is_asked_once() -> None:
    go = ToolCall('go', {'place': 'lab'})
    result, _, model = run([LOOK, DONE, go, DONE], check_finish=FinishCheckMode.ALL)
    assert [s.tool for s in result.steps] == ['look', 'go', FINISH]
    assert result.outcome is Outcome.SUCCEEDED and len(model.told) == 4


@pytest.mark.parametrize('mode', FinishCheckMode)
def test_a_success_after_a_failure_is_questioned_where_it_is_wanted(mode) -> None:
    pick = ToolCall('pick')
    calls = [pick, LOOK, DONE] + ([] if mode is FinishCheckMode.OFF else [NOT_DONE])
    result, _, model = run(calls, fails('pick'), check_finish=mode)
    assert len(result.steps) == 3
    if mode is FinishCheckMode.OFF:
        assert result.outcome is Outcome.SUCCEEDED
        return
    assert (result.outcome, result.message) == (Outcome.FAILED, 'No.')
    question = json.loads(model.told[-1])
    assert question['failed'] == ['pick(): the arm is stuck']
    assert question['done'] == ['look(): {"message": "ok"}']
    assert question['check'] == Words().check_failed


def test_what_was_made_good_and_a_no_are_not_questioned() -> None:
    pick, mode = ToolCall('pick'), FinishCheckMode.FAILED
    result, _, model = run([pick, pick, DONE], fails('pick'), check_finish=mode)
    assert result.outcome is Outcome.SUCCEEDED and len(model.told) == 3
    result, _, model = run([pick, NOT_DONE], fails('pick'), check_finish=FinishCheckMode.ALL)
    assert result.outcome is Outcome.FAILED and len(model.told) == 2


def test_what_a_question_cost_is_counted_however_the_goal_ends() -> None:
    error = CallCutShort('cut', TokenCounts(prefill=4, sampled=9), 0.5)
    result, *_ = run([DONE, error], check_finish=FinishCheckMode.ALL)
    assert result.outcome is Outcome.ENGINE_ERROR
    assert result.metrics.tokens.sampled == 12 and result.metrics.inference == 0.53
    cancellation, texts = Cancellation(), 0
    for event in Agent(Script([DONE]), Tools()).run(
            Goal('Look.', check_finish=FinishCheckMode.ALL), cancellation):
        texts += isinstance(event, Event) and event.kind is EventKind.TEXT
        if texts == 2:
            cancellation.cancel(Outcome.CANCELED)
    assert isinstance(event, Finished) and event.result.outcome is Outcome.CANCELED
    assert event.result.metrics.tokens.prefill == 5 and event.result.metrics.steps == 0


GO = ToolSchema('go', 'Drive.', {'type': 'object', 'properties': {
    'place': {'type': 'string', 'enum': ['lab', 'gym', 'dock']}}})


def test_a_failed_call_comes_with_what_can_be_done() -> None:
    pick, words = ToolCall('pick'), Words()
    result, _, model = run([pick, pick, LOOK, DONE], fails('pick', 'pick'), recovery_hints=True)
    first, second, third = (json.loads(text) for text in model.told[1:4])
    assert list(first) == ['error', 'hint', 'code'], 'what comes last may be cut off'
    assert (first['hint'], second['hint']) == (words.once_more, words.another_way)
    assert third == {'message': 'ok'}
    assert result.steps[0].observation == model.told[1]
    assert result.steps[0].error == 'the arm is stuck'


def test_a_hint_says_what_an_argument_can_be() -> None:
    hints = RecoveryHints([GO], {}, Words())
    refused = Observation(Status.REFUSED, '{"error": "no way to lab"}', 'no way to lab')
    hint = json.loads(hints.hinted(ToolCall('go', {'place': 'lab'}), refused).text)['hint']
    assert hint.startswith('place can be gym, dock. ')
    told = Observation(Status.REFUSED, '{}', 'lab is not one of gym, dock')
    hint = json.loads(hints.hinted(ToolCall('go', {'place': 'lab'}), told).text)['hint']
    assert 'can be' not in hint
    other = replace(refused, error='the arm is stuck')
    hint = json.loads(hints.hinted(ToolCall('go', {'place': 'lab'}), other).text)['hint']
    assert 'can be' not in hint
    chosen = RecoveryHints([GO], {'go': {'place': ('lab', 'roof')}}, Words())
    assert 'can be roof.' in chosen.hinted(ToolCall('go', {'place': 'lab'}), refused).text


def test_a_repeated_call_is_named_but_waiting_is_not() -> None:
    hints = RecoveryHints([], {}, Words())
    for text, result in (('{}', {}), ('[1]', {'result': [1]}), ('x', {'result': 'x'})):
        seen = Observation(Status.SUCCEEDED, text)
        assert hints.hinted(LOOK, seen) == seen
        assert json.loads(hints.hinted(LOOK, seen).text) == {'hint': Words().repeated, **result}
    assert hints.hinted(ToolCall('look', {'at': 1}), seen) == seen
    for _ in range(2):
        assert hints.hinted(ToolCall(WAIT, {'seconds': 1}), seen) == seen


PLACES = ToolSchema('drive', 'Drive.', {'type': 'object', 'properties': {'place': {
    'type': 'string', 'enum': ['lab', 'gym', 'meeting_room'],
    'description': 'Where to: lab (实验室, laboratory), gym (健身房)'}}})
SWITCH = ToolSchema('light', 'Switch.', {'type': 'object', 'properties': {
    'state': {'type': 'string', 'enum': ['on', 'off']}}})


@pytest.mark.parametrize('goal, told, unused', [
    ('Turn the light on in the Lab.', ['light(on): {}'], ['lab']),
    ('Turn the light on in the lab.', ['drive(lab): ok'], []),
    ('Turn the light on in the lab.', ['where(): {"place": "lab"}'], []),
    ('Go to the meeting room, then the laboratory.', ['drive(gym): ok'], ['lab', 'meeting_room']),
    ('Go to the meeting room.', ['drive(meeting_room): ok'], []),
    ('在实验室里开灯。', ['light(on): {}'], ['lab']),
    ('Turn the label on.', [], []), ('Switch it off.', ['light(on): {}'], []),
    ('If it is dark, go to the lab.', [], []), ('Go to the lab or the gym.', [], []),
    ('如果黑就去健身房。', [], []), ('Drive to the notary in the gym.', [], ['gym'])])
def test_what_a_goal_names_and_no_call_used_is_found(goal, told, unused) -> None:
    assert NamedValues(goal, [PLACES, SWITCH], Words().conditional).unused(told) == unused


@pytest.mark.parametrize('mode', FinishCheckMode)
def test_a_forgotten_place_is_questioned_once(mode) -> None:
    tools = Tools()
    tools.schemas = lambda: (PLACES, SWITCH)
    on, lab = ToolCall('light', {'state': 'on'}), ToolCall('drive', {'place': 'lab'})
    asks = mode not in (FinishCheckMode.OFF, FinishCheckMode.FAILED)
    model = Script([on, DONE, *([lab, on, DONE] if asks else [])])
    *_, end = Agent(model, tools).run(Goal('Light the lab.', check_finish=mode), Cancellation())
    assert isinstance(end, Finished) and end.result.outcome is Outcome.SUCCEEDED
    assert [s.tool for s in end.result.steps] == ['light', *(['drive', 'light'] * asks), FINISH]
    if asks:
        question = json.loads(model.told[2])
        assert question['forgotten'] == ['lab'] and question['check'] == Words().check_forgotten
        insisted = mode is FinishCheckMode.INSIST
        assert model.allowed == [None, None, {'drive', 'light'} if insisted else None, None, None]


def test_a_tool_that_is_for_what_a_goal_names_is_enough() -> None:
    tools = Tools()
    tools.schemas = lambda: (PLACES, replace(SWITCH, description='Switch the light of the lab.'))
    model = Script([ToolCall('light', {'state': 'on'}), DONE])
    *_, end = Agent(model, tools).run(
        Goal('Light the lab.', check_finish=FinishCheckMode.INSIST), Cancellation())
    assert isinstance(end, Finished) and len(end.result.steps) == 2


@pytest.mark.parametrize('calls', [[], [ToolCall('compare', {'value': 1, 'limit': 2})]])
def test_a_goal_without_calls_or_with_a_comparison_names_nothing(calls) -> None:
    tools = Tools()
    tools.schemas = lambda: (PLACES,)
    model = Script([*calls, DONE])
    *_, end = Agent(model, tools).run(
        Goal('Can you reach the lab?', check_finish=FinishCheckMode.NAMED), Cancellation())
    assert isinstance(end, Finished) and len(end.result.steps) == len(calls) + 1
