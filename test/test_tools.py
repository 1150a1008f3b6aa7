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
"""Tool files, the gate, and messages that are exact or not sent."""

import json
import math
from pathlib import Path
import struct
import time

from edge_llm_interfaces.action import MoveTo
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.result import Outcome
from edge_llm_ros.flow.tool import Status, ToolCall
from edge_llm_ros.ros.convert import fill
from edge_llm_ros.ros.messages import get, interface
from edge_llm_ros.ros.plain_value import plain
from edge_llm_ros.ros.request_maker import RequestMaker
from edge_llm_ros.tools.gate import pass_gate, Refused
from edge_llm_ros.tools.load_tools import load_tools, LoadedTools
from edge_llm_ros.tools.read_file import read_file
from edge_llm_ros.tools.strict_yaml import read_yaml
from edge_llm_ros.tools.tool_file import Tool, ToolFile
from edge_llm_ros.tools.toolset import GatedToolset
from geometry_msgs.msg import Twist
from hypothesis import given, strategies as st
import pytest
from sensor_msgs.msg import BatteryState
from std_msgs.msg import Bool, Float32, String
from test_msgs.msg import Arrays, BasicTypes, BoundedSequences, WStrings
import yaml

CONFIG = Path(__file__).resolve().parent.parent / 'config'
TOOL = """
version: 1
tools:
  go:
    description: Drive.
    effect: act
    action: {name: move_to, type: edge_llm_interfaces/action/MoveTo}
    arguments:
      place: {description: Where to, enum: [lab, dock]}
"""


def _file(tmp_path: Path, text: str) -> str:
    path = tmp_path / 'tools.yaml'
    path.write_text(text)
    return str(path)


def test_the_files_that_ship_are_valid() -> None:
    loaded = load_tools([str(CONFIG / 'simulated_robot.yaml')])
    assert len(loaded.tools) >= 12 and loaded.builtins.finish


@pytest.mark.parametrize('change, where, reason', [
    (('version: 1', 'version: 2'), 'version', 'should be 1'),
    (('effect: act', 'effect: fly'), 'tools.go.effect', "'read' or 'act'"),
    (('effect: act', ''), 'tools.go.effect', 'is missing'),
    (('description: Drive.', 'description: ""'), 'tools.go.description', 'at least 1'),
    (('name: move_to', 'name: /move_to'), 'tools.go.action.name', 'no leading "/"'),
    (('edge_llm_interfaces/action/MoveTo', 'MoveTo'), 'tools.go.action.type', 'not an interface'),
    (('enum: [lab, dock]', 'type: string, enum: [lab, 1]'), 'tools.go.arguments.place',
     'text is needed, not the number 1'),
    (('enum: [lab, dock]', 'max_length: 9, minimum: 1'), 'tools.go.arguments.place',
     'for numbers'),
    (('enum: [lab, dock]', 'enmu: [lab]'), 'tools.go.arguments.place.enmu', 'is not a key here'),
    (('enum: [lab, dock]', 'type: number, minimum: 010'), 'minimum', 'valid number'),
    (('enum: [lab, dock]', 'type: number, minimum: .nan'), 'minimum', 'valid number'),
    (('enum: [lab, dock]', 'type: number, minimum: 12:30'), 'minimum', 'valid number'),
    (('name: move_to', 'name: move//to'), 'tools.go.action.name', 'not a relative'),
    (('edge_llm_interfaces/action/MoveTo', 'std_srvs/srv/SetBool'), 'tools.go.action.type',
     'package/action/Name'),
    (('effect: act', 'effect: act\n    fixed: {place: lab}'), 'tools.go',
     "both set the field 'place'"),
    (('effect: act', 'effect: act\n    dry_run_result: !!timestamp 2020-01-01'), 'line 7',
     'not allowed'),
    (('  go:', '  Go:'), 'tools', "'Go' is not a name"),
    (('  go:', '  finish:'), 'tools', 'built in'),
    (('effect: act', 'effect: act\n    read: {topic: t, type: std_msgs/msg/Bool}'), 'tools.go',
     'exactly one of'),
    (('    action: {name: move_to, type: edge_llm_interfaces/action/MoveTo}\n', ''), 'tools.go',
     'exactly one of'),
    (('effect: act', 'effect: act\n    effect: act'), 'line 7', "'effect' is there twice"),
    (('place: {', '1: {'), 'line 9', 'quote it'),
    (('[lab, dock]', '&a [lab, *a]'), 'line 9', 'aliases'),
    (('[lab, dock]', '[lab, dock'), 'line', 'expected'),
    (('description: Drive.', 'description: !!python/name:os.system x'), 'line 5',
     'is not allowed'),
])
def test_errors_name_file_and_key(tmp_path: Path, change: tuple[str, str], where: str,
                                  reason: str) -> None:
    assert change[0] in TOOL
    path = _file(tmp_path, TOOL.replace(*change))
    with pytest.raises(ConfigError) as error:
        read_file(path, ToolFile)
    assert path in str(error.value) and where in str(error.value) and reason in str(error.value)


