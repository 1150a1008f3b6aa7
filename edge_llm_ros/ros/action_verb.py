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

from action_msgs.msg import GoalStatus
from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.tool import Observation, Status
from edge_llm_ros.ros.goal_client import GoalClient, new_goal_id
from edge_llm_ros.ros.goal_journal import Started
from edge_llm_ros.ros.messages import interface
from edge_llm_ros.ros.request_maker import RequestMaker
from edge_llm_ros.ros.result_budget import plain_message
from edge_llm_ros.ros.result_view import ResultView
from edge_llm_ros.ros.verbs import wait_for, why_not_ready
from edge_llm_ros.ros.wiring import Wiring
from edge_llm_ros.tools.call_cancellation import CallCancellation
from edge_llm_ros.tools.gate import Passage
from edge_llm_ros.tools.tool_file import Tool
from edge_llm_ros.tools.toolset import failed, succeeded

_ACCEPT_SECONDS = 5.0  # a server that is there answers a goal request at once
_CANCEL_SECONDS = 3.0  # how long a canceled goal may take to end
_ALIVE_SECONDS = 0.5  # between two looks whether the server is still there
_OPEN_GOALS = 16  # whose end is not known; of older ones none is expected any more
_FEEDBACK_SECONDS = 0.2  # between two lines of feedback at least
_FEEDBACK_LENGTH = 512


class ActionCall:
    """
    Sends a goal and waits for its result; a cancel, a timeout or a broken condition cancels it.

    Its id is in the journal from before it is sent until its end is known.

    :param wiring: whose latch lets the goal leave, and whose journal remembers it
    :param where: file and tool, for messages
    :raises ConfigError: if the tool does not fit the action type
    """

    def __init__(self, wiring: Wiring, tool: Tool, where: str) -> None:
        verb = tool.action
        assert verb is not None
        kind = interface(verb.type, f'{where}.action.type')
        self._name, self._type = verb.name, verb.type
        self._timeout = tool.timeout
        self._goal = RequestMaker(tool, kind.Goal, where, wiring.node.get_clock())
        self._view = ResultView(tool, kind.Result, where)
        self._latch, self._journal = wiring.latch, wiring.journal
        self._client = GoalClient(wiring.node, wiring.group, kind, verb.name)
        self._open: dict[bytes, Started] = {}

    @property
    def target(self) -> str:
        """Return what it calls."""
        return f'action {self._client.name} {self._type}'

    def prepare(self, passage: Passage) -> Any:
        """Return the goal."""
        return self._goal(passage)

    def send(self, message: Any, passage: Passage, cancellation: CallCancellation,
             on_progress: Callable[[str], None]) -> Observation:
        """Send the goal and wait for its result."""
        deadline = time.monotonic() + self._timeout
        not_ready = why_not_ready(self._client.ready, deadline, cancellation, self._missing)
        if not_ready is not None:
            return not_ready
        self._goal.stamp(message)
        goal_id = new_goal_id()
        started = Started('action', self._client.name, goal_id.hex())
        try:
            self._journal.add(started)
        except OSError as error:
            return failed(f'nothing was sent: the goal cannot be journaled ({error.strerror})')
        feedback = _Feedback(on_progress)
        try:
            return self._send(goal_id, started, message, feedback, deadline, cancellation)
        finally:
            feedback.close()
            self._client.forget_feedback(goal_id)

    def _send(self, goal_id: bytes, started: Started, message: Any, feedback: _Feedback,
              deadline: float, cancellation: CallCancellation) -> Observation:
        self._open[goal_id] = started
        if len(self._open) > _OPEN_GOALS:
            self._ended(next(iter(self._open)))
        try:
            servers = self._client.servers()
            with self._latch.passing():
                accepting = self._client.send(goal_id, message, feedback)
        except BaseException:
            self._ended(goal_id)
            raise
        answered = wait_for(accepting, min(_ACCEPT_SECONDS, deadline - time.monotonic()),
                            cancellation, lambda: not feedback.came)
        if answered and not accepting.result().accepted:
            self._ended(goal_id)
            return failed(f'{self._name} rejected the goal')
        # A goal that gives feedback was accepted; an answer can be lost where the server has not
        # discovered this client yet.
        if not answered and (cancellation.canceled or not feedback.came):
            return self._not_accepted(goal_id, accepting, cancellation)
        if not answered:
            self._client.let_go_of_acceptance(accepting)
        result = self._client.result(goal_id)
        result.add_done_callback(lambda _: self._ended(goal_id))
        alive = _Alive(self._client, servers)
        if wait_for(result, deadline - time.monotonic(), cancellation, alive):
            end = result.result()
            if cancellation.canceled and end.status == GoalStatus.STATUS_CANCELED:
                # By an operator's stop, which is faster than this wait.
                return failed(f'{cancellation.why}; the goal was stopped', cancellation.status,
                              self._view.of(end.result))
            return self._observation(end)
        return self._cancel(goal_id, result, alive, cancellation)

    def _ended(self, goal_id: bytes) -> None:
        started = self._open.pop(goal_id, None)
        if started is not None:
            self._journal.remove(started)

    def _not_accepted(self, goal_id: bytes, accepting: Any, cancellation: CallCancellation
                      ) -> Observation:
        """Cancel a goal that the server has not answered; it stays in the journal until then."""
        def on_answer(_: Any) -> None:
            if accepting.done() and not accepting.cancelled() and accepting.result().accepted:
                self._client.cancel(goal_id)
                late = self._client.result(goal_id)
                late.add_done_callback(lambda _: self._ended(goal_id))
                self._client.let_go_of_result(late)
            else:
                self._ended(goal_id)

        # Now, and again should it be accepted only later.
        self._client.cancel(goal_id)
        accepting.add_done_callback(on_answer)
        self._client.let_go_of_acceptance(accepting)
        if cancellation.canceled:
            return failed(f'{cancellation.why}; the goal was not accepted yet, and a cancel was '
                          f'sent', cancellation.status)
        return failed(f'{self._name!r} did not answer the goal request; a cancel was sent')

    def _cancel(self, goal_id: bytes, result: Any, alive: _Alive, cancellation: CallCancellation
                ) -> Observation:
        """Cancel the goal, wait for its end, and say truthfully what came of it."""
        why, status = f'not done within {self._timeout:g} s', Status.FAILED
        if alive.died:
            why = f'the action server {self._name!r} died while the goal ran'
        elif cancellation.canceled:
            why, status = cancellation.why, cancellation.status
        answer = self._client.cancel(goal_id)
        if not alive.died and wait_for(result, _CANCEL_SECONDS, None, alive):
            end = result.result()
            if end.status == GoalStatus.STATUS_SUCCEEDED:
                return self._observation(end)
            return failed(f'{why}; the goal was stopped', status, self._view.of(end.result))
        self._client.let_go_of_result(result)
        if alive.died:
            # Its goals died with it; should the robot go on, no cancel can end that.
            self._ended(goal_id)
            return failed(f'{why}; it is not known whether the robot stopped', status)
        if not answer.done():
            return failed(f'{why}; {self._name!r} does not answer, it is not known whether it '
                          f'stopped', status)
        canceling = answer.result().goals_canceling
        said = 'has not stopped yet' if canceling else 'refuses to cancel and goes on'
        return failed(f'{why}; {self._name!r} {said}', status)

    def _observation(self, end: Any) -> Observation:
        if end.status == GoalStatus.STATUS_SUCCEEDED:
            return succeeded(self._view.of(end.result) or {'success': True})
        words = {GoalStatus.STATUS_ABORTED: 'aborted',
                 GoalStatus.STATUS_CANCELED: 'canceled by the server',
                 GoalStatus.STATUS_UNKNOWN: 'does not know the goal any more; it is not known '
                                            'what came of it'}
        word = words.get(end.status, f'ended with status {end.status}')
        reason = self._view.reason(end.result)
        return failed(f'{self._name} {word}' + (f': {reason}' if reason else ''),
                      result=self._view.beside_reason(end.result))

    def _missing(self) -> str:
        """Say that there is no such server, or that it is of another type."""
        return self.mismatch() or f'there is no action server {self._name!r} of this type'

    def mismatch(self) -> str:
        """Return in words what on the graph does not fit; empty if all does."""
        others = self._client.other_types()
        if others:
            return f'the action {self._name!r} is of type {", ".join(others)}, not {self._type}'
        return ''

    def stop(self) -> str:
        """Request a cancel of every goal that has not ended; returns what was done."""
        goals = list(self._open)
        for goal_id in goals:
            self._client.cancel(goal_id)
        return f'cancel sent to {self._client.name}' if goals else ''

    def destroy(self) -> None:
        """Give the clients back."""
        self._client.destroy()


