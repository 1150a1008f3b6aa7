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
"""What the memory of this machine allows, and so how fast a model can decode at most."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
import time

from edge_llm_ros.platform.board import board_name
import numpy as np

# GB/s as NVIDIA states them; the GPU of a Jetson reads faster than its CPU can measure.
_BOARDS = (('Thor', 273.0), ('AGX Orin', 204.8), ('Orin NX', 102.4), ('Orin Nano', 68.0),
           ('AGX Xavier', 136.5), ('Xavier NX', 59.7))
_COPIED = 64 << 20  # bytes a thread: more than a cache holds
_TIMES = 3


def board_bandwidth() -> float:
    """Return the bytes a second that this board's memory is made for; 0 where it is not known."""
    name = board_name()
    return next((rate * 1e9 for board, rate in _BOARDS if board in name), 0.0)


def measured_bandwidth(threads: int) -> float:
    """
    Return the bytes a second that so many threads read and write, copying; takes under a second.

    :param threads: of the model
    """
    sources = [np.zeros(_COPIED, np.uint8) for _ in range(threads)]
    targets = [np.zeros(_COPIED, np.uint8) for _ in range(threads)]
    best = 0.0
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(_TIMES):
            start = time.monotonic()
            list(pool.map(np.copyto, targets, sources))
            best = max(best, 2 * threads * _COPIED / (time.monotonic() - start))
    return best
