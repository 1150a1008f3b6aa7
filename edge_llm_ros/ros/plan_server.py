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

"""The action server that takes goals, and the thread that runs them one after the other."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
import threading
import time
from typing import Any

from edge_llm_interfaces.action import Plan
from edge_llm_ros.agent.parameters import GOAL_POLICIES
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.errors import EdgeLlmError
from edge_llm_ros.flow.event import Event, EventKind
from edge_llm_ros.flow.goal import Goal
from edge_llm_ros.flow.goal_observer import GoalObserver
from edge_llm_ros.flow.metrics import Metrics
from edge_llm_ros.flow.result import Outcome, Result
from edge_llm_ros.flow.tool import ALWAYS_ALLOWED
from edge_llm_ros.ros.conversions import feedback_message, goal_of, result_message
from edge_llm_ros.ros.goal_runner import GoalRunner
from edge_llm_ros.tools.stop_latch import StopLatch
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.impl.implementation_singleton import rclpy_implementation

_CANCELING_SECONDS = 2.0  # rclpy may take from accepting a cancel to the state that follows
_CLOSE_SECONDS = 10.0
_TEXT_PERIOD = 0.05  # seconds between two texts that the model is writing
QUEUE, REJECT, PREEMPT = GOAL_POLICIES


@dataclass
class _Accepted:
    """A goal between its acceptance and its terminal state."""

    handle: Any
    goal: Goal
    cancellation: Cancellation = field(default_factory=Cancellation)
    result: Result | None = None
    done: threading.Event = field(default_factory=threading.Event)
    next_text: float = 0.0  # on the steady clock

    @property
    def id(self) -> bytes:
        """Return the goal's id."""
        return bytes(self.handle.goal_id.uuid)

    def tell(self, event: Event) -> None:
        """
        Give the client feedback.

        What is written now says all that was written before, so some of it can be left out.
        """
        if event.kind is EventKind.TEXT:
            if time.monotonic() < self.next_text:
                return
            self.next_text = time.monotonic() + _TEXT_PERIOD
        self.handle.publish_feedback(feedback_message(event))

    def end(self, result: Result) -> None:
        """Let the execute callback give the goal its terminal state."""
        self.result = result
        self.done.set()


