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

"""What arrives at another process is what was asked, or nothing was sent."""

from collections.abc import Iterator
import importlib
import json
import math
import os
from pathlib import Path
import random
import select
import subprocess
import sys
import threading
import time
from typing import Any

from echo_peer import dump, READY
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.tool import Observation, Status, ToolCall
from edge_llm_ros.ros.toolset import RosToolset
from edge_llm_ros.tools.builtins import Builtins
from edge_llm_ros.tools.load_tools import LoadedTools
from edge_llm_ros.tools.tool_file import Tool
import pytest
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from wire_values import Values

SEQUENCES = ('bool', 'byte', 'char', 'float32', 'float64', 'int8', 'uint8', 'int16', 'uint16',
             'int32', 'uint32', 'int64', 'uint64', 'string', 'basic_types')
# Type, share of the calls, and the fields that are arguments where it is not all of them.
INTERFACES: dict[str, tuple[str, int, tuple[str, ...]]] = {
    'basic': ('test_msgs/msg/BasicTypes', 20, ()),
    'arrays': ('test_msgs/msg/Arrays', 12, tuple(f'{name}_values' for name in SEQUENCES)),
    'bounded': ('test_msgs/msg/BoundedSequences', 12,
                tuple(f'{name}_values' for name in SEQUENCES)),
    'unbounded': ('test_msgs/msg/UnboundedSequences', 8,
                  tuple(f'{name}_values' for name in SEQUENCES)),
    'texts': ('test_msgs/msg/Strings', 8, ('string_value', 'bounded_string_value')),
    'wide_texts': ('test_msgs/msg/WStrings', 8, ()),
    'nested': ('test_msgs/msg/Nested', 8, ()),
    'times': ('test_msgs/msg/Builtins', 8, ()),
    'service': ('test_msgs/srv/BasicTypes', 8, ()),
    'list_service': ('test_msgs/srv/Arrays', 4, ('string_values', 'float32_values')),
    'action': ('test_msgs/action/NestedMessage', 4, ()),
}
VERBS = {'msg': ('publish', 'topic', ''), 'srv': ('service', 'name', 'Request'),
         'action': ('action', 'name', 'Goal')}


def _message(kind: str) -> Any:
    """Return the class of the message that a call sends."""
    package, group, name = kind.split('/')
    interface = getattr(importlib.import_module(f'{package}.{group}'), name)
    part = VERBS[group][2]
    return getattr(interface, part) if part else interface


def _fields(kind: str) -> dict[str, str]:
    """Return the fields of a nested message, by the name that a description gives it."""
    package, name = kind.split('/')
    return dict(_message(f'{package}/msg/{name}').get_fields_and_field_types())


def _tool(name: str, kind: str, fields: tuple[str, ...]) -> Tool:
    """Return a tool that says nothing of its arguments but their names."""
    verb, key, _ = VERBS[kind.split('/')[1]]
    return Tool.model_validate({
        'description': name, 'effect': 'act', verb: {key: name, 'type': kind}, 'arguments': {
            field: {'description': field}
            for field in fields or _message(kind).get_fields_and_field_types()}})


class Wire:
    """
    Tools of a node, and a peer in another process that writes down what reaches it.

    :param tools: by the names of their topic, service or action
    """

    def __init__(self, node: Node, tools: dict[str, Tool]) -> None:
        kinds = {name: next(v.type for v in (tool.publish, tool.service, tool.action) if v)
                 for name, tool in tools.items()}
        self._toolset = RosToolset(node, ReentrantCallbackGroup(), LoadedTools(
            tools, Builtins(), dict.fromkeys(tools, 'file')))
        self._peer = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / 'echo_peer.py'),
             *(f'{name}={kind}' for name, kind in kinds.items())], stdout=subprocess.PIPE)
        self._rest = b''
        assert self.arrived()[0] == READY
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(node)
        self._thread = threading.Thread(target=self._executor.spin, daemon=True)
        self._thread.start()

    def call(self, name: str, arguments: dict[str, Any]) -> Observation:
        return self._toolset.call(ToolCall(name, arguments), Cancellation(), allowed=None,
                                  dry_run=False, on_progress=lambda _: None)

    def arrived(self, seconds: float = 20.0) -> Any:
        """Return the next message that the peer wrote down; None if there is none in time."""
        deadline = time.monotonic() + seconds
        stream = self._peer.stdout
        assert stream is not None
        while b'\n' not in self._rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([stream], [], [], left)[0]:
                return None
            self._rest += os.read(stream.fileno(), 1 << 16)
        line, _, self._rest = self._rest.partition(b'\n')
        return json.loads(line)

    def close(self) -> None:
        self._executor.shutdown()
        self._thread.join(10)
        self._toolset.destroy()
        self._peer.terminate()
        self._peer.wait(10)


