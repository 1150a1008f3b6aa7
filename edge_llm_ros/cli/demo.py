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

"""`edge_llm demo`: plain-language goals on a simulated robot, judged by the robot's own state."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
import json
import os
from pathlib import Path
import random
import signal
import sys
import tempfile
import time
from typing import Any

from ament_index_python.packages import get_package_share_directory
from edge_llm_interfaces.action import Plan
from edge_llm_ros.cli.calls import robot_state, set_parameter, transition
from edge_llm_ros.cli.plan_client import PlanClient
from edge_llm_ros.cli.plan_view import PlanView
from edge_llm_ros.cli.processes import NodeProcess
from edge_llm_ros.eval.eval_setup import launched
from edge_llm_ros.flow.errors import EdgeLlmError
from lifecycle_msgs.msg import Transition
import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

State = Mapping[str, Any]


@dataclass(frozen=True)
class DemoGoal:
    """
    A goal and what the robot's state must be afterwards.

    :param reached: takes the robot's state before and after
    :param battery: charge that the robot gets before, percent
    """

    instruction: str
    reached: Callable[[State, State], bool]
    battery: float = 80.0
    parameters: Mapping[str, Any] = field(default_factory=dict)


def _went(before: State, after: State) -> list[str]:
    """Return the places visited during a goal, the first being where it started."""
    path: list[str] = after['path'][len(before['path']) - 1:]
    return path


def _said_in(place: str, before: State, after: State) -> bool:
    new = after['said'][len(before['said']):]
    return any(s['place'] == place and 'lunch' in s['text'].lower() for s in new) and all(
        s['place'] == place for s in new)


GOALS = (
    DemoGoal(
        'Go to the kitchen, close the gripper and come back to the dock.', lambda b, a: 'kitchen'
        in _went(b, a) and a['gripper'] == 'closed' and a['place'] == 'dock'),
    DemoGoal(
        'Check the battery; if it is below 20 percent go to the dock, otherwise go to the office.',
        lambda b, a: a['place'] == 'office'),
    DemoGoal(
        'Check the battery; if it is below 20 percent go to the dock, otherwise go to the office.',
        lambda b, a: a['place'] == 'dock',
        battery=12.0),
    DemoGoal('Tell the people in the lab that lunch is ready.',
             lambda b, a: _said_in('lab', b, a)),
    DemoGoal('打开夹爪，然后去办公室。', lambda b, a: a['gripper'] == 'open' and a['place'] == 'office'),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument('--model', required=True, metavar='GGUF', help='file of the model')
    parser.add_argument('--seed', type=int, default=0, help='of the simulated world')
    parser.add_argument('--threads', type=int, default=0)
    parser.add_argument('--prefixes', default='~/.cache/edge_llm_ros/prefixes', metavar='FOLDER',
                        help='keeps the evaluated prefix for the next time; empty for nowhere')
    parser.add_argument('--logs', type=Path, help='folder that keeps the logs of the nodes')


def run(args: argparse.Namespace) -> int:
    """Run all goals; 0 if and only if each was reached by planner's word and robot's state."""
    # A domain of its own, so that the demo neither moves nor hears a robot on this network.
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    os.environ.setdefault('ROS_DOMAIN_ID', str(random.SystemRandom().randrange(1, 101)))
    folder = args.logs or Path(tempfile.mkdtemp(prefix='edge_llm_demo_'))
    config = Path(get_package_share_directory('edge_llm_ros')) / 'config'
    parameters = {
        'model_path': str(args.model), 'step_budget': 120.0, 'threads': args.threads,
        'prefix_folder': str(args.prefixes),
        **launched(config / 'planner.yaml'),
        'tool_files': [str(config / 'simulated_robot.yaml')], 'prompt_file': str(
            config / 'prompt.yaml')
    }
    # The nodes are in sessions of their own: they end when this ends, however it is told to.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        robot = NodeProcess('edge_llm_ros.sim.robot_node', 'simulated_robot', {'seed': args.seed},
                            folder)
        planner = NodeProcess('edge_llm_ros.ros.planner_node', 'planner', parameters, folder)
        with robot, planner:
            node = rclpy.create_node('edge_llm_demo')
            _bring_up(node, planner)
            return 0 if _run_goals(node) else 1
    except KeyboardInterrupt:
        return 130
    except EdgeLlmError as error:
        print(f'edge_llm demo: {error}\nThe logs are in {folder}', file=sys.stderr)
        return 2
    finally:
        rclpy.try_shutdown()


def _bring_up(node: Node, planner: NodeProcess) -> None:
    print('configuring the planner: loading the model and evaluating its prefix once …',
          flush=True)
    start = time.monotonic()
    for number in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
        if not transition(node, 'planner', number, seconds=600.0):
            raise EdgeLlmError(f'the planner cannot be started:\n{planner.log_text()}')
    print(f'ready after {time.monotonic() - start:.1f} s', flush=True)
    for line in planner.log_text().splitlines():
        if 'loaded in' in line or 'and pinned' in line:
            print('  ' + line.split(']: ', 1)[-1])


def _run_goals(node: Node) -> bool:
    client, view, failures = PlanClient(node), PlanView(), 0
    for number, goal in enumerate(GOALS, 1):
        set_parameter(node, 'simulated_robot', 'battery_percent', goal.battery)
        before = robot_state(node)
        print(f'\n[{number}/{len(GOALS)}] {goal.instruction}', flush=True)
        end = client.plan(Plan.Goal(instruction=goal.instruction), view.on_feedback)
        view.show_end(end)
        if end.result.outcome == Plan.Result.CANCELED:
            raise KeyboardInterrupt
        after = robot_state(node)
        reached = goal.reached(before, after)
        failures += not (reached and end.succeeded)
        print(f'     robot: {"as asked" if reached else "NOT as asked"}')
        print(json.dumps(
            {'goal': number, 'outcome': int(end.result.outcome), 'reached': reached, **after},
            ensure_ascii=False),
              flush=True)
    print(f'\n{len(GOALS) - failures} of {len(GOALS)} goals reached')
    return not failures
