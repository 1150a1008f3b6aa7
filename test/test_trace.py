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
"""A goal's file holds what happened, and is shown as a timeline; whatever else is refused."""

import json
import math
from pathlib import Path
import subprocess

from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.event import Event, EventKind
from edge_llm_ros.flow.goal import Goal
from edge_llm_ros.flow.goal_observer import GoalObservers
from edge_llm_ros.flow.goal_statistics import GoalStatistics
from edge_llm_ros.flow.metrics import Metrics, TokenCounts
from edge_llm_ros.flow.result import Outcome, Result
from edge_llm_ros.flow.step import Step
from edge_llm_ros.flow.tool import Status
from edge_llm_ros.trace.timeline import as_html, as_text, read_trace
from edge_llm_ros.trace.writer import SUFFIX, TraceWriter
from hypothesis import given, strategies as st
import pytest

GOAL_ID = bytes(range(16))
GOAL = Goal('去厨房 and <b>stop</b>', context='{"battery": 40}', session_id='s')


def _step(index: int = 0) -> Step:
    metrics = Metrics(steps=1, tokens=TokenCounts(cached=80, prefill=20, new=20, sampled=4),
                      first_token=0.5, worst_first_token=0.5, inference=0.8, tool=1.0)
    return Step(index, 'move_to', '{"place":"kitchen"}', Status.SUCCEEDED, '{"success":true}', '',
                metrics)


def _run(observer, steps: int = 2) -> Result:
    observer.accepted(GOAL_ID, GOAL)
    observer.started(GOAL_ID, GOAL)
    total = Metrics()
    for index in range(steps):
        step = _step(index)
        total = total.plus_step(step.metrics)
        for kind in (EventKind.PREFILL, EventKind.TEXT, EventKind.CALL, EventKind.PROGRESS,
                     EventKind.STEP_DONE):
            observer.happened(GOAL_ID, Event(kind, step, 'half way', total))
    result = Result(Outcome.SUCCEEDED, 'Done.', tuple(map(_step, range(steps))), total)
    observer.finished(GOAL_ID, GOAL, result)
    return result


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the trace of a goal of two steps."""
    writer = TraceWriter()
    writer.write_to(str(tmp_path / 'traces'))
    _run(writer)
    path, = (tmp_path / 'traces').glob(f'*{SUFFIX}')
    return path


def test_a_trace_holds_what_happened(file: Path) -> None:
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line['event'] for line in lines] == [
        'goal', *2 * ['prefill', 'text', 'call', 'progress', 'step_done'], 'finished']
    assert lines[0]['instruction'] == GOAL.instruction and lines[0]['session_id'] == 's'
    assert [line['time'] for line in lines] == sorted(line['time'] for line in lines)
    assert lines[-1]['metrics']['energy_joule'] is None, 'JSON knows no NaN'
    assert lines[-1]['metrics']['tokens']['cached'] == 160
    trace = read_trace(str(file))
    assert [(s.index, s.tool, s.status) for s in trace.spans] == [
        (0, 'move_to', 'SUCCEEDED'), (1, 'move_to', 'SUCCEEDED')]
    for span in trace.spans:
        assert 0 <= span.begin <= span.called <= span.end <= trace.seconds


def test_a_trace_is_shown(file: Path, tmp_path: Path) -> None:
    trace = read_trace(str(file))
    text, page = as_text(trace), as_html(trace)
    assert '去厨房' in text and 'move_to {"place":"kitchen"}' in text and 'SUCCEEDED: Done.' in text
    assert '<b>stop' not in page and '&lt;b&gt;stop' in page, 'what a goal says is no HTML'
    done = subprocess.run(['edge_llm', 'trace', str(file), '--html', str(tmp_path / 'page.html')],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and (tmp_path / 'page.html').read_text() == page


def test_a_goal_that_was_cut_off_is_shown_as_far_as_it_went(file: Path) -> None:
    lines = file.read_text().splitlines()
    file.write_text('\n'.join(lines[:6]) + '\n' + lines[6][:10])
    trace = read_trace(str(file))
    assert len(trace.spans) == 1 and not trace.end
    assert 'the file ends before the goal does' in as_text(trace)
    done = subprocess.run(['edge_llm', 'trace', str(file)], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 1


@pytest.mark.parametrize('text, words', [
    ('', 'line 1: not the trace of a goal'), ('{"time": 0}\n', 'line 1: not the trace'),
    ('[]\n', 'line 1'), ('{"time": 0, "event": "goal", "version": 9}\n', 'version 1'),
    ('{"time":0,"event":"goal","version":1}\nx\n{"time":1,"event":"x"}\n', 'line 2'),
    ('{"time":0,"event":"goal","version":1}\n{"time":1,"event":"step_done"}\n', 'line 2')])
def test_what_is_no_trace_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / 'x'
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        read_trace(str(path))


@given(st.text(max_size=60), st.integers(0, 12))
def test_any_line_is_read_or_refused(tmp_path_factory, garbage: str, at: int) -> None:
    writer, folder = TraceWriter(), tmp_path_factory.mktemp('t')
    writer.write_to(str(folder))
    _run(writer)
    path, = folder.glob('*')
    lines = path.read_text().splitlines()
    path.write_text('\n'.join([*lines[:at], garbage, *lines[at:]]) + '\n')
    try:
        as_html(read_trace(str(path)))
    except ConfigError as error:
        assert str(path) in str(error)


def test_no_folder_no_file_and_never_more_than_are_kept(tmp_path: Path, monkeypatch) -> None:
    writer = TraceWriter()
    _run(writer)
    monkeypatch.setattr('edge_llm_ros.trace.writer._KEPT', 3)
    writer.write_to(str(tmp_path))
    for number in range(6):
        (tmp_path / f'2020010{number}T000000-0{SUFFIX}').touch()
    _run(writer)
    assert len(list(tmp_path.iterdir())) == 3


def test_statistics_are_of_what_ran() -> None:
    statistics = GoalStatistics()
    _run(statistics, steps=3)
    tokens, metrics = statistics.totals()
    assert tokens.cache_hit_rate == 0.8 and metrics.steps == 3
    assert statistics.first_tokens() == [0.5] * 3
    assert (statistics.goals, statistics.waiting, statistics.running) == (1, 0, None)
    assert math.isclose(metrics.worst_first_token, 0.5) and statistics.last_error == ''
    statistics.accepted(b'2', GOAL)
    assert statistics.waiting == 1
    statistics.finished(b'2', GOAL, Result(Outcome.ENGINE_ERROR, 'gone', (), Metrics()))
    assert statistics.waiting == 0 and statistics.last_error == 'gone'


def test_an_observer_that_fails_stops_nobody() -> None:
    class Failing:
        def __getattr__(self, name: str):
            raise RuntimeError(name)

    errors: list[str] = []
    statistics = GoalStatistics()
    _run(GoalObservers([Failing(), statistics], errors.append))  # type: ignore[list-item]
    assert statistics.goals == 1 and len(errors) == 13
