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
"""What operators see of a planner: diagnostics, status, events, traces; and what policies do."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from action_msgs.msg import GoalStatus
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from edge_llm_interfaces.action import Plan
from edge_llm_interfaces.msg import PlanEvent, PlannerStatus
from edge_llm_ros.ros.qos import COMMAND, EVENTS, LATCHED
from edge_llm_ros.trace.timeline import read_trace
import pytest
from rclpy.serialization import deserialize_message
from robot_bench import Bench, CONFIGURE, only, set_parameter, transition

KITCHEN = only('move_to', place={'enum': ['kitchen']})


class Watcher:
    """Keeps what a planner publishes."""

    def __init__(self, bench: Bench) -> None:
        self.statuses: list[PlannerStatus] = []
        self.events: list[PlanEvent] = []
        self.diagnostics: dict[str, DiagnosticStatus] = {}
        self.recorded: list[bytes] = []
        node = bench.node
        node.create_subscription(PlannerStatus, 'planner/status', self.statuses.append, LATCHED)
        node.create_subscription(PlanEvent, 'planner/events', self.events.append, EVENTS)
        # As a recorder does, which does not know what is in a message.
        node.create_subscription(PlanEvent, 'planner/events', self.recorded.append, EVENTS,
                                 raw=True)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_array, COMMAND)

    def _on_array(self, message: DiagnosticArray) -> None:
        self.diagnostics.update({status.name: status for status in message.status})

    def values(self, name: str) -> dict[str, str]:
        """Return the values of a diagnostic status."""
        return {v.key: v.value for v in self.diagnostics[name].values}


@pytest.fixture
def watcher(bench: Bench) -> Iterator[Watcher]:
    """Watch a planner from before it starts."""
    yield Watcher(bench)


def test_operators_see_everything(bench: Bench, tiny_model: str, watcher: Watcher,
                                  tmp_path: Path) -> None:
    bench.robot()
    bench.planner(tiny_model, KITCHEN, trace_dir=str(tmp_path / 'traces'))
    bench.until(lambda: 'planner: model' in watcher.diagnostics
                and 'model' in watcher.values('planner: model'))
    model = watcher.values('planner: model')
    assert model['layers on the GPU'].startswith('0 of ') and float(model['decode [tokens/s]']) > 0
    assert int(model['engine process']) > 0 and model['restarts'] == '0'
    assert int(watcher.values('planner: KV cache')['prefix tokens pinned']) > 100
    assert watcher.diagnostics['planner: planner'].level == DiagnosticStatus.OK
    end = bench.plan('Go to the kitchen.', max_steps=2)
    assert [s.tool for s in end.result.steps] == ['move_to', 'move_to']
    bench.until(lambda: any(e.event == PlanEvent.EVENT_FINISHED for e in watcher.events))
    kinds = [e.event for e in watcher.events]
    assert kinds[:2] == [PlanEvent.EVENT_ACCEPTED, PlanEvent.EVENT_STARTED]
    assert kinds.count(PlanEvent.EVENT_STEP_DONE) == 2
    assert kinds[-1] == PlanEvent.EVENT_FINISHED
    assert watcher.events[-1].outcome == Plan.Result.MAX_STEPS
    assert len({bytes(e.goal_id.uuid) for e in watcher.events}) == 1
    bench.until(lambda: len(watcher.recorded) == len(watcher.events))
    played = [deserialize_message(e, PlanEvent) for e in watcher.recorded]
    assert str(played) == str(watcher.events)  # NaN equals nothing
    bench.until(lambda: watcher.statuses[-1].goals == 1)
    states = [s.state for s in watcher.statuses]
    assert 'configuring' in states and states[-1] == 'active'
    assert any('warm-up' in s.doing or 'loading' in s.doing for s in watcher.statuses)
    assert any(s.doing == 'Go to the kitchen.' for s in watcher.statuses)
    last = watcher.statuses[-1]
    assert last.last_outcome == Plan.Result.MAX_STEPS and last.doing == '' and last.model
    path, = (tmp_path / 'traces').iterdir()
    trace = read_trace(str(path))
    assert [span.tool for span in trace.spans] == ['move_to', 'move_to']
    assert trace.end['outcome'] == 'MAX_STEPS'


def test_a_failed_configure_is_seen(bench: Bench, watcher: Watcher, tiny_model: str) -> None:
    bench.planner('/nowhere/model.gguf', KITCHEN, active=False)
    assert not transition(bench.node, 'planner', CONFIGURE)
    bench.until(lambda: 'planner: planner' in watcher.diagnostics
                and watcher.diagnostics['planner: planner'].level == DiagnosticStatus.ERROR)
    assert 'there is no file' in watcher.diagnostics['planner: planner'].message
    bench.until(lambda: 'there is no file' in watcher.statuses[-1].last_error)
    assert set_parameter(bench.node, 'planner', 'model_path', tiny_model) == ''
    assert transition(bench.node, 'planner', CONFIGURE)
    bench.until(lambda: watcher.diagnostics['planner: planner'].level == DiagnosticStatus.OK)


def _moving(bench: Bench) -> Any:
    """Send a goal whose only call takes long."""
    goal = bench.send('Go.', max_steps=1)
    if goal is not None:
        goal.until(lambda f: f.event == Plan.Feedback.EVENT_CALL)
    return goal


def test_policies(bench: Bench, tiny_model: str) -> None:
    bench.robot(speed=0.1)
    bench.planner(tiny_model, KITCHEN, goal_policy='reject')

    def policy(name: str) -> str:
        return set_parameter(bench.node, 'planner', 'goal_policy', name)

    first = _moving(bench)
    assert bench.send('Go.') is None and 'goal_policy: reject' in bench.logs()
    assert policy('preempt') == ''
    second = _moving(bench)
    end = first.end()
    assert (end.status, end.result.outcome) == (
        GoalStatus.STATUS_ABORTED, Plan.Result.PREEMPTED)
    assert policy('queue') == ''
    third = bench.send('Go.', max_steps=1)
    assert third is not None and policy('preempt') == ''
    fourth = _moving(bench)
    for goal in (second, third):
        assert goal.end().result.outcome == Plan.Result.PREEMPTED
    assert fourth.cancel() < 10
    assert 'one of queue, reject, preempt' in policy('neither')


def test_a_step_has_its_own_time_and_a_fallback_follows(bench: Bench, test_model: str) -> None:
    bench.robot()
    tools = {**only('move_to', place={'enum': ['kitchen', 'dock']}), **only('say')}
    tool_file = bench.file('fallback.yaml', {
        'version': 1, 'builtins': {'finish': False, 'wait': 0.0, 'compare': False},
        'tools': tools, 'fallback': {
            'tool': 'move_to', 'arguments': {'place': 'dock'},
            'message': 'The robot goes home.'}})
    bench.planner(test_model, tools, tool_files=[tool_file], step_budget=0.05)
    end = bench.plan('Say something long.', max_steps=2, allowed_tools=['say'])
    assert end.result.outcome == Plan.Result.TIMEOUT
    assert 'step_budget = 0.05' in end.result.message
    assert 'The robot goes home. The fallback call move_to was made.' in end.result.message
    assert end.result.steps[-1].tool == 'move_to'
    assert bench.state()['place'] == 'dock'
    assert set_parameter(bench.node, 'planner', 'step_budget', 0.0) == ''
    end = bench.plan('Go to the kitchen.', max_steps=1)
    assert end.result.outcome == Plan.Result.MAX_STEPS
