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

from collections.abc import Callable, Iterator, Sequence
import logging
import threading

from edge_llm_ros.engine.decode import Evaluator, Generation, Lease
from edge_llm_ros.engine.grammar import GrammarCompiler
from edge_llm_ros.engine.kv_cache import KvCache, PREFIX
from edge_llm_ros.engine.llama import LlamaModel
from edge_llm_ros.engine.pace import Pace
from edge_llm_ros.engine.prefix_store import fingerprint, PrefixKey, PrefixStore
from edge_llm_ros.engine.sampler import Sampler
from edge_llm_ros.flow.engine import (
    Completion, EngineConfig, GenerateRequest, ModelInfo, PrefillProgress, Stop, TokenKind,
    TokensProgress)
from edge_llm_ros.flow.errors import ContextFull, EngineError

logger = logging.getLogger(__name__)

_WARM_UP = 'warm_up'
# Larger than the pace of goals: nobody waits for a cancel but a shutdown, and on a CPU a running
# decode is aborted anyway.
_WARM_UP_CHUNK = 256


class LocalEngine:
    """
    A loaded model with its KV cache, in this process.

    :param config: how the model is loaded
    :param keep_loading: asked while the model loads; False gives it up
    :raises EngineError: if it cannot be loaded
    """

    def __init__(self, config: EngineConfig,
                 keep_loading: Callable[[], bool] = lambda: True) -> None:
        self._model = LlamaModel(config, keep_loading)
        try:
            self._set_up(config)
        except BaseException:
            self._model.close()
            raise

    def _set_up(self, config: EngineConfig) -> None:
        self._info = self._model.info()
        special = self._info.special_tokens
        end_ids = [token.id for token in special if token.kind is TokenKind.END]
        self._sampler = Sampler(self._model.vocabulary, [token.id for token in special])
        self._compiler = GrammarCompiler(
            self._model.guidance_tokenizer(end_ids), self._model.vocabulary)
        self._cache = KvCache(self._model, self._model.sequences, self._model.context_tokens)
        self._store = PrefixStore(config.prefix_folder, config.prefix_bytes)
        self._keeps_prefixes = bool(config.prefix_folder)
        self._evaluator = Evaluator(
            self._model, self._cache, Pace(config.chunk_seconds, config.batch_tokens))
        # Generated tokens that a session's requests left unevaluated, by position.
        self._deferred: dict[str, dict[int, int]] = {}
        self._busy = threading.Lock()
        # Tokenising is safe beside a running request, but not beside close().
        self._open = threading.Lock()
        self._cancel_lock = threading.Lock()
        self._canceled: set[str] = set()
        self._running: str | None = None
        self._closed = False

    def info(self) -> ModelInfo:
        """Return what the model says of itself."""
        return self._info

    def tokenize(self, text: str, special: bool) -> tuple[int, ...]:
        """Return the tokens of a text; role tokens are recognised only if ``special``."""
        with self._open:
            self._check_open()
            return self._model.tokenize(text, special)

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of tokens, special ones as their text."""
        with self._open:
            self._check_open()
            return self._model.detokenize(tokens)

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
        with self._busy:
            self._begin(_WARM_UP)
            try:
                self._cache.clear()
                self._deferred.clear()
                key = PrefixKey({**self._model.facts(), 'model': fingerprint(self._info.path)},
                                tuple(tokens))
                if self._keeps_prefixes and self._restore(key):
                    yield PrefillProgress(len(tokens), len(tokens), restored=True)
                    return
                rest = list(tokens)
                while rest:
                    if self._is_canceled(_WARM_UP):
                        raise EngineError('the warm-up was canceled.')
                    chunk = rest[:min(_WARM_UP_CHUNK, self._model.batch_tokens)]
                    if self._evaluator.evaluate(PREFIX, chunk, logits=False):
                        del rest[:len(chunk)]
                        yield PrefillProgress(len(tokens) - len(rest), len(tokens))
                if self._keeps_prefixes:
                    self._store.save(key, self._model.sequence_state(PREFIX))
            finally:
                self._end(_WARM_UP)

    def _restore(self, key: PrefixKey) -> bool:
        """Load the prefix from disk; False where that cannot be done."""
        state = self._store.load(key)
        if state is None:
            return False
        self._cache.reserve(len(key.tokens))
        if not self._model.restore_sequence(PREFIX, state, len(key.tokens)):
            logger.warning('llama.cpp does not take the saved prefix; it is evaluated again')
            return False
        self._cache.extend(PREFIX, key.tokens)
        return True

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
        if len(request.tokens) + request.max_tokens > self._model.context_tokens:
            raise ContextFull(
                f'{len(request.tokens)} tokens and a call of up to {request.max_tokens} do not '
                'fit into '
                f'context_tokens = {self._model.context_tokens}.')
        matcher = self._compiler.matcher(request.grammar)
        # The last token is evaluated again where all are resident: its logits are not kept.
        sequence, length = self._cache.lease(
            request.session, request.tokens, keep=len(request.tokens) - 1)
        try:
            deferred = self._deferred.setdefault(request.session, {})
            positions = frozenset(
                p for p, token in deferred.items() if request.tokens[p:p + 1] == (token,))
            generation = Generation(request, Lease(sequence, length), positions, self._evaluator,
                                    self._model, matcher, self._sampler)
            while True:
                event = generation.step(self._is_canceled(request.id))
                if isinstance(event, Completion) and event.stop is Stop.COMPLETE:
                    deferred.update(generation.unevaluated)
                yield event
                if isinstance(event, Completion):
                    return
        finally:
            evaluated = len(self._cache.tokens(sequence))
            for position in [p for p in self._deferred[request.session] if p < evaluated]:
                del self._deferred[request.session][position]
            self._cache.release(sequence)

    def _begin(self, request_id: str) -> None:
        self._check_open()
        with self._cancel_lock:
            self._running = request_id
            self._model.abort(request_id in self._canceled)

    def _end(self, request_id: str) -> None:
        with self._cancel_lock:
            self._running = None
            self._canceled.discard(request_id)
            self._model.abort(False)

    def _is_canceled(self, request_id: str) -> bool:
        with self._cancel_lock:
            return request_id in self._canceled

    def cancel(self, request_id: str) -> None:
        """End a request within one chunk or token; an id that is not running is remembered."""
        with self._cancel_lock:
            self._canceled.add(request_id)
            if self._running == request_id:
                self._model.abort(True)

    def release(self, session: str) -> None:
        """Forget a session; waits for a running request."""
        with self._busy:
            self._deferred.pop(session, None)
            self._cache.forget(session)

    def check_integrity(self) -> None:
        """Account for every sequence and cell; raises AssertionError."""
        self._cache.check_integrity()
        for number in range(self._model.sequences):
            assert self._model.sequence_length(number) == len(self._cache.tokens(number))

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
                self._model.close()
