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

"""From logits and a mask to one token."""

from __future__ import annotations

from collections.abc import Sequence

from edge_llm_ros.flow.engine import Sampling
from edge_llm_ros.flow.errors import EngineError
import numpy as np
import numpy.typing as npt

Logits = npt.NDArray[np.float32]


class Sampler:
    """
    Chooses tokens among those that a grammar allows.

    :param vocabulary: number of tokens
    :param never: ids that are never chosen where there is another: role and end-of-generation
        tokens belong to the frame, which the grammar forces
    """

    def __init__(self, vocabulary: int, never: Sequence[int]) -> None:
        self._vocabulary = vocabulary
        self._usual = np.full((vocabulary + 31) // 32, 0xffffffff, np.uint32)
        for token in never:
            self._usual[token // 32] &= ~np.uint32(1 << (token % 32))
        self._bits = np.empty_like(self._usual)

    def choose(self, logits: Logits, mask: npt.NDArray[np.uint32], sampling: Sampling,
               random: np.random.Generator) -> int:
        """
        Choose a token.

        :param logits: float32 of shape (vocabulary,)
        :param mask: allowed tokens, a bit each
        """
        np.bitwise_and(mask, self._usual, out=self._bits)
        if sampling.temperature <= 0:
            # Mostly the grammar allows what the model likes best.
            best = int(np.argmax(logits))
            if self._bits[best // 32] >> np.uint32(best % 32) & 1:
                return best
        allowed = _ids(self._bits, self._vocabulary)
        if not len(allowed):
            allowed = _ids(mask, self._vocabulary)
        if not len(allowed):
            raise EngineError('grammar: no token is allowed here.')
        scores = logits[allowed]
        if sampling.temperature <= 0:
            return int(allowed[int(np.argmax(scores))])
        return int(allowed[_draw(scores, sampling, random)])


def _ids(bits: npt.NDArray[np.uint32], vocabulary: int) -> npt.NDArray[np.int64]:
    """Return the positions of the set bits."""
    words = np.flatnonzero(bits)
    if len(words) * 8 > len(bits):
        # Nearly all words have some: no detour through them.
        unpacked = np.unpackbits(bits.view(np.uint8), count=vocabulary, bitorder='little')
        return np.flatnonzero(unpacked.view(np.bool_))
    unpacked = np.unpackbits(bits[words].view(np.uint8).reshape(-1, 4), axis=1, bitorder='little')
    rows, columns = np.nonzero(unpacked)
    ids = words[rows] * 32 + columns
    return ids[ids < vocabulary]


def _best(scores: Logits, sampling: Sampling) -> npt.NDArray[np.int64]:
    """Return the indices that min-p and top-k leave, best first."""
    best = scores.max()
    if sampling.min_p > 0:
        near = np.flatnonzero(scores >= best + sampling.temperature * np.log(sampling.min_p))
    elif sampling.top_k > 0:
        # What is within some reach of the best holds the best; if it is enough, most of the
        # vocabulary need not be sorted.
        near = np.flatnonzero(scores >= best - 8 * max(sampling.temperature, 0.25))
        if len(near) < sampling.top_k < len(scores):
            near = np.argpartition(scores, -sampling.top_k)[-sampling.top_k:]
    else:
        near = np.arange(len(scores))
    order = near[np.argsort(-scores[near], kind='stable')]
    return order[:sampling.top_k] if sampling.top_k > 0 else order


def _draw(scores: Logits, sampling: Sampling, random: np.random.Generator) -> int:
    """Draw an index by temperature, after min-p, top-k and top-p have cut the tail."""
    order = _best(scores, sampling)
    scaled = scores[order].astype(np.float64) / sampling.temperature
    weights = np.exp(scaled - scaled[0])
    total = np.cumsum(weights / weights.sum())
    last = int(np.searchsorted(total, sampling.top_p)) + 1
    weights, order = weights[:last], order[:last]
    return int(order[int(random.choice(len(order), p=weights / weights.sum()))])
