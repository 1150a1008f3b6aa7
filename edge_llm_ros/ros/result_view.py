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

"""The part of a response that the model is told."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any

from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.ros.idl import (
    field_type, field_types, FLOATS, INTEGERS, is_list, is_message, name_of)
from edge_llm_ros.ros.messages import get
from edge_llm_ros.ros.plain_value import PlainValues, shape_said
from edge_llm_ros.ros.result_budget import LEFT_OUT, MAX_CHARACTERS, NULL_MEANS, within
from edge_llm_ros.tools.result_field import ANSWER_FIELDS, ResultField
from edge_llm_ros.tools.tool_file import Tool
from rosidl_parser.definition import AbstractGenericString, BasicType


class ResultView:
    """
    The part of a response that the model is told.

    :param message_class: of the response
    :param where: tool, for messages
    :param characters: of the result as JSON, at most
    :raises ConfigError: if a field of the tool's result is not in the response
    """

    def __init__(self, tool: Tool, message_class: Any, where: str,
                 characters: int = MAX_CHARACTERS) -> None:
        self._fields = tool.result_fields()
        self._characters = characters
        self._kinds: dict[str, Any] = {}
        self.has_success = 'success' in field_types(message_class)
        self._has_message = 'message' in field_types(message_class)
        for name, field in self._fields.items():
            try:
                self._kinds[name] = field_type(message_class, field.field)
                _check(name, field, self._kinds[name])
            except ValueError as error:
                raise ConfigError(f'{where}.result.{name}: {error}') from None

    def of(self, response: Any) -> dict[str, Any]:
        """Return the chosen fields of a response, in as much detail as there is room for."""
        return self._told(response, self._fields)

    def beside_reason(self, response: Any) -> dict[str, Any]:
        """Return the same without what reason() tells of a response that reports a failure."""
        return self._told(response, {name: field for name, field in self._fields.items()
                                     if field.field not in ANSWER_FIELDS})

    def _told(self, response: Any, fields: Mapping[str, ResultField]) -> dict[str, Any]:
        return within(self._characters, lambda values: {
            name: self._value(name, field, response, values) for name, field in fields.items()})

    def reason(self, response: Any) -> str:
        """Return what a response says of itself; empty if it has no message."""
        text = response.message if self._has_message else ''
        return PlainValues().text(text) if isinstance(text, str) else ''

    def _value(self, name: str, field: ResultField, response: Any, values: PlainValues) -> Any:
        *parents, _ = field.field.split('.')
        value, kind = get(response, field.field), self._kinds[name]
        if field.unit_of_model == 'yaw_degrees':
            return _rounded(_yaw_degrees(value, name, values), 1 if field.digits is None else
                            field.digits)
        if isinstance(value, str) and field.pattern is not None:
            value = field.told(value)
            if value is None:
                values.marks[name] = 'a text that the tool file does not expect'
                return None
            return values.text(value)
        scale = math.degrees(1) if field.unit_of_model == 'degrees' else field.scale
        parent = get(response, '.'.join(parents)) if parents else response
        return _rounded(values.of(value, kind, name, scale, shape_said(parent)), field.digits)


def _check(name: str, field: ResultField, kind: Any) -> None:
    if name in (NULL_MEANS, LEFT_OUT):
        raise ValueError('is a name of our own; choose another')
    if field.unit_of_model == 'yaw_degrees':
        if not is_message(kind, 'geometry_msgs/msg/Quaternion'):
            raise ValueError(f'as: yaw_degrees needs a geometry_msgs/Quaternion, not '
                             f'{name_of(kind)}')
        return
    item = kind.value_type if is_list(kind) else kind
    number = isinstance(item, BasicType) and item.typename in (*FLOATS, *INTEGERS)
    if not number and (field.scale != 1.0 or field.digits is not None or field.unit_of_model):
        raise ValueError(f'scale, digits and as are for numbers, not for {name_of(kind)}')
    if field.pattern is not None and not isinstance(kind, AbstractGenericString):
        raise ValueError(f'pattern is for texts, not for {name_of(kind)}')


def _yaw_degrees(rotation: Any, name: str, values: PlainValues) -> float | None:
    x, y, z, w = rotation.x, rotation.y, rotation.z, rotation.w
    length = math.sqrt(x * x + y * y + z * z + w * w)
    if not abs(length - 1) < 0.01:
        values.marks[name] = 'no rotation: the quaternion is not of length 1'
        return None
    return math.degrees(math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))


def _rounded(value: Any, digits: int | None) -> Any:
    """Return a value with its numbers cut to some decimals; those of a summary too."""
    if digits is None or isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, list):
        return [_rounded(item, digits) for item in value]
    if isinstance(value, dict):
        return {key: _rounded(item, digits) if key in ('min', 'max') else item
                for key, item in value.items()}
    return round(value, digits) if digits else round(value)
