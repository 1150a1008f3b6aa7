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

"""From an interface to what the model may give, and from that to the message."""

import math
from pathlib import Path
import random
import time
from typing import Any

from builtin_interfaces.msg import Duration, Time
from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import ToolSchema
from edge_llm_ros.prompt.call_grammar import Branch, call_grammar
from edge_llm_ros.ros.argument_types import resolved_tool
from edge_llm_ros.ros.convert import convert, fill
from edge_llm_ros.ros.idl import field_types
from edge_llm_ros.ros.plain_value import plain
from edge_llm_ros.ros.request_maker import AT_SENDING, RequestMaker
from edge_llm_ros.tools.gate import pass_gate, Refused
from edge_llm_ros.tools.load_tools import load_tools
from edge_llm_ros.tools.read_file import read_file
from edge_llm_ros.tools.schema import tool_schema
from edge_llm_ros.tools.tool_file import Tool, ToolFile
from edge_llm_ros.tools.toolset import GatedToolset
from geometry_msgs.msg import PolygonStamped, PoseStamped, Twist
from hypothesis import given, strategies as st
from llguidance import LLMatcher, LLTokenizer
import pytest
from rclpy.clock import Clock
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import BatteryState
from std_srvs.srv import SetBool
from test_msgs.msg import (
    Arrays, BasicTypes, BoundedSequences, Builtins, MultiNested, Nested, Strings,
    UnboundedSequences, WStrings)
from wire_values import Values
import yaml

CONFIG = Path(__file__).resolve().parent.parent / 'config'


def _tool(message: Any, arguments: dict[str, Any], **keys: Any) -> Tool:
    """Return a tool with arguments, completed from a message."""
    tool = Tool.model_validate({
        'description': 'd', 'effect': 'act', 'publish': {'topic': 't', 'type': 'a_msgs/msg/A'},
        'arguments': {name: {'description': 'd', **argument}
                      for name, argument in arguments.items()}, **keys})
    return resolved_tool(tool, message, 'f: tools.t')


def _schema(message: Any, **argument: Any) -> dict[str, Any]:
    """Return the schema of one argument, without what it always has."""
    schema = dict(tool_schema('t', _tool(message, {'a': argument})).parameters['properties']['a'])
    del schema['description']
    return schema


NUMBER, WHOLE = {'type': 'number'}, {'type': 'integer'}


