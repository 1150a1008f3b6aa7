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

"""A tool that reads the latest message of a topic."""

from __future__ import annotations

from collections.abc import Callable
import threading
import time
from typing import Any

from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.tool import Observation, Status
from edge_llm_ros.ros.messages import interface
from edge_llm_ros.ros.qos import LATCHED, LATEST
from edge_llm_ros.ros.result_view import ResultView
from edge_llm_ros.ros.verbs import WAIT_SLICE
from edge_llm_ros.tools.gate import Passage
from edge_llm_ros.tools.tool_file import Tool
from edge_llm_ros.tools.toolset import failed, succeeded


class Read:
    """
    Keeps the latest message of a topic and tells it while it is fresh.

    :param node: that owns the subscription
    :param group: callback group of the subscription
    :param where: tool, for messages
    :raises ConfigError: if the tool does not fit the message type
    """

    def __init__(self, node: Any, group: Any, tool: Tool, where: str) -> None:
        verb = tool.read
        assert verb is not None
        kind = interface(verb.type, f'{where}.read.type')
        self._verb = verb
        self._timeout = tool.timeout
        self._view = ResultView(tool, kind, where)
        self._lock = threading.Lock()
        self._latest: tuple[float, Any] | None = None
        self._node = node
        self._subscription = node.create_subscription(
            kind, verb.topic, self._on_message, LATCHED if verb.latched else LATEST,
            callback_group=group)

    def _on_message(self, message: Any) -> None:
        with self._lock:
            self._latest = (time.monotonic(), message)

    def prepare(self, passage: Passage) -> Any:
        """Return nothing: a read sends no message."""

    def send(self, message: Any, passage: Passage, cancellation: Cancellation,
             on_progress: Callable[[str], None]) -> Observation:
        """Return the latest message, waiting for one where it is too old."""
        deadline = time.monotonic() + self._timeout
        while True:
            with self._lock:
                latest = self._latest
            fresh = self._verb.latched or (
                latest is not None and time.monotonic() - latest[0] <= self._verb.max_age)
            if latest is not None and fresh:
                return succeeded(self._view.of(latest[1]))
            if time.monotonic() >= deadline:
                return failed(self._why(latest))
            if cancellation.wait(WAIT_SLICE / 2):
                return failed('canceled while waiting for a message', Status.CANCELED)

    def _why(self, latest: tuple[float, Any] | None) -> str:
        topic = self._verb.topic
        if latest is None:
            return f'no message on {topic!r} within {self._timeout:g} s'
        return (f'the last message on {topic!r} is {time.monotonic() - latest[0]:.0f} s old, '
                f'more than {self._verb.max_age:g} s')

    def destroy(self) -> None:
        """Give the subscription back."""
        self._node.destroy_subscription(self._subscription)
