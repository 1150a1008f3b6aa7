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

"""What a tool file leaves out of its arguments, taken from the interface's definition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.ros.convert import convert
from edge_llm_ros.ros.idl import constants, field_type, FLOATS, INTEGERS, is_message, name_of
from edge_llm_ros.ros.messages import interface
from edge_llm_ros.ros.narrowing import Narrowing, reason, with_keys
from edge_llm_ros.tools.argument import Argument
from edge_llm_ros.tools.gate import Refused
from edge_llm_ros.tools.load_tools import LoadedTools
from edge_llm_ros.tools.tool_file import Tool
from rosidl_parser.definition import BasicType

_FULL_TURN = 360.0


def request_class(tool: Tool, where: str) -> Any:
    """
    Return the class of the message that a tool sends; None for a tool that sends none.

    :raises ConfigError: if its interface is not installed here
    """
    for key, part in (('service', 'Request'), ('action', 'Goal'), ('publish', '')):
        verb = getattr(tool, key)
        if verb is not None:
            kind = interface(verb.type, f'{where}.{key}.type')
            return getattr(kind, part) if part else kind
    return None


def resolved_tools(loaded: LoadedTools) -> LoadedTools:
    """
    Return the tools with arguments whose types are all known.

    :raises ConfigError: with file, tool and argument
    """
    tools = {}
    for name, tool in loaded.tools.items():
        where = f'{loaded.files[name]}: tools.{name}'
        tools[name] = resolved_tool(tool, request_class(tool, where), where)
    return replace(loaded, tools=tools)


def resolved_tool(tool: Tool, request: Any, where: str) -> Tool:
    """
    Return a tool whose arguments have what the file leaves out of them.

    :param request: class of the message that the tool sends
    :raises ConfigError: if an argument is wider than its field, or does not fit it
    """
    if not tool.arguments:
        return tool
    duration = tool.publish.duration if tool.publish else None
    arguments = {}
    for name, argument in tool.arguments.items():
        try:
            arguments[name] = _seconds(argument) if name == duration else _resolved(
                name, argument, request)
        except (ValueError, Refused) as error:
            raise ConfigError(f'{where}.arguments.{name}: {reason(error)}') from None
    return tool.model_copy(update={'arguments': arguments})


def _seconds(argument: Argument) -> Argument:
    return Argument.model_validate(with_keys(argument, type=argument.type or 'number'))


def _resolved(name: str, argument: Argument, request: Any) -> Argument:
    if argument.values is not None:
        return argument
    path = argument.field or name
    kind = field_type(request, path)
    words = _constant_words(argument, kind, request, path)
    if words:
        values = {word: {path: value} for word, value in words.items()}
        return Argument.model_validate(with_keys(
            argument, type='string', values=values, enum=None, constants=None, field=None))
    if argument.unit_of_model is not None:
        return Argument.model_validate(_angle(argument, kind))
    return Argument.model_validate(Narrowing().of(argument, kind))


def _angle(argument: Argument, kind: Any) -> dict[str, Any]:
    yaw = argument.unit_of_model == 'yaw_degrees'
    if yaw and not is_message(kind, 'geometry_msgs/msg/Quaternion'):
        raise ValueError(f'as: yaw_degrees needs a field of type geometry_msgs/Quaternion, not '
                         f'{name_of(kind)}')
    if not yaw and not (isinstance(kind, BasicType) and kind.typename in FLOATS):
        raise ValueError(f'as: degrees needs a field of type float32 or float64, in radians, not '
                         f'{name_of(kind)}')
    bounds = {'minimum': argument.minimum, 'maximum': argument.maximum}
    if yaw:
        bounds = {'minimum': -_FULL_TURN if argument.minimum is None else argument.minimum,
                  'maximum': _FULL_TURN if argument.maximum is None else argument.maximum}
    return with_keys(argument, type='number', unit=argument.unit or 'degrees', **bounds)


def _constant_words(argument: Argument, kind: Any, request: Any, path: str) -> dict[str, Any]:
    """Return the words for the field's constants, by which a model gives an integer by name."""
    if not isinstance(kind, BasicType) or kind.typename not in INTEGERS:
        if argument.constants is not None:
            raise ValueError(f'constants is for fields of whole numbers, not {name_of(kind)}')
        return {}
    there = {key: value for key, value in constants(request, path).items()
             if isinstance(value, int) and not isinstance(value, bool)}
    if argument.enum is not None and argument.type == 'string':
        strange = [word for word in argument.enum if word not in there]
        if strange:
            raise ValueError(f'the field is {name_of(kind)}, and {strange[0]!r} is no constant of '
                             f'it; constants: {", ".join(there) or "none"}')
        return {str(word): there[str(word)] for word in argument.enum}
    plain = argument.type is None and argument.minimum is None and argument.maximum is None
    if argument.constants is None and not plain or argument.enum is not None:
        return {}
    prefix = argument.constants
    if prefix is None:
        prefix = f'{path.split(".")[-1].upper()}_'
    words = {key.removeprefix(prefix).lower(): value for key, value in there.items()
             if key.startswith(prefix) and key != prefix}
    for value in words.values():
        convert(value, kind, 'constants')
    if argument.constants is not None and not words:
        raise ValueError(f'no constant begins with {prefix!r}; constants: '
                         f'{", ".join(there) or "none"}')
    return words