@pytest.mark.parametrize('message, argument, schema', [
    (BasicTypes, {'field': 'bool_value'}, {'type': 'boolean'}),
    (BasicTypes, {'field': 'byte_value'}, {**WHOLE, 'minimum': 0, 'maximum': 255}),
    (BasicTypes, {'field': 'char_value'}, {**WHOLE, 'minimum': 0, 'maximum': 255}),
    (BasicTypes, {'field': 'int8_value'}, {**WHOLE, 'minimum': -128, 'maximum': 127}),
    (BasicTypes, {'field': 'uint16_value', 'maximum': 99}, {**WHOLE, 'minimum': 0, 'maximum': 99}),
    (BasicTypes, {'field': 'int32_value', 'enum': [1, 2]}, {**WHOLE, 'enum': [1, 2]}),
    (BasicTypes, {'field': 'uint32_value'}, {**WHOLE, 'minimum': 0, 'maximum': 4294967295}),
    (BasicTypes, {'field': 'int64_value'}, WHOLE),
    (BasicTypes, {'field': 'uint64_value'}, {**WHOLE, 'minimum': 0}),
    (BasicTypes, {'field': 'float32_value'}, NUMBER),
    (BasicTypes, {'field': 'float64_value', 'type': 'integer', 'minimum': 1},
     {**WHOLE, 'minimum': 1}),
    (Strings, {'field': 'string_value'}, {'type': 'string'}),
    (Strings, {'field': 'bounded_string_value'}, {'type': 'string', 'maxLength': 22}),
    (Strings, {'field': 'bounded_string_value', 'max_length': 5},
     {'type': 'string', 'maxLength': 5}),
    (WStrings, {'field': 'wstring_value'}, {'type': 'string'}),
    (Arrays, {'field': 'float32_values'},
     {'type': 'array', 'items': NUMBER, 'minItems': 3, 'maxItems': 3}),
    (BoundedSequences, {'field': 'bool_values'},
     {'type': 'array', 'items': {'type': 'boolean'}, 'maxItems': 3}),
    (UnboundedSequences, {'field': 'string_values'},
     {'type': 'array', 'items': {'type': 'string'}, 'maxItems': 16}),
    (UnboundedSequences, {
        'field': 'int8_values', 'min_items': 1, 'max_items': 99, 'items': {'minimum': 0}
    }, {'type': 'array', 'items': {**WHOLE, 'minimum': 0, 'maximum': 127}, 'minItems': 1,
        'maxItems': 99}),
    (Builtins, {'field': 'duration_value', 'maximum': 9}, {**NUMBER, 'maximum': 9}),
    (Builtins, {'field': 'time_value'}, {**NUMBER, 'minimum': 0}),
    (Twist, {'field': 'linear', 'fields': ['x']},
     {'type': 'object', 'properties': {'x': NUMBER}, 'required': ['x']}),
    (Twist, {'field': 'linear', 'fields': {'x': {'unit': 'm/s', 'maximum': 0.5}, 'y': {}}}, {
        'type': 'object', 'properties': {
            'x': {'type': 'number', 'description': '[m/s]', 'maximum': 0.5}, 'y': NUMBER
        }, 'required': ['x', 'y']
    }),
    (PolygonStamped, {'field': 'polygon.points', 'items': {'fields': ['x', 'y']}}, {
        'type': 'array', 'items': {
            'type': 'object', 'properties': {'x': NUMBER, 'y': NUMBER}, 'required': ['x', 'y']
        }, 'maxItems': 16
    }),
    (BatteryState, {'field': 'power_supply_status'}, {
        'type': 'string', 'enum': ['unknown', 'charging', 'discharging', 'not_charging', 'full']
    }),
    (BatteryState, {'field': 'power_supply_status', 'type': 'integer', 'maximum': 2},
     {**WHOLE, 'minimum': 0, 'maximum': 2}),
    (BatteryState, {'field': 'power_supply_status', 'constants': 'POWER_SUPPLY_TECHNOLOGY_LI'},
     {'type': 'string', 'enum': ['on', 'po', 'fe', 'mn']}),
    (BatteryState, {'field': 'power_supply_status', 'enum': ['POWER_SUPPLY_STATUS_FULL']},
     {'type': 'string', 'enum': ['POWER_SUPPLY_STATUS_FULL']}),
    (PoseStamped, {'field': 'header.frame_id', 'enum': ['map', 'odom']},
     {'type': 'string', 'enum': ['map', 'odom']}),
    (PoseStamped, {'field': 'pose.orientation', 'as': 'yaw_degrees'},
     {**NUMBER, 'minimum': -360, 'maximum': 360}),
    (PoseStamped, {'field': 'pose.position.x', 'as': 'degrees', 'maximum': 90},
     {**NUMBER, 'maximum': 90}),
], ids=str)
def test_the_schema_is_the_field_narrowed_by_the_file(message: Any, argument: dict[str, Any],
                                                      schema: dict[str, Any]) -> None:
    found = _schema(message, **argument)
    assert found == schema
    tool = _tool(message, {'a': argument})
    assert resolved_tool(tool, message, 'again') == tool


