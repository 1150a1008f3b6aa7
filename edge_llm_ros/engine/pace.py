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

"""How many tokens a prefill chunk may have, so that a cancel is seen soon."""

from __future__ import annotations


REST = 8  # a rest of this part of a chunk costs more alone than it does in it


class Pace:
    """
    Chunk sizes, in powers of two, that take about a given time on this machine.

    :param seconds: what a chunk should take
    :param largest: tokens of a chunk at most
    """

    def __init__(self, seconds: float, largest: int) -> None:
        self._seconds = seconds
        self.largest = largest
        self._rate = 0.0

    @property
    def chunk(self) -> int:
        """Return the tokens of the next chunk."""
        size = 16
        while size * 2 <= self.largest and size * 2 <= self._rate * self._seconds * 1.25:
            size *= 2
        return min(size, self.largest)

    def cut(self, tokens: list[int]) -> list[int]:
        """Return the first chunk of some tokens; a small rest rides along."""
        size = self.chunk
        return tokens if len(tokens) <= size + size // REST else tokens[:size]

    def measured(self, tokens: int, seconds: float) -> None:
        """Take note of how long a chunk took."""
        if tokens < 8 or seconds <= 0:
            return  # too few to tell the rate of a chunk
        rate = tokens / seconds
        self._rate = rate if not self._rate else 0.7 * self._rate + 0.3 * rate
