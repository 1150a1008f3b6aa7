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

"""The threads that evaluate give way; the others of the process do not change."""

import os
import threading

from edge_llm_ros.engine.llama.context import default_threads
from edge_llm_ros.engine.scheduling import cores_of, Scheduling
from edge_llm_ros.flow.errors import EngineError
import pytest

CORES = sorted(os.sched_getaffinity(0))


def _in_thread(scheduling: Scheduling) -> tuple[set[int], int, int]:
    """Return affinity, niceness and default threads of a thread that was set."""
    found: list[tuple[set[int], int, int]] = []

    def work() -> None:
        scheduling.apply()
        scheduling.apply()
        found.append((os.sched_getaffinity(0), os.getpriority(
            os.PRIO_PROCESS, threading.get_native_id()), default_threads(own_cores=True)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    return found[0]


def test_a_thread_gets_its_cores_and_its_niceness_and_no_other_does() -> None:
    before = os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    assert _in_thread(Scheduling(str(CORES[0]), 7)) == ({CORES[0]}, 7, 1)
    assert before == (os.sched_getaffinity(0), os.getpriority(
        os.PRIO_PROCESS, threading.get_native_id()))


def test_nothing_is_set_where_nothing_is_asked_for() -> None:
    affinity, niceness, threads = _in_thread(Scheduling('', 0))
    assert affinity == set(CORES) and threads == len(CORES)
    assert niceness == os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@pytest.mark.parametrize('text, cores', [
    ('', set()), ('3', {3}), ('0-3,6', {0, 1, 2, 3, 6}), (' 1 , 2-2 ', {1, 2})])
def test_lists_of_cores(text: str, cores: set[int]) -> None:
    assert cores_of(text) == cores


@pytest.mark.parametrize('affinity, niceness, words', [
    ('a', 0, 'no list of cores'), ('0-', 0, 'no list of cores'), ('-1', 0, 'no list of cores'),
    ('9999', 0, 'core 9999 is not one'), ('', 20, 'niceness: 20'), ('', -1, 'niceness: -1')])
def test_what_cannot_be_is_said(affinity: str, niceness: int, words: str) -> None:
    with pytest.raises(EngineError, match=words):
        Scheduling(affinity, niceness)
