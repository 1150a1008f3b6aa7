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

"""How soon a process that ended is started again."""

from __future__ import annotations

import time

from edge_llm_ros.flow.errors import EngineError

_FIRST, _LONGEST = 1.0, 30.0  # seconds


class Restarts:
    """
    Counts restarts; a process that ends again and again has to wait.

    The first end is followed by a start at once, the next by one after a second, then two, four,
    up to thirty. A request that worked begins the count anew.
    """

    def __init__(self) -> None:
        self.count = 0
        self.last_error = ''
        self._in_a_row = 0
        self._not_before = 0.0

    def ended(self, why: str, when: float) -> None:
        """Take note of an end, and of when it was on the steady clock."""
        self.last_error = why
        self._in_a_row += 1
        wait = min(_LONGEST, _FIRST * 2 ** (self._in_a_row - 2)) if self._in_a_row > 1 else 0.0
        self._not_before = when + wait

    def check(self) -> None:
        """
        Return if it may be started now.

        :raises EngineError: if it has to wait
        """
        left = self._not_before - time.monotonic()
        if left > 0:
            raise EngineError(f'{self.last_error} It ended {self._in_a_row} times in a row; it is '
                              f'started again in {left:.1f} s at the earliest.')

    def started(self) -> None:
        """Take note of a start that is not the first."""
        self.count += 1

    def worked(self) -> None:
        """Take note that a request worked."""
        self._in_a_row = 0
