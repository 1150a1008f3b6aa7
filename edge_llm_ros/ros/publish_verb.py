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

from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import Observation
from edge_llm_ros.ros.convert import fill
from edge_llm_ros.ros.goal_journal import Started
from edge_llm_ros.ros.messages import interface
from edge_llm_ros.ros.qos import COMMAND, LATCHED
from edge_llm_ros.ros.request_maker import RequestMaker
from edge_llm_ros.ros.verbs import why_not_ready
from edge_llm_ros.ros.wiring import Wiring
from edge_llm_ros.tools.call_cancellation import CallCancellation
from edge_llm_ros.tools.field_paths import flat
from edge_llm_ros.tools.gate import Passage, Refused
from edge_llm_ros.tools.tool_file import Tool
from edge_llm_ros.tools.toolset import failed, succeeded
from rclpy.qos import DurabilityPolicy


class Publish:
    """
    Publishes a message; at a rate, for a bounded time that always ends with the stop message.

    :param wiring: whose latch lets messages leave, but stop messages leave always, and whose
        journal remembers a publish at a rate
    :param where: tool, for messages
    :raises ConfigError: if the tool does not fit the message type
    """

    def __init__(self, wiring: Wiring, tool: Tool, where: str) -> None:
        verb = tool.publish
        assert verb is not None
        kind = interface(verb.type, f'{where}.publish.type')
        self._verb = verb
        self._timeout = tool.timeout
        self._message = RequestMaker(tool, kind, where, wiring.node.get_clock())
        # A message that is sent once, such as a spoken text, has none unless the file says so.
        self.stops = verb.rate > 0 or 'stop' in verb.model_fields_set
        self._stop = kind()
        try:
            fill(self._stop, flat(verb.stop))
        except Refused as error:
            raise ConfigError(f'{where}.publish.stop: {error}') from None
        self._latch, self._journal = wiring.latch, wiring.journal
        self._node = wiring.node
        self._publisher = self._node.create_publisher(
            kind, verb.topic, LATCHED if verb.latched else COMMAND, callback_group=wiring.group)

    @property
    def name(self) -> str:
        """Return the resolved name of the topic."""
        return str(self._node.resolve_topic_name(self._verb.topic))

    @property
    def target(self) -> str:
        """Return what it publishes on."""
        return f'publish {self.name} {self._verb.type}'

    def prepare(self, passage: Passage) -> Any:
        """Return the message."""
        return self._message(passage)

    def send(self, message: Any, passage: Passage, cancellation: CallCancellation,
             on_progress: Callable[[str], None]) -> Observation:
        """Publish the message."""
        deadline = time.monotonic() + self._timeout
        not_ready = why_not_ready(
            lambda: self.listeners() > 0, deadline, cancellation,
            lambda: f'nobody listens on {self._verb.topic!r}; nothing was sent' + (
                f': {self.mismatch()}' if self.mismatch() else ''))
        if not_ready is not None:
            return not_ready
        if self._verb.rate:
            return self._at_rate(message, passage.duration, cancellation)
        with self._latch.passing():
            self._message.stamp(message)
            self._publisher.publish(message)
        return succeeded({'sent': True, 'subscribers': self.listeners()})

    def listeners(self) -> int:
        """Return how many subscribers there are."""
        return int(self._publisher.get_subscription_count())

    def _at_rate(self, message: Any, seconds: float, cancellation: CallCancellation
                 ) -> Observation:
        started = Started('publish', self.name)
        try:
            self._journal.add(started)
        except OSError as error:
            return failed(f'nothing was sent: the call cannot be journaled ({error.strerror})')
        listeners = self.listeners()
        start = time.monotonic()
        try:
            stopped = self._publish_until(message, start, seconds, cancellation)
        finally:
            self.stop()
            self._journal.remove(started)
        if stopped:
            return failed(f'{cancellation.why}; the stop message was sent', cancellation.status)
        return succeeded({'seconds': round(time.monotonic() - start, 1), 'stopped': True,
                          'subscribers': listeners})

    def _publish_until(self, message: Any, start: float, seconds: float,
                       cancellation: CallCancellation) -> bool:
        """Publish at the rate; returns whether something ended it before its time."""
        period = 1.0 / self._verb.rate
        sent = 0
        while time.monotonic() - start < seconds:
            if cancellation.canceled:
                return True
            try:
                with self._latch.passing():
                    self._message.stamp(message)
                    self._publisher.publish(message)
            except Refused:
                if not sent:
                    raise
                # The goal's own cancellation follows the latch at once.
                cancellation.wait(1.0)
                return True
            sent += 1
            rest = min(start + sent * period, start + seconds) - time.monotonic()
            if cancellation.wait(rest):
                return True
        return False

    def mismatch(self) -> str:
        """Return in words what on the graph does not fit; empty if all does."""
        subscribers = self._node.get_subscriptions_info_by_topic(self._verb.topic)
        others = sorted({s.topic_type for s in subscribers} - {self._verb.type})
        if others:
            return (f'{self._verb.topic!r} is of type {", ".join(others)} for its subscribers, '
                    f'not {self._verb.type}')
        latched = [s for s in subscribers
                   if s.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL]
        if latched and not self._verb.latched:
            return (f'subscribers of {self._verb.topic!r} want a publisher that keeps its last '
                    f'message; set "latched: true"')
        return ''

    def stop(self) -> str:
        """Publish the stop message, if there is one; returns what was done."""
        if not self.stops:
            return ''
        try:
            self._message.stamp(self._stop)
        finally:
            self._publisher.publish(self._stop)
        return f'stop message sent on {self.name}'

    def destroy(self) -> None:
        """Give the publisher back."""
        self._node.destroy_publisher(self._publisher)
