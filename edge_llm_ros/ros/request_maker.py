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

"""From the fields that passed the gate to the message that leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.ros.argument_types import resolved_tool
from edge_llm_ros.ros.convert import fill
from edge_llm_ros.ros.idl import field_types, is_message, message_class, whole_seconds
from edge_llm_ros.ros.messages import get
from edge_llm_ros.ros.plain_value import plain
from edge_llm_ros.tools.argument import Argument, Value
from edge_llm_ros.tools.field_paths import flat
from edge_llm_ros.tools.gate import Passage, Refused
from edge_llm_ros.tools.tool_file import Tool
from edge_llm_ros.tools.virtual_argument import request_fields, written_fields
from rosidl_parser.definition import NamespacedType

AT_SENDING = 'the time of sending'  # what is told of a stamp


class RequestMaker:
    """
    Makes the message of a call.

    :param message_class: of the request
    :param clock: the node's, for the stamps of headers; None leaves them zero
    :raises ConfigError: if a fixed field, an argument's field or one of its values does not fit
    """

    def __init__(self, tool: Tool, message_class: Any, where: str, clock: Any = None) -> None:
        self._class = message_class
        self._clock = clock
        self._fixed = flat(tool.fixed)
        duration = tool.publish.duration if tool.publish else None
        try:
            fill(message_class(), self._fixed)
        except Refused as error:
            raise ConfigError(f'{where}.fixed: {error}') from None
        tool = resolved_tool(tool, message_class, where)
        self._writers: dict[str, str] = {}
        for name, argument in tool.arguments.items():
            if name == duration:
                continue
            self._check(name, argument, f'{where}.arguments.{name}')
            self._writers.update(dict.fromkeys(written_fields(name, argument), name))
        self._labels = {path: _label(name, tool.arguments[name], path)
                        for path, name in self._writers.items()}
        self._stamps = [
            path for path in _headers(message_class)
            if not any(_overlap(f'{path}.stamp', other) for other in self._written())]

    def _check(self, name: str, argument: Argument, where: str) -> None:
        """Refuse now, rather than at every call, what does not fit the message."""
        given = list(argument.values or ()) or _samples(argument)
        try:
            for value in given:
                fill(self._class(), request_fields(name, argument, value))
        except Refused as error:
            raise ConfigError(f'{where}: {error}') from None

    def _written(self) -> list[str]:
        return [*self._fixed, *self._writers]

    def __call__(self, passage: Passage) -> Any:
        """Return the message; raises Refused if a value does not fit its field exactly."""
        message = self._class()
        fill(message, passage.fields, self._label)
        self.stamp(message)
        return message

    def _label(self, path: str) -> str:
        return self._labels.get(path, path)

    def stamp(self, message: Any) -> None:
        """Set the stamps of a message's headers to now, on the node's clock."""
        if self._clock is not None:
            for path in self._stamps:
                get(message, path).stamp = self._clock.now().to_msg()

    def unexposed(self) -> dict[str, Any]:
        """Return the fields that no argument sets, by dotted path, with what they will hold."""
        message = self._class()
        fill(message, self._fixed)
        stamps = {f'{path}.stamp' for path in self._stamps if self._clock is not None}
        return {
            path: AT_SENDING if path in stamps else plain(get(message, path), kind)
            for path, kind in _leaves(self._class)
            if not any(f'{path}.'.startswith(f'{writer}.') for writer in self._writers)}


def _overlap(path: str, other: str) -> bool:
    return f'{path}.'.startswith(f'{other}.') or f'{other}.'.startswith(f'{path}.')


def _label(name: str, argument: Argument, path: str) -> str:
    """Return what the value at a path is called: the model knows arguments, not fields."""
    start = argument.field or name
    inside = argument.fields is not None and path.startswith(f'{start}.')
    return f'argument {name!r}' + (f', field {path[len(start) + 1:]!r}' if inside else '')


def _leaves(of: Any, prefix: str = '') -> Iterator[tuple[str, Any]]:
    """Return path and type of each field that holds no fields of its own."""
    for name, kind in field_types(of).items():
        path = f'{prefix}{name}'
        if isinstance(kind, NamespacedType) and whole_seconds(kind) is None:
            yield from _leaves(message_class(kind), f'{path}.')
        else:
            yield path, kind


def _headers(of: Any, prefix: str = '') -> Iterator[str]:
    """Return the paths of the headers of a message, those inside lists left out."""
    for name, kind in field_types(of).items():
        if is_message(kind, 'std_msgs/msg/Header'):
            yield f'{prefix}{name}'
        elif isinstance(kind, NamespacedType):
            yield from _headers(message_class(kind), f'{prefix}{name}.')


_SIMPLE: dict[str | None, Callable[[Value], Any]] = {
    'string': lambda value: 'text'[:value.max_length],
    'boolean': lambda value: True,
    'array': lambda value: [_samples(value.items or Value())[0]] * (value.min_items or 1),
    'object': lambda value: {
        name: _samples(field)[0] for name, field in (value.fields or {}).items()},
}


def _samples(value: Value) -> list[Any]:
    """Return values that are allowed, among them the extreme ones."""
    if value.enum is not None:
        return list(value.enum)
    if value.type in _SIMPLE:
        return [_SIMPLE[value.type](value)]
    bounds = [bound for bound in (value.minimum, value.maximum) if bound is not None]
    return bounds or [getattr(value, 'default', None) or 0]
