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

"""A tool that sends an action goal."""

from __future__ import annotations

from collections.abc import Callable
import threading
import time
from typing import Any
import uuid

from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.tool import Observation, Status
from edge_llm_ros.ros.messages import interface
from edge_llm_ros.ros.request_maker import RequestMaker
from edge_llm_ros.ros.result_budget import plain_message
from edge_llm_ros.ros.result_view import ResultView
from edge_llm_ros.ros.verbs import wait_for, why_not_ready
from edge_llm_ros.tools.gate import Passage
from edge_llm_ros.tools.tool_file import Tool
from edge_llm_ros.tools.toolset import failed, succeeded
from rclpy.action import ActionClient
from unique_identifier_msgs.msg import UUID

_ACCEPT_SECONDS = 5.0  # a server that is there answers a goal request at once
_CANCEL_SECONDS = 3.0  # how long a canceled goal may take to end


class ActionCall:
    """
    Sends a goal and waits for its result; a cancel or a timeout cancels it.

    A goal is canceled by an id of our own making, through a plain client: so it can be canceled
    whether or not its acceptance has reached us.

    :param node: that owns the clients
    :param group: their callback group
    :param where: file and tool, for messages
    :raises ConfigError: if the tool does not fit the action type
    """

    def __init__(self, node: Any, group: Any, tool: Tool, where: str) -> None:
        verb = tool.action
        assert verb is not None
        kind = interface(verb.type, f'{where}.action.type')
        self._name = verb.name
        self._timeout = tool.timeout
        self._goal = RequestMaker(tool, kind.Goal, where, node.get_clock())
        self._view = ResultView(tool, kind.Result, where)
        self._node = node
        self._client = ActionClient(node, kind, verb.name, callback_group=group)
        self._canceler = node.create_client(
            CancelGoal, f'{verb.name}/_action/cancel_goal', callback_group=group)

    def prepare(self, passage: Passage) -> Any:
        """Return the goal."""
        return self._goal(passage)

    def send(self, message: Any, passage: Passage, cancellation: Cancellation,
             on_progress: Callable[[str], None]) -> Observation:
        """Send the goal and wait for its result."""
        deadline = time.monotonic() + self._timeout
        not_ready = why_not_ready(self._client.server_is_ready, deadline, cancellation,
                                  lambda: f'there is no action server {self._name!r} of this type')
        if not_ready is not None:
            return not_ready
        self._goal.stamp(message)
        goal_id = UUID(uuid=list(uuid.uuid4().bytes))
        feedback = _Feedback(on_progress)
        try:
            accepting = self._client.send_goal_async(
                message, feedback_callback=feedback, goal_uuid=goal_id)
            return self._follow(goal_id, accepting, deadline, cancellation)
        finally:
            feedback.close()

    def _follow(self, goal_id: Any, accepting: Any, deadline: float, cancellation: Cancellation
                ) -> Observation:
        if not wait_for(accepting, min(_ACCEPT_SECONDS, deadline - time.monotonic()),
                        cancellation):
            # Now, and again should it be accepted only later.
            self._request_cancel(goal_id)
            accepting.add_done_callback(lambda _: self._request_cancel(goal_id))
            if cancellation.canceled:
                return failed('canceled before the goal was accepted', Status.CANCELED)
            return failed(f'{self._name!r} did not answer the goal request; a cancel was sent')
        handle = accepting.result()
        if not handle.accepted:
            return failed(f'{self._name} rejected the goal')
        result = handle.get_result_async()
        if wait_for(result, deadline - time.monotonic(), cancellation):
            return self._observation(result.result())
        return self._cancel(goal_id, result, cancellation)

    def _request_cancel(self, goal_id: Any) -> Any:
        request = CancelGoal.Request()
        request.goal_info.goal_id = goal_id
        return self._canceler.call_async(request)

    def _cancel(self, goal_id: Any, result: Any, cancellation: Cancellation) -> Observation:
        """Cancel the goal, wait for its end, and say truthfully what came of it."""
        why = 'canceled' if cancellation.canceled else f'not done within {self._timeout:g} s'
        status = Status.CANCELED if cancellation.canceled else Status.FAILED
        answer = self._request_cancel(goal_id)
        if wait_for(result, _CANCEL_SECONDS, None):
            end = result.result()
            if end.status == GoalStatus.STATUS_SUCCEEDED:
                return self._observation(end)
            return failed(f'{why}; the goal was stopped', status, self._view.of(end.result))
        if not answer.done():
            self._canceler.remove_pending_request(answer)
            return failed(f'{why}; {self._name!r} does not answer, it is not known whether it '
                          f'stopped', status)
        said = 'refuses to cancel' if not answer.result(
        ).goals_canceling else 'has not stopped yet'
        return failed(f'{why}; {self._name!r} {said}', status)

    def _observation(self, end: Any) -> Observation:
        result = self._view.of(end.result)
        if end.status == GoalStatus.STATUS_SUCCEEDED:
            return succeeded(result or {'success': True})
        words = {GoalStatus.STATUS_ABORTED: 'aborted',
                 GoalStatus.STATUS_CANCELED: 'canceled by the server'}
        word = words.get(end.status, f'ended with status {end.status}')
        reason = self._view.reason(end.result)
        return failed(f'{self._name} {word}' + (f': {reason}' if reason else ''), result={
            k: v for k, v in result.items() if k not in ('success', 'message')})

    def destroy(self) -> None:
        """Give the clients back."""
        self._client.destroy()
        self._node.destroy_client(self._canceler)


class _Feedback:
    """
    Passes feedback on, as lines, while the call lasts.

    :param on_progress: takes the lines
    """

    def __init__(self, on_progress: Callable[[str], None]) -> None:
        self._on_progress: Callable[[str], None] | None = on_progress
        self._lock = threading.Lock()

    def __call__(self, message: Any) -> None:
        line = canonical_json(plain_message(message.feedback))
        with self._lock:
            if self._on_progress is not None:
                self._on_progress(line)

    def close(self) -> None:
        """Pass nothing on any more."""
        with self._lock:
            self._on_progress = None