@pytest.mark.parametrize('text', ['[1]', '', 'a: b: c', '\t', '{' * 3000])
def test_yaml_that_is_no_mapping_is_an_error_in_words(tmp_path: Path, text: str) -> None:
    start = time.monotonic()
    with pytest.raises(ConfigError, match='tools.yaml'):
        read_yaml(_file(tmp_path, text))
    assert time.monotonic() - start < 20  # bounded, whatever the file


def test_two_files_may_not_define_the_same_tool(tmp_path: Path) -> None:
    path = _file(tmp_path, TOOL)
    with pytest.raises(ConfigError, match='tools.go'):
        load_tools([path, path])


def _tool(**fields: object) -> Tool:
    base = yaml.safe_load(TOOL)['tools']['go']
    return Tool.model_validate({**base, **fields})


NUMBERS = _tool(arguments={
    'speed':
    {'description': 'v', 'type': 'number', 'minimum': -1, 'maximum': 2, 'field': 'linear.x'},
    'count': {'description': 'n', 'type': 'integer', 'default': 3},
    'hot': {'description': 'h', 'type': 'boolean', 'default': False},
    'room': {
        'description': 'r', 'values':
        {'lab': {'pose.x': 1.0, 'pose.y': 2.0}, 'dock': {'pose.x': 0.0}}
    },
},
                fixed={'frame': 'map'})


def test_the_gate_maps_words_defaults_and_fixed_fields() -> None:
    fields = pass_gate(NUMBERS, {'speed': 1, 'room': 'lab'}).fields
    assert fields == {
        'frame': 'map', 'linear.x': 1, 'count': 3, 'hot': False, 'pose.x': 1.0, 'pose.y': 2.0
    }


@pytest.mark.parametrize(
    'arguments, reason',
    [({'room': 'lab'}, "'speed' is missing"),
     ({'speed': 2.1, 'room': 'lab'}, 'above the maximum 2'),
     ({'speed': -1.1, 'room': 'lab'}, 'below'),
     ({'speed': '1', 'room': 'lab'}, 'a number is needed, not the text "1"'),
     ({'speed': True, 'room': 'lab'}, 'a number is needed, not true'),
     ({'speed': 1, 'room': 'attic'}, 'lab, dock'),
     ({'speed': math.nan, 'room': 'lab'}, 'not a finite'),
     ({'speed': math.inf, 'room': 'lab'}, 'not a finite'),
     ({'speed': 1, 'room': 'lab', 'count': 1.5}, 'a whole number is needed, not the number 1.5'),
     ({'speed': 1, 'room': 'lab', 'hot': 'false'}, 'true or false is needed'),
     ({'speed': 1, 'room': 'lab', 'frame': 'odom'}, "unknown argument 'frame'"),
     ({'speed': None, 'room': 'lab'}, 'is missing')])
