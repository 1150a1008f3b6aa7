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

"""Topics that never pause, looked at now and then rather than at each of their messages."""

from __future__ import annotations

from collections.abc import Callable
import logging
import threading
import time

logger = logging.getLogger(__name__)

_SHORTEST, _LONGEST = 0.01, 0.1  # seconds between two looks
_PART = 10  # looks while a message is fresh


class Streams:
    """
    Looks at topics from a thread of its own, so that the age of what is there is known.

    DDS keeps the last message of each, and does not say in every implementation when it came.
    Between two looks it came after the first: that is told as its time, and so no message ever
    seems fresher than it is. The thread costs the same however often the topics tell something.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._looks: dict[Callable[[], None], float] = {}
        self._failed: set[Callable[[], None]] = set()
        self._closed = False
        self._thread: threading.Thread | None = None

    def add(self, look: Callable[[], None], max_age: float) -> None:
        """
        Call a function now and then, from another thread.

        :param max_age: seconds that matter; the time between two looks is a small part of them
        """
        with self._lock:
            self._looks[look] = min(max(max_age / _PART, _SHORTEST), _LONGEST)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name='topics', daemon=True)
                self._thread.start()

    def remove(self, look: Callable[[], None]) -> None:
        """Call a function no more; it may be running still."""
        with self._lock:
            self._looks.pop(look, None)
            self._failed.discard(look)

    def _run(self) -> None:
        while not self._closed:
            with self._lock:
                looks, pause = tuple(self._looks), min(self._looks.values(), default=_LONGEST)
            for look in looks:
                self._call(look)
            time.sleep(pause)

    def _call(self, look: Callable[[], None]) -> None:
        try:
            look()
        except Exception:
            # Told once: who reads the topic is told each time.
            if look not in self._failed:
                self._failed.add(look)
                logger.exception('a topic cannot be read')

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        if self._thread is not None:
            self._thread.join(1.0)
