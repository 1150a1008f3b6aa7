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

"""What the model is told of messages: short, exact as far as told, and marked where it is not."""

from decimal import Decimal
import json
import math
from typing import Any

from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.ros.plain_value import plain
from edge_llm_ros.ros.result_budget import MAX_CHARACTERS, plain_message
from edge_llm_ros.ros.result_view import ResultView
from edge_llm_ros.tools.tool_file import Tool
from geometry_msgs.msg import PoseStamped
from hypothesis import given, strategies as st
from nav_msgs.msg import Odometry
import pytest
from rosidl_parser.definition import BasicType
from sensor_msgs.msg import BatteryState, Image, JointState, LaserScan
from std_msgs.msg import Float32MultiArray, MultiArrayDimension
from std_srvs.srv import SetBool


def _view(message: Any, **fields: dict[str, Any]) -> ResultView:
    tool = Tool.model_validate({
        'description': 'd', 'effect': 'read', 'read': {'topic': 't', 'type': 'a_msgs/msg/A'},
        'result': fields})
    return ResultView(tool, message, 'f: tools.t')


@given(st.floats(-360, 360))
def test_rotations_are_told_as_headings(degrees: float) -> None:
    pose = PoseStamped()
    half = math.radians(degrees) / 2
    pose.pose.orientation.z, pose.pose.orientation.w = math.sin(half), math.cos(half)
    told = _view(PoseStamped, yaw={'field': 'pose.orientation', 'as': 'yaw_degrees'}).of(pose)
    assert abs((told['yaw'] - degrees + 180) % 360 - 180) <= 0.0501
    pose.pose.orientation.z = pose.pose.orientation.w = 0.0
    assert _view(PoseStamped, yaw={'field': 'pose.orientation', 'as': 'yaw_degrees'}).of(pose) == {
        'yaw': None, 'null_means': {'yaw': 'no rotation: the quaternion is not of length 1'}}


@given(st.text(max_size=60))
def test_of_a_text_only_what_is_expected_is_told(more: str) -> None:
    view = _view(SetBool.Response, place={'field': 'message', 'pattern': r'arrived at \w+'})
    separate = f'; {more}'
    assert view.of(SetBool.Response(message=f'arrived at lab{separate}')) == {
        'place': 'arrived at lab'}
    assert view.of(SetBool.Response(message=f'!{more}')) == {
        'place': None, 'null_means': {'place': 'a text that the tool file does not expect'}}


@pytest.mark.parametrize('message, field, said', [
    (BatteryState, {'field': 'percentage', 'pattern': 'a'}, 'pattern is for texts, not for float'),
    (SetBool.Response, {'field': 'message', 'pattern': '('}, 'no regular expression')])
def test_patterns_are_checked(message: Any, field: dict[str, Any], said: str) -> None:
    with pytest.raises((ConfigError, ValueError), match=said):
        _view(message, it=field)


def test_nulls_are_marked() -> None:
    battery = BatteryState(percentage=math.nan, voltage=-math.inf, cell_voltage=[1.5, math.inf])
    told = _view(BatteryState, percent={'field': 'percentage', 'scale': 100.0, 'digits': 0},
                 volts={'field': 'voltage'}, cells={'field': 'cell_voltage'},
                 temperature={'field': 'temperature'}).of(battery)
    assert told == {'percent': None, 'volts': None, 'cells': [1.5, None], 'temperature': 0.0,
                    'null_means': {'percent': 'not a number', 'volts': 'minus infinite',
                                   'cells[1]': 'infinite'}}


def test_long_lists_are_summarised() -> None:
    scan = LaserScan(ranges=[0.5 + i / 100 for i in range(360)] + [math.inf] * 40)
    told = _view(LaserScan, ranges={'field': 'ranges', 'digits': 1}).of(scan)
    assert told == {'ranges': {'length': 400, 'min': 0.5, 'max': 4.1, 'not_finite': 40}}
    image = Image(height=2, width=40, data=bytes(range(240)))
    assert _view(Image, picture={'field': 'data'}).of(image) == {
        'picture': {'length': 240, 'shape': [2, 40, 3], 'min': 0, 'max': 239}}
    array = Float32MultiArray(data=[0.1] * 24)
    array.layout.dim = [MultiArrayDimension(size=size) for size in (4, 6)]
    assert plain_message(array)['data'] == {'length': 24, 'shape': [4, 6], 'min': 0.1, 'max': 0.1}
    joints = JointState(name=[f'joint_{i}' for i in range(20)])
    assert _view(JointState, names={'field': 'name'}).of(joints) == {
        'names': {'length': 20, 'first': ['joint_0', 'joint_1', 'joint_2']}}