@pytest.mark.parametrize('message, argument, reason', [
    (BasicTypes, {'field': 'uint8_value', 'maximum': 256}, 'maximum 256 .*uint8 is 0 … 255'),
    (BasicTypes, {'field': 'int8_value', 'minimum': -129}, 'minimum -129 .*int8 is -128 … 127'),
    (BasicTypes, {'field': 'int8_value', 'enum': [1, 128]}, 'not the number 128'),
    (BasicTypes, {'field': 'int8_value', 'type': 'number'}, 'int8: type must be integer'),
    (BasicTypes, {'field': 'int8_value', 'default': 200}, '200 is above the maximum 127'),
    (BasicTypes, {'field': 'float32_value', 'maximum': 1e39}, 'at most 3.4e38'),
    (BasicTypes, {'field': 'int8_value', 'enum': ['FAST']}, "'FAST' is no constant"),
    (BasicTypes, {'field': 'int8_value', 'constants': 'MODE_'}, "no constant begins with 'MODE_'"),
    (BasicTypes, {'field': 'bool_value', 'constants': 'MODE_'}, 'whole numbers, not bool'),
    (BasicTypes, {'field': 'int8_value', 'minimum': 9, 'maximum': 3}, 'is above maximum 3'),
    (BasicTypes, {'field': 'int8_value', 'minimum': 9, 'default': 3}, 'below the minimum 9'),
    (Strings, {'field': 'bounded_string_value', 'max_length': 23}, 'max_length 23 .*string<=22'),
    (Strings, {'field': 'string_value', 'maximum': 3}, 'for numbers, not for type string'),
    (Strings, {'field': 'bounded_string_value', 'enum': ['x' * 23]}, 'longer than 22'),
    (Arrays, {'field': 'bool_values', 'max_items': 4}, r'bool\[3\]: it has 3 items always'),
    (BoundedSequences, {'field': 'bool_values', 'max_items': 4}, '3 items at most'),
    (BoundedSequences, {'field': 'bool_values', 'type': 'boolean'}, 'type must be array'),
    (BoundedSequences, {'field': 'uint8_values', 'items': {'maximum': 300}}, 'maximum 300'),
    (Builtins, {'field': 'time_value', 'minimum': -1}, 'minimum -1 .*Time'),
    (Twist, {'field': 'linear', 'fields': ['x', 'w']}, "no field 'w'; fields here: x, y, z"),
    (Twist, {'field': 'linear', 'fields': {'x': {'max_length': 3}}}, 'x: .*float64'),
    (MultiNested, {'field': 'array_of_arrays'}, 'nested more than 4 deep'),
    (Nested, {'field': 'basic_types_value.bool_value', 'as': 'degrees'}, 'radians, not bool'),
    (PoseStamped, {'field': 'pose.position', 'as': 'yaw_degrees'}, 'Quaternion, not .*Point'),
    (PoseStamped, {'field': 'pose.orientation', 'as': 'yaw_degrees', 'enum': [0]}, 'not both'),
], ids=str)
def test_what_is_wider_than_its_field_is_a_config_error(message: Any, argument: dict[str, Any],
                                                        reason: str) -> None:
    with pytest.raises((ConfigError, ValueError), match=reason) as error:
        _tool(message, {'a': argument})
    assert 'arguments.a' in str(error.value)


def _fields(kind: str) -> dict[str, str]:
    package, name = kind.split('/')
    module = __import__(f'{package}.msg', fromlist=[name])
    return dict(getattr(module, name).get_fields_and_field_types())


def _accepted(schema: ToolSchema, arguments: dict[str, Any]) -> bool:
    """Say whether the grammar lets a model write these arguments."""
    tokenizer = LLTokenizer('byte')
    grammar = call_grammar([Branch('', [schema])], (), opening='""', before_arguments=' ',
                           after='""', text_length=400)
    assert not LLMatcher.validate_grammar(grammar, tokenizer)
    matcher = LLMatcher(tokenizer, grammar)
    text = f'{schema.name} {canonical_json(arguments)}'
    read = matcher.try_consume_tokens(tokenizer.tokenize_str(text))
    return read == len(text.encode()) and matcher.is_accepting()


@pytest.mark.parametrize('message', [BasicTypes, Arrays, BoundedSequences, UnboundedSequences,
                                     Strings, WStrings, Nested, Builtins])
def test_the_grammar_lets_a_model_write_what_the_field_holds(message: Any) -> None:
    types = {name: kind for name, kind in message.get_fields_and_field_types().items()
             if not name.startswith(('constants', 'defaults'))}
    values = Values(random.Random(1), _fields)
    for name, kind in types.items():
        schema = tool_schema('t', _tool(message, {name: {}}))
        for _ in range(5):
            value, _ = values.right(kind)
            # A grammar writes whole numbers without a fraction and reals without an exponent.
            text = canonical_json(value)
            if 'e' not in text.replace('true', '').replace('false', '') and '.0' not in text:
                assert _accepted(schema, {name: value}), (name, value, schema)
        assert not _accepted(schema, {name: {'no_such_field': 1}})
        assert not _accepted(schema, {})


def test_bounds_and_closed_objects_are_in_the_grammar() -> None:
    schema = tool_schema('t', _tool(BasicTypes, {'uint8_value': {}}))
    assert _accepted(schema, {'uint8_value': 255}) and not _accepted(schema, {'uint8_value': 256})
    schema = tool_schema('t', _tool(Twist, {'linear': {'fields': ['x']}}))
    assert _accepted(schema, {'linear': {'x': 1}})
    assert not _accepted(schema, {'linear': {'x': 1, 'y': 1}})
    assert not _accepted(schema, {'linear': {}})


