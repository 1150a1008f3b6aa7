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

"""
Guesses at what the model will choose, to be verified in the batch that is due anyway.

Two sources: what followed the same tokens earlier in the conversation (prompt lookup decoding),
and the words of the grammar that the conversation mentions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from edge_llm_ros.engine.grammar import Matcher
import numpy as np
import numpy.typing as npt

_LONGEST = 8  # tokens of a match; longer ones are no better
_DISTINCT = 4  # matches from this length on are equally good, and learned about together
_LOOKED_AT = 24  # earlier places, the last ones
_FEWEST_LETTERS = 3  # of a word that is looked for
_PRIOR = 2.0  # how many observations the first opinion of a source is worth
_WINDOW = 24.0  # observations that are remembered


@dataclass(frozen=True)
class Guess:
    """
    A token.

    :param source: what it comes from, and how well it fits there
    """

    token: int
    source: str


class Acceptance:
    """How often guesses of each source were right."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[float, float]] = {}

    def probability(self, source: str) -> float:
        """Return the share that was right, of the last ones; a half at first."""
        right, seen = self._seen.get(source, (0.0, 0.0))
        return (right + _PRIOR / 2) / (seen + _PRIOR)

    def learn(self, source: str, right: bool) -> None:
        """Take note of a guess that was compared with the model's choice."""
        hits, seen = self._seen.get(source, (0.0, 0.0))
        keep = 1 - 1 / _WINDOW
        self._seen[source] = hits * keep + right, seen * keep + 1

    def fade(self, source: str) -> None:
        """Forget a little of a source that was not tried, so that it is tried again some day."""
        hits, seen = self._seen.get(source, (0.0, 0.0))
        keep = 1 - 1 / _WINDOW
        self._seen[source] = hits * keep, seen * keep


class History:
    """
    The tokens of a conversation, with room for what is generated.

    :param tokens: int32
    :param room: tokens that may follow
    """

    def __init__(self, tokens: npt.NDArray[np.int32], room: int) -> None:
        self._tokens = np.empty(len(tokens) + room, np.int32)
        self._tokens[:len(tokens)] = tokens
        self._length = len(tokens)

    def __len__(self) -> int:
        return self._length

    @property
    def tokens(self) -> npt.NDArray[np.int32]:
        """Return the tokens, a view that the next append() may change."""
        return self._tokens[:self._length]

    def append(self, tokens: list[int]) -> None:
        """Append tokens."""
        end = self._length + len(tokens)
        if end > len(self._tokens):
            self._tokens = np.concatenate([self._tokens, np.empty(end, np.int32)])
        self._tokens[self._length:end] = tokens
        self._length = end

    def cut(self, length: int) -> None:
        """Drop the tokens from ``length`` on."""
        self._length = length

    def follower(self, allowed: Callable[[int], bool], source: str) -> Guess | None:
        """Return what followed the longest match of the last tokens; of equal ones, the last."""
        tokens = self.tokens
        if len(tokens) < 3:
            return None
        places = np.flatnonzero(tokens[:-1] == tokens[-1])[-_LOOKED_AT:]
        best, longest = -1, 1
        for place in reversed(places.tolist()):
            if not allowed(int(tokens[place + 1])):
                continue
            length = 1
            while (length < _LONGEST and length <= place
                   and tokens[place - length] == tokens[-1 - length]):
                length += 1
            if length > longest:
                best, longest = place, length
        if best < 0:
            return None
        return Guess(int(tokens[best + 1]), f'{source} {min(longest, _DISTINCT)}')


def mentioned(matcher: Matcher, text: bytes) -> Guess | None:
    """
    Return the start of the allowed word that a text mentions last.

    :param text: lower case
    """
    best: tuple[int, int] | None = None
    for token, word in matcher.words():
        plain = word.strip().replace(b'_', b' ').lower()
        if len(plain) >= _FEWEST_LETTERS:
            at = max(text.rfind(plain), text.rfind(word.strip().lower()))
            if at >= 0 and (best is None or at > best[0]):
                best = at, token
    return Guess(best[1], 'mentioned') if best else None
