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

"""Which cores the model's threads may use, and how much they give way to the robot."""

from __future__ import annotations

import os
import re
import threading

from edge_llm_ros.flow.errors import EngineError


def cores_of(text: str) -> frozenset[int]:
    """
    Return the cores in a list such as 0-3,6.

    :raises EngineError: if it is none
    """
    cores: set[int] = set()
    for part in filter(None, map(str.strip, text.split(','))):
        found = re.fullmatch(r'(\d{1,4})(?:-(\d{1,4}))?', part)
        if not found:
            raise EngineError(f'cpu_affinity: {text!r} is no list of cores such as 0-3,6.')
        first, last = int(found[1]), int(found[2] or found[1])
        cores |= set(range(first, last + 1))
    return frozenset(cores)


class Scheduling:
    """
    Affinity and niceness of the threads that evaluate.

    llama.cpp's threads inherit both from the thread that calls it, so they are set there, once for
    each. The other threads of the process stay as they are.

    :param affinity: cores, as in 0-3,6; empty for all
    :param niceness: 0 to 19, more gives way more
    :raises EngineError: if a core is not there
    """

    def __init__(self, affinity: str, niceness: int) -> None:
        there, self._cores = os.sched_getaffinity(0), cores_of(affinity)
        missing = sorted(self._cores - there)
        if missing:
            raise EngineError(
                f'cpu_affinity: core {missing[0]} is not one that this process may use '
                f'({", ".join(map(str, sorted(there)))}).')
        if not 0 <= niceness <= 19:
            raise EngineError(f'niceness: {niceness} is not in 0 … 19.')
        self._niceness = niceness
        self._local = threading.local()

    def apply(self) -> None:
        """Set the calling thread's affinity and niceness, the first time that it calls."""
        if getattr(self._local, 'applied', False):
            return
        if self._cores:
            os.sched_setaffinity(0, self._cores)
        if self._niceness:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), self._niceness)
        self._local.applied = True