def test_a_feedback_or_a_reason_is_bounded_too() -> None:
    joints = JointState(name=['x' * 900] * 16, position=[math.nan])
    joints.header.frame_id = 'y' * 900
    told = plain_message(joints)
    assert len(canonical_json(told)) <= MAX_CHARACTERS
    assert told['null_means'] == {'position[0]': 'not a number'}
    view = _view(SetBool.Response, a={'field': 'success'})
    reason = view.reason(SetBool.Response(message='z' * 900))
    assert reason.startswith('z' * 512) and 'cut' in reason and len(reason) < 570


def test_scale_and_digits_are_for_every_number_of_a_list() -> None:
    scan = LaserScan(ranges=[0.1234, 0.5], angle_max=math.pi)
    view = _view(LaserScan, centimetres={'field': 'ranges', 'scale': 100.0, 'digits': 1},
                 angle={'field': 'angle_max', 'as': 'degrees'})
    assert view.of(scan) == {'centimetres': [12.3, 50.0], 'angle': 180.0}


@pytest.mark.parametrize('field, reason', [
    ({'field': 'header.frame_id', 'digits': 1}, 'are for numbers, not for string'),
    ({'field': 'header', 'scale': 2.0}, 'are for numbers'),
    ({'field': 'pose', 'as': 'yaw_degrees'}, 'needs a geometry_msgs/Quaternion'),
    ({'field': 'pose.pose.x'}, "no field 'x'; fields here: position, orientation")])
def test_result_fields_that_do_not_fit_are_config_errors(field: dict[str, Any], reason: str
                                                         ) -> None:
    with pytest.raises(ConfigError, match=f'f: tools.t.result.a: .*{reason}'):
        _view(Odometry, a=field)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.floats(
    allow_nan=False, allow_infinity=False))
def test_floats_are_told_as_long_as_their_type_is_exact(single: float, double: float) -> None:
    assert plain(single, BasicType('float')) == pytest.approx(single, rel=1e-6, abs=1e-44)
    told = Decimal(repr(plain(single, BasicType('float')))).normalize()
    assert len(told.as_tuple().digits) <= 7
    assert plain(double, BasicType('double')) == pytest.approx(double, rel=1e-14, abs=1e-322)
    assert plain(0.1 + 0.2, BasicType('double')) == 0.3


@given(st.integers(0, 5000), st.integers(0, 40), st.integers(0, 40))
def test_a_result_is_within_its_budget(text: int, names: int, numbers: int) -> None:
    joints = JointState(name=['n' * text] * names, position=[1 / 3] * numbers)
    joints.header.frame_id = '"' * text
    told = _view(JointState, frame={'field': 'header.frame_id'}, names={'field': 'name'},
                 position={'field': 'position'}, all={'field': 'header'}).of(joints)
    line = canonical_json(told)
    assert len(line) <= MAX_CHARACTERS and json.loads(line) == told
    assert set(told) - {'left_out'} | set(told.get('left_out', ())) == {
        'frame', 'names', 'position', 'all'}


def test_what_has_no_room_is_named() -> None:
    tool = Tool.model_validate({
        'description': 'd', 'effect': 'read', 'read': {'topic': 't', 'type': 'a_msgs/msg/A'},
        'result': ['data', 'layout']})
    view = ResultView(tool, Float32MultiArray, 'w', characters=60)
    array = Float32MultiArray(data=[1.5])
    array.layout.dim = [MultiArrayDimension(label='x' * 200)] * 2
    assert view.of(array) == {'data': [1.5], 'left_out': ['layout']}
