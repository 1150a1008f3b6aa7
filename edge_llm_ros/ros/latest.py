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

"""The latest message of a topic."""

from __future__ import annotations

from collections.abc import Sequence
import threading
import time
from typing import Any

from edge_llm_ros.ros.qos import LATCHED, LATCHED_BEST_EFFORT, LATEST
from edge_llm_ros.ros.streams import Streams
from edge_llm_ros.ros.unspun import UnspunGroup
from rclpy.exceptions import InvalidHandle
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message

LOOK_SECONDS = 0.01  # between two looks of one who waits for a message
_ADAPT_SECONDS = 0.5  # between two looks at what publishers offer


class Latest:
    """
    Tells the latest message of a topic, by a subscription that fits what its publishers offer.

    No executor takes its messages: all but the last of them would be taken for nothing.

    :param node: that owns the subscription
    :param streams: looks at it between two questions
    :param message_class: of the topic
    :param type_name: of the topic, as package/msg/Name
    :param latched: whether a publisher is expected to keep its last message for late subscribers
    :param max_age: seconds that a message counts; where it is latched, its age does not matter
    """

    def __init__(self, node: Any, streams: Streams, message_class: Any, type_name: str, topic: str,
                 latched: bool, max_age: float) -> None:
        self._node = node
        self._streams = streams
        self._class = message_class
        self._type = type_name
        self._topic = topic
        self._latched = latched
        self._lock = threading.Lock()
        self._latest: tuple[float, bytes] | None = None
        self._adapting = threading.Lock()
        self._adapted = self._looked = time.monotonic()
        self._profile = self._fitting(self.publishers())
        self._subscription = self._subscribe()
        if not latched:
            streams.add(self._look, max_age)

    def _subscribe(self) -> Any:
        # A group each: rclpy's groups never forget an entity that was destroyed.
        return self._node.create_subscription(
            self._class, self._topic, lambda message: None, self._profile,
            callback_group=UnspunGroup())

    def _look(self) -> None:
        """Take the message that has come since the last look, if there is one."""
        with self._lock:
            # What comes from now on may be taken here, and counts from the last look all the same.
            since, self._looked = self._looked, time.monotonic()
            subscription = self._subscription
            try:
                with subscription.handle:
                    # Not decoded yet: nobody may ask for it.
                    taken = subscription.handle.take_message(self._class, True)
            except InvalidHandle:
                return  # it has just been given back
            if taken is not None:
                self._latest = (since, taken[0])

    def get(self) -> tuple[float, Any] | None:
        """
        Return the latest message, and since when it may be there, on the steady clock.

        It came in the short time between two looks; the earlier one is told.
        """
        self._look()
        with self._lock:
            latest = self._latest
        return None if latest is None else (
            latest[0], deserialize_message(latest[1], self._class))

    @property
    def name(self) -> str:
        """Return the resolved name of the topic."""
        return str(self._node.resolve_topic_name(self._topic))

    def publishers(self) -> Sequence[Any]:
        """Return who publishes on the topic."""
        return list(self._node.get_publishers_info_by_topic(self._topic))

    def _fitting(self, publishers: Sequence[Any]) -> QoSProfile:
        """Return the profile that gets most from all publishers."""
        offers = [p.qos_profile for p in publishers if p.topic_type == self._type]
        if not offers:
            return LATCHED if self._latched else LATEST
        if any(o.durability != DurabilityPolicy.TRANSIENT_LOCAL for o in offers):
            return LATEST
        reliable = all(o.reliability == ReliabilityPolicy.RELIABLE for o in offers)
        return LATCHED if reliable else LATCHED_BEST_EFFORT

    def adapt(self) -> None:
        """Subscribe anew where the publishers that are there now offer something else."""
        with self._adapting:
            if time.monotonic() - self._adapted < _ADAPT_SECONDS:
                return
            self._adapted = time.monotonic()
            profile = self._fitting(self.publishers())
            if profile is self._profile:
                return
            old, self._profile = self._subscription, profile
            self._subscription = self._subscribe()
            self._node.destroy_subscription(old)

    def mismatch(self) -> str:
        """Return in words why what is published cannot be what was asked for; empty if it can."""
        publishers = self.publishers()
        others = sorted({p.topic_type for p in publishers} - {self._type})
        if others:
            return f'{self._topic!r} is of type {", ".join(others)}, not {self._type}'
        if self._latched and publishers and self._fitting(publishers) is LATEST:
            return (f'the publishers of {self._topic!r} keep no message for late subscribers, as '
                    f'"latched" expects')
        return ''

    def why_silent(self) -> str:
        """Return in words why no message may have come."""
        if not self.publishers():
            return 'nobody publishes there'
        return self.mismatch() or 'its publisher is silent'

    def destroy(self) -> None:
        """Give the subscription back."""
        self._streams.remove(self._look)
        self._node.destroy_subscription(self._subscription)
