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

"""From what the model gives to the request fields it stands for."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any

from edge_llm_ros.tools.argument import Argument, Value
from edge_llm_ros.tools.field_paths import flat


def request_fields(name: str, argument: Argument, value: Any) -> dict[str, Any]:
    """
    Return the request fields that a checked value sets, by dotted path.

    :param name: of the argument
    """
    path = argument.field or name
    if argument.values is not None:
        return flat(argument.values[str(value)])
    if argument.unit_of_model == 'yaw_degrees':
        half = math.radians(value) / 2
        return {f'{path}.x': 0.0, f'{path}.y': 0.0, f'{path}.z': math.sin(half),
                f'{path}.w': math.cos(half)}
    if argument.unit_of_model == 'degrees':
        return {path: math.radians(value)}
    return flat({path: value})


def written_fields(name: str, argument: Argument) -> set[str]:
    """Return the paths of the request fields that an argument may set."""
    if argument.values is not None:
        return {path for fields in argument.values.values() for path in flat(fields)}
    return _leaves(argument, argument.field or name)


def _leaves(value: Value, path: str) -> set[str]:
    fields: Mapping[str, Value] = value.fields or {}
    if not fields:
        return {path}
    return {leaf for name, field in fields.items() for leaf in _leaves(field, f'{path}.{name}')}
