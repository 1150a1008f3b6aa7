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

"""The engine in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
import logging
import threading

from edge_llm_ros.engine.decode import Generation
from edge_llm_ros.engine.draft import Drafter
from edge_llm_ros.engine.draft_model import DraftModel
from edge_llm_ros.engine.evaluator import Evaluator
from edge_llm_ros.engine.grammar import GrammarCompiler
from edge_llm_ros.engine.guess import Acceptance
from edge_llm_ros.engine.kv_cache import KvCache, NoCache, sequences_for
from edge_llm_ros.engine.llama.context import LlamaContext
from edge_llm_ros.engine.llama.model import LlamaModel
from edge_llm_ros.engine.pace import Pace
from edge_llm_ros.engine.sampler import Sampler
from edge_llm_ros.engine.scheduling import Scheduling
from edge_llm_ros.engine.sequences import PREFIX
from edge_llm_ros.engine.warm_up import WarmUp
from edge_llm_ros.flow.engine import (
    Completion, EngineConfig, GenerateRequest, MemoryKind, ModelInfo, PrefillProgress, Stop,
    TokenKind, TokensProgress)
from edge_llm_ros.flow.errors import ContextFull, EngineError

logger = logging.getLogger(__name__)

WARM_UP = 'warm_up'  # what a warm-up is canceled by
_ABORTABLE = 4  # times as long: a chunk that only the CPU evaluates
_MENTIONS = 512  # last tokens of a conversation in which words are looked for


class LocalEngine:
    """
    A loaded model with its KV cache, in this process.

    :param config: how the model is loaded
    :param keep_loading: asked while the model loads; False gives it up
    :param progress: told the share of its file that is there, while the model loads
    :raises EngineError: if it cannot be loaded
    """

    def __init__(self, config: EngineConfig,
                 keep_loading: Callable[[], bool] = lambda: True,
                 progress: Callable[[float], None] = lambda share: None) -> None:
        self._scheduling = Scheduling(config.cpu_affinity, config.niceness)
        self._scheduling.apply()
        self._model = LlamaModel(config, keep_loading, progress)
        try:
            self._context = LlamaContext(
                self._model, config, sequences_for(self._model.memory, config.max_sessions))
        except BaseException:
            self._model.close()
            raise
        self._draft_model: DraftModel | None = None
        try:
            self._set_up(config, self._context)
            self._load_draft_model(config, keep_loading)
        except BaseException:
            self._free()
            raise

    def _load_draft_model(self, config: EngineConfig, keep_loading: Callable[[], bool]) -> None:
        if not config.draft_model_path:
            return
        if not self._guesses:
            why = ('guess is off' if self._context.kind is MemoryKind.FULL else
                   'the memory of the model cannot be cut, so wrong guesses cannot be taken back')
            raise EngineError(f'draft_model_path: {why}. Leave it empty.')
        self._draft_model = DraftModel(config, self._model.vocabulary, keep_loading)

    def _free(self) -> None:
        if self._draft_model is not None:
            self._draft_model.close()
        self._context.close()
        self._model.close()

    def _set_up(self, config: EngineConfig, context: LlamaContext) -> None:
        self._info = self._model.info(context.context_tokens, context.threads,
                                      context.shape(), context.kv_bytes)
        special = self._info.special_tokens
        end_ids = [token.id for token in special if token.kind is TokenKind.END]
        self._sampler = Sampler(self._info.vocabulary, [token.id for token in special])
        self._compiler = GrammarCompiler(
            self._model.vocabulary.guidance_tokenizer(end_ids), self._model.vocabulary)
        self._reuse = config.reuse
        self._cache = (KvCache if config.reuse else NoCache)(
            context, context.sequences, context.context_tokens, config.spill_bytes,
            config.session_ttl)
        # Nobody waits for the end of a chunk that can be aborted, and longer ones are faster.
        seconds = config.chunk_seconds * (1 if self._model.gpu_layers else _ABORTABLE)
        self._evaluator = Evaluator(context, self._cache, Pace(seconds, config.batch_tokens))
        self._warm_up = WarmUp(context, self._cache, self._evaluator, config)
        # Wrong guesses are cut off, which only plain attention bears.
        self._force = config.force
        self._guesses = config.guess and context.kind is MemoryKind.FULL
        self._drafter: Drafter | None = None
        # Generated tokens that a session's requests left unevaluated, by position.
        self._deferred: dict[str, dict[int, int]] = {}
        self._busy = threading.Lock()
        # Tokenising is safe beside a running request, but not beside close().
        self._open = threading.Lock()
        self._cancel_lock = threading.Lock()
        self._canceled: set[str] = set()
        self._running: str | None = None
        self._told: set[str] = set()
        self._closed = False

    def info(self) -> ModelInfo:
        """Return what the model says of itself."""
        return self._info

    def tokenize(self, text: str, special: bool) -> tuple[int, ...]:
        """Return the tokens of a text; role tokens are recognised only if ``special``."""
        with self._open:
            self._check_open()
            return self._model.vocabulary.tokenize(text, special)

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of tokens, special ones as their text."""
        with self._open:
            self._check_open()
            return self._model.vocabulary.detokenize(tokens)

    def _check_open(self) -> None:
        if self._closed:
            raise EngineError('the engine is closed.')

    def check_grammar(self, grammar: str) -> None:
        """Compile a grammar and keep it; raises EngineError if it is not valid."""
        with self._open:
            self._check_open()
            self._compiler.matcher(grammar)

    def warm_up(self, tokens: Sequence[int]) -> Iterator[PrefillProgress]:
        """Evaluate the prefix and pin it, dropping every session; cancel('warm_up') ends it."""
        def canceled() -> bool:
            return self._is_canceled(WARM_UP)

        with self._busy:
            self._begin(WARM_UP)
            try:
                self._cache.clear()
                self._deferred.clear()
                last = PrefillProgress(len(tokens), len(tokens))
                if self._reuse:
                    for last in self._warm_up.run(tuple(tokens), canceled):
                        yield last
                if self._guesses and self._drafter is None:
                    costs = self._evaluator.costs = self._warm_up.batch_costs(canceled)
                    self._drafter = Drafter(
                        costs, Acceptance(), self._draft_model) if costs else None
                if self._draft_model is not None:
                    for _ in self._draft_model.warm_up(tokens, canceled):
                        yield last  # a sign of life
                self._cache.prepare()
            finally:
                self._end(WARM_UP)

    def generate(self, request: GenerateRequest
                 ) -> Iterator[PrefillProgress | TokensProgress | Completion]:
        """Generate one call; the last event is the Completion."""
        with self._busy:
            self._begin(request.id)
            try:
                yield from self._generate(request)
            finally:
                self._end(request.id)

    def _generate(self, request: GenerateRequest
                  ) -> Iterator[PrefillProgress | TokensProgress | Completion]:
        if len(request.tokens) + request.max_tokens > self._info.context_tokens:
            raise ContextFull(
                f'{len(request.tokens)} tokens and a call of up to {request.max_tokens} do not '
                'fit into '
                f'context_tokens = {self._info.context_tokens}.')
        matcher = self._compiler.matcher(request.grammar)
        # The last token is evaluated again where all are resident: its logits are not kept.
        lease = self._cache.lease(request.session, request.tokens, keep=len(request.tokens) - 1)
        self._tell_lost(lease.lost)
        try:
            deferred = self._deferred.setdefault(request.session, {})
            positions = frozenset(
                p for p, token in deferred.items() if request.tokens[p:p + 1] == (token,))
            generation = Generation(request, lease, positions, self._evaluator, self._context,
                                    matcher, self._sampler, self._drafter, self._said(request),
                                    self._force)
            if self._draft_model is not None:
                self._draft_model.begin(request.session)
            while True:
                event = generation.step(self._is_canceled(request.id))
                if isinstance(event, Completion) and event.stop is Stop.COMPLETE:
                    deferred.update(generation.unevaluated)
                yield event
                if isinstance(event, Completion):
                    return
        finally:
            evaluated = len(self._cache.tokens(lease.sequence))
            for position in [p for p in self._deferred[request.session] if p < evaluated]:
                del self._deferred[request.session][position]
            self._cache.release(lease.sequence)
            if self._draft_model is not None:
                self._draft_model.end()

    def _said(self, request: GenerateRequest) -> bytes:
        """Return the last of what was said after the prefix, for words that it mentions."""
        if self._drafter is None:
            return b''
        start = max(len(self._cache.tokens(PREFIX)), len(request.tokens) - _MENTIONS)
        return self._model.vocabulary.detokenize(request.tokens[start:]).lower()

    def _tell_lost(self, reason: str) -> None:
        """Log a reason once; the others are in the metrics."""
        kind = reason.split(' from ')[0]
        if kind and kind not in self._told:
            self._told.add(kind)
            logger.warning('tokens are evaluated again: %s', reason)

    def _begin(self, request_id: str) -> None:
        self._check_open()
        self._scheduling.apply()
        with self._cancel_lock:
            self._running = request_id
            self._abort(request_id in self._canceled)

    def _end(self, request_id: str) -> None:
        with self._cancel_lock:
            self._running = None
            self._canceled.discard(request_id)
            self._abort(False)

    def _abort(self, on: bool) -> None:
        self._context.abort(on)
        if self._draft_model is not None:
            self._draft_model.abort(on)

    def _is_canceled(self, request_id: str) -> bool:
        with self._cancel_lock:
            return request_id in self._canceled

    def cancel(self, request_id: str) -> None:
        """End a request within one chunk or token; an id that is not running is remembered."""
        with self._cancel_lock:
            self._canceled.add(request_id)
            if self._running == request_id:
                self._abort(True)

    def pin(self, session: str, pinned: bool) -> None:
        """Say whether a goal of this session is running; waits for a running request."""
        with self._busy:
            self._cache.pin(session, pinned)
            if self._draft_model is not None:
                self._draft_model.pin(session, pinned)

    def release(self, session: str) -> None:
        """Forget a session; waits for a running request."""
        with self._busy:
            self._deferred.pop(session, None)
            self._cache.forget(session)
            if self._draft_model is not None:
                self._draft_model.release(session)

    def batch_costs(self) -> Mapping[int, float]:
        """Return the seconds of a batch by its tokens; empty where they were not measured."""
        costs = self._evaluator.costs
        return costs.table() if costs else {}

    def on_end(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """Return what withdraws the callback: what ends this engine ends its caller, too."""
        return lambda: None

    def check_integrity(self) -> None:
        """Account for every sequence and cell; raises AssertionError."""
        self._cache.check_integrity()
        if self._draft_model is not None:
            self._draft_model.check_integrity()
        for number in range(self._cache.sequences):
            assert self._context.sequence_length(number) == len(self._cache.tokens(number))

    def close(self) -> None:
        """Free the model and its memory, after ending a running request."""
        with self._cancel_lock:
            running = self._running
        if running is not None:
            self.cancel(running)
        with self._busy, self._open:
            if not self._closed:
                self._closed = True
                self._cache.clear()
                self._free()
