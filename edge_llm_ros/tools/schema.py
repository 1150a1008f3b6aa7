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

"""From a tool of the file to what the model sees of it."""

from __future__ import annotations

from typing import Any

from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import ToolSchema
from edge_llm_ros.tools.argument import Argument, Value
from edge_llm_ros.tools.tool_file import Tool
from edge_llm_ros.tools.value_words import figure


def value_schema(value: Value, where: str) -> dict[str, Any]:
    """
    Return the JSON schema of a value, keys in the order of the prompt.

    :param where: tool and argument, for the message
    :raises ConfigError: if its type is still to be taken from the request field
    """
    if value.type is None:
        raise ConfigError(
            f'{where}: has no type. Say its type, or let it be taken from the request field by a '
            'planner that has the interface.')
    schema: dict[str, Any] = {'type': value.type}
    description = value.description + (f' [{value.unit}]' if value.unit else '')
    if description:
        schema['description'] = description.strip()
    words = value.words()
    if words is not None:
        schema['enum'] = words
    for key, bound in (('minimum', value.minimum), ('maximum', value.maximum)):
        if bound is not None:
            schema[key] = figure(bound)
    if value.max_length is not None:
        schema['maxLength'] = value.max_length
    if value.items is not None:
        schema['items'] = value_schema(value.items, where)
    for key, count in (('minItems', value.min_items), ('maxItems', value.max_items)):
        if count:
            schema[key] = count
    if value.fields is not None:
        schema['properties'] = {
            name: value_schema(field, f'{where}.{name}') for name, field in value.fields.items()}
        schema['required'] = list(value.fields)
    return schema


def argument_schema(argument: Argument, where: str) -> dict[str, Any]:
    """Return the JSON schema of an argument; ``where`` as for a value."""
    schema = value_schema(argument, where)
    if argument.default is not None:
        schema['default'] = argument.default
    return schema


def tool_schema(name: str, tool: Tool) -> ToolSchema:
    """Return a tool as the model sees it."""
    return ToolSchema(name, tool.description, {
        'type': 'object',
        'properties': {key: argument_schema(a, f'tools.{name}.arguments.{key}')
                       for key, a in tool.arguments.items()},
        'required': [key for key, a in tool.arguments.items() if a.default is None],
    }, tuple(key for key, a in tool.arguments.items() if a.values_from is not None),
        silent=tool.action is None, group=tool.group or '')
