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

"""Tools that end in the simulated world of this process, and tell what they tell over ROS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from edge_llm_ros.eval.instant_robot import InstantRobot, Single
from edge_llm_ros.eval.tool_sets import answer_of, switch_words
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import Observation
from edge_llm_ros.sim.commands import SWITCHES
from edge_llm_ros.sim.world import WorldError
from edge_llm_ros.tools.call_cancellation import CallCancellation
from edge_llm_ros.tools.gate import Passage
from edge_llm_ros.tools.load_tools import LoadedTools
from edge_llm_ros.tools.result_field import ANSWER_FIELDS, ResultField
from edge_llm_ros.tools.tool_file import Tool
from edge_llm_ros.tools.toolset import failed, GatedToolset, succeeded

# Fields of the messages that the robot sends back, which results can be made of.
_FIELDS: Mapping[str, frozenset[str]] = {
    'edge_llm_interfaces/action/MoveTo': frozenset({'message', 'place', 'distance'}),
    'std_srvs/srv/SetBool': frozenset(ANSWER_FIELDS),
    'std_srvs/srv/Trigger': frozenset(ANSWER_FIELDS),
    'std_msgs/msg/String': frozenset({'data'}), 'std_msgs/msg/Bool': frozenset({'data'}),
    'sensor_msgs/msg/BatteryState': frozenset({'percentage', 'present'}),
    'sensor_msgs/msg/Temperature': frozenset({'temperature'}),
    'geometry_msgs/msg/Twist': frozenset()}
_SINGLE_DIGITS, _DOUBLE_DIGITS = 7, 15  # significant decimal digits that a field carries


class InstantVerb:
    """
    One tool's way to the robot of this process.

    :param where: file and tool, for messages
    :raises ConfigError: if the simulated robot has nothing like it
    """

    def __init__(self, tool: Tool, where: str, robot: InstantRobot) -> None:
        self._tool = tool
        self._robot = robot
        verb = tool.service or tool.action or tool.publish or tool.read
        assert verb is not None
        self._fields = tool.result_fields()
        self.target = f'{where} {verb.type}'
        known = _FIELDS.get(verb.type)
        if known is None or tool.read is not None and robot.read(tool.read.topic) is None:
            raise ConfigError(f'{where}: the simulated robot has nothing like it.')
        unknown = [f.field for f in self._fields.values()
                   if f.field not in known or f.unit_of_model]
        if unknown:
            raise ConfigError(f'{where}.result: {unknown[0]!r} can be told over ROS only.')

    def prepare(self, passage: Passage) -> None:
        """Return nothing: there is no message."""

    def send(self, message: None, passage: Passage, cancellation: CallCancellation,
             on_progress: Callable[[str], None]) -> Observation:
        """Make the call."""
        if self._tool.service is not None:
            return self._serve(passage)
        if self._tool.action is not None:
            return self._drive(passage)
        if self._tool.publish is not None:
            return self._publish(passage)
        assert self._tool.read is not None
        return succeeded(self._told(self._robot.read(self._tool.read.topic) or {}))

    def _serve(self, passage: Passage) -> Observation:
        tool = self._tool
        assert tool.service is not None
        name = tool.service.name
        try:
            if tool.service.type.endswith('/SetBool'):
                words = () if name in SWITCHES else switch_words(tool)
                text = self._robot.switch(name, passage.fields['data'], words)
            elif tool.effect == 'read':
                text = answer_of(tool)
            else:
                text = self._robot.trigger(name, answer_of(tool))
        except WorldError as error:
            return failed(str(error), result=self._beside_reason({}))
        return succeeded(self._told({'success': True, 'message': text}) or {'success': True})

    def _drive(self, passage: Passage) -> Observation:
        assert self._tool.action is not None
        fields, world, start = passage.fields, self._robot.world, self._robot.world.distance
        error = ''
        try:
            text = self._robot.drive(str(fields.get('place', '')),
                                     float(fields.get('pose.pose.position.x', 0.0)),
                                     float(fields.get('pose.pose.position.y', 0.0)))
        except WorldError as reason:
            text = error = str(reason)
        answer = {'message': text, 'place': world.place,
                  'distance': Single(world.distance - start)}
        if error:
            return failed(f'{self._tool.action.name} aborted: {error}',
                          result=self._beside_reason(answer))
        return succeeded(self._told(answer) or {'success': True})

    def _publish(self, passage: Passage) -> Observation:
        verb = self._tool.publish
        assert verb is not None
        self._robot.publish(verb.topic, passage.fields, passage.duration)
        if verb.rate:
            return succeeded({'seconds': round(passage.duration, 1), 'stopped': True,
                              'subscribers': 1})
        return succeeded({'sent': True, 'subscribers': 1})

    def _told(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {name: _value(fields[field.field], field) for name, field in self._fields.items()}

    def _beside_reason(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {name: _value(fields[field.field], field) for name, field in self._fields.items()
                if field.field not in ANSWER_FIELDS}


def _value(value: Any, field: ResultField) -> Any:
    """Return a field as a tool tells it: scaled, with the digits that its type carries."""
    if isinstance(value, str):
        return field.told(value)
    if isinstance(value, bool):
        return value
    digits = _SINGLE_DIGITS if isinstance(value, Single) else _DOUBLE_DIGITS
    number = float(f'{float(value) * field.scale:.{digits}g}')
    if field.digits is None:
        return number
    return round(number, field.digits) if field.digits else round(number)


def instant_toolset(loaded: LoadedTools, robot: InstantRobot) -> GatedToolset:
    """
    Return tools behind the planner's own gate, with this process' robot behind them.

    :raises ConfigError: if a tool needs what only a robot on ROS has
    """
    for key, needs in (('signals', loaded.signals), ('context_from', loaded.context_from),
                       ('builtins.look_around', loaded.builtins.look_around),
                       ('builtins.ask_person', loaded.builtins.ask_person)):
        if needs:
            raise ConfigError(f'{key}: is there over ROS only.')
    verbs = {}
    for name, tool in loaded.tools.items():
        where = f'{loaded.files[name]}: tools.{name}'
        if any(argument.values_from for argument in tool.arguments.values()):
            raise ConfigError(f'{where}: values_from is there over ROS only.')
        verbs[name] = InstantVerb(tool, where, robot)

    def wait(cancellation: Cancellation, seconds: float) -> bool:
        robot.wait(seconds)
        return cancellation.canceled

    toolset = GatedToolset(loaded, verbs, wait=wait)
    toolset.check_fallback()
    return toolset
