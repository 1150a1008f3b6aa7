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

"""What clients may do to parameters: all of it is answered, and nothing of it stops the node."""

import math
from typing import Any

from edge_llm_interfaces.action import Plan
from edge_llm_ros.agent.parameters import PARAMETERS
from edge_llm_ros.cli.calls import call
from edge_llm_ros.flow.errors import EdgeLlmError
import pytest
from rcl_interfaces.msg import Parameter as ParameterMessage, ParameterType, ParameterValue
from rcl_interfaces.srv import (
    DescribeParameters, GetParameters, ListParameters, SetParameters, SetParametersAtomically)
from rclpy.parameter import Parameter
from robot_bench import Bench, only

TYPES = {bool: ParameterType.PARAMETER_BOOL, int: ParameterType.PARAMETER_INTEGER,
         float: ParameterType.PARAMETER_DOUBLE, str: ParameterType.PARAMETER_STRING,
         list: ParameterType.PARAMETER_STRING_ARRAY}


def _message(name: str, value: Any) -> ParameterMessage:
    if isinstance(value, ParameterValue):
        return ParameterMessage(name=name, value=value)
    return Parameter(name, value=value).to_parameter_msg()


def _values(bench: Bench, names: list[str]) -> list[ParameterValue]:
    return list(call(bench.node, GetParameters, 'planner/get_parameters',
                     GetParameters.Request(names=names)).values)


def _set(bench: Bench, name: str, value: Any) -> tuple[bool, str]:
    result = call(bench.node, SetParameters, 'planner/set_parameters', SetParameters.Request(
        parameters=[_message(name, value)])).results[0]
    return result.successful, result.reason


def _set_together(bench: Bench, **values: Any) -> tuple[bool, str]:
    request = SetParametersAtomically.Request(
        parameters=[_message(name, value) for name, value in values.items()])
    result = call(bench.node, SetParametersAtomically, 'planner/set_parameters_atomically',
                  request).result
    return result.successful, result.reason


def test_rqt_sees_every_parameter(bench: Bench, tiny_model: str) -> None:
    bench.planner(tiny_model, only('get_location'), active=False)
    names = list(call(bench.node, ListParameters, 'planner/list_parameters',
                      ListParameters.Request()).result.names)
    assert {p.name for p in PARAMETERS} <= set(names)
    # One without a value hides all of them in rqt_reconfigure.
    assert all(v.type != ParameterType.PARAMETER_NOT_SET for v in _values(bench, names))
    described = call(bench.node, DescribeParameters, 'planner/describe_parameters',
                     DescribeParameters.Request(names=[p.name for p in PARAMETERS])).descriptors
    for parameter, descriptor in zip(PARAMETERS, described):
        assert descriptor.name == parameter.name and len(descriptor.description) > 20
        assert descriptor.type == TYPES[type(parameter.default)]
        ranges = [*descriptor.floating_point_range, *descriptor.integer_range]
        assert len(ranges) == (parameter.bounds is not None)
        # A step other than 0 would refuse most numbers.
        assert all(r.step == 0 for r in descriptor.floating_point_range)
        for bound in (b for r in ranges for b in (r.from_value, r.to_value)):
            assert parameter.problem(bound) == ''
    # What rqt sends back: all that it can change, in one request.
    live = [p for p in PARAMETERS if p.live]
    assert _set_together(bench, **{p.name: v for p, v in zip(live, _values(
        bench, [p.name for p in live]))}) == (True, '')


BAD = [
    ('temperature', 'hot', ''), ('temperature', True, ''), ('temperature', math.nan, ''),
    ('temperature', math.inf, ''), ('temperature', 2.5, ''), ('temperature', -0.1, ''),
    ('temperature', [0.5], ''), ('temperature', ParameterValue(), ''),
    ('max_steps', 2.0, ''), ('max_steps', 0, ''), ('max_steps', True, ''),
    ('max_steps', (1 << 63) - 1, ''), ('max_steps', ParameterValue(), ''),
    ('goal_policy', 'neither', 'one of queue, reject, preempt'), ('goal_policy', 3, ''),
    ('log_prompts', 1, ''), ('trace_dir', False, ''), ('trace_dir', ['/tmp'], ''),
    ('tool_files', [1, 2], ''), ('tool_files', 'tools.yaml', ''), ('tool_files', [True], ''),
    ('tool_files', ['nowhere.yaml'], 'read at configure'), ('model_path', '', 'read at configure'),
    ('context_tokens', 2048, 'clean up'), ('no_such_parameter', 1, ''),
    ('use_sim_time', 'yes', ''), ('use_sim_time', ParameterValue(), '')]


def test_bad_values_are_refused_in_words(bench: Bench, tiny_model: str) -> None:
    bench.robot()
    bench.planner(tiny_model, only('get_location'))
    names = [p.name for p in PARAMETERS]
    before = _values(bench, names)
    for name, value, reason in BAD:
        successful, said = _set(bench, name, value)
        assert not successful and said and reason in said, (name, value, said)
    assert _values(bench, names) == before
    assert _set(bench, 'temperature', 1) == (True, '')  # as in `temperature: 1` of a YAML file
    # A type that there is not: rclpy cannot answer it, and must not end on it.
    with pytest.raises(EdgeLlmError, match='no answer'):
        call(bench.node, SetParameters, 'planner/set_parameters', SetParameters.Request(
            parameters=[_message('seed', ParameterValue(type=99))]), 2.0)
    assert _set(bench, 'seed', 5) == (True, '')
    assert bench.plan('Look.', max_steps=1).result.outcome == Plan.Result.MAX_STEPS


def test_a_set_of_several_is_all_or_nothing(bench: Bench, tiny_model: str) -> None:
    bench.planner(tiny_model, only('get_location'), active=False)
    names = ['seed', 'top_k', 'goal_policy']
    before = _values(bench, names)
    successful, reason = _set_together(bench, seed=7, top_k=-3, goal_policy='reject')
    assert not successful and 'top_k' in reason and _values(bench, names) == before
    assert _set_together(bench, seed=7, top_k=3, goal_policy='reject') == (True, '')
    assert [v.integer_value for v in _values(bench, names)[:2]] == [7, 3]
