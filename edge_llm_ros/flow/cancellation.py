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

"""How a running goal learns that it must end."""

from __future__ import annotations

from collections.abc import Callable
import threading
import time

from edge_llm_ros.flow.result import Outcome


class Cancellation:
    """
    A flag with a reason and a deadline, set from any thread, for one goal.

    The first reason wins. A deadline that passes is a reason (TIMEOUT) like any other.
    """

    def __init__(self) -> None:
        self._set = threading.Event()
        self._lock = threading.Lock()
        self._reason: Outcome | None = None
        self._callbacks: list[Callable[[], None]] = []
        self._deadline = float('inf')
        self._insisted = False

    def limit(self, seconds: float) -> None:
        """Let TIMEOUT come this many seconds from now."""
        self._deadline = time.monotonic() + seconds

    @property
    def seconds_left(self) -> float:
        """Return how long it is to the deadline."""
        return self._deadline - time.monotonic()

    def cancel(self, reason: Outcome) -> None:
        """End the goal for a reason; later reasons are ignored."""
        with self._lock:
            if self._reason is not None:
                self._insisted = self._insisted or reason is not self._reason
                return
            self._reason = reason
            callbacks = list(self._callbacks)
        self._set.set()
        for callback in callbacks:
            callback()

    def check_deadline(self) -> None:
        """Notice a deadline that has passed; what asks for the reason does this by itself."""
        if self._reason is None and time.monotonic() >= self._deadline:
            self.cancel(Outcome.TIMEOUT)

    @property
    def reason(self) -> Outcome | None:
        """Why the goal must end, or None while it may go on."""
        self.check_deadline()
        return self._reason

    @property
    def insisted(self) -> bool:
        """Say whether another reason came after the first: even a fallback must end."""
        return self._insisted

    @property
    def canceled(self) -> bool:
        """Say whether the goal must end."""
        return self.reason is not None

    def wait(self, seconds: float) -> bool:
        """
        Sleep until the time is over or the goal must end.

        :returns: True if the goal must end
        """
        self._set.wait(max(0.0, min(seconds, self._deadline - time.monotonic())))
        return self.canceled

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """
        Have a callback called once, from the thread that cancels; at once if that has happened.

        :returns: a function that withdraws the callback
        """
        with self._lock:
            if self._reason is None:
                self._callbacks.append(callback)
                return lambda: self._withdraw(callback)
        callback()
        return lambda: None

    def _withdraw(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)


class StepCancellation(Cancellation):
    """
    The cancellation of one step: ends with its goal, or when its own time is over.

    :param goal: the cancellation of the goal
    :param seconds: that the step may take; 0 for no limit
    """

    def __init__(self, goal: Cancellation, seconds: float) -> None:
        super().__init__()
        self._goal = goal
        if seconds:
            self.limit(seconds)
        self._withdraw_from_goal = goal.on_cancel(self.check_deadline)

    @property
    def seconds_left(self) -> float:
        """Return how long it is to the deadline of the step or the goal."""
        return min(super().seconds_left, self._goal.seconds_left)

    def check_deadline(self) -> None:
        """Notice that the goal must end, or that the step's time is over."""
        if self._reason is None and (reason := self._goal.reason) is not None:
            self.cancel(reason)
        super().check_deadline()

    def close(self) -> None:
        """Let go of the goal."""
        self._withdraw_from_goal()


class FallbackCancellation(Cancellation):
    """
    The cancellation of what is done after a goal has ended: only a second reason ends it.

    :param goal: the cancellation of the goal
    :param seconds: that it may take
    """

    def __init__(self, goal: Cancellation, seconds: float) -> None:
        super().__init__()
        self._goal = goal
        self.limit(seconds)

    def check_deadline(self) -> None:
        """Notice that the end is insisted on, or that the time is over."""
        if self._reason is None and self._goal.insisted:
            self.cancel(Outcome.CANCELED)
        super().check_deadline()

    def wait(self, seconds: float) -> bool:
        """Sleep until the time is over or it must end; returns True if it must."""
        end = time.monotonic() + seconds
        while not self.canceled and (left := end - time.monotonic()) > 0:
            self._set.wait(min(left, 0.1))
        return self.canceled
