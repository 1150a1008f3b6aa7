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

"""How a running call learns that it must end: with its goal, or by a condition that broke."""

from __future__ import annotations

from collections.abc import Callable
import time

from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.result import Outcome
from edge_llm_ros.flow.tool import Status

_SLICE = 0.1  # seconds between two looks at the conditions


class CallCancellation(Cancellation):
    """
    The cancellation of one call.

    Conditions are looked at whenever somebody asks whether the call must end, which a waiting call
    does every 0.1 s.

    :param goal: the cancellation of the goal
    :param broken: returns why the call must not go on; empty while it may
    """

    def __init__(self, goal: Cancellation, broken: Callable[[], str] = lambda: '') -> None:
        super().__init__()
        self._goal = goal
        self._look = broken
        self._broken = ''
        self._withdraw_from_goal = goal.on_cancel(self.check_deadline)

    @property
    def why(self) -> str:
        """Say why the call ends, for the model."""
        return self._broken or 'canceled'

    @property
    def status(self) -> Status:
        """Return the status of a call that ends for this reason."""
        return Status.FAILED if self._broken else Status.CANCELED

    def check_deadline(self) -> None:
        """Notice that the goal must end or that a condition broke."""
        if self._reason is not None:
            return
        reason = self._goal.reason
        if reason is None:
            try:
                self._broken = self._look()
            except Exception as error:
                self._broken = f'a condition cannot be checked ({type(error).__name__}: {error})'
            reason = Outcome.FAILED if self._broken else None
        if reason is not None:
            self.cancel(reason)

    def wait(self, seconds: float) -> bool:
        """Sleep until the time is over or the call must end; returns True if it must."""
        end = time.monotonic() + seconds
        while not self.canceled and (left := end - time.monotonic()) > 0:
            self._set.wait(min(left, _SLICE))
        return self.canceled

    def close(self) -> None:
        """Let go of the goal."""
        self._withdraw_from_goal()
