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

"""Sends one goal to a planner and follows it; Ctrl-C cancels it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
import time
from typing import Any

from action_msgs.msg import GoalStatus
from edge_llm_interfaces.action import Plan
from edge_llm_ros.cli.calls import call
from edge_llm_ros.flow.errors import EdgeLlmError
from lifecycle_msgs.srv import GetState
import rclpy
from rclpy.action import ActionClient
from rclpy.node import Node

_ACCEPT_SECONDS = 10.0
_CANCEL_SECONDS = 15.0
_IDLE = ('unconfigured', 'inactive', 'finalized')
_IDLE_SECONDS = 5.0  # a planner that starts by itself is not idle for longer


@dataclass(frozen=True)
class PlanEnd:
    """How a goal ended: the ROS status and the result message."""

    status: int
    result: Any

    @property
    def succeeded(self) -> bool:
        """Say whether the goal was reached, by the planner's word."""
        return (self.status == GoalStatus.STATUS_SUCCEEDED
                and self.result.outcome == Plan.Result.SUCCEEDED)


class PlanClient:
    """
    A client of a planner's ``plan`` action.

    :param node: a node that nobody else spins
    :param planner: name of the planner node
    :param on_wait: takes a line for the person who waits, again and again
    """

    def __init__(self, node: Node, planner: str = 'planner',
                 on_wait: Callable[[str], None] = lambda line: None) -> None:
        self._on_wait = on_wait
        self._node = node
        self._planner = planner
        self._client = ActionClient(node, Plan, f'{planner}/plan')

    def _spin(self, future: Any, seconds: float) -> bool:
        rclpy.spin_until_future_complete(self._node, future, timeout_sec=seconds)
        return bool(future.done())

    def _wait_until_active(self, deadline: float) -> None:
        """
        Wait for a planner that is starting; one that nobody starts is not waited for.

        :raises EdgeLlmError: with the state that it is in
        """
        if not self._client.wait_for_server(timeout_sec=deadline - time.monotonic()):
            raise EdgeLlmError(
                f'there is no planner {self._planner!r}. Start one: ros2 launch edge_llm_ros '
                f'planner.launch.py, or the command planner with -p autostart:=true.')
        idle_since = None
        while True:
            state = self._state()
            if state == 'active':
                return
            now = time.monotonic()
            idle_since = (idle_since or now) if state in _IDLE else None
            if idle_since is not None and now - idle_since > _IDLE_SECONDS:
                raise EdgeLlmError(
                    f'the planner {self._planner!r} is {state}. If it was to start by itself, its '
                    'log '
                    f'says why it did not; else configure and activate it.')
            if now >= deadline:
                raise EdgeLlmError(f'the planner {self._planner!r} is still {state or "loading"}; '
                                   f'--wait SECONDS waits longer.')
            self._on_wait(f'waiting for the planner {self._planner!r}, which is '
                          f'{state or "loading its model"}')
            time.sleep(0.5)

    def _state(self) -> str:
        """Return the planner's lifecycle state; empty while it is busy with a transition."""
        try:
            answer = call(self._node, GetState, f'{self._planner}/get_state', GetState.Request(),
                          2.0)
        except EdgeLlmError:
            return ''
        return str(answer.current_state.label)

    def plan(self, goal: Any, on_feedback: Callable[[Any], None], wait: float = 10.0,
             limit: float = math.inf) -> PlanEnd:
        """
        Send a goal and wait for its end.

        :param goal: Plan.Goal
        :param on_feedback: takes each Plan.Feedback
        :param wait: seconds for a planner to appear and to be active
        :param limit: seconds in which the goal has to end, whatever its time budget is
        :raises EdgeLlmError: if there is no planner, it rejects the goal, or it does not answer
        """
        self._wait_until_active(time.monotonic() + wait)
        sending = self._client.send_goal_async(
            goal, feedback_callback=lambda message: on_feedback(message.feedback))
        try:
            if not self._spin(sending, _ACCEPT_SECONDS):
                raise EdgeLlmError(f'the planner {self._planner!r} did not answer the goal.')
            handle = sending.result()
            if not handle.accepted:
                raise EdgeLlmError(
                    f'the planner {self._planner!r} rejected the goal; its log says why (not '
                    'active, '
                    f'queue full, unknown tool).')
            result = handle.get_result_async()
            deadline = time.monotonic() + limit
            while not self._spin(result, 1.0):
                if time.monotonic() > deadline:
                    raise EdgeLlmError(f'the goal has not ended within {limit:g} s.')
                if not self._client.server_is_ready():
                    raise EdgeLlmError(f'the planner {self._planner!r} is gone.')
        except KeyboardInterrupt:
            return self._cancel(sending)
        return PlanEnd(result.result().status, result.result().result)

    def _cancel(self, sending: Any) -> PlanEnd:
        """
        Cancel a goal, accepted yet or not, and wait for its end.

        :raises KeyboardInterrupt: if the goal was never accepted
        """
        deadline = time.monotonic() + _CANCEL_SECONDS
        if not self._spin(sending, _ACCEPT_SECONDS) or not sending.result().accepted:
            raise KeyboardInterrupt
        result = sending.result().get_result_async()
        while not result.done() and time.monotonic() < deadline:
            # Again, since a goal that has just been accepted may not be cancelable yet.
            canceling = sending.result().cancel_goal_async()
            self._spin(canceling, 1.0)
            if canceling.done() and canceling.result().goals_canceling:
                self._spin(result, deadline - time.monotonic())
        if not result.done():
            raise EdgeLlmError('the planner did not confirm the cancel.')
        return PlanEnd(result.result().status, result.result().result)

    def destroy(self) -> None:
        """Give the client back."""
        self._client.destroy()


def outcome_name(outcome: int) -> str:
    """Return the name of an outcome constant."""
    names = {getattr(Plan.Result, n): n for n in dir(Plan.Result)
             if n.isupper() and isinstance(getattr(Plan.Result, n), int)}
    return names.get(outcome, str(outcome))