@pytest.fixture
def wire(node: Node, request: pytest.FixtureRequest) -> Iterator[Wire]:
    """Return the tools of the test's parameter on the wire."""
    wire = Wire(node, request.param())
    yield wire
    wire.close()


def _all_tools() -> dict[str, Tool]:
    return {name: _tool(name, kind, fields) for name, (kind, _, fields) in INTERFACES.items()}


def _arguments(values: Values, name: str, spoil: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return arguments of a tool, one of them wrong if asked, and what must arrive of them."""
    kind, _, fields = INTERFACES[name]
    message = _message(kind)
    types = message.get_fields_and_field_types()
    given, there = {}, dump(message())
    for field in fields or types:
        given[field], there[field] = values.right(types[field])
    if spoil:
        field = values._random.choice(list(given))
        given[field] = values.wrong(types[field])
    return given, there


@pytest.mark.parametrize('wire', [_all_tools], indirect=True, ids=['all'])
@pytest.mark.parametrize('count', [
    pytest.param(1000), pytest.param(10_000, marks=[pytest.mark.soak, pytest.mark.timeout(900)])])
def test_what_arrives_is_what_was_asked_or_nothing_was_sent(wire: Wire, count: int) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    generator = random.Random(seed)
    values = Values(generator, _fields)
    names, shares = list(INTERFACES), [share for _, share, _ in INTERFACES.values()]
    sent = 0
    for _ in range(count):
        name, spoil = generator.choices(names, shares)[0], generator.random() < 0.5
        given, there = _arguments(values, name, spoil)
        observation = wire.call(name, given)
        case = f'seed {seed}: {name} {given!r}: {observation}'
        if spoil:
            # Had it been sent all the same, it would be the next message to arrive.
            assert observation.status is Status.REFUSED, case
            continue
        assert observation.status is Status.SUCCEEDED, case
        assert wire.arrived() == [name, there], case
        sent += 1
    assert wire.arrived(0.5) is None and count * 0.4 < sent < count * 0.6


def _pose_tools() -> dict[str, Tool]:
    place = {'lab': {'pose.position.x': 2, 'pose.position.y': -4.5}, 'dock': {}}
    return {'pose': Tool.model_validate({
        'description': 'd', 'effect': 'act',
        'publish': {'topic': 'pose', 'type': 'geometry_msgs/msg/PoseStamped'},
        'arguments': {
            'place': {'description': 'p', 'values': place},
            'heading': {'description': 'h', 'as': 'yaw_degrees', 'field': 'pose.orientation'},
            'frame': {'description': 'f', 'enum': ['map', 'odom'], 'field': 'header.frame_id'}}})}


@pytest.mark.parametrize('wire', [_pose_tools], indirect=True, ids=['pose'])
def test_places_headings_frames_and_stamps_arrive(wire: Wire) -> None:
    start = time.time()
    for place, degrees, frame in (('lab', 90, 'map'), ('dock', -45.5, 'odom'),
                                  ('lab', 270, 'map')):
        observation = wire.call('pose', {'place': place, 'heading': degrees, 'frame': frame})
        assert observation.status is Status.SUCCEEDED, observation
        _, pose = wire.arrived()
        x, y, z, w = (float.fromhex(pose['pose']['orientation'][k]['float']) for k in 'xyzw')
        turned = complex(w, z)**2  # a rotation by half the angle, twice
        assert turned == pytest.approx(complex(math.cos(math.radians(degrees)),
                                               math.sin(math.radians(degrees))), abs=1e-12)
        assert x == y == 0 and pose['header']['frame_id'] == frame
        position = [float.fromhex(pose['pose']['position'][k]['float']) for k in 'xyz']
        assert position == ([2, -4.5, 0] if place == 'lab' else [0, 0, 0])
        stamp = pose['header']['stamp']
        assert start - 1 < stamp['sec'] + stamp['nanosec'] / 1e9 < time.time() + 1
    for heading, frame in ((361, 'map'), (-361, 'map'), ('90', 'map'), (math.nan, 'map'),
                           (90, 'base')):
        observation = wire.call('pose', {'place': 'lab', 'heading': heading, 'frame': frame})
        assert observation.status is Status.REFUSED
    assert wire.arrived(0.3) is None
