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

"""The engine in a process of its own: a crash there is an error here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
import threading
import time
from typing import Any

from edge_llm_ros.engine import messages
from edge_llm_ros.engine.engine_process import EngineProcess
from edge_llm_ros.engine.process_keeper import LOADING_SECONDS, ProcessKeeper, ProcessState
from edge_llm_ros.engine.token_cache import TokenCache
from edge_llm_ros.flow.engine import (
    Completion, EngineConfig, GenerateRequest, ModelInfo, PrefillProgress, Stop, TokensProgress)
from edge_llm_ros.flow.errors import EngineError

RESTARTED = 'the engine was started again'
_WARM_UP = 'warm_up'
_GRAMMAR_SECONDS = 30.0
_CHUNKS = 20  # of the usual length, that one may take
_NEW = 0.1  # weight of one more chunk in the usual length


class HostEngine:
    """
    A loaded model with its KV cache, in a process of its own.

    A process that ends, or gives no sign of life, ends the running request with an EngineError.
    The next request starts another one, which loads the model and the prefix; sessions go on,
    since their tokens are the caller's.

    :param config: how the model is loaded
    :param keep_loading: asked while the model loads; False gives it up
    :param progress: told the share of its file that is there, while the model loads
    :param patience: seconds without a sign of life after which the process of a running request
        is taken for hung; 20 times the usual chunk if that is more
    :raises EngineError: if it cannot be loaded
    """

    def __init__(self, config: EngineConfig, keep_loading: Callable[[], bool] = lambda: True,
                 progress: Callable[[float], None] = lambda share: None,
                 patience: float = 5.0) -> None:
        self._patience = patience
        self._usual = config.chunk_seconds
        self._known = TokenCache()
        self._keeper = ProcessKeeper(config, progress)
        self._seen: dict[str, int] = {}  # the process that evaluated a session last
        self._busy = threading.Lock()
        self._cancel_lock = threading.Lock()
        self._canceled: set[str] = set()
        self._running: tuple[str, EngineProcess] | None = None
        try:
            if self._keeper.ready(lambda: not keep_loading()) is None:
                raise EngineError('loading the model was given up.')
        except BaseException:
            self._keeper.close()
            raise

    @property
    def state(self) -> ProcessState:
        """Return how the process is; any thread may ask."""
        return self._keeper.state

    def info(self) -> ModelInfo:
        """Return what the model says of itself."""
        assert self._keeper.info is not None
        return self._keeper.info

    def tokenize(self, text: str, special: bool) -> tuple[int, ...]:
        """Return the tokens of a text; role tokens are recognised only if ``special``."""
        def ask() -> tuple[int, ...]:
            answer: messages.Tokens = self._keeper.ask(
                messages.Tokenize(text, special), messages.Tokens, self._patience)
            return answer.tokens

        self._keeper.check_open()
        return self._known.tokens(text, special, ask)

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of tokens, special ones as their text."""
        def ask(unknown: tuple[int, ...]) -> list[bytes]:
            answer: messages.Pieces = self._keeper.ask(
                messages.Detokenize(unknown), messages.Pieces, self._patience)
            return [answer.data[start:end]
                    for start, end in pairwise(accumulate(answer.sizes, initial=0))]

        self._keeper.check_open()
        return self._known.text(tokens, ask)

    def check_grammar(self, grammar: str) -> None:
        """
        Compile a grammar and keep it; raises EngineError if it is not valid.

        A process that still loads is not waited for: it says so when the grammar is used.
        """
        self._keeper.check_open()
        if not self._known.is_valid(grammar) and not self._keeper.live().starting:
            self._keeper.ask(messages.CheckGrammar(grammar), messages.Done, _GRAMMAR_SECONDS)
            self._known.add_valid(grammar)

    def batch_costs(self) -> Mapping[int, float]:
        """Return the seconds of a batch by its tokens; empty where they were not measured."""
        self._keeper.check_open()
        if not self.state.alive or self._keeper.live().starting:
            return {}
        answer: messages.Costs = self._keeper.ask(
            messages.MeasuredBatches(), messages.Costs, self._patience)
        return dict(zip(answer.sizes, answer.seconds))

    def check_integrity(self) -> None:
        """Account for every sequence and cell; raises AssertionError."""
        with self._busy:
            if self._keeper.ready(lambda: False) is not None:
                self._keeper.ask(messages.CheckIntegrity(), messages.Done, LOADING_SECONDS)

    def pin(self, session: str, pinned: bool) -> None:
        """Say whether a goal of this session is running: what is pinned is never evicted."""
        self._keeper.pin(session, pinned)

    def release(self, session: str) -> None:
        """Forget a session."""
        self._seen.pop(session, None)
        self._keeper.release(session)

    def on_end(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """
        Have a callback told why the process ended, request or not, from any thread.

        :returns: a function that withdraws the callback
        """
        return self._keeper.on_end(callback)

    def close(self) -> None:
        """End the running request, and then the process: its memory is the system's again."""
        self._keeper.close()

    # Requests

    def cancel(self, request_id: str) -> None:
        """End a request within one chunk or token; an id that is not running is remembered."""
        with self._cancel_lock:
            self._canceled.add(request_id)
            if self._running is not None and self._running[0] == request_id:
                self._running[1].post(messages.Cancel(request_id))

    def _is_canceled(self, request_id: str) -> bool:
        with self._cancel_lock:
            return request_id in self._canceled

    def warm_up(self, tokens: Sequence[int]) -> Iterator[PrefillProgress]:
        """Evaluate the prefix and pin it, dropping every session; cancel('warm_up') ends it."""
        prefix = tuple(tokens)
        with self._busy:
            for event in self._events(_WARM_UP, messages.WarmUp(prefix), lambda: LOADING_SECONDS):
                if isinstance(event, PrefillProgress):
                    yield event
                else:
                    self._seen.clear()
                    self._keeper.use_prefix(prefix)
                    return
        raise EngineError('the warm-up was canceled.')

    def generate(self, request: GenerateRequest
                 ) -> Iterator[PrefillProgress | TokensProgress | Completion]:
        """Generate one call; the last event is the Completion."""
        start = time.monotonic()
        with self._busy:
            before = self._seen.get(request.session)
            for event in self._events(request.id, request, self._limit):
                self._seen[request.session] = self._keeper.restarts.count
                if isinstance(event, Completion):
                    self._keeper.restarts.worked()
                    again = before not in (None, self._keeper.restarts.count)
                    yield replace(event, lost=RESTARTED) if again and not event.lost else event
                    return
                yield event
        seconds = time.monotonic() - start
        yield Completion(Stop.CANCELED, (), '', 0, 0, 0, seconds, seconds)

    def _limit(self) -> float:
        """Return the seconds that a chunk may take."""
        return max(self._patience, _CHUNKS * self._usual)

    def _events(self, name: str, message: Any, limit: Callable[[], float]) -> Iterator[Any]:
        """
        Yield the answers to a request; none if it was canceled before it was sent.

        :param name: by which it is canceled
        :param limit: seconds without an answer
        """
        try:
            process = self._keeper.ready(lambda: self._is_canceled(name))
            with self._cancel_lock:
                if process is None or name in self._canceled:
                    return
                call = process.call(message)
                self._running = name, process
            last, heard = False, call.heard
            try:
                while not last:
                    event = call.next(limit())
                    if event is None:
                        self._keeper.check_alive(process, call, limit())
                        continue
                    self._usual += _NEW * (call.heard - heard - self._usual)
                    heard, last = call.heard, isinstance(event, (Completion, messages.Done))
                    yield event
            finally:
                if not last:
                    process.post(messages.Cancel(name))
        finally:
            with self._cancel_lock:
                self._running = None
                self._canceled.discard(name)
