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
"""Publishes every event of every goal, for rosbag and for onlookers."""

from __future__ import annotations

from typing import Any

from edge_llm_interfaces.msg import PlanEvent
from edge_llm_ros.flow.event import Event
from edge_llm_ros.flow.goal import Goal
from edge_llm_ros.flow.result import Result
from edge_llm_ros.ros.conversions import metrics_message, step_message, text_message
from edge_llm_ros.ros.qos import EVENTS
from unique_identifier_msgs.msg import UUID


class EventPublisher:
    """
    Publishes on ``~/events``, while somebody listens.

    :param node: that owns the publisher
    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self._publisher = node.create_publisher(PlanEvent, '~/events', EVENTS)

    def _publish(self, goal_id: bytes, kind: int, **fields: Any) -> None:
        self._publisher.publish(PlanEvent(
            stamp=self._node.get_clock().now().to_msg(), goal_id=UUID(uuid=list(goal_id)),
            event=kind, **fields))

    def accepted(self, goal_id: bytes, goal: Goal) -> None:
        """Publish that a goal waits for its turn."""
        self._publish(goal_id, PlanEvent.EVENT_ACCEPTED,
                      instruction=text_message(goal.instruction),
                      session_id=text_message(goal.session_id))

    def started(self, goal_id: bytes, goal: Goal) -> None:
        """Publish that a goal runs."""
        self._publish(goal_id, PlanEvent.EVENT_STARTED)

    def happened(self, goal_id: bytes, event: Event) -> None:
        """Publish an event of the running goal."""
        # Nothing is kept for late subscribers, and a message takes half a millisecond to make.
        if not self._publisher.get_subscription_count():
            return
        self._publish(goal_id, int(event.kind), step=step_message(event.step),
                      partial_text=text_message(event.text),
                      metrics=metrics_message(event.metrics))

    def finished(self, goal_id: bytes, goal: Goal, result: Result) -> None:
        """Publish how a goal ended."""
        self._publish(goal_id, PlanEvent.EVENT_FINISHED, outcome=int(result.outcome),
                      message=text_message(result.message),
                      metrics=metrics_message(result.metrics))
