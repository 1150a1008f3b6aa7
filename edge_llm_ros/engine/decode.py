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

"""A generation that advances one batch at a time."""

from __future__ import annotations

import time

from edge_llm_ros.engine.grammar import Matcher
from edge_llm_ros.engine.kv_cache import KvCache, Lease
from edge_llm_ros.engine.llama.context import (
    DECODE_ABORTED, DECODE_NO_SLOT, DECODE_OK, LlamaContext)
from edge_llm_ros.engine.pace import Pace
from edge_llm_ros.engine.sampler import Sampler
from edge_llm_ros.flow.engine import (
    Completion, FORCED, GenerateRequest, MemoryKind, PrefillProgress, SAMPLED, Stop,
    TokensProgress)
from edge_llm_ros.flow.errors import ContextFull, EngineError
import numpy as np


class Evaluator:
    """
    Evaluates tokens at the end of a sequence, a chunk at a time, with the cache told of each.

    :param context: of the loaded model
    :param cache: owner of sequences and cells
    :param pace: sizes of chunks
    """

    def __init__(self, context: LlamaContext, cache: KvCache, pace: Pace) -> None:
        self._context = context
        self._cache = cache
        self.pace = pace

    def evaluate(self, sequence: int, tokens: list[int], logits: bool) -> bool:
        """
        Evaluate one chunk.

        :returns: False if it was aborted; what was evaluated until then stays, if it can
        :raises ContextFull: if there is no room, even after evicting what is idle
        :raises EngineError: if llama_decode fails; the sequence is cut back to where it was, or
            emptied where that cannot be
        """
        position = len(self._cache.tokens(sequence))
        self._cache.reserve(len(tokens))
        start = time.monotonic()
        code = self._context.decode(sequence, position, tokens, logits)
        # Cells are counted before; only those of a window are llama.cpp's own business.
        while code == DECODE_NO_SLOT and self._cache.evict():
            code = self._context.decode(sequence, position, tokens, logits)
        if code == DECODE_OK:
            self._cache.extend(sequence, tokens)
            self.pace.measured(len(tokens), time.monotonic() - start)
            return True
        if code == DECODE_NO_SLOT:
            raise ContextFull(f'llama.cpp found no room for {len(tokens)} tokens at {position}.')
        self._take_back(sequence, position, tokens)
        if code == DECODE_ABORTED:
            return False
        raise EngineError(f'llama_decode failed with {code} at token {position}.')

    def _take_back(self, sequence: int, position: int, tokens: list[int]) -> None:
        """Bring cache and memory to agree after a decode that did not end."""
        if self._context.kind in (MemoryKind.RECURRENT, MemoryKind.HYBRID):
            # Its one state is half-way between two tokens.
            self._context.cut_sequence(sequence, 0)
            self._cache.cut(sequence, 0)
        else:
            done = self._context.sequence_length(sequence) - position
            self._cache.extend(sequence, tokens[:done])


class Generation:
    """
    One call being generated.

    A token that the grammar forces is never sampled: it waits for the next batch that is due
    anyway. What is forced after the last choice is left for the next request to evaluate.

    :param request: what to generate
    :param lease: the sequence, with the resident part of the request's tokens
    :param deferred: positions of tokens that an earlier request generated and left unevaluated;
        they
        are no prefill
    """

    def __init__(self, request: GenerateRequest, lease: Lease, deferred: frozenset[int],
                 evaluator: Evaluator, context: LlamaContext, matcher: Matcher,
                 sampler: Sampler) -> None:
        self._request = request
        self._lease = lease
        self._deferred = deferred
        self._evaluator = evaluator
        self._context = context
        self._matcher = matcher
        self._sampler = sampler
        self._random = np.random.default_rng(request.sampling.seed)
        self._pending = list(request.tokens[lease.length:])
        self._tokens: list[int] = []
        self._origins: list[str] = []
        self._reported = 0
        self._evaluated = 0
        self._decode_calls = 0
        self._start = time.monotonic()
        self._first_token: float | None = None
        self._append_forced()

    @property
    def unevaluated(self) -> dict[int, int]:
        """Return the generated tokens that no batch has taken yet, by position."""
        start = max(0, len(self._tokens) - len(self._pending))
        first = len(self._request.tokens)
        return {first + i: self._tokens[i] for i in range(start, len(self._tokens))}

    def _append(self, tokens: list[int], origin: str) -> None:
        self._tokens += tokens
        self._origins += origin * len(tokens)
        self._pending += tokens

    def _append_forced(self) -> None:
        while not self._matcher.complete:
            forced = self._matcher.forced()
            if not forced:
                return
            self._append(forced, FORCED)

    def _complete(self, stop: Stop) -> Completion:
        seconds = time.monotonic() - self._start
        end = min(self._lease.length + self._evaluated, len(self._request.tokens))
        prefill = sum(p not in self._deferred for p in range(self._lease.length, end))
        return Completion(
            stop=stop,
            tokens=tuple(self._tokens),
            origins=''.join(self._origins),
            cached=self._lease.length,
            prefill=prefill,
            decode_calls=self._decode_calls,
            first_token=seconds if self._first_token is None else self._first_token,
            seconds=seconds,
            lost=self._lease.lost)

    def step(self, canceled: bool) -> PrefillProgress | TokensProgress | Completion:
        """
        Evaluate one chunk and, once the prompt is evaluated, choose a token.

        :param canceled: whether the request was canceled since the last step
        """
        if canceled:
            return self._complete(Stop.CANCELED)
        if self._reported < len(self._tokens) and self._decode_calls:
            return self._report()
        if self._matcher.complete:
            return self._complete(Stop.COMPLETE)
        if len(self._tokens) >= self._request.max_tokens:
            return self._complete(Stop.LENGTH)
        chunk = self._pending[:self._evaluator.pace.chunk]
        last = len(chunk) == len(self._pending)
        done = self._evaluator.evaluate(self._lease.sequence, chunk, logits=last)
        self._decode_calls += 1
        if not done:
            return self._complete(Stop.CANCELED)
        self._evaluated += len(chunk)
        del self._pending[:len(chunk)]
        if not last:
            return PrefillProgress(self._evaluated, self._evaluated + len(self._pending))
        self._choose()
        return self._report()

    def _choose(self) -> None:
        token = self._sampler.choose(
            self._context.logits(), self._matcher.mask(), self._request.sampling, self._random)
        if self._first_token is None:
            self._first_token = time.monotonic() - self._start
        self._matcher.consume([token])
        self._append([token], SAMPLED)
        self._append_forced()

    def _report(self) -> TokensProgress:
        new = tuple(self._tokens[self._reported:])
        self._reported = len(self._tokens)
        return TokensProgress(new)
