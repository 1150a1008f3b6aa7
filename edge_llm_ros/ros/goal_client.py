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

"""Goals of one action, by the services and topics that an action consists of."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
import threading
from typing import Any
import uuid

from action_msgs.srv import CancelGoal
from edge_llm_ros.ros.qos import FEEDBACK
from unique_identifier_msgs.msg import UUID

_UNANSWERED = 8  # requests that may stay without an answer; older ones are forgotten


class GoalClient:
    """
    Sends goals and cancels them by ids of our own making, whether or not they were accepted yet.

    Not rclpy's ActionClient: it keeps a request that is never answered for ever, has no way to
    cancel a goal that is not accepted yet, and in Kilted loses answers that come at once.

    :param node: that owns the clients
    :param group: their callback group
    :param kind: class of the action
    :param name: of the action, relative
    """

    def __init__(self, node: Any, group: Any, kind: Any, name: str) -> None:
        self._node = node
        self._kind = kind
        # Resolved first, so that a remap of the action's own name counts in every distribution.
        self.name: str = node.resolve_service_name(name)
        parts = f'{self.name}/_action'
        self._status_topic = f'{parts}/status'
        self._sender = node.create_client(
            kind.Impl.SendGoalService, f'{parts}/send_goal', callback_group=group)
        self._getter = node.create_client(
            kind.Impl.GetResultService, f'{parts}/get_result', callback_group=group)
        self._canceler = node.create_client(
            CancelGoal, f'{parts}/cancel_goal', callback_group=group)
        self._lock = threading.Lock()
        self._feedback: dict[bytes, Callable[[Any], None]] = {}
        self._unanswered: deque[tuple[Any, Any]] = deque()
        self._subscription = node.create_subscription(
            kind.Impl.FeedbackMessage, f'{parts}/feedback', self._on_feedback, FEEDBACK,
            callback_group=group)

    def ready(self) -> bool:
        """Say whether a server of this type is there."""
        return all(client.service_is_ready() for client in (
            self._sender, self._getter, self._canceler))

    def servers(self) -> frozenset[bytes]:
        """Return what tells the servers that are there apart from those that come after them."""
        return frozenset(bytes(info.endpoint_gid) for info in (
            self._node.get_publishers_info_by_topic(self._status_topic)))

    def other_types(self) -> Sequence[str]:
        """Return the types of servers of this name that are of another type."""
        services = dict(self._node.get_service_names_and_types())
        types = services.get(f'{self.name}/_action/send_goal', [])
        own = f'{self._kind.__module__.split(".")[0]}/action/{self._kind.__name__}'
        return [t for t in (t.removesuffix('_SendGoal') for t in types) if t != own]

    def send(self, goal_id: bytes, goal: Any, on_feedback: Callable[[Any], None]) -> Any:
        """Send a goal; returns the future of its acceptance."""
        request = self._kind.Impl.SendGoalService.Request()
        request.goal_id, request.goal = _message(goal_id), goal
        with self._lock:
            self._feedback[goal_id] = on_feedback
        return self._sender.call_async(request)

    def result(self, goal_id: bytes) -> Any:
        """Ask for a goal's result; returns the future of it, which comes when the goal ends."""
        request = self._kind.Impl.GetResultService.Request()
        request.goal_id = _message(goal_id)
        return self._getter.call_async(request)

    def cancel(self, goal_id: bytes) -> Any:
        """Request a cancel; returns the future of the answer."""
        request = CancelGoal.Request()
        request.goal_info.goal_id = _message(goal_id)
        future = self._canceler.call_async(request)
        self.let_go(self._canceler, future)
        return future

    def let_go_of_acceptance(self, future: Any) -> None:
        """Take an acceptance that comes late, unless too many others are still to come."""
        self.let_go(self._sender, future)

    def let_go_of_result(self, future: Any) -> None:
        """Take a result that comes late, unless too many others are still to come."""
        self.let_go(self._getter, future)

    def let_go(self, client: Any, future: Any) -> None:
        """Wait for an answer no longer; it counts if it comes, and is forgotten in the end."""
        with self._lock:
            self._unanswered.append((client, future))
            waiting = [pair for pair in self._unanswered if not pair[1].done()]
            forgotten, self._unanswered = waiting[:-_UNANSWERED], deque(waiting[-_UNANSWERED:])
        for owner, old in forgotten:
            owner.remove_pending_request(old)

    def forget_feedback(self, goal_id: bytes) -> None:
        """Take no more feedback of a goal."""
        with self._lock:
            self._feedback.pop(goal_id, None)

    def _on_feedback(self, message: Any) -> None:
        with self._lock:
            callback = self._feedback.get(bytes(message.goal_id.uuid))
        if callback is not None:
            callback(message.feedback)

    def destroy(self) -> None:
        """Give clients and subscription back."""
        self._node.destroy_subscription(self._subscription)
        for client in (self._sender, self._getter, self._canceler):
            self._node.destroy_client(client)


def new_goal_id() -> bytes:
    """Return an id that no other goal has."""
    return uuid.uuid4().bytes


def _message(goal_id: bytes) -> Any:
    return UUID(uuid=list(goal_id))
