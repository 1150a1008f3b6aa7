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

"""What a batch costs by its size on this machine, and so whether a guess pays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

SIZES = (1, 2, 4, 8, 16, 32)
_TIMES = 3  # that each is measured
_NEW = 0.1  # weight of one more measurement
_LEAST = 0.15  # of a batch of one, that a wrong guess costs at least: logits, cutting it off
UNLIKELY = 0.3  # below this, guesses are not made however cheap they look
_MARGIN = 1.1  # what a guess must gain beyond its cost, since costs are noisy


class BatchCosts:
    """
    Seconds by tokens of a batch; piecewise linear between measured sizes.

    :param seconds: of each of the SIZES
    """

    def __init__(self, seconds: Iterable[float]) -> None:
        self._seconds = np.asarray(list(seconds), np.float64)
        if len(self._seconds) != len(SIZES) or not np.all(self._seconds > 0):
            raise ValueError(f'{len(SIZES)} positive times are needed')

    @classmethod
    def measure(cls, decode: Callable[[int], float]) -> BatchCosts:
        """
        Measure every size.

        :param decode: evaluates so many tokens and returns the seconds that it took
        """
        # What happens only at the first batches of a size must not count: a GPU plans the first,
        # records the second and repeats the third.
        return cls(max(min(decode(size) for _ in range(_TIMES)), 1e-6) for size in SIZES)

    def __call__(self, tokens: int) -> float:
        """Return the seconds of a batch; beyond the largest size, in proportion."""
        if tokens > SIZES[-1]:
            return float(self._seconds[-1] * tokens / SIZES[-1])
        return float(np.interp(tokens, SIZES, self._seconds))

    def learn(self, tokens: int, seconds: float) -> None:
        """Take note of how long a batch took."""
        if tokens in SIZES and seconds > 0:
            at = SIZES.index(tokens)
            self._seconds[at] += _NEW * (seconds - self._seconds[at])

    def of_riders(self, batch: int, tokens: int, guesses: int) -> float:
        """
        Return the seconds by which tokens make a batch longer, with a margin.

        Tables have steps downwards where another kernel takes over; a guess is never free.

        :param guesses: among the tokens
        """
        return _MARGIN * max(
            self(batch + tokens) - self(batch), self(1) * _LEAST * guesses)

    def table(self) -> Mapping[int, float]:
        """Return seconds by size."""
        return dict(zip(SIZES, map(float, self._seconds)))
