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

"""A field of a topic's latest message or of a service's response, read at a goal's start."""

from __future__ import annotations

import time
from typing import Any

from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.ros.idl import field_type, is_list, message_class
from edge_llm_ros.ros.latest import Latest, LOOK_SECONDS
from edge_llm_ros.ros.messages import get, interface
from edge_llm_ros.ros.plain_value import plain
from edge_llm_ros.ros.service_client import ServiceClient
from edge_llm_ros.ros.verbs import WAIT_SLICE
from edge_llm_ros.ros.wiring import Wiring
from edge_llm_ros.tools.goal_facts import NotRead
from edge_llm_ros.tools.readings import Source, ValuesFrom
from rosidl_parser.definition import NamespacedType

_EACH = '[]'


class FieldOf:
    """
    Takes a field out of a message; the path may go through the items of lists.

    :param of: class of the message
    :param path: as in pose.position.x or objects[].name
    :param where: file and key, for the message
    :param each: whether a list at the end is taken item by item though [] is left out
    :raises ConfigError: if there is no such field
    """

    def __init__(self, of: Any, path: str, where: str, each: bool = False) -> None:
        self._steps = [part.strip('.') for part in path.split(_EACH)]
        last = self._steps[-1]
        self._steps = self._steps if last else self._steps[:-1]
        self._kind: Any = None
        current = of
        for i, part in enumerate(self._steps):
            try:
                if current is None:
                    raise ValueError(f'{path!r}: the items have no fields')
                self._kind = field_type(current, part)
            except ValueError as error:
                raise ConfigError(f'{where}.field: {error}') from None
            if i < path.count(_EACH):
                if not is_list(self._kind):
                    raise ConfigError(f'{where}.field: {part!r} is no list, so {_EACH} is wrong.')
                self._kind = self._kind.value_type
            current = (message_class(self._kind) if isinstance(self._kind, NamespacedType)
                       else None)
        self._lists = path.count(_EACH)
        if each and is_list(self._kind):
            self._kind = self._kind.value_type
            self._lists += 1

    def of(self, message: Any) -> Any:
        """Return the field's value as JSON has it; of a path with [] all of them in a list."""
        values = [message]
        for i, part in enumerate(self._steps):
            values = [get(value, part) for value in values]
            if i < self._lists:
                values = [item for value in values for item in value]
        told = [plain(value, self._kind) for value in values]
        return told if self._lists else told[0]


class TopicSource:
    """
    Reads a topic.

    :param where: file and key, for messages
    :raises ConfigError: if the interface or the field is not there
    """

    def __init__(self, wiring: Wiring, source: Source, where: str) -> None:
        kind = interface(source.type, f'{where}.type')
        self._field = FieldOf(kind, source.field, where, isinstance(source, ValuesFrom))
        self._source = source
        self._deadline = 0.0
        self._topic = Latest(wiring.node, wiring.streams, kind, source.type, source.name,
                             source.latched, source.max_age)

    def ask(self) -> None:
        """Begin to wait; the messages come by themselves."""
        self._deadline = time.monotonic() + self._source.timeout

    def answer(self, cancellation: Cancellation) -> Any:
        """Return the field of the latest message; raises NotRead if there is none in time."""
        while True:
            latest = self._topic.get()
            age = time.monotonic() - latest[0] if latest is not None else 0.0
            if latest is not None and (self._source.latched or age <= self._source.max_age):
                return self._field.of(latest[1])
            self._topic.adapt()
            if time.monotonic() >= self._deadline or cancellation.wait(LOOK_SECONDS):
                if latest is None:
                    raise NotRead(f'no message on {self._source.name!r}')
                raise NotRead(f'the last message on {self._source.name!r} is {age:.0f} s old')

    def destroy(self) -> None:
        """Give the subscription back."""
        self._topic.destroy()


class ServiceSource:
    """
    Reads the response to an empty request.

    :param where: file and key, for messages
    :raises ConfigError: if the interface or the field is not there
    """

    def __init__(self, wiring: Wiring, source: Source, where: str) -> None:
        kind = interface(source.type, f'{where}.type')
        self._field = FieldOf(kind.Response, source.field, where, isinstance(source, ValuesFrom))
        self._request = kind.Request
        self._source = source
        self._deadline = 0.0
        self._future: Any = None
        self._client = ServiceClient(wiring.node, kind, source.name)

    def ask(self) -> None:
        """Send the request, if there is somebody to take it."""
        self._deadline = time.monotonic() + self._source.timeout
        self._future = self._client.send(self._request()) if self._client.ready() else None

    def answer(self, cancellation: Cancellation) -> Any:
        """Return the field of the response; raises NotRead if it does not come in time."""
        while self._future is None:
            if self._client.ready():
                self._future = self._client.send(self._request())
            elif time.monotonic() >= self._deadline or cancellation.wait(WAIT_SLICE / 4):
                raise NotRead(f'there is no service {self._source.name!r}')
        future, self._future = self._future, None
        if not self._client.wait_for(future, self._deadline - time.monotonic(), cancellation):
            raise NotRead(f'no response from {self._source.name!r}')
        return self._field.of(future.result())

    def destroy(self) -> None:
        """Give the client back."""
        self._client.destroy()


def source_reader(wiring: Wiring, source: Source, where: str) -> TopicSource | ServiceSource:
    """Return what reads a source; ConfigError if its interface or field is not there."""
    kind = TopicSource if source.topic is not None else ServiceSource
    return kind(wiring, source, where)
