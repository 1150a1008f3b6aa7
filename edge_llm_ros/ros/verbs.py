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

"""What all ways to the robot share: messages in, chosen result fields out, waits that end."""

from __future__ import annotations

from collections.abc import Callable
import threading
import time
from typing import Any

from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import Observation
from edge_llm_ros.ros.messages import check_path, field_kind, fill, get, plain
from edge_llm_ros.tools.call_cancellation import CallCancellation
from edge_llm_ros.tools.field_paths import flat
from edge_llm_ros.tools.gate import Passage, Refused
from edge_llm_ros.tools.tool_file import Argument, ResultField, Tool
from edge_llm_ros.tools.toolset import failed

WAIT_SLICE = 0.1  # seconds between two looks at the cancellation


class ResultView:
    """
    The part of a response that the model is told.

    :param message_class: of the response
    :param where: tool, for messages
    :raises ConfigError: if a field of the tool's result is not in the response
    """

    def __init__(self, tool: Tool, message_class: Any, where: str) -> None:
        fields = tool.result
        if isinstance(fields, list):
            fields = {path.split('.')[-1]: ResultField(field=path) for path in fields}
        self._fields = fields
        self._class = message_class
        self.has_success = 'success' in message_class.get_fields_and_field_types()
        self.has_message = 'message' in message_class.get_fields_and_field_types()
        for name, field in fields.items():
            try:
                check_path(message_class, field.field)
            except ValueError as error:
                raise ConfigError(f'{where}.result.{name}: {error}') from None

    def of(self, response: Any) -> dict[str, Any]:
        """Return the chosen fields of a response."""
        return {name: self._value(response, field) for name, field in self._fields.items()}

    def _value(self, response: Any, field: ResultField) -> Any:
        value = plain(get(response, field.field), field_kind(self._class, field.field))
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return value
        value = value * field.scale if field.scale != 1.0 else value
        if field.digits is not None:
            value = round(value, field.digits) if field.digits else round(value)
        return value


class RequestMaker:
    """
    Makes the message of a call.

    :param message_class: of the request
    :raises ConfigError: if a fixed field, an argument's field or one of its values does not fit
    """

    def __init__(self, tool: Tool, message_class: Any, where: str) -> None:
        self._class = message_class
        duration = tool.publish.duration if tool.publish else None
        try:
            fill(message_class(), flat(tool.fixed))
        except Refused as error:
            raise ConfigError(f'{where}.fixed: {error}') from None
        for name, argument in tool.arguments.items():
            if name == duration:
                continue
            try:
                if argument.values is None:
                    check_path(message_class, argument.field or name)
                    # Refused now rather than at every call: an argument of the wrong type.
                    for value in _samples(argument):
                        fill(message_class(), {argument.field or name: value})
                for fields in (argument.values or {}).values():
                    fill(message_class(), flat(fields))
            except (ValueError, Refused) as error:
                raise ConfigError(f'{where}.arguments.{name}: {error}{_hint(argument)}') from None

    def __call__(self, passage: Passage) -> Any:
        """Return the message; raises Refused if a value does not fit its field exactly."""
        message = self._class()
        fill(message, passage.fields)
        return message


def _hint(argument: Argument) -> str:
    """Return what a person may have meant by an argument that does not fit its field."""
    if argument.values is not None:
        return ''
    default = '' if 'type' in argument.model_fields_set else ', as where no type is given'
    return (
        f'. The argument is of type {argument.type}{default}; "values" maps words to the values '
        f'of other fields, as in values: {{open: {{data: true}}}}')


def _samples(argument: Argument) -> list[Any]:
    """Return values of an argument, among them the extreme ones."""
    if argument.enum is not None:
        return list(argument.enum)
    if argument.type in ('number', 'integer'):
        bounds = [b for b in (argument.minimum, argument.maximum) if b is not None]
        return bounds or [argument.default or 0]
    return [True] if argument.type == 'boolean' else ['text'[:argument.max_length]]


def why_not_ready(ready: Callable[[], bool], deadline: float, cancellation: CallCancellation,
                  missing: Callable[[], str]) -> Observation | None:
    """
    Wait until a peer is there.

    :param missing: says what the model is told if it does not come in time
    :returns: None once it is there, else what to tell
    """
    while not cancellation.canceled:
        if ready():
            return None
        if time.monotonic() >= deadline:
            return failed(missing())
        cancellation.wait(WAIT_SLICE)
    return failed(f'{cancellation.why}; nothing was sent', cancellation.status)


def wait_for(future: Any, seconds: float, cancellation: Cancellation | None,
             alive: Callable[[], bool] | None = None) -> bool:
    """
    Wait for an rclpy future from a thread that does not spin.

    :param seconds: at most, on the steady clock
    :param cancellation: ends the wait early; None to wait through a cancel
    :param alive: looked at in every slice of the wait, which ends when it is false
    :returns: whether the future is done
    """
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    deadline = time.monotonic() + seconds
    while not done.is_set():
        left = deadline - time.monotonic()
        if left <= 0 or (cancellation is not None and cancellation.canceled):
            return bool(future.done())
        if alive is not None and not alive():
            return bool(future.done())
        done.wait(min(left, WAIT_SLICE))
    return True