class _Alive:
    """
    Looks now and then whether an action's server is still the one that took the goal.

    :param servers: that were there when the goal was sent
    """

    def __init__(self, client: GoalClient, servers: frozenset[bytes]) -> None:
        self._client = client
        self._servers = servers
        self._next = time.monotonic() + _ALIVE_SECONDS
        self.died = False

    def __call__(self) -> bool:
        """Return whether waiting makes sense."""
        if not self.died and time.monotonic() >= self._next:
            self._next = time.monotonic() + _ALIVE_SECONDS
            # None of them: they were not discovered yet when the goal was sent.
            self._servers = self._servers or self._client.servers()
            self.died = bool(self._servers) and not self._servers & self._client.servers()
        return not self.died


class _Feedback:
    """
    Passes feedback on, as short lines and not too many of them, while the call lasts.

    :param on_progress: takes the lines
    """

    def __init__(self, on_progress: Callable[[str], None]) -> None:
        self._on_progress: Callable[[str], None] | None = on_progress
        self._lock = threading.Lock()
        self._next = 0.0
        self.came = False

    def __call__(self, feedback: Any) -> None:
        self.came = True
        with self._lock:
            now = time.monotonic()
            if self._on_progress is None or now < self._next:
                return
            self._next = now + _FEEDBACK_SECONDS
            self._on_progress(canonical_json(plain_message(feedback, _FEEDBACK_LENGTH)))

    def close(self) -> None:
        """Pass nothing on any more."""
        with self._lock:
            self._on_progress = None
