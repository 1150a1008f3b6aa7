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
"""Publishes how the planner stands; the latest is there for whoever comes late."""

from __future__ import annotations

import threading
from typing import Any

from edge_llm_interfaces.msg import PlannerStatus
from edge_llm_ros.flow.event import Event
from edge_llm_ros.flow.goal import Goal
from edge_llm_ros.flow.goal_statistics import GoalStatistics
from edge_llm_ros.flow.result import Result
from edge_llm_ros.ros.conversions import text_message
from edge_llm_ros.ros.qos import LATCHED
from unique_identifier_msgs.msg import UUID


class StatusPublisher:
    """
    Publishes on ``~/status`` whenever something changed.

    :param node: the planner node
    :param statistics: of the goals; told of each before this observer is
    """

    def __init__(self, node: Any, statistics: GoalStatistics) -> None:
        self._node = node
        self._statistics = statistics
        self._lock = threading.Lock()
        self._last: PlannerStatus | None = None
        self._publisher = node.create_publisher(PlannerStatus, '~/status', LATCHED)

    def update(self) -> None:
        """Publish, if anything changed since the last time."""
        statistics = self._statistics
        running, last = statistics.running, statistics.last
        message = PlannerStatus(
            state=self._node.state_label,
            doing=text_message(running[1] if running else self._node.doing),
            goal_id=UUID(uuid=list(running[0] if running else bytes(16))),
            waiting=statistics.waiting,
            goals=statistics.goals,
            last_outcome=int(last.outcome) if last else 0,
            last_message=text_message(last.message if last else ''),
            model=text_message(self._node.model_name),
            last_error=text_message(self._node.last_error or statistics.last_error))
        with self._lock:
            if message != self._last:
                self._last = message
                self._publisher.publish(message)

    def accepted(self, goal_id: bytes, goal: Goal) -> None:
        """Publish that a goal waits."""
        self.update()

    def started(self, goal_id: bytes, goal: Goal) -> None:
        """Publish that a goal runs."""
        self.update()

    def happened(self, goal_id: bytes, event: Event) -> None:
        """Do nothing: events have a topic of their own."""

    def finished(self, goal_id: bytes, goal: Goal, result: Result) -> None:
        """Publish how a goal ended."""
        self.update()
