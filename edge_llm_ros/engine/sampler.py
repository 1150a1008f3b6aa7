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
        tokens
        belong to the frame, which the grammar forces
    """

    def __init__(self, vocabulary: int, never: Sequence[int]) -> None:
        self._vocabulary = vocabulary
        self._never = np.zeros((vocabulary + 31) // 32, np.uint32)
        for token in never:
            self._never[token // 32] |= np.uint32(1 << (token % 32))

    def _allowed(self, mask: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
        for bits in (mask & ~self._never, mask):
            words = np.flatnonzero(bits)
            if len(words):
                unpacked = np.unpackbits(
                    bits[words].view(np.uint8).reshape(-1, 4), axis=1, bitorder='little')
                rows, columns = np.nonzero(unpacked)
                return words[rows] * 32 + columns
        raise EngineError('grammar: no token is allowed here.')

    def choose(self, logits: Logits, mask: npt.NDArray[np.uint32], sampling: Sampling,
               random: np.random.Generator) -> int:
        """
        Choose a token.

        :param logits: float32 of shape (vocabulary,)
        :param mask: allowed tokens, a bit each
        """
        allowed = self._allowed(mask)
        allowed = allowed[allowed < self._vocabulary]
        scores = logits[allowed]
        if sampling.temperature <= 0:
            return int(allowed[int(np.argmax(scores))])
        return int(allowed[_draw(scores, sampling, random)])


def _draw(scores: Logits, sampling: Sampling, random: np.random.Generator) -> int:
    """Draw an index by temperature, after top-k, min-p and top-p have cut the tail."""
    order = np.argsort(-scores, kind='stable')
    if sampling.top_k > 0:
        order = order[:sampling.top_k]
    scaled = scores[order].astype(np.float64) / sampling.temperature
    weights = np.exp(scaled - scaled[0])
    keep = weights >= sampling.min_p
    weights, order = weights[keep], order[keep]
    total = np.cumsum(weights / weights.sum())
    last = int(np.searchsorted(total, sampling.top_p)) + 1
    weights, order = weights[:last], order[:last]
    return int(order[int(random.choice(len(order), p=weights / weights.sum()))])
