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
"""An operator's stop, and a planner that dies: judged by whether the robot moves."""

import signal
from typing import Any

from builtin_interfaces.msg import Duration
from edge_llm_interfaces.action import Plan
from edge_llm_interfaces.msg import PlanStep
from edge_llm_ros.cli.calls import call, transition
import pytest
from robot_bench import ABORTED, ACTIVATE, Bench, DEACTIVATE, only
from std_msgs.msg import Empty
from std_srvs.srv import Trigger

OUTCOME = Plan.Result
MOVES = {'creep': {'speed': {'enum': [0.3]}, 'seconds': {'enum': [5.0]}},
         'move_to': {'place': {'enum': ['office']}}}


def _drive(bench: Bench, model: str, tool: str) -> Any:
    """Start a robot without a watchdog and a planner that has to drive it; return its process."""
    bench.robot(watchdog=0.0, speed=0.3)
    return bench.planner(model, only(tool, **MOVES[tool]))


def _stands(bench: Bench) -> bool:
    distance = bench.state()['distance']
    bench.spin(0.3)
    state = bench.state()
    return state['distance'] == distance and not state['moving']


def _ask(bench: Bench, name: str) -> Any:
    return call(bench.node, Trigger, f'planner/{name}', Trigger.Request())


@pytest.mark.parametrize('tool, topic', [('move_to', False), ('creep', True)])
def test_a_stop_ends_all_goals_and_holds_until_the_release(
        bench: Bench, tiny_model: str, tool: str, topic: bool) -> None:
    _drive(bench, tiny_model, tool)
    publisher = bench.node.create_publisher(Empty, 'planner/stop', 1)
    goals = [bench.send('Go.') for _ in range(2)]
    bench.until(lambda: bench.state()['distance'] > 0.1)
    if topic:
        bench.until(lambda: publisher.get_subscription_count() == 2)
        publisher.publish(Empty())
    else:
        told = _ask(bench, 'stop')
        assert told.success and told.message.startswith('2 goals ended; cancel sent to /move_to')
    ends = [goal.end(5.0) for goal in goals]
    assert [(e.status, e.result.outcome) for e in ends] == [(ABORTED, OUTCOME.STOPPED)] * 2
    assert ends[0].result.message == 'An operator stopped the robot.'
    assert ends[0].result.steps[0].status == PlanStep.STATUS_CANCELED and not ends[1].result.steps
    assert _stands(bench)
    # Deactivating and activating is no release.
    assert bench.send('Go.') is None and 'an operator stopped the robot' in bench.logs()
    assert transition(bench.node, 'planner', DEACTIVATE)
    assert transition(bench.node, 'planner', ACTIVATE)
    assert bench.send('Go.') is None and _stands(bench)
    assert _ask(bench, 'release').success and not _ask(bench, 'release').success
    goal = bench.send('Go.')
    distance = bench.state()['distance']
    bench.until(lambda: bench.state()['distance'] > distance + 0.05)
    goal.cancel()
    assert _stands(bench)


@pytest.mark.parametrize('tool', MOVES)
def test_what_a_killed_planner_left_is_stopped_by_the_next(bench: Bench, tiny_model: str,
                                                           tool: str) -> None:
    process = _drive(bench, tiny_model, tool)
    bench.send('Go.')
    bench.until(lambda: bench.state()['distance'] > 0.1)
    process.process.send_signal(signal.SIGKILL)
    process.process.wait(5.0)
    distance = bench.state()['distance']
    bench.spin(0.5)
    assert bench.state()['distance'] > distance  # nothing else stops this robot
    bench.planner(tiny_model, only(tool, **MOVES[tool]), active=False, autostart=True)
    bench.until(lambda: not bench.state()['moving'], 10.0)
    assert _stands(bench)
    bench.until(lambda: 'ready for goals' in bench.processes[-1].log_text(), 90.0)
    assert 'died and left 1 calls going on' in bench.logs()
    assert _stands(bench)


def test_a_stop_outlives_the_planner_that_took_it(bench: Bench, tiny_model: str) -> None:
    process = bench.planner(tiny_model, only('get_location'))
    assert _ask(bench, 'stop').success
    process.process.send_signal(signal.SIGKILL)
    process.process.wait(5.0)
    bench.planner(tiny_model, only('get_location'), active=False, autostart=True)
    bench.until(lambda: 'ready for goals' in bench.processes[-1].log_text(), 90.0)
    assert 'an operator had stopped the robot' in bench.processes[-1].log_text()


def test_simulated_time_without_a_clock(bench: Bench, tiny_model: str) -> None:
    bench.robot(speed=8.0)
    tools = only('move_to', place={'enum': ['office']})
    tools['move_to']['timeout'] = 4.0
    bench.planner(tiny_model, tools, use_sim_time=True)
    bench.fault('move_to', 'hang')
    end = bench.plan('Go.', 20.0, max_steps=1)
    assert 'not done within 4 s; the goal was stopped' in end.result.steps[0].error
    end = bench.plan('Go.', 20.0, max_steps=100, time_budget=Duration(sec=2))
    assert end.result.outcome == OUTCOME.TIMEOUT and _stands(bench)
