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

"""A tool that publishes a message, once or at a rate."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any

from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import Observation, Status
from edge_llm_ros.ros.convert import fill
from edge_llm_ros.ros.messages import interface
from edge_llm_ros.ros.qos import COMMAND, LATCHED
from edge_llm_ros.ros.request_maker import RequestMaker
from edge_llm_ros.ros.verbs import why_not_ready
from edge_llm_ros.tools.field_paths import flat
from edge_llm_ros.tools.gate import Passage, Refused
from edge_llm_ros.tools.tool_file import Tool
from edge_llm_ros.tools.toolset import failed, succeeded


class Publish:
    """
    Publishes a message; at a rate, for a bounded time that always ends with the stop message.

    :param node: that owns the publisher
    :param where: tool, for messages
    :raises ConfigError: if the tool does not fit the message type
    """

    def __init__(self, node: Any, group: Any, tool: Tool, where: str) -> None:
        verb = tool.publish
        assert verb is not None
        kind = interface(verb.type, f'{where}.publish.type')
        self._verb = verb
        self._timeout = tool.timeout
        self._message = RequestMaker(tool, kind, where, node.get_clock())
        self._stop = kind()
        try:
            fill(self._stop, flat(verb.stop))
        except Refused as error:
            raise ConfigError(f'{where}.publish.stop: {error}') from None
        self._node = node
        self._publisher = node.create_publisher(
            kind, verb.topic, LATCHED if verb.latched else COMMAND, callback_group=group)

    def prepare(self, passage: Passage) -> Any:
        """Return the message."""
        return self._message(passage)

    def send(self, message: Any, passage: Passage, cancellation: Cancellation,
             on_progress: Callable[[str], None]) -> Observation:
        """Publish the message."""
        deadline = time.monotonic() + self._timeout
        not_ready = why_not_ready(
            lambda: self._publisher.get_subscription_count() > 0, deadline, cancellation,
            lambda: f'nobody listens on {self._verb.topic!r}; nothing was sent')
        if not_ready is not None:
            return not_ready
        if not self._verb.rate:
            self._message.stamp(message)
            self._publisher.publish(message)
            return succeeded({'sent': True})
        return self._at_rate(message, passage.duration, cancellation)

    def _at_rate(self, message: Any, seconds: float, cancellation: Cancellation) -> Observation:
        start = time.monotonic()
        period = 1.0 / self._verb.rate
        sent = 0
        try:
            while time.monotonic() - start < seconds:
                self._message.stamp(message)
                self._publisher.publish(message)
                sent += 1
                rest = min(start + sent * period, start + seconds) - time.monotonic()
                if cancellation.wait(rest):
                    return failed('canceled; the stop message was sent', Status.CANCELED)
        finally:
            try:
                self._message.stamp(self._stop)
            finally:
                self._publisher.publish(self._stop)
        return succeeded({'seconds': round(time.monotonic() - start, 1), 'stopped': True})

    def destroy(self) -> None:
        """Give the publisher back."""
        self._node.destroy_publisher(self._publisher)