def test_the_gate_refuses_in_words(arguments: dict, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        pass_gate(NUMBERS, arguments)


class _Verb:
    """Counts what is sent, and can break."""

    def __init__(self, error: Exception | None = None) -> None:
        self.sent, self._error = 0, error

    def prepare(self, passage):
        if self._error:
            raise self._error
        return passage

    def send(self, message, passage, cancellation, on_progress):
        self.sent += 1
        raise RuntimeError('a bug')


def _call(verb: _Verb, call: ToolCall, **options):
    builtins = read_file(str(CONFIG / 'simulated_robot.yaml'), ToolFile).builtins
    cancellation = options.pop('cancellation', Cancellation())
    options = {'dry_run': False, 'allowed': None, **options}
    return GatedToolset(LoadedTools({'go': _tool()}, builtins, {'go': 'f'}), {'go': verb}).call(
        call, cancellation, on_progress=lambda _: None, **options)


def test_the_gate_fails_closed() -> None:
    go = ToolCall('go', {'place': 'lab'})
    for verb, call in ((_Verb(), ToolCall('fly')), (_Verb(), ToolCall('GO')),
                       (_Verb(), ToolCall('go', {'place': 'moon'})), (_Verb(Refused('no')), go),
                       (_Verb(ZeroDivisionError('bug')), go)):
        observation = _call(verb, call)
        assert observation.status is Status.REFUSED and verb.sent == 0
        assert json.loads(observation.text)['error'] == observation.error
    canceled, verb = Cancellation(), _Verb()
    canceled.cancel(Outcome.STOPPED)
    for allowed in (frozenset(), frozenset({'stop'})):
        assert _call(verb, go, allowed=allowed).status is Status.REFUSED
    assert _call(verb, go, cancellation=canceled).status is Status.CANCELED
    assert _call(verb, go, dry_run=True).status is Status.DRY_RUN
    assert verb.sent == 0


def test_what_may_have_reached_the_robot_is_not_called_refused() -> None:
    verb = _Verb()
    observation = _call(verb, ToolCall('go', {'place': 'lab'}))
    assert observation.status is Status.FAILED and verb.sent == 1
    assert 'not known' in observation.error


@pytest.mark.parametrize('arguments, told', [({'value': 55, 'limit': 20}, '55 is above 20'),
                                             ({'value': 1.5, 'limit': 2}, '1.5 is below 2'),
                                             ({'value': 2, 'limit': 2.0}, '2 is equal to 2.0')])
def test_compare(arguments: dict, told: str) -> None:
    observation = _call(_Verb(), ToolCall('compare', arguments))
    assert json.loads(observation.text) == {'result': told}
    assert _call(_Verb(), ToolCall('compare', {'value': '5', 'limit': 1})).status is Status.REFUSED


BOUNDS = {
    f'{sign}int{bits}': (0 if sign else -(1 << bits - 1), (1 << bits - (not sign)) - 1)
    for sign in ('u', '')
    for bits in (8, 16, 32, 64)
}


@pytest.mark.parametrize('name', BOUNDS)
@given(value=st.one_of(st.integers(-(1 << 65), 1 << 65), st.floats(), st.booleans(),
                       st.text(max_size=3)))
def test_integers_are_exact_or_refused(name: str, value: object) -> None:
    message, field = BasicTypes(), f'{name}_value'
    low, high = BOUNDS[name]
    exact = (not isinstance(value, (bool, str)) and math.isfinite(value) and value == int(value)
             and low <= value <= high and (isinstance(value, int) or abs(value) < 1 << 53))
    try:
        fill(message, {field: value})
    except Refused:
        assert not exact
    else:
        assert exact and get(message, field) == value and type(get(message, field)) is int


@given(
    st.one_of(st.floats(), st.integers(-(1 << 70), 1 << 70), st.booleans(), st.none(),
              st.text(max_size=3)))
def test_floats_are_floats_or_refused(value: object) -> None:
    message = Float32()
    number = isinstance(value,
                        (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    try:
        fill(message, {'data': value})
    except Refused:
        assert not number or abs(value) > 3.4e38 or abs(value) < 1e-44 or (
            isinstance(value, int) and abs(value) > 1 << 24)
    else:
        assert number and type(message.data) is float
        assert math.isfinite(struct.unpack('<f', struct.pack('<f', message.data))[0])


@pytest.mark.parametrize('message, fields, reason',
                         [(Bool(), {'data': 'false'}, 'true or false'),
                          (Bool(), {'data': 1}, 'true or false'),
                          (String(), {'data': 5}, 'text is needed'),
                          (String(), {'data': 'a\0b'}, 'cannot be sent'),
                          (String(), {'data': '\ud800'}, 'cannot be sent'),
                          (String(), {'date': ''}, "no field 'date'"),
                          (Twist(), {'linear': 1.0}, 'an object is needed'),
                          (Twist(), {'linear.w': 1.0}, "no field 'linear.w'"),
                          (Twist(), {'linear.x.y': 1.0}, 'no field'),
                          (Twist(), {'linear': {'x': 1, 'q': 2}}, "no field 'q'"),
                          (Arrays(), {'int32_values': [1, 2]}, '3 items are needed'),
                          (Arrays(), {'int32_values': [1, 2, 2.5]}, 'whole number'),
                          (Arrays(), {'string_values': 'abc'}, 'a list'),
                          (BoundedSequences(), {'uint8_values': [1, 2, 3, 4]}, '3 items at most'),
                          (BoundedSequences(), {'uint8_values': [300]}, '0 … 255'),
                          (WStrings(), {'wstring_value': 3}, 'text is needed'),
                          (MoveTo.Goal(), {'pose': []}, 'an object')])
def test_what_does_not_fit_is_refused(message: object, fields: dict, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        fill(message, fields)


def test_nested_values_arrive_as_asked() -> None:
    goal = MoveTo.Goal()
    fill(goal, {'pose.header.frame_id': 'map', 'pose.pose': {'position': {'x': 1, 'y': 2.5}}})
    assert (goal.pose.pose.position.x, goal.pose.pose.position.y) == (1.0, 2.5)
    assert type(goal.pose.pose.position.x) is float and goal.pose.header.frame_id == 'map'


def test_what_the_model_is_told_is_short_and_plain() -> None:
    battery = BatteryState(percentage=0.1, cell_voltage=[0.1] * 40)
    kinds = dict(zip(battery.get_fields_and_field_types(), battery.SLOT_TYPES))
    assert plain(battery.percentage, kinds['percentage']) == 0.1
    assert plain(struct.unpack('<f', struct.pack('<f', 0.1))[0], kinds['percentage']) == 0.1
    assert plain(battery.cell_voltage, kinds['cell_voltage']) == {
        'length': 40, 'min': 0.1, 'max': 0.1}
    assert plain('x' * 2000, None) == 'x' * 512 + (
        ' … [cut: the first 512 of 2000 characters]')


def test_a_missing_interface_is_a_config_error() -> None:
    with pytest.raises(ConfigError,
                       match="tools.a.read.type: the interface 'no_msgs/msg/A' is not installed"):
        interface('no_msgs/msg/A', 'tools.a.read.type')


def test_words_that_stand_for_nested_fields_leave_the_others_alone() -> None:
    tool = _tool(arguments={'place': {'description': 'p', 'values': {
        'lab': {'pose': {'pose': {'position': {'x': 2, 'y': -4}}}}}}},
        fixed={'pose': {'header': {'frame_id': 'map'}}})
    goal = MoveTo.Goal()
    fill(goal, pass_gate(tool, {'place': 'lab'}).fields)
    assert goal.pose.header.frame_id == 'map' and goal.pose.pose.position.y == -4.0


def test_results_of_every_kind_are_json() -> None:
    message = Arrays()
    kinds = dict(zip(message.get_fields_and_field_types(), message.SLOT_TYPES))
    told = {name: plain(getattr(message, name), kind) for name, kind in kinds.items()}
    assert json.loads(canonical_json(told))['float64_values'] == [0.0, 0.0, 0.0]
    assert canonical_json({'a': math.nan, 'b': [math.inf,
                                                '\ud800']}) == '{"a": null, "b": [null, "?"]}'


@pytest.mark.parametrize('argument, reason', [
    ({'type': 'boolean', 'field': 'linear.x'}, 'type must be number or integer'),
    ({'type': 'number', 'field': 'angular'}, 'type must be object'),
    ({'type': 'number', 'field': 'linear.w'}, "no field 'w'"),
    ({'values': {'fast': {'linear.x': 'very'}}}, 'a number is needed')])
def test_arguments_that_do_not_fit_their_field_are_config_errors(argument: dict,
                                                                 reason: str) -> None:
    tool = Tool.model_validate({
        'description': 'd', 'effect': 'act', 'publish': {
            'topic': 't', 'type': 'geometry_msgs/msg/Twist'
        }, 'arguments': {'a': {'description': 'a', **argument}}
    })
    with pytest.raises(ConfigError, match=f'f: tools.t.arguments.a: .*{reason}'):
        RequestMaker(tool, Twist, 'f: tools.t')