def test_the_tools_that_ship_look_to_the_model_as_before() -> None:
    """Their prompt is what the examples and the measured quality depend on."""
    loaded = load_tools([str(CONFIG / 'simulated_robot.yaml')])
    schemas = {tool.name: tool.parameters for tool in GatedToolset(loaded, {}).schemas()}
    assert canonical_json(schemas['creep']) == (
        '{"type": "object", "properties": {"speed": {"type": "number", "description": '
        '"Speed [m/s]", "minimum": -0.3, "maximum": 0.3}, "seconds": {"type": "number", '
        '"description": "How long [s]", "minimum": 0.1, "maximum": 5}}, "required": ["speed", '
        '"seconds"]}')
    assert canonical_json(schemas['say']['properties']) == (
        '{"text": {"type": "string", "description": "What to say", "maxLength": 160}}')
    assert canonical_json(schemas['set_lights']['properties']) == (
        '{"state": {"type": "string", "description": "Wanted state", "enum": ["on", "off"]}}')


def _refusal(tool: Tool, message: Any, arguments: dict[str, Any]) -> str:
    maker = RequestMaker(tool, message, 'f: tools.t')
    with pytest.raises(Refused) as refusal:
        maker(pass_gate(tool, arguments))
    return str(refusal.value)


@pytest.mark.parametrize('message, argument, value, words', [
    (BasicTypes, {'field': 'uint8_value'}, 300, "argument 'a': 300 is above the maximum 255"),
    (BasicTypes, {'field': 'int64_value'}, 1 << 63,
     "argument 'a': a whole number in -9223372036854775808 … 9223372036854775807 is needed, not "
     'the number 9223372036854775808'),
    (BasicTypes, {'field': 'int64_value'}, float(1 << 60),
     "argument 'a': write so large a number without fraction and exponent, not as "
     '1.152921504606847e+18'),
    (BasicTypes, {'field': 'bool_value'}, 'true',
     "argument 'a': true or false is needed, not the text \"true\""),
    (BasicTypes, {'field': 'float32_value'}, 1e39,
     "argument 'a': at most 3.4e38 is allowed, not the number 1e+39"),
    (BasicTypes, {'field': 'float32_value'}, 1e-50,
     "argument 'a': 1e-50 is too near to zero; give 0 or a larger number"),
    (Strings, {'field': 'bounded_string_value'}, 'ä' * 12,
     "argument 'a': the text is longer than 22: it has 24 bytes"),
    (Strings, {'field': 'string_value'}, 'a\0', "argument 'a': the text holds a character that "
     'cannot be sent (NUL or half a surrogate pair)'),
    (Arrays, {'field': 'uint8_values'}, [1, 2],
     "argument 'a': the list has 2 items, 3 are allowed"),
    (Arrays, {'field': 'uint8_values'}, [1, 2, 300],
     "argument 'a': item 2: 300 is above the maximum 255"),
    (Twist, {'field': 'linear'}, {'x': 1, 'y': 2},
     "argument 'a': the field 'z' is missing"),
    (Twist, {'field': 'linear', 'fields': ['x']}, {'x': 10**400},
     "argument 'a', field 'x': at most 1.7e308 is allowed, not a number that is far too large"),
    (PoseStamped, {'field': 'pose.orientation', 'as': 'yaw_degrees', 'maximum': 180}, 181,
     "argument 'a': 181 is above the maximum 180"),
    (Builtins, {'field': 'duration_value'}, 1e-10,
     "argument 'a': 1e-10 seconds are less than a nanosecond"),
    (PoseStamped, {'field': 'header.frame_id', 'enum': ['map', 'odom']}, 'base',
     "argument 'a': one of map, odom is needed, not the text \"base\""),
], ids=str)
def test_a_refusal_names_argument_value_and_what_is_allowed(
        message: Any, argument: dict[str, Any], value: Any, words: str) -> None:
    assert _refusal(_tool(message, {'a': argument}), message, {'a': value}) == words


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(-(1 << 70), 1 << 70) | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner,
                                                                max_size=3), max_leaves=8)
