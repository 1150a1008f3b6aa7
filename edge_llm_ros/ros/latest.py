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
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

_ADAPT_SECONDS = 0.5  # between two looks at what publishers offer


class Latest:
    """
    Keeps the latest message of a topic, by a subscription that fits what its publishers offer.

    :param node: that owns the subscription, unless it has ``streams`` for such
    :param group: callback group of the subscription on a node without them
    :param message_class: of the topic
    :param type_name: of the topic, as package/msg/Name
    :param latched: whether a publisher is expected to keep its last message for late subscribers
    """

    def __init__(self, node: Any, group: Any, message_class: Any, type_name: str, topic: str,
                 latched: bool) -> None:
        self._node = node
        self._streams = getattr(node, 'streams', None)
        self._group = group
        self._class = message_class
        self._type = type_name
        self._topic = topic
        self._latched = latched
        self._lock = threading.Lock()
        self._latest: tuple[float, Any] | None = None
        self._adapting = threading.Lock()
        self._adapted = time.monotonic()
        self._profile = self._fitting(self.publishers())
        self._subscription = self._subscribe()

    def _subscribe(self) -> Any:
        if self._streams is not None:
            return self._streams.create_subscription(
                self._class, self._topic, self._on_message, self._profile)
        return self._node.create_subscription(
            self._class, self._topic, self._on_message, self._profile,
            callback_group=self._group)

    def _on_message(self, message: Any) -> None:
        with self._lock:
            self._latest = (time.monotonic(), message)

    def get(self) -> tuple[float, Any] | None:
        """Return when the latest message came, on the steady clock, and the message."""
        with self._lock:
            return self._latest

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
            self._give_back(old)

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
        self._give_back(self._subscription)

    def _give_back(self, subscription: Any) -> None:
        (self._streams or self._node).destroy_subscription(subscription)
