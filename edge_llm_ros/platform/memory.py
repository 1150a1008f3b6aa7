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

"""Memory of processes and of the machine, from /proc."""

from __future__ import annotations

from pathlib import Path


def peak_memory_bytes(*others: int) -> int:
    """
    Return the largest resident size of this process so far; 0 where unknown.

    :param others: ids of processes whose largest sizes are added
    """
    return _peak_of('self') + sum(_peak_of(process) for process in others)


def _peak_of(process: int | str) -> int:
    try:
        for line in Path(f'/proc/{process}/status').read_text().splitlines():
            if line.startswith('VmHWM:'):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def available_memory_bytes() -> int:
    """
    Return the memory that a new process can have without swapping; 0 where unknown.

    On a Jetson the GPU shares it, and CUDA's own "free" leaves out what the page cache holds.
    """
    try:
        for line in Path('/proc/meminfo').read_text().splitlines():
            if line.startswith('MemAvailable:'):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
