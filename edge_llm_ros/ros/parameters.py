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

"""The parameters of the planner as those of a node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edge_llm_ros.agent.parameters import PARAMETERS, PlannerParameter
from rcl_interfaces.msg import (
    FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult)


def descriptor_of(parameter: PlannerParameter) -> ParameterDescriptor:
    """Return the descriptor that rqt shows."""
    when = 'Counts for the next goal.' if parameter.live else 'Read at configure.'
    descriptor = ParameterDescriptor(description=f'{parameter.description} {when}')
    if parameter.choices:
        descriptor.additional_constraints = 'One of ' + ', '.join(parameter.choices)
    if parameter.bounds is not None and isinstance(parameter.default, float):
        descriptor.floating_point_range = [FloatingPointRange(
            from_value=float(parameter.bounds[0]), to_value=float(parameter.bounds[1]), step=0.0)]
    elif parameter.bounds is not None:
        descriptor.integer_range = [IntegerRange(
            from_value=int(parameter.bounds[0]), to_value=int(parameter.bounds[1]), step=1)]
    # An int in a YAML file is meant as a float where a float is due: `temperature: 1`.
    descriptor.dynamic_typing = isinstance(parameter.default, float)
    return descriptor


class PlannerParameters:
    """
    Declares the table on a node and reads it.

    :param node: a node that can_configure() while configure-time parameters may change
    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self._by_name = {p.name: p for p in PARAMETERS}
        for parameter in PARAMETERS:
            value = node.declare_parameter(
                parameter.name, parameter.default, descriptor_of(parameter)).value
            problem = parameter.problem(value)
            if problem:
                raise ValueError(problem)
        node.add_on_set_parameters_callback(self._on_set)

    def __getitem__(self, name: str) -> Any:
        value = self._node.get_parameter(name).value
        return float(value) if isinstance(self._by_name[name].default, float) else value

    def _on_set(self, parameters: Sequence[Any]) -> SetParametersResult:
        for parameter in parameters:
            known = self._by_name.get(parameter.name)
            if known is None:
                continue
            problem = known.problem(parameter.value)
            if not problem and not known.live and not self._node.can_configure():
                problem = (
                    f'{known.name}: is read at configure; deactivate and clean up the planner '
                    'first'
                )
            if problem:
                return SetParametersResult(successful=False, reason=problem)
        return SetParametersResult(successful=True)