class PlanServer:
    """
    Serves ``~/plan``; rejects goals until open() and after close().

    The agent runs in a thread of this server's own. The executor's thread that executes the goal
    only waits, and sets the terminal state once the result is there.

    :param node: the planner node
    :param group: reentrant callback group
    :param latch: set by an operator's stop; no goals are taken meanwhile
    :param observer: is told of every accepted goal, and of its end
    """

    def __init__(self, node: Any, group: Any, latch: StopLatch, observer: GoalObserver) -> None:
        self._latch = latch
        self._observer = observer
        self._node = node
        self._logger = node.get_logger()
        self._changed = threading.Condition()
        self._waiting: deque[_Accepted] = deque()
        self._running: _Accepted | None = None
        self._runner: GoalRunner | None = None
        self._tools: tuple[str, ...] = ()
        self._thread: threading.Thread | None = None
        self._max_goal_bytes = 0
        self._reserved = 0  # goals between our yes and rclpy's acceptance
        self._accepted: dict[bytes, _Accepted] = {}
        self._canceled_early: set[bytes] = set()
        self._server = ActionServer(
            node, Plan, '~/plan', self._execute, goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted, cancel_callback=self._on_cancel,
            callback_group=group)

    def open(self, runner: GoalRunner, tools: tuple[str, ...], max_goal_bytes: int) -> None:
        """
        Take goals.

        :param runner: runs them
        :param tools: names of all tools
        :param max_goal_bytes: of instruction and context; more cannot fit into the context
        :raises EdgeLlmError: if a goal of before has still not ended
        """
        with self._changed:
            if self._thread is not None and self._thread.is_alive():
                raise EdgeLlmError('a goal has still not ended: its tool does not return')
            self._runner, self._tools, self._max_goal_bytes = runner, tools, max_goal_bytes
            self._thread = threading.Thread(target=self._run, args=(runner,), daemon=True)
            self._thread.start()

    def close(self) -> bool:
        """
        End every goal with DEACTIVATED and reject new ones.

        :returns: False if a running goal did not end in time
        """
        with self._changed:
            self._runner = None
            waiting = self._cancel_all(Outcome.DEACTIVATED)
            self._changed.notify_all()
        for accepted in waiting:
            self._end_waiting(accepted)
        if self._thread is not None:
            self._thread.join(_CLOSE_SECONDS)
            return not self._thread.is_alive()
        return True

    def stop(self) -> int:
        """
        End every goal, running or waiting, with STOPPED; the latch is set already.

        :returns: how many there were
        """
        with self._changed:
            running = self._running is not None
            waiting = self._cancel_all(Outcome.STOPPED)
        for accepted in waiting:
            self._end_waiting(accepted)
        return len(waiting) + running

    # Callbacks of rclpy; an exception in one of them would end the executor

    def _on_goal(self, request: Any) -> GoalResponse:
        try:
            reason = self._why_not(request)
        except Exception as error:
            reason = f'{type(error).__name__}: {error}'
        if not reason:
            with self._changed:
                self._reserved += 1
        if reason:
            self._logger.warning(f'goal rejected: {reason}')
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _why_not(self, request: Any) -> str:
        with self._changed:
            if self._runner is None:
                return 'the planner is not active'
            if self._latch.engaged:
                return 'an operator stopped the robot; ~/release lets goals pass again'
            there = len(self._waiting) + self._reserved + (self._running is not None)
            policy = self._node.parameters['goal_policy']
            if policy == REJECT and there:
                return 'another goal runs already (goal_policy: reject)'
            if policy == QUEUE and there > self._node.parameters['queue_length']:
                return f'{there - 1} goals are waiting already (queue_length)'
            size = len(request.instruction.encode()) + len(request.context.encode())
            if size > self._max_goal_bytes:
                return (
                    f'instruction and context have {size} bytes; {self._max_goal_bytes} is the '
                    'most '
                    f'that can fit into context_tokens')
            if not request.instruction.strip():
                return 'the instruction is empty'
            unknown = [name for name in request.allowed_tools if name not in self._tools]
            if unknown:
                return f'allowed_tools: no tool {unknown[0]!r}; tools: {", ".join(self._tools)}'
            if request.time_budget.sec < 0:
                return 'time_budget is negative'
        return ''

    def _on_accepted(self, handle: Any) -> None:
        parameters = self._node.parameters
        goal = goal_of(handle.request, parameters)
        if goal.allowed_tools is not None:
            # They leave nothing behind, and a goal cannot end without one.
            builtins = ALWAYS_ALLOWED & set(self._tools)
            goal = replace(goal, allowed_tools=goal.allowed_tools | builtins)
        accepted = _Accepted(handle, goal)
        self._observer.accepted(accepted.id, goal)
        preempted: list[_Accepted] = []
        with self._changed:
            self._reserved -= 1
            self._accepted[accepted.id] = accepted
            if accepted.id in self._canceled_early:
                self._canceled_early.discard(accepted.id)
                accepted.cancellation.cancel(Outcome.CANCELED)
            elif self._runner is None:
                accepted.cancellation.cancel(Outcome.DEACTIVATED)
            elif self._latch.engaged:
                accepted.cancellation.cancel(Outcome.STOPPED)
            else:
                if parameters['goal_policy'] == PREEMPT:
                    preempted = self._cancel_all(Outcome.PREEMPTED)
                self._waiting.append(accepted)
                self._changed.notify_all()
            # Once it waits, whoever takes it from there ends it: not this thread, too.
            ended = [] if accepted in self._waiting else [accepted]
        for other in [*preempted, *ended]:
            self._end_waiting(other)

    def _cancel_all(self, reason: Outcome) -> list[_Accepted]:
        """End the running goal and return those that waited, to be ended by the caller."""
        waiting = list(self._waiting)
        self._waiting.clear()
        for accepted in [*waiting, *([self._running] if self._running else [])]:
            accepted.cancellation.cancel(reason)
        return waiting

    def _on_cancel(self, handle: Any) -> CancelResponse:
        with self._changed:
            accepted = self._accepted.get(bytes(handle.goal_id.uuid))
            if accepted is None:
                # The client was faster than the acceptance, which is still on its way to us.
                self._canceled_early.add(bytes(handle.goal_id.uuid))
                return CancelResponse.ACCEPT
            waiting = accepted in self._waiting
            if waiting:
                self._waiting.remove(accepted)
        accepted.cancellation.cancel(Outcome.CANCELED)
        if waiting:
            # Not here: the goal is in its canceling state only after this callback.
            threading.Thread(target=self._end_waiting, args=(accepted,), daemon=True).start()
        return CancelResponse.ACCEPT

    def _execute(self, handle: Any) -> Any:
        """Wait for the goal's result and set its terminal state as the very last thing."""
        accepted = self._accepted[bytes(handle.goal_id.uuid)]
        accepted.done.wait()
        result = accepted.result
        assert result is not None
        message = result_message(result)
        if result.outcome is Outcome.SUCCEEDED:
            handle.succeed()
        elif result.outcome is Outcome.CANCELED and _is_canceling(handle):
            handle.canceled()
        else:
            handle.abort()
        with self._changed:
            del self._accepted[bytes(handle.goal_id.uuid)]
        return message

    # The thread that runs goals

    def _run(self, runner: GoalRunner) -> None:
        while True:
            with self._changed:
                while not self._waiting and self._runner is runner:
                    self._changed.wait()
                if not self._waiting:
                    return
                accepted = self._running = self._waiting.popleft()
            result = Result(Outcome.ENGINE_ERROR, 'the goal could not be started', (), Metrics())
            try:
                _start(accepted.handle)
                result = runner.run(accepted.id, accepted.goal, accepted.cancellation,
                                    accepted.tell)
            except Exception:
                # This thread must outlive every goal.
                self._node.log_exception('a goal failed')
            self._observer.finished(accepted.id, accepted.goal, result)
            accepted.end(result)
            with self._changed:
                self._running = None

    def _end_waiting(self, accepted: _Accepted) -> None:
        """End a goal that never ran."""
        reason = accepted.cancellation.reason or Outcome.DEACTIVATED
        if reason is Outcome.CANCELED:
            _is_canceling(accepted.handle)
        result = Result(reason, 'The goal ended before its turn came.', (), Metrics())
        self._observer.finished(accepted.id, accepted.goal, result)
        accepted.end(result)
        try:
            _start(accepted.handle)
        except Exception:
            self._node.log_exception('a goal could not be ended')


def _start(handle: Any) -> None:
    """Have rclpy call a goal's execute callback, canceled at this moment or not."""
    try:
        handle.execute()
    except rclpy_implementation.RCLError:
        # It was not canceling when rclpy looked, and was when it set the state: look again.
        if not _is_canceling(handle):
            raise
        handle.execute()


def _is_canceling(handle: Any) -> bool:
    """Wait until rclpy has put a goal into its canceling state; False if that does not happen."""
    deadline = time.monotonic() + _CANCELING_SECONDS
    while not handle.is_cancel_requested and time.monotonic() < deadline:
        time.sleep(0.002)
    return bool(handle.is_cancel_requested)
