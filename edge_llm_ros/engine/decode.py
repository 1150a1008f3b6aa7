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

from dataclasses import replace
import time

from edge_llm_ros.engine.draft import Draft, Drafter, verify
from edge_llm_ros.engine.evaluator import Evaluator
from edge_llm_ros.engine.grammar import Mask, Matcher
from edge_llm_ros.engine.guess import Guess, History
from edge_llm_ros.engine.kv_cache import Lease
from edge_llm_ros.engine.llama.context import LlamaContext
from edge_llm_ros.engine.sampler import Sampler
from edge_llm_ros.flow.engine import (
    ACCEPTED, Completion, FORCED, GenerateRequest, PrefillProgress, SAMPLED, Stop, TokensProgress)
import numpy as np


class Generation:
    """
    One call being generated.

    A token that the grammar forces is never sampled: it waits for the next batch that is due
    anyway. What is forced after the last choice is left for the next request to evaluate. Guesses
    ride in the same batch; each is compared with what is chosen from the logits before it, so
    the text is the same with and without them.

    :param request: what to generate
    :param lease: the sequence, with the resident part of the request's tokens
    :param deferred: positions of tokens that an earlier request generated and left unevaluated;
        they are no prefill
    :param drafter: guesses; None for none
    :param text: of the conversation after the prefix, lower case
    :param force: whether forced tokens are taken without sampling
    """

    def __init__(self, request: GenerateRequest, lease: Lease, deferred: frozenset[int],
                 evaluator: Evaluator, context: LlamaContext, matcher: Matcher,
                 sampler: Sampler, drafter: Drafter | None = None, text: bytes = b'',
                 force: bool = True) -> None:
        self._request = request
        self._lease = lease
        self._deferred = deferred
        self._evaluator = evaluator
        self._context = context
        self._matcher = matcher
        self._sampler = sampler
        self._drafter = drafter
        self._text = text
        self._force = force
        self._random = np.random.default_rng(request.sampling.seed)
        self._history = History(np.asarray(request.tokens, np.int32), request.max_tokens + 64)
        self._pending = list(request.tokens[lease.length:])
        self._tokens: list[int] = []
        self._origins: list[str] = []
        self._held_back: Guess | None = None
        self._reported = 0
        self._evaluated = 0
        self._guessed = 0
        self._decode_calls = 0
        self._start = time.monotonic()
        self._first_token: float | None = None
        self._biased = not request.biased
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
        self._history.append(tokens)

    def _append_forced(self) -> None:
        while self._force and not self._matcher.complete:
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
            lost=self._lease.lost,
            guessed=self._guessed)

    def step(self, canceled: bool) -> PrefillProgress | TokensProgress | Completion:
        """
        Evaluate one chunk and, once the prompt is evaluated, choose tokens.

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
        chunk = list(self._evaluator.pace.cut(self._pending))
        last = len(chunk) == len(self._pending)
        draft = self._draft(len(chunk)) if last else Draft()
        more = draft.to_evaluate
        rows = [len(chunk) - 1 + place for place in draft.places] if last else []
        if last and not draft.ends:
            rows.append(len(chunk) + len(more) - 1)
        done = self._evaluator.evaluate(self._lease.sequence, chunk + more, rows)
        self._decode_calls += 1
        if not done:
            return self._complete(Stop.CANCELED)
        self._evaluated += len(chunk)
        del self._pending[:len(chunk)]
        if not last:
            return PrefillProgress(self._evaluated, self._evaluated + len(self._pending))
        self._choose(draft, rows)
        return self._report()

    def _draft(self, batch: int) -> Draft:
        """Guess what may ride in a batch that ends at a choice."""
        self._held_back = None
        if self._drafter is None:
            return Draft()
        room = min(self._evaluator.batch_tokens - batch,
                   self._request.max_tokens - len(self._tokens) - 1)
        draft, self._held_back = self._drafter.draft(
            batch, room, self._matcher, self._history, self._text)
        self._guessed += len(draft.places)
        return draft

    def _pick(self, row: int, mask: Mask, at: int) -> int:
        """
        Choose a token.

        :param row: of the batch, after which it comes
        :param at: index of the token among those generated
        """
        logits, sampling = self._context.logits(row), self._request.sampling
        if not self._biased and all(
                mask[token // 32] >> np.uint32(token % 32) & 1 for token in self._request.biased):
            self._biased, logits = True, logits.copy()
            logits[list(self._request.biased)] += np.asarray(self._request.bias, np.float32)
            sampling = replace(sampling, temperature=0.0)
        token = self._sampler.choose(logits, mask, sampling, self._random)
        if self._first_token is None:
            self._first_token = time.monotonic() - self._start
        return self._request.script[at] if self._request.script else token

    def _choose(self, draft: Draft, rows: list[int]) -> None:
        """Take over the guesses that are right, and the choice after them."""
        right, token = 0, None
        if self._drafter is not None and draft.places:
            start = len(self._tokens)
            right, token = verify(
                draft, lambda number, mask: self._pick(
                    rows[number], mask, start + draft.places[number]), self._drafter.acceptance)
        self._accept(draft, right)
        if token is None and not draft.ends:
            token = self._pick(rows[-1], self._matcher.mask(), len(self._tokens))
            if self._drafter is not None and self._held_back is not None:
                self._drafter.acceptance.learn(
                    self._held_back.source, self._held_back.token == token)
        if token is not None:
            self._matcher.consume([token])
            self._append([token], SAMPLED)
            self._append_forced()

    def _accept(self, draft: Draft, right: int) -> None:
        """Append the first guesses with what is forced after them, and cut off the others."""
        end = draft.places[right] if right < len(draft.places) else len(draft.tokens)
        evaluated = len(draft.to_evaluate)
        if end < evaluated:
            length = self._evaluator.length(self._lease.sequence) - (evaluated - end)
            self._evaluator.cut(self._lease.sequence, length)
        taken = draft.tokens[:end]
        if not taken:
            return
        self._matcher.consume(taken)
        guesses = set(draft.places)
        for at, token in enumerate(taken):
            self._append([token], ACCEPTED if at in guesses else FORCED)
        del self._pending[:min(end, evaluated)]
        if draft.ends and right == len(draft.places):
            # The last choice of a batch counts as sampled, as in every other batch.
            self._origins[len(self._tokens) - end + draft.places[-1]] = SAMPLED

    def _report(self) -> TokensProgress:
        new = tuple(self._tokens[self._reported:])
        self._reported = len(self._tokens)
        return TokensProgress(new)
