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

"""Evaluates tokens at the end of a sequence."""

from __future__ import annotations

from collections.abc import Sequence
import time

from edge_llm_ros.engine.batch_costs import BatchCosts
from edge_llm_ros.engine.kv_cache import KvCache
from edge_llm_ros.engine.llama.context import (
    DECODE_ABORTED, DECODE_NO_SLOT, DECODE_OK, LlamaContext)
from edge_llm_ros.engine.pace import Pace
from edge_llm_ros.flow.engine import MemoryKind
from edge_llm_ros.flow.errors import ContextFull, EngineError


class Evaluator:
    """
    Evaluates tokens, a chunk at a time, with the cache told of each.

    :param context: of the loaded model
    :param cache: owner of sequences and cells
    :param pace: sizes of chunks
    """

    def __init__(self, context: LlamaContext, cache: KvCache, pace: Pace) -> None:
        self._context = context
        self._cache = cache
        self.pace = pace
        self.batch_tokens = context.batch_tokens
        self.costs: BatchCosts | None = None

    def evaluate(self, sequence: int, tokens: list[int], rows: Sequence[int] = ()) -> bool:
        """
        Evaluate one chunk.

        :param rows: indices of the tokens after which logits are wanted
        :returns: False if it was aborted; what was evaluated until then stays, if it can
        :raises ContextFull: if there is no room, even after evicting what is idle
        :raises EngineError: if llama_decode fails; the sequence is cut back to where it was, or
            emptied where that cannot be
        """
        position = len(self._cache.tokens(sequence))
        self._cache.reserve(len(tokens))
        start = time.monotonic()
        code = self._context.decode(sequence, position, tokens, rows)
        # Cells are counted before; only those of a window are llama.cpp's own business.
        while code == DECODE_NO_SLOT and self._cache.evict():
            code = self._context.decode(sequence, position, tokens, rows)
        if code == DECODE_OK:
            self._cache.extend(sequence, tokens)
            # A GPU is still at it: without waiting, neither would the time be that of the batch,
            # nor a cancel be seen before the chunks that are queued behind it.
            self._context.synchronize()
            self._measured(len(tokens), time.monotonic() - start)
            return True
        if code == DECODE_NO_SLOT:
            raise ContextFull(f'llama.cpp found no room for {len(tokens)} tokens at {position}.')
        self._take_back(sequence, position, tokens)
        if code == DECODE_ABORTED:
            return False
        raise EngineError(f'llama_decode failed with {code} at token {position}.')

    def _measured(self, tokens: int, seconds: float) -> None:
        self.pace.measured(tokens, seconds)
        if self.costs is not None:
            self.costs.learn(tokens, seconds)

    def _take_back(self, sequence: int, position: int, tokens: list[int]) -> None:
        """Bring cache and memory to agree after a decode that did not end."""
        done = self._context.sequence_length(sequence) - position
        if self._context.kind in (MemoryKind.RECURRENT, MemoryKind.HYBRID) or done < 0:
            # Its one state is half-way between two tokens.
            self._context.cut_sequence(sequence, 0)
            self._cache.lose(sequence, 'a batch that did not end took the state with it')
        else:
            self._cache.extend(sequence, tokens[:done])

    def cut(self, sequence: int, length: int) -> None:
        """Drop the tokens of a sequence from ``length`` on."""
        self._cache.cut(sequence, length)

    def length(self, sequence: int) -> int:
        """Return how many tokens of a sequence are evaluated."""
        return len(self._cache.tokens(sequence))