FIELDS = [(message, name) for message in (BasicTypes, Strings, WStrings, BoundedSequences, Arrays,
                                          Builtins, Nested)
          for name in field_types(message)]


@given(st.sampled_from(FIELDS), ANYTHING)
def test_anything_is_of_the_type_of_its_field_or_refused(field: tuple[Any, str], value: Any
                                                         ) -> None:
    message, name = field
    filled = message()
    try:
        fill(filled, {name: value})
    except Refused as refusal:
        assert filled == message() and str(refusal).startswith(name)
    else:
        kind = type(getattr(message(), name))
        assert type(getattr(filled, name)) is kind
        serialize_message(filled)


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_texts_arrive_or_are_refused(text: str) -> None:
    bad = '\0' in text or any(0xD800 <= ord(c) < 0xE000 for c in text)
    for message, name, length in ((Strings, 'string_value', 0),
                                  (Strings, 'bounded_string_value', 22),
                                  (WStrings, 'wstring_value', 0)):
        try:
            filled = message()
            fill(filled, {name: text})
        except Refused:
            assert bad or 0 < length < len(text.encode())
        else:
            assert not bad
            there = deserialize_message(serialize_message(filled), message)
            assert getattr(there, name) == text


def test_a_message_is_filled_whole_or_not_at_all() -> None:
    twist = Twist()
    with pytest.raises(Refused):
        fill(twist, {'linear.x': 1.0, 'angular.z': 'fast'})
    assert twist == Twist()


@given(st.integers(-(1 << 31), (1 << 31) - 1), st.integers(0, 999_999_999))
def test_seconds_arrive_to_the_nanosecond(whole: int, nanoseconds: int) -> None:
    kind = field_types(Builtins)['duration_value']
    asked = Duration(sec=whole, nanosec=nanoseconds)
    told = plain(asked, kind)
    arrived = convert(told, kind, 'd')
    # A float has 53 bits: above 2^22 seconds it is no longer exact to the nanosecond.
    off = abs((arrived.sec - whole) * 10**9 + arrived.nanosec - nanoseconds)
    assert off == 0 if abs(whole) < 1 << 22 else off < 512


def test_degrees_become_radians() -> None:
    tool = _tool(Twist, {'a': {'as': 'degrees', 'field': 'angular.z', 'minimum': -90}})
    assert pass_gate(tool, {'a': -90}).fields == {'angular.z': pytest.approx(-math.pi / 2)}
    assert 'below the minimum -90' in _refusal(tool, Twist, {'a': -91})


PLACES = """
dock: {pose.position.x: 0, pose.position.y: 1.5}
the lab: {pose.position: {x: 2}}
"""


def _tool_file(folder: Path, places: str, keys: str = 'places: places.yaml') -> str:
    (folder / 'places.yaml').write_text(places)
    path = folder / 'tools.yaml'
    path.write_text(f"""
version: 1
tools:
  go:
    description: d
    effect: act
    publish: {{topic: t, type: geometry_msgs/msg/PoseStamped}}
    arguments:
      where: {{description: d, {keys}}}
""")
    return str(path)


def test_places_of_a_file_are_words_for_fields(tmp_path: Path) -> None:
    tool = read_file(_tool_file(tmp_path, PLACES), ToolFile).tools['go']
    schema = tool_schema('go', resolved_tool(tool, PoseStamped, 'w')).parameters
    assert schema['properties']['where']['enum'] == ['dock', 'the lab']
    assert pass_gate(tool, {'where': 'the lab'}).fields == {'pose.position.x': 2}
    pose = RequestMaker(tool, PoseStamped, 'w')(pass_gate(tool, {'where': 'dock'}))
    assert (pose.pose.position.x, pose.pose.position.y) == (0.0, 1.5)
    with pytest.raises(Refused, match='one of dock, the lab is needed, not the text "moon"'):
        pass_gate(tool, {'where': 'moon'})


@pytest.mark.parametrize('places, keys, reason', [
    (PLACES + 'dock: {}\n', 'places: places.yaml', "line 4: the key 'dock' is there twice"),
    ('dock: 5\n', 'places: places.yaml', 'dock: the request fields of the place are needed'),
    ('{}\n', 'places: places.yaml', '256 places are needed, not 0'),
    (f'{"x" * 65}: {{a: 1}}\n', 'places: places.yaml', '64 characters'),
    (PLACES, 'places: nowhere.yaml', 'nowhere.yaml: cannot be read'),
    (PLACES, 'places: places.yaml, values: {a: {b: 1}}', 'not both'),
    (PLACES, 'places: places.yaml, field: pose', 'names its fields itself')])
