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

"""A smaller model with the same vocabulary, which guesses what the larger one will choose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from edge_llm_ros.engine.batch_costs import BatchCosts
from edge_llm_ros.engine.evaluator import Evaluator
from edge_llm_ros.engine.grammar import Mask
from edge_llm_ros.engine.kv_cache import KvCache, Lease, sequences_for
from edge_llm_ros.engine.llama.context import LlamaContext
from edge_llm_ros.engine.llama.model import LlamaModel
from edge_llm_ros.engine.llama.vocabulary import Vocabulary
from edge_llm_ros.engine.pace import Pace
from edge_llm_ros.engine.prefix_index import common_prefix, Ids
from edge_llm_ros.engine.sampler import Sampler
from edge_llm_ros.engine.warm_up import WarmUp
from edge_llm_ros.flow.engine import EngineConfig, MemoryKind, PrefillProgress, Sampling
from edge_llm_ros.flow.errors import ContextFull, EngineError
import numpy as np

_PADDING = 128  # unused tokens that models of one family add to a vocabulary
_GREEDY = Sampling(temperature=0.0)


def check_same_vocabulary(path: str, draft: Vocabulary, target: Vocabulary) -> None:
    """
    Refuse a draft model whose tokens mean something else.

    :param path: of the draft model
    :raises EngineError: naming the first token that differs
    """
    shared = min(draft.size, target.size)
    if max(draft.size, target.size) - shared > _PADDING:
        raise EngineError(
            f'draft_model_path: {path!r} has {draft.size} tokens and the model has '
            f'{target.size}. Give a smaller model of the same family.')
    for token in range(shared):
        if draft.piece(token) != target.piece(token):
            raise EngineError(
                f'draft_model_path: token {token} of {path!r} is {draft.piece(token)!r} and '
                f'{target.piece(token)!r} in the model. Give a smaller model of the same family.')


class DraftModel:
    """
    A loaded draft model with a KV cache of its own.

    It evaluates what was said only when a guess is asked for, and its prefix is pinned and kept on
    disk as that of the larger model.

    :param config: of the larger model, with draft_model_path
    :param target: the larger model's vocabulary
    :param keep_loading: asked while the file is read; False gives it up
    :raises EngineError: if it cannot be loaded, or does not fit the larger model
    """

    def __init__(self, config: EngineConfig, target: Vocabulary,
                 keep_loading: Callable[[], bool]) -> None:
        config = replace(config, model_path=config.draft_model_path, spill_bytes=0)
        try:
            self._model = LlamaModel(config, keep_loading)
        except EngineError as error:
            raise EngineError(
                str(error).replace('model_path:', 'draft_model_path:', 1)) from None
        try:
            check_same_vocabulary(config.model_path, self._model.vocabulary, target)
            if self._model.memory is not MemoryKind.FULL:
                raise EngineError(
                    f'draft_model_path: the {self._model.memory.name.lower()} memory of '
                    f'{config.model_path!r} cannot be cut, so wrong guesses cannot be taken back. '
                    'Give a model with plain attention.')
            self._context = LlamaContext(
                self._model, config, sequences_for(MemoryKind.FULL, config.max_sessions))
        except BaseException:
            self._model.close()
            raise
        self._cache = KvCache(self._context, self._context.sequences,
                              self._context.context_tokens, 0, config.session_ttl)
        self._evaluator = Evaluator(
            self._context, self._cache, Pace(config.chunk_seconds, config.batch_tokens))
        self._warm_up = WarmUp(self._context, self._cache, self._evaluator, config)
        size = min(self._model.vocabulary.size, target.size)
        self._size = size
        self._sampler = Sampler(size, [
            token.id for token in self._model.vocabulary.special_tokens() if token.id < size])
        self._random = np.random.default_rng(0)
        self._session = ''
        self._lease: Lease | None = None
        self.costs: BatchCosts | None = None

    def warm_up(self, tokens: Sequence[int], is_canceled: Callable[[], bool]
                ) -> Iterator[PrefillProgress]:
        """Evaluate the prefix and pin it, and measure what batches cost."""
        self._cache.clear()
        yield from self._warm_up.run(tuple(tokens), is_canceled)
        if self.costs is None:
            self.costs = self._evaluator.costs = self._warm_up.batch_costs(is_canceled)
        self._cache.prepare()

    def begin(self, session: str) -> None:
        """Say whose conversation the next guesses are for."""
        self._session = session

    def end(self) -> None:
        """Give the session's sequence back, if it was needed."""
        if self._lease is not None:
            self._cache.release(self._lease.sequence)
            self._lease = None

    def lag(self, tokens: Ids) -> int:
        """Return how many tokens must be evaluated before a guess at what follows them."""
        if self._lease is None:
            self._lease = self._cache.lease(self._session, tokens, len(tokens) - 1)
        have = self._cache.tokens(self._lease.sequence)
        return max(1, len(tokens) - common_prefix(have, tokens))

    def guess(self, tokens: Ids, mask: Mask) -> int | None:
        """
        Return the allowed token that most probably follows; None where there is no room.

        :param tokens: of the conversation until here
        :param mask: allowed tokens, a bit each
        """
        start = len(tokens) - self.lag(tokens)
        assert self._lease is not None
        sequence = self._lease.sequence
        self._cache.cut(sequence, start)
        rest = tokens[start:].tolist()
        try:
            while rest:
                chunk = self._evaluator.pace.cut(rest)
                rest = rest[len(chunk):]
                if not self._evaluator.evaluate(
                        sequence, chunk, () if rest else [len(chunk) - 1]):
                    return None
        except ContextFull:
            return None
        logits = self._context.logits(len(chunk) - 1)[:self._size]
        words = mask[:(self._size + 31) // 32]
        return self._sampler.choose(logits, words, _GREEDY, self._random)

    def abort(self, on: bool) -> None:
        """Have a running decode end at its next operation; off before the next one."""
        self._context.abort(on)

    def pin(self, session: str, pinned: bool) -> None:
        """Say whether a goal of this session is running."""
        self._cache.pin(session, pinned)

    def release(self, session: str) -> None:
        """Forget a session."""
        self._cache.forget(session)

    def check_integrity(self) -> None:
        """Account for every sequence and cell; raises AssertionError."""
        self._cache.check_integrity()

    def close(self) -> None:
        """Free the model and its memory."""
        self._context.close()
        self._model.close()
