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

"""What ROS costs: a tool call beside the model's time, and a planner that has nothing to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
import os
from pathlib import Path
import random
import signal
import tempfile
import time
from typing import Any

from ament_index_python.packages import get_package_share_directory
from edge_llm_interfaces.action import Plan
from edge_llm_ros.bench.row import Row, row
from edge_llm_ros.cli.calls import robot_state, transition
from edge_llm_ros.cli.live_node import live_node
from edge_llm_ros.cli.plan_client import PlanClient
from edge_llm_ros.cli.processes import NodeProcess
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.errors import EdgeLlmError
from edge_llm_ros.ros.conversions import seconds
from edge_llm_ros.ros.service_client import ServiceClient
from lifecycle_msgs.msg import Transition
from rclpy.node import Node
from std_srvs.srv import SetBool
import yaml

# One of each verb whose peer answers at once, so that what is left is ours and the middleware's.
_TOOLS = ('set_lights', 'get_battery', 'say')
_GOALS = 40  # for each tool
_WARM_UP = 3  # more, of each, that do not count
_PAUSE = 0.1  # seconds before a bare call
_IDLE_PARTS, _IDLE_SECONDS = 5, 2.0


def ros_costs(model: str, tell: Callable[[str], None]) -> Iterator[Row]:
    """Measure a planner and a simulated robot, each a process of its own."""
    with _running(model) as (node, planner):
        idle = row('idle', 'ours', 'cpu', _idle(planner.process.pid), 'cores')
        tell(f'idle planner: {idle.median:.1%} of a core')
        yield idle
        client = PlanClient(node)
        for tool in _TOOLS:
            calls = row(f'calls of {tool}', 'ours', 'ros_s', _calls(client, tool), 's')
            tell(f'ROS in a call of {tool}: {calls.median * 1e3:.1f} ms, 95 percent within '
                 f'{calls.p95 * 1e3:.1f} ms')
            yield calls
        client.destroy()
        bare = row('bare calls of set_lights', 'robot', 'ros_s', _bare_calls(node), 's')
        tell(f'its answer to a bare client: {bare.median * 1e3:.1f} ms, 95 percent within '
             f'{bare.p95 * 1e3:.1f} ms')
        yield bare


@contextmanager
def _running(model: str) -> Iterator[tuple[Node, NodeProcess]]:
    """Run a robot and an active planner in a ROS domain of their own."""
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    os.environ.setdefault('ROS_DOMAIN_ID', str(random.SystemRandom().randrange(1, 101)))
    config = Path(get_package_share_directory('edge_llm_ros')) / 'config'
    parameters: dict[str, Any] = {
        'model_path': model, 'threads': 1, 'step_budget': 0.0, 'text_length': 16}
    # The nodes are in sessions of their own: they end when this ends, however it is told to.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix='edge_llm_bench_') as name, live_node() as node:
        folder = Path(name)
        parameters['tool_files'] = [str(_tools(config / 'simulated_robot.yaml', folder))]
        parameters['prompt_file'] = str(_prompt(folder))
        robot = NodeProcess('edge_llm_ros.sim.robot_node', 'simulated_robot', {}, folder)
        planner = NodeProcess('edge_llm_ros.ros.planner_node', 'planner', parameters, folder)
        with robot, planner:
            robot_state(node)
            for number in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
                if not transition(node, 'planner', number, seconds=600.0):
                    raise EdgeLlmError(f'the planner cannot be started:\n{planner.log_text()}')
            yield node, planner


def _tools(robot: Path, folder: Path) -> Path:
    """Write the tools that are measured, without built-in ones: the model has no other choice."""
    tools = yaml.safe_load(robot.read_text())['tools']
    path = folder / 'tools.yaml'
    path.write_text(yaml.safe_dump({
        'version': 1, 'builtins': {'finish': False, 'wait': 0.0, 'compare': False},
        'tools': {name: tools[name] for name in _TOOLS}}))
    return path


def _prompt(folder: Path) -> Path:
    path = folder / 'prompt.yaml'
    path.write_text(yaml.safe_dump({'version': 1, 'system': 'You control a robot.'}))
    return path


def _calls(client: PlanClient, tool: str) -> Sequence[float]:
    """Return what goals of one call took beside the model's time."""
    costs = []
    for _ in range(_WARM_UP + _GOALS):
        end = client.plan(Plan.Goal(
            instruction='Go on.', allowed_tools=[tool], max_steps=1), lambda feedback: None)
        step, metrics = end.result.steps[0], end.result.metrics
        if step.error:
            raise EdgeLlmError(f'{tool} cannot be called: {step.error}')
        costs.append(seconds(metrics.wall_time) - seconds(metrics.inference_time))
    return costs[_WARM_UP:]


def _bare_calls(node: Node) -> Sequence[float]:
    """Return what the robot and the way to it take of a call, whoever makes it."""
    client, costs = ServiceClient(node, SetBool, 'set_lights'), []
    for _ in range(_WARM_UP + _GOALS):
        time.sleep(_PAUSE)
        start = time.monotonic()
        if not client.ready() or not client.wait_for(
                client.send(SetBool.Request(data=True)), 5.0, Cancellation()):
            raise EdgeLlmError('the robot does not answer.')
        costs.append(time.monotonic() - start)
    client.destroy()
    return costs[_WARM_UP:]


def _idle(pid: int) -> Sequence[float]:
    """Return the cores that a process takes while nobody asks it anything."""
    shares = []
    for _ in range(_IDLE_PARTS):
        before, start = _spent(pid), time.monotonic()
        time.sleep(_IDLE_SECONDS)
        shares.append((_spent(pid) - before) / (time.monotonic() - start))
    return shares


def _spent(pid: int) -> float:
    """Return the seconds of a core that a process has had so far."""
    # In nanoseconds, unlike stat of the process, whose hundredths are half a percent of a part.
    threads = Path(f'/proc/{pid}/task').glob('*/schedstat')
    return sum(int(thread.read_text().split()[0]) for thread in threads) * 1e-9
