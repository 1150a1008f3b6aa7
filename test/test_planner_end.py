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

"""How the planner ends, and races at the beginning and the end of goals."""

import signal
import subprocess
import sys
import time

from action_msgs.srv import CancelGoal
from edge_llm_interfaces.action import Plan
from edge_llm_ros.cli.calls import set_parameter
from lifecycle_msgs.srv import ChangeState
import pytest
from robot_bench import Bench, CANCELED, CONFIGURE, only, SUCCEEDED

OUTCOME = Plan.Result
PLAN = [sys.executable, '-m', 'edge_llm_ros.cli.main', 'plan']


def _plan(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([*PLAN, *arguments], capture_output=True, text=True, timeout=90)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_idle_ends_it_cleanly(bench: Bench, tiny_model: str, number: int) -> None:
    for active in (False, True):
        process = bench.planner(tiny_model,
                                only('get_location'),
                                active=active,
                                name=f'planner_{active}')
        if not active:
            bench.until(lambda: bench.node.get_node_names().count('planner_False') > 0)
        process.process.send_signal(number)
        assert process.process.wait(5.0) == 0, process.log_text()
        assert 'Traceback' not in process.log_text()


@pytest.mark.parametrize('tool', ['creep', 'move_to'])
def test_a_signal_while_the_robot_moves_stops_it(bench: Bench, tiny_model: str, tool: str) -> None:
    # Without its watchdog only the planner's own stop message, or cancel, stops this robot.
    bench.robot(watchdog=0.0, speed=0.5)
    arguments = {'creep': {'speed': {'enum': [0.3]}, 'seconds': {'enum': [5.0]}},
                 'move_to': {'place': {'enum': ['office']}}}[tool]
    process = bench.planner(tiny_model, only(tool, **arguments))
    goal = bench.send('Go.')
    bench.until(lambda: bench.state()['distance'] > 0.1)
    process.process.send_signal(signal.SIGTERM)
    end = goal.end(10.0)
    assert end.result.outcome == OUTCOME.DEACTIVATED
    bench.until(lambda: process.process.poll() is not None, 5.0)
    assert process.process.returncode == 0 and 'Traceback' not in process.log_text()
    state = bench.state()
    bench.spin(0.5)
    assert bench.state()['distance'] == state['distance'] < 2 and not bench.state()['moving']


@pytest.mark.parametrize('phase, reason', [
    ('request', ''), ('load', 'loading the model was given up'),
    ('warm-up', 'the warm-up was canceled')])
def test_a_signal_in_configure_ends_it(bench: Bench, demo_model: str, phase: str, reason: str
                                       ) -> None:
    process = bench.planner(demo_model, only('get_location'), active=False, prompt={
        'version': 1, 'system': 'Look at the table and the shelf. ' * 200})
    client = bench.node.create_client(ChangeState, 'planner/change_state')
    bench.until(client.service_is_ready)
    request = ChangeState.Request()
    request.transition.id = CONFIGURE
    client.call_async(request)
    marks = {'request': '', 'load': 'loading ', 'warm-up': 'loaded in'}
    bench.until(lambda: marks[phase] in bench.logs(), 60)
    process.process.send_signal(signal.SIGINT)
    assert process.process.wait(5.0) == 0, process.log_text()
    assert 'Traceback' not in process.log_text() and reason in process.log_text()


def test_a_cancel_at_any_moment_ends_the_goal_once(bench: Bench, test_model: str) -> None:
    """From before the acceptance to after the end; no goal is lost, and the planner goes on."""
    bench.robot()
    bench.planner(test_model, only('get_location', **{}), queue_length=3, loop_limit=100)
    canceler = bench.node.create_client(CancelGoal, 'planner/plan/_action/cancel_goal')
    bench.until(canceler.service_is_ready)
    outcomes = set()
    for i in range(40):
        goal = bench.send('Look.', max_steps=3)
        time.sleep(0.0005 * (i % 20))
        goal.handle.cancel_goal_async()
        end = goal.end(20.0)
        assert (end.result.outcome == OUTCOME.CANCELED) == (end.status == CANCELED)
        outcomes.add(end.result.outcome)
    assert outcomes <= {OUTCOME.CANCELED, OUTCOME.MAX_STEPS} and OUTCOME.CANCELED in outcomes
    assert bench.plan('Look.', max_steps=1).result.outcome == OUTCOME.MAX_STEPS
    assert 'Traceback' not in bench.logs()


@pytest.mark.parametrize('goals', [40, pytest.param(200, marks=pytest.mark.soak)])
def test_a_cancel_at_the_instant_of_success(bench: Bench, tiny_model: str, goals: int) -> None:
    """Goals that succeed in some milliseconds, each canceled as near to that as can be aimed."""
    bench.planner(tiny_model, {}, builtins={'finish': True, 'wait': 0.0, 'compare': False},
                  text_length=8, temperature=2.0)
    # Random weights and the seed decide what is reported: one with which it is a success.
    for seed in range(1, 50):
        start = time.monotonic()
        if bench.plan('Go on.').status == SUCCEEDED:
            break
        assert set_parameter(bench.node, 'planner', 'seed', seed) == ''
    delay, outcomes = time.monotonic() - start, []
    for _ in range(goals):
        start = time.monotonic()
        goal = bench.send('Go on.')
        bench.until(lambda: time.monotonic() >= start + delay)
        goal.handle.cancel_goal_async()
        end = goal.end(20.0)
        expected = {CANCELED: OUTCOME.CANCELED, SUCCEEDED: OUTCOME.SUCCEEDED}
        assert end.result.outcome == expected[end.status]
        outcomes.append(end.result.outcome)
        # Nearer to the border between the two.
        delay *= 1.1 if end.status == CANCELED else 0.9
    counts = {outcome: outcomes.count(outcome) for outcome in expected.values()}
    print(f'{counts}, the last cancel {delay * 1e3:.1f} ms after the goal was sent')
    assert min(counts.values()) >= goals // 10
    assert bench.plan('Go on.').status == SUCCEEDED and 'Traceback' not in bench.logs()


def test_two_planners_in_two_namespaces(bench: Bench, tiny_model: str) -> None:
    places = {'red': 'office', 'blue': 'kitchen'}
    for namespace, place in places.items():
        bench.robot(namespace, speed=8.0)
        bench.planner(tiny_model, only('move_to', place={'enum': [place]}), namespace=namespace)
    goals = {namespace: bench.send('Go.', f'{namespace}/planner', max_steps=1)
             for namespace in places}
    for namespace, goal in goals.items():
        end = goal.end()
        assert end.result.outcome == OUTCOME.MAX_STEPS
        assert places[namespace] in end.result.steps[0].arguments
    for namespace, place in places.items():
        assert bench.state(namespace)['path'] == ['dock', place]


def test_cancel_of_all_goals(bench: Bench, test_model: str) -> None:
    bench.robot(speed=0.3)
    bench.planner(test_model, only('move_to', place={'enum': ['office']}))
    goals = [bench.send('Go.') for _ in range(3)]
    bench.until(lambda: bench.state()['distance'] > 0.1)
    canceler = bench.node.create_client(CancelGoal, 'planner/plan/_action/cancel_goal')
    bench.until(canceler.service_is_ready)
    answer = canceler.call_async(CancelGoal.Request())
    bench.until(answer.done)
    assert len(answer.result().goals_canceling) == 3
    assert [g.end(10.0).status for g in goals] == [CANCELED] * 3
    assert not bench.state()['moving']


def test_a_goal_that_cannot_fit_is_rejected_at_once(bench: Bench, test_model: str) -> None:
    bench.planner(test_model, only('get_location'))
    assert bench.send('Look. ' + '</tool_call>' * 20000) is None
    assert 'the most that can fit' in bench.logs()


def test_plan_says_at_once_that_a_configure_failed(bench: Bench, tiny_model: str) -> None:
    bench.planner('/nowhere/model.gguf', only('get_location'), active=False, autostart=True)
    start = time.monotonic()
    result = _plan('--wait', '60', 'Look.')
    assert result.returncode == 2 and time.monotonic() - start < 30
    assert 'is unconfigured' in result.stderr and 'its log says why' in result.stderr
    assert 'there is no file' in bench.logs()


def test_plan_waits_for_a_planner_that_starts_by_itself(bench: Bench, tiny_model: str) -> None:
    bench.robot()
    bench.planner(tiny_model, only('get_location'), active=False, autostart=True)
    result = _plan('--wait', '60', '--max-steps', '1', 'Look.')
    assert result.returncode == 1 and 'MAX_STEPS' in result.stdout
    assert 'get_location {}' in result.stdout


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ending_plan_stops_the_robot(bench: Bench, tiny_model: str, number: int) -> None:
    bench.robot(speed=0.5)
    bench.planner(tiny_model, only('move_to', place={'enum': ['office']}))
    process = subprocess.Popen(PLAN + ['Go.'], stdout=subprocess.PIPE, text=True)
    bench.until(lambda: bench.state()['distance'] > 0.2)
    process.send_signal(number)
    output, _ = process.communicate(timeout=15)
    assert process.returncode == 1 and 'CANCELED' in output
    state = bench.state()
    bench.spin(0.5)
    assert bench.state()['distance'] == state['distance'] < 3


def test_a_service_of_another_type_is_named(bench: Bench, tiny_model: str) -> None:
    bench.robot()
    tools = only('pick_up')
    tools['pick_up'].update(
        service={'name': 'set_lights', 'type': 'std_srvs/srv/Trigger'}, timeout=3.0)
    bench.planner(tiny_model, tools)
    end = bench.plan('Pick it up.', max_steps=1)
    assert "'set_lights' is of type std_srvs/srv/SetBool, not std_srvs/srv/Trigger" in (
        end.result.steps[0].error)
