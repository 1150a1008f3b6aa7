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
import time
from typing import Any

from action_msgs.msg import GoalStatus
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.tool import Observation, Status
from edge_llm_ros.ros.messages import interface, plain
from edge_llm_ros.ros.verbs import RequestMaker, ResultView, wait_for, WAIT_SLICE
from edge_llm_ros.tools.gate import Passage
from edge_llm_ros.tools.tool_file import Tool
from edge_llm_ros.tools.toolset import failed, succeeded
from rclpy.action import ActionClient

_ACCEPT_SECONDS = 5.0  # a server that is there answers a goal request at once
_CANCEL_SECONDS = 3.0  # how long a canceled goal may take to end


class ActionCall:
    """
    Sends a goal and waits for its result; a cancel or a timeout cancels it.

    :param node: that owns the client
    :param group: callback group of the client
    :param where: tool, for messages
    :raises ConfigError: if the tool does not fit the action type
    """

    def __init__(self, node: Any, group: Any, tool: Tool, where: str) -> None:
        verb = tool.action
        assert verb is not None
        kind = interface(verb.type, f'{where}.action.type')
        self._name = verb.name
        self._timeout = tool.timeout
        self._goal = RequestMaker(tool, kind.Goal, where)
        self._view = ResultView(tool, kind.Result, where)
        self._client = ActionClient(node, kind, verb.name, callback_group=group)

    def prepare(self, passage: Passage) -> Any:
        """Return the goal."""
        return self._goal(passage)

    def send(self, message: Any, passage: Passage, cancellation: Cancellation,
             on_progress: Callable[[str], None]) -> Observation:
        """Send the goal and wait for its result."""
        deadline = time.monotonic() + self._timeout
        while not self._client.server_is_ready():
            if time.monotonic() >= deadline:
                return failed(f'there is no action server {self._name!r} of this type')
            if cancellation.wait(WAIT_SLICE):
                return failed('canceled before it was sent', Status.CANCELED)
        accepting = self._client.send_goal_async(
            message, feedback_callback=lambda m: on_progress(_line(m.feedback)))
        # Not given up on a cancel: a goal that is accepted later could not be canceled any more.
        if not wait_for(accepting, min(_ACCEPT_SECONDS, deadline - time.monotonic()), None):
            accepting.add_done_callback(_cancel_when_accepted)
            return failed(
                f'{self._name!r} did not answer the goal request; it is canceled if it does')
        handle = accepting.result()
        if not handle.accepted:
            return failed(f'{self._name} rejected the goal')
        result = handle.get_result_async()
        if wait_for(result, deadline - time.monotonic(), cancellation):
            return self._observation(result.result())
        return self._cancel(handle, result, cancellation)

    def _cancel(self, handle: Any, result: Any, cancellation: Cancellation) -> Observation:
        """Cancel the goal, wait for its end, and say truthfully what came of it."""
        why = 'canceled' if cancellation.canceled else f'not done within {self._timeout:g} s'
        status = Status.CANCELED if cancellation.canceled else Status.FAILED
        handle.cancel_goal_async()
        if wait_for(result, _CANCEL_SECONDS, None):
            end = result.result()
            if end.status == GoalStatus.STATUS_SUCCEEDED:
                return self._observation(end)
            return failed(f'{why}; the goal was stopped', status, self._view.of(end.result))
        return failed(f'{why}; {self._name!r} did not confirm that it stopped', status)

    def _observation(self, end: Any) -> Observation:
        result = self._view.of(end.result)
        if end.status == GoalStatus.STATUS_SUCCEEDED:
            return succeeded(result or {'success': True})
        words = {
            GoalStatus.STATUS_ABORTED: 'aborted',
            GoalStatus.STATUS_CANCELED: 'canceled by the server'
        }
        word = words.get(end.status, f'ended with status {end.status}')
        reason = getattr(end.result, 'message', '') if self._view.has_message else ''
        return failed(f'{self._name} {word}' + (f': {reason}' if reason else ''), result={
            k: v for k, v in result.items() if k not in ('success', 'message')})

    def destroy(self) -> None:
        """Give the client back."""
        self._client.destroy()


def _cancel_when_accepted(future: Any) -> None:
    """Cancel a goal whose acceptance came too late."""
    handle = future.result()
    if handle is not None and handle.accepted:
        handle.cancel_goal_async()


def _line(feedback: Any) -> str:
    types = dict(zip(feedback.get_fields_and_field_types(), feedback.SLOT_TYPES))
    return canonical_json(
        {name: plain(getattr(feedback, name), kind)
         for name, kind in types.items()})
