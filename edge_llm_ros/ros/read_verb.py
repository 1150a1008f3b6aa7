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
import time
from typing import Any

from edge_llm_ros.flow.tool import Observation
from edge_llm_ros.ros.latest import Latest, LOOK_SECONDS
from edge_llm_ros.ros.messages import interface
from edge_llm_ros.ros.result_view import ResultView
from edge_llm_ros.ros.wiring import Wiring
from edge_llm_ros.tools.call_cancellation import CallCancellation
from edge_llm_ros.tools.gate import Passage
from edge_llm_ros.tools.tool_file import Tool
from edge_llm_ros.tools.toolset import failed, succeeded


class Read:
    """
    Keeps the latest message of a topic and tells it while it is fresh.

    :param wiring: of which only node and streams are used: nothing leaves, nothing is started
    :param where: tool, for messages
    :raises ConfigError: if the tool does not fit the message type
    """

    def __init__(self, wiring: Wiring, tool: Tool, where: str) -> None:
        verb = tool.read
        assert verb is not None
        kind = interface(verb.type, f'{where}.read.type')
        self._verb = verb
        self._timeout = tool.timeout
        self._view = ResultView(tool, kind, where)
        self._topic = Latest(wiring.node, wiring.streams, kind, verb.type, verb.topic,
                             verb.latched, verb.max_age)

    @property
    def target(self) -> str:
        """Return what it reads."""
        return f'read {self._topic.name} {self._verb.type}'

    def prepare(self, passage: Passage) -> Any:
        """Return nothing: a read sends no message."""

    def send(self, message: Any, passage: Passage, cancellation: CallCancellation,
             on_progress: Callable[[str], None]) -> Observation:
        """Return the latest message, waiting for one where it is too old."""
        deadline = time.monotonic() + self._timeout
        while True:
            latest = self._topic.get()
            if latest is not None and (
                    self._verb.latched or time.monotonic() - latest[0] <= self._verb.max_age):
                return succeeded(self._view.of(latest[1]))
            if time.monotonic() >= deadline:
                return failed(self._why(latest))
            self._topic.adapt()
            if cancellation.wait(LOOK_SECONDS):
                return failed(f'{cancellation.why} while waiting for a message',
                              cancellation.status)

    def _why(self, latest: tuple[float, Any] | None) -> str:
        topic = self._verb.topic
        if latest is None:
            return (f'no message on {topic!r} within {self._timeout:g} s: '
                    f'{self._topic.why_silent()}')
        return (f'the last message on {topic!r} is {time.monotonic() - latest[0]:.0f} s old, '
                f'more than {self._verb.max_age:g} s')

    def mismatch(self) -> str:
        """Return in words what on the graph does not fit; empty if all does."""
        return self._topic.mismatch()

    def stop(self) -> str:
        """Do nothing: a read moves nothing."""
        return ''

    def destroy(self) -> None:
        """Give the subscription back."""
        self._topic.destroy()