def test_a_wrong_file_of_places_is_an_error_of_the_tool_file(tmp_path: Path, places: str,
                                                             keys: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as error:
        read_file(_tool_file(tmp_path, places, keys), ToolFile)
    assert 'tools.yaml, line 9: tools.go.arguments.where: ' in str(error.value)


def test_a_place_that_does_not_fit_the_message_is_a_config_error(tmp_path: Path) -> None:
    tool = read_file(_tool_file(tmp_path, 'dock: {pose.x: 1}\n'), ToolFile).tools['go']
    with pytest.raises(ConfigError, match="w.arguments.where: .*no field 'pose.x'"):
        RequestMaker(tool, PoseStamped, 'w')


def test_unexposed_fields_are_listed_with_what_they_will_hold() -> None:
    tool = _tool(PoseStamped, {
        'x': {'field': 'pose.position.x'},
        'heading': {'field': 'pose.orientation', 'as': 'yaw_degrees'}},
        fixed={'header': {'frame_id': 'map'}})
    maker = RequestMaker(tool, PoseStamped, 'w', Clock())
    assert maker.unexposed() == {'header.stamp': AT_SENDING, 'header.frame_id': 'map',
                                 'pose.position.y': 0.0, 'pose.position.z': 0.0}


def test_stamps_are_the_time_of_sending_unless_they_are_fixed() -> None:
    message = {'x': {'field': 'pose.position.x'}}
    maker = RequestMaker(_tool(PoseStamped, message), PoseStamped, 'w', Clock())
    pose = maker(pass_gate(_tool(PoseStamped, message), {'x': 1}))
    first = (pose.header.stamp.sec, pose.header.stamp.nanosec)
    assert abs(first[0] - time.time()) < 2 and pose.header.frame_id == ''
    time.sleep(0.001)
    maker.stamp(pose)
    assert (pose.header.stamp.sec, pose.header.stamp.nanosec) > first
    fixed = _tool(PoseStamped, message, fixed={'header': {'stamp': {'sec': 5}}})
    pose = RequestMaker(fixed, PoseStamped, 'w', Clock())(pass_gate(fixed, {'x': 1}))
    assert pose.header.stamp == Time(sec=5)


def test_gate_and_conversion_cost_less_than_a_millisecond() -> None:
    pose = _tool(PoseStamped, {
        'x': {'field': 'pose.position.x', 'minimum': -10, 'maximum': 10},
        'y': {'field': 'pose.position.y', 'minimum': -10, 'maximum': 10},
        'heading': {'as': 'yaw_degrees', 'field': 'pose.orientation'},
        'frame': {'enum': ['map', 'odom'], 'field': 'header.frame_id'}})
    basic = _tool(BasicTypes, {name: {} for name in field_types(BasicTypes)})
    given = Values(random.Random(1), _fields)
    everything = {name: given.right(kind)[0]
                  for name, kind in BasicTypes.get_fields_and_field_types().items()}
    for tool, message, arguments in (
            (pose, PoseStamped, {'x': 1.5, 'y': 2, 'heading': 90, 'frame': 'map'}),
            (basic, BasicTypes, everything),
            (_tool(SetBool.Request, {'data': {}}), SetBool.Request, {'data': True})):
        maker, times = RequestMaker(tool, message, 'w', Clock()), []
        for _ in range(300):
            start = time.perf_counter()
            maker(pass_gate(tool, arguments))
            times.append(time.perf_counter() - start)
        print(f'{message.__name__}: {sorted(times)[150] * 1e6:.0f} us')
        assert sorted(times)[150] < 1e-3


def test_a_tool_without_types_needs_its_interface_to_be_shown() -> None:
    tool = Tool.model_validate(yaml.safe_load(
        '{description: d, effect: act, publish: {topic: t, type: geometry_msgs/msg/Twist}, '
        'arguments: {speed: {description: d, field: linear.x, maximum: 1}}}'))
    with pytest.raises(ConfigError, match='tools.t.arguments.speed: has no type'):
        tool_schema('t', tool)
