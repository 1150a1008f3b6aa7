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
"""A toolset on a node that spins in a thread, and its peers in a process of their own."""

from collections.abc import Mapping
import json
import os
from pathlib import Path
import subprocess
import sys
import threading
import time
from typing import Any

from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.tool import Observation, ToolCall
from edge_llm_ros.ros.toolset import RosToolset
from edge_llm_ros.tools.builtins import Builtins
from edge_llm_ros.tools.load_tools import LoadedTools
from edge_llm_ros.tools.tool_file import ReadVerb, Tool
from rcl_interfaces.srv import SetParameters
import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

PEERS = Path(__file__).resolve().parent / 'tool_peers.py'
MOVE = {'description': 'd', 'effect': 'act', 'result': ['message'], 'timeout': 20.0,
        'action': {'name': 'move', 'type': 'edge_llm_interfaces/action/MoveTo'},
        'arguments': {'place': {'description': 'p'}}}
LIGHTS = {'description': 'd', 'effect': 'act', 'timeout': 5.0,
          'service': {'name': 'lights', 'type': 'std_srvs/srv/SetBool'}, 'fixed': {'data': True}}
CREEP = {'description': 'd', 'effect': 'act', 'timeout': 5.0, 'fixed': {'linear': {'x': 0.3}},
         'publish': {'topic': 'cmd_vel', 'type': 'geometry_msgs/msg/Twist', 'rate': 20.0,
                     'duration': 2.0}}
SAY = {'description': 'd', 'effect': 'act', 'fixed': {'data': 'hello'},
       'publish': {'topic': 'say', 'type': 'std_msgs/msg/String'}}
SCAN = {'description': 'd', 'effect': 'read', 'result': ['temperature'], 'timeout': 3.0,
        'read': {'topic': 'scan', 'type': 'sensor_msgs/msg/Temperature'}}
BATTERY = {'topic': 'battery', 'type': 'sensor_msgs/msg/BatteryState', 'max_age': 0.5}


def loaded(tools: Mapping[str, Any], signals: Mapping[str, Any] | None = None) -> LoadedTools:
    """Return tools as if they came from a file."""
    return LoadedTools(
        {name: Tool.model_validate(tool) for name, tool in tools.items()}, Builtins(),
        dict.fromkeys(tools, 'tools.yaml'),
        {name: ReadVerb.model_validate(s) for name, s in (signals or {}).items()})


class ToolsetBench:
    """
    Makes toolsets on one node and calls them.

    :param options: of the node
    """

    def __init__(self, name: str = 'planner', **options: Any) -> None:
        self.context = rclpy.Context()
        self.context.init()
        self.node = rclpy.create_node(name, context=self.context, **options)
        self.group = ReentrantCallbackGroup()
        self._executor = MultiThreadedExecutor(num_threads=4, context=self.context)
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()
        self._made: list[RosToolset] = []
        self._report = self.node.create_client(Trigger, 'peers/report')
        self._parameters = self.node.create_client(SetParameters, 'peers/set_parameters')

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except ExternalShutdownException:
            pass

    def toolset(self, tools: Mapping[str, Any], signals: Mapping[str, Any] | None = None,
                **options: Any) -> RosToolset:
        """Return a toolset that is destroyed with the bench, or by ``drop()``."""
        toolset = RosToolset(self.node, self.group, loaded(tools, signals), **options)
        self._made.append(toolset)
        return toolset

    def drop(self) -> None:
        """Destroy all toolsets."""
        while self._made:
            self._made.pop().destroy()

    def ask(self, client: Any, request: Any) -> Any:
        """Call a service of the peers."""
        assert client.wait_for_service(10.0)
        future = client.call_async(request)
        until(future.done)
        return future.result()

    def report(self) -> dict[str, Any]:
        """Return what the peers got."""
        report: dict[str, Any] = json.loads(self.ask(self._report, Trigger.Request()).message)
        return report

    def set_peers(self, **parameters: Any) -> None:
        """Set parameters of the peers."""
        self.ask(self._parameters, SetParameters.Request(parameters=[
            Parameter(name, value=value).to_parameter_msg()
            for name, value in parameters.items()]))

    def stop(self) -> None:
        """End the node."""
        self.drop()
        self._executor.shutdown(timeout_sec=2.0)
        self.context.try_shutdown()
        self._thread.join(5.0)


def until(condition: Any, seconds: float = 20.0) -> None:
    """Wait until a condition holds; fail if it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, 'timed out'
        time.sleep(0.01)


def call(toolset: Any, name: str, goal: Cancellation | None = None, dry_run: bool = False,
         lines: list[str] | None = None, **arguments: Any) -> Observation:
    """Make a call."""
    progress = lines if lines is not None else []
    observation: Observation = toolset.call(
        ToolCall(name, arguments), goal or Cancellation(), allowed=None, dry_run=dry_run,
        on_progress=progress.append)
    return observation


class Calling:
    """A call in a thread."""

    def __init__(self, toolset: Any, name: str, **arguments: Any) -> None:
        self.goal = Cancellation()
        self.lines: list[str] = []
        self._end: list[Observation] = []
        self._thread = threading.Thread(target=lambda: self._end.append(call(
            toolset, name, self.goal, lines=self.lines, **arguments)), daemon=True)
        self._thread.start()

    def end(self, seconds: float = 30.0) -> Observation:
        """Wait for the observation."""
        self._thread.join(seconds)
        assert self._end, 'the call did not end'
        return self._end[0]


def start_peers(folder: Path, *, mortal: bool = False) -> subprocess.Popen:
    """
    Start peers in a process that ends with this one.

    :param mortal: whether they are in a namespace of this name, and their death by a signal is
        noticed within two seconds rather than twenty
    """
    env = dict(os.environ)
    arguments = ['--ros-args', '-r', '__ns:=/mortal'] if mortal else []
    if mortal:
        profile = folder / 'short_lease.xml'
        profile.write_text(
            '<dds><profiles xmlns="http://www.eprosima.com"><participant profile_name="short" '
            'is_default_profile="true"><rtps><builtin><discovery_config><leaseDuration><sec>2'
            '</sec></leaseDuration><leaseAnnouncement><sec>0</sec><nanosec>500000000</nanosec>'
            '</leaseAnnouncement></discovery_config></builtin></rtps></participant></profiles>'
            '</dds>')
        env.update(FASTRTPS_DEFAULT_PROFILES_FILE=str(profile),
                   FASTDDS_DEFAULT_PROFILES_FILE=str(profile))
    with (folder / 'peers.log').open('a') as log:
        return subprocess.Popen(
            [sys.executable, str(PEERS), *arguments],
            stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, env=env)
