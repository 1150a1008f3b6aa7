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

"""Guesses that ride in a batch, and what is right of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from edge_llm_ros.engine.batch_costs import BatchCosts, UNLIKELY
from edge_llm_ros.engine.grammar import Mask, Matcher
from edge_llm_ros.engine.guess import Acceptance, Guess, History, mentioned
from edge_llm_ros.engine.prefix_index import Ids
import numpy as np

_LONGEST = 12  # guesses of a batch
_PATIENCE = 4  # guesses more than pay, since kernels take tokens in fours
_FREE = 64  # words of a mask beyond which it is free text
_TEXT_CHOICES = 16  # of a text, about
_MODEL = 'draft model'


class GuessingModel(Protocol):
    """What is asked of a draft model."""

    costs: BatchCosts | None

    def lag(self, tokens: Ids) -> int:
        """Return how many tokens must be evaluated before a guess at what follows them."""

    def guess(self, tokens: Ids, mask: Mask) -> int | None:
        """Return the allowed token that most probably follows; None where there is no room."""


@dataclass
class Draft:
    """
    What is guessed to follow the tokens that a batch holds already.

    :param tokens: guesses, and what the grammar forces after each
    :param places: indices of the guesses in ``tokens``
    :param masks: what the grammar allows at each guess
    :param sources: where each guess comes from
    :param ends: whether the call is complete after the last token
    """

    tokens: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    masks: list[Mask] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    ends: bool = False

    def add(self, guess: Guess, mask: Mask, tokens: list[int]) -> None:
        """Append a guess, with what the grammar forces after it."""
        self.places.append(len(self.tokens))
        self.masks.append(mask)
        self.sources.append(guess.source)
        self.tokens += tokens

    def guess(self, number: int) -> Guess:
        """Return a guess by its number."""
        return Guess(self.tokens[self.places[number]], self.sources[number])

    def cut(self, guesses: int) -> None:
        """Keep the first guesses."""
        if guesses < len(self.places):
            del self.tokens[self.places[guesses]:]
            del self.places[guesses:], self.masks[guesses:], self.sources[guesses:]
            self.ends = False

    @property
    def to_evaluate(self) -> list[int]:
        """Return the tokens that belong into the batch: not those that nothing is chosen after."""
        return self.tokens[:self.places[-1]] if self.ends and self.places else self.tokens


class Drafter:
    """
    Guesses as long as it pays.

    :param costs: of batches
    :param acceptance: of the sources so far
    :param model: asked where nothing that was said tells what follows; None for none
    """

    def __init__(self, costs: BatchCosts, acceptance: Acceptance,
                 model: GuessingModel | None = None) -> None:
        self._costs = costs
        self._model = model
        self.acceptance = acceptance

    def draft(self, batch: int, room: int, matcher: Matcher, history: History, text: bytes
              ) -> tuple[Draft, Guess | None]:
        """
        Guess what follows; the history is as before afterwards.

        As many guesses are taken as are expected to save most. More of them may pay where fewer do
        not: a batch of four can be cheaper than one of three.

        :param batch: tokens that the batch holds already
        :param room: tokens that it may take more
        :param matcher: at a choice
        :param text: of the conversation after the prefix, lower case, for words it mentions
        :returns: the draft, and the guess that did not pay, so that it can be learned from
        """
        draft, length, probability = Draft(), len(history), 1.0
        matcher = matcher.copy()
        saved, best, best_gain = 0.0, 0, 0.0
        while len(draft.places) < min(_LONGEST, best + _PATIENCE):
            mask = matcher.mask().copy()
            guess = self._guess(mask, matcher, history, text) or self._ask_model(
                batch + len(draft.tokens), mask, history, probability)
            if guess is None:
                break
            tokens = [guess.token, *_consume(matcher, guess.token)]
            if len(draft.tokens) + len(tokens) > room:
                break
            probability *= self.acceptance.probability(guess.source)
            draft.add(guess, mask, tokens)
            history.append(tokens)
            draft.ends = matcher.complete
            saved += probability * self._costs(len(tokens))
            gain = saved - self._costs.of_riders(batch, len(draft.tokens), len(draft.places))
            if probability >= UNLIKELY and gain > best_gain:
                best, best_gain = len(draft.places), gain
            if draft.ends or probability < UNLIKELY:
                break
        history.cut(length)
        held_back = draft.guess(0) if draft.places and not best else None
        draft.cut(best)
        return draft, held_back

    @staticmethod
    def _guess(mask: Mask, matcher: Matcher, history: History, text: bytes) -> Guess | None:
        def allowed(token: int) -> bool:
            return bool(mask[token // 32] >> np.uint32(token % 32) & 1)

        # Copying a text and choosing one of a few words are guessed with very different success.
        return mentioned(matcher, text) or history.follower(
            allowed, 'copied text' if _is_text(mask) else 'repeated choice')

    def _ask_model(self, batch: int, mask: Mask, history: History, probability: float
                   ) -> Guess | None:
        """Have the draft model guess a token of a free text, where that pays."""
        if self._model is None or self._model.costs is None or not _is_text(mask):
            return None
        own = self.acceptance.probability(_MODEL)
        cost = self._model.costs(1)
        gain = probability * own * self._costs(1) - cost - self._costs.of_riders(batch, 1, 1)
        # What it has not evaluated yet must be won back by the rest of the text.
        behind = self._model.costs(self._model.lag(history.tokens)) - cost
        if own * probability < UNLIKELY or gain * _TEXT_CHOICES <= behind:
            if probability == 1.0:
                self.acceptance.fade(_MODEL)
            return None
        token = self._model.guess(history.tokens, mask)
        return None if token is None else Guess(token, _MODEL)


def _is_text(mask: Mask) -> bool:
    return bool(np.count_nonzero(mask) > _FREE)


def _consume(matcher: Matcher, token: int) -> Iterator[int]:
    """Follow a token and yield what is forced after it."""
    matcher.consume([token])
    while not matcher.complete:
        forced = matcher.forced()
        if not forced:
            return
        yield from forced


Choose = Callable[[int, Mask], int]


def verify(draft: Draft, choose: Choose, acceptance: Acceptance) -> tuple[int, int | None]:
    """
    Compare guesses with what is chosen.

    :param choose: takes the index of a guess and its mask, and returns the model's choice
    :returns: how many guesses are right, and the choice at the first that is not
    """
    for number, place in enumerate(draft.places):
        token = choose(number, draft.masks[number])
        right = token == draft.tokens[place]
        acceptance.learn(draft.sources[number], right)
        if not right:
            return number, token
    return len(draft.places), None
