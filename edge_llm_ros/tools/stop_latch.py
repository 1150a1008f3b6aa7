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

"""An operator's stop: set at once, and nothing leaves until it is released."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import threading

from edge_llm_ros.tools.refused import Refused

STOPPED = 'an operator stopped the robot; nothing is sent until it is released'


class StopLatch:
    """
    Says whether an operator stopped the robot.

    What leaves for the robot leaves inside ``passing()``. So when ``engage()`` returns, nothing is
    on its way out any more, and nothing will be until ``release()``.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._engaged = False

    @property
    def engaged(self) -> bool:
        """Say whether a stop waits for its release."""
        return self._engaged

    def engage(self) -> None:
        """Let nothing pass any more; returns when what was passing has passed."""
        with self._lock:
            self._engaged = True

    def release(self) -> bool:
        """
        Let calls pass again.

        :returns: whether they had been stopped
        """
        with self._lock:
            engaged, self._engaged = self._engaged, False
        return engaged

    @contextmanager
    def passing(self) -> Iterator[None]:
        """
        Hold a stop back for the moment in which a message leaves.

        :raises Refused: if the robot is stopped
        """
        with self._lock:
            if self._engaged:
                raise Refused(STOPPED)
            yield
