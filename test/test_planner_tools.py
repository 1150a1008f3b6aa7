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
"""Each kind of tool: a real model, a real planner, and the robot's own state as judge."""

import json

from edge_llm_interfaces.action import Plan
from edge_llm_interfaces.msg import PlanStep
from edge_llm_ros.cli.calls import transition
import pytest
from robot_bench import ABORTED, Bench, CLEANUP, CONFIGURE, DEACTIVATE, only

OUTCOME = Plan.Result


def _steps(end):
    return [(s.tool, json.loads(s.arguments), s.status) for s in end.result.steps]


def test_service(bench: Bench, tiny_model: str) -> None:
    bench.robot()
    bench.planner(tiny_model, only('set_gripper', state={'values': {'closed': {'data': True}}}))
    end = bench.plan('Close the gripper.', max_steps=1)
    assert (end.status, end.result.outcome) == (ABORTED, OUTCOME.MAX_STEPS)
    assert _steps(end) == [('set_gripper', {'state': 'closed'}, PlanStep.STATUS_SUCCEEDED)]
    assert json.loads(end.result.steps[0].observation) == {'gripper': 'closed'}
    assert bench.state()['gripper'] == 'closed'


def test_action(bench: Bench, tiny_model: str) -> None:
    bench.robot(speed=8.0)
    bench.planner(tiny_model, only('move_to', place={'enum': ['office']}))
    goal = bench.send('Go.', max_steps=1)
    goal.until(lambda f: f.event == Plan.Feedback.EVENT_PROGRESS and 'distance_remaining' in f.
               partial_text)
    end = goal.end()
    assert _steps(end) == [('move_to', {'place': 'office'}, PlanStep.STATUS_SUCCEEDED)]
    assert bench.state()['place'] == 'office'


def test_publish_once(bench: Bench, tiny_model: str) -> None:
    bench.robot()
    bench.planner(tiny_model, only('say'))
    end = bench.plan('Say hello.', max_steps=1)
    text = json.loads(end.result.steps[0].arguments)['text']
    bench.until(lambda: bench.state()['said'] == [{'place': 'dock', 'text': text}], 5)


def test_publish_at_rate_ends_with_stop(bench: Bench, tiny_model: str) -> None:
    # Without a watchdog only the stop message stops this robot.
    bench.robot(watchdog=0.0)
    bench.planner(tiny_model, only('creep', speed={'enum': [0.3]}, seconds={'enum': [1.0]}))
    end = bench.plan('Creep.', max_steps=1)
    assert end.result.steps[0].status == PlanStep.STATUS_SUCCEEDED, end.result
    state = bench.state()
    assert state['x'] == pytest.approx(0.3, abs=0.08)
    bench.spin(0.5)
    assert bench.state()['x'] == state['x'] and not bench.state()['moving']


def test_read(bench: Bench, tiny_model: str) -> None:
    bench.robot(battery_percent=42.0)
    tools = only('get_battery')
    tools['get_battery']['result'] = {
        'percent': {'field': 'percentage', 'scale': 100.0, 'digits': 0}
    }
    bench.planner(tiny_model, tools)
    end = bench.plan('How full is the battery?', max_steps=1)
    percent = json.loads(end.result.steps[0].observation)['percent']
    assert isinstance(percent, int) and 42 <= percent <= 100  # it stands on the dock


def test_read_of_a_silent_topic_is_told(bench: Bench, tiny_model: str) -> None:
    tools = only('get_battery')
    tools['get_battery']['timeout'] = 0.5
    bench.planner(tiny_model, tools)
    end = bench.plan('How full is the battery?', max_steps=1)
    assert end.result.steps[0].status == PlanStep.STATUS_FAILED
    assert "no message on 'battery_state'" in end.result.steps[0].error


def test_dry_run_reads_and_does_not_act(bench: Bench, tiny_model: str) -> None:
    bench.robot()
    tools = only('set_lights', state={'values': {'on': {'data': True}}})
    bench.planner(tiny_model, tools)
    end = bench.plan('Light.', max_steps=1, dry_run=True)
    assert _steps(end) == [('set_lights', {'state': 'on'}, PlanStep.STATUS_DRY_RUN)]
    assert json.loads(end.result.steps[0].observation) == {'lights': 'as asked'}
    assert bench.state()['lights'] is False


def test_notes_outlive_a_planner(bench: Bench, tiny_model: str) -> None:
    path = bench.folder / 'notes.json'
    builtins = {'finish': False, 'wait': 0.0, 'compare': False, 'notes': 4}
    path.write_text('{"notes": [{"about": "Anna", "text": "likes tea"}]}')
    bench.planner(tiny_model, {}, builtins=builtins, notes_file=str(path))
    end = bench.plan('Note it.', max_steps=1, allowed_tools=['remember'])
    (tool, arguments, status), = _steps(end)
    assert (tool, status) == ('remember', PlanStep.STATUS_SUCCEEDED), end.result
    assert json.loads(path.read_text())['notes'] == [
        {'about': 'Anna', 'text': 'likes tea'},
        {name: text.strip() for name, text in arguments.items()}]
    bench.planner(tiny_model, {}, builtins=builtins, notes_file=str(path), name='other',
                  active=False)
    assert not transition(bench.node, 'other', CONFIGURE)
    assert 'another planner keeps its notes there' in bench.logs()
    for number in (DEACTIVATE, CLEANUP):
        assert transition(bench.node, 'planner', number)
    path.write_text('[1')
    assert not transition(bench.node, 'other', CONFIGURE)
    assert 'notes.json cannot be read' in bench.logs()


@pytest.mark.parametrize('fault, status, reason',
                         [('silent', PlanStep.STATUS_FAILED, 'no response'),
                          ('fail', PlanStep.STATUS_FAILED, 'hardware reports a fault')])
def test_service_faults_are_told(bench: Bench, tiny_model: str, fault: str, status: int,
                                 reason: str) -> None:
    bench.robot()
    bench.fault('set_gripper', fault)
    tools = only('set_gripper', state={'values': {'closed': {'data': True}}})
    tools['set_gripper']['timeout'] = 4.0  # the service is to be found in it, on a busy machine
    bench.planner(tiny_model, tools)
    end = bench.plan('Close.', max_steps=1)
    assert end.result.steps[0].status == status and reason in end.result.steps[0].error
    assert json.loads(end.result.steps[0].observation)['error'] == end.result.steps[0].error


@pytest.mark.parametrize('fault, reason', [('reject', 'rejected'),
                                           ('abort', 'aborted: a wheel is blocked'),
                                           ('hang', 'the goal was stopped')])
def test_action_faults_are_told(bench: Bench, tiny_model: str, fault: str, reason: str) -> None:
    bench.robot()
    bench.fault('move_to', fault)
    tools = only('move_to', place={'enum': ['office']})
    tools['move_to']['timeout'] = 5.0
    bench.planner(tiny_model, tools)
    end = bench.plan('Go.', max_steps=1)
    assert end.result.steps[0].status == PlanStep.STATUS_FAILED
    assert reason in end.result.steps[0].error
    assert not bench.state()['moving']


def test_a_service_that_is_not_there_is_told(bench: Bench, tiny_model: str) -> None:
    tools = only('pick_up')
    tools['pick_up']['timeout'] = 0.5
    bench.planner(tiny_model, tools)
    end = bench.plan('Pick it up.', max_steps=1)
    assert "no service 'pick_up'" in end.result.steps[0].error
