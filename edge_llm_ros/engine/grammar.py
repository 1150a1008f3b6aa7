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

"""Grammar text to llguidance matchers, and what they force."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Protocol

from edge_llm_ros.flow.errors import EngineError
from llguidance import LLMatcher
import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.uint32]
KnownWords = dict[tuple[int, ...], Sequence[tuple[int, bytes]]]
_KNOWN = 512  # places of a grammar whose words are kept
_FEW = 64  # words of a mask that are looked at token by token


class Words(Protocol):
    """What is asked of a vocabulary."""

    size: int

    def piece(self, token: int) -> bytes:
        """Return the bytes of a token."""

    def first_token(self, text: bytes) -> int:
        """Return the token that a text begins with; -1 where that cannot be said."""


class Matcher:
    """
    A grammar that follows what is generated.

    :param matcher: llguidance's own, in its initial state
    :param words: the vocabulary
    :param known: what words() returned, by the tokens before; shared by matchers of a grammar
    :param bits: a buffer for masks; a new one where there is none
    """

    def __init__(self, matcher: LLMatcher, words: Words, known: KnownWords,
                 bits: Mask | None = None) -> None:
        self._matcher = matcher
        self._words = words
        self._consumed: tuple[int, ...] = ()
        self._known = known
        self._bits = np.zeros((words.size + 31) // 32, np.uint32) if bits is None else bits

    def _check(self) -> None:
        # LLMatcher never raises: an error would otherwise end as "no token is allowed".
        if self._matcher.is_error():
            raise EngineError(f'grammar: {self._matcher.get_error()}')

    @property
    def complete(self) -> bool:
        """Say whether the grammar has reached its end."""
        stopped = bool(self._matcher.is_stopped())
        self._check()
        return stopped

    def consume(self, tokens: Sequence[int]) -> None:
        """
        Follow tokens.

        :raises EngineError: if the grammar does not allow them
        """
        if not self._matcher.consume_tokens(list(tokens)):
            self._check()
            raise EngineError(f'grammar: tokens {list(tokens)} are not allowed here.')
        self._consumed += tuple(tokens)

    def copy(self) -> Matcher:
        """
        Return a matcher that goes its own way from here.

        Going back is done with copies: they cost five microseconds, and rollback() leaves parsers
        of text with multi-byte characters in a wrong state (llguidance 1.9.1).
        """
        copy = Matcher(self._matcher.deep_copy(), self._words, self._known, self._bits)
        copy._consumed = self._consumed
        return copy

    def forced(self) -> list[int]:
        """Return the tokens that must come next, consumed already; empty at a choice."""
        tokens: list[int] = self._matcher.compute_ff_tokens()
        self._check()
        if tokens:
            # The last space of an indent goes to the word after it (as in "   " and " say"), which
            # llguidance does not know: whether white space is a token of its own is left open.
            while tokens and self._words.piece(tokens[-1]).isspace():
                tokens.pop()
        elif not self.complete:
            few = self._few(self.mask())
            tokens = few if len(few) == 1 else self._forced_by_its_bytes(few)
        if tokens:
            self.consume(tokens)
        return tokens

    @staticmethod
    def _few(mask: Mask) -> list[int]:
        """Return the allowed tokens, if they are few."""
        words = np.flatnonzero(mask)
        if len(words) > _FEW:
            return []
        rows, columns = np.nonzero(np.unpackbits(
            mask[words].view(np.uint8).reshape(-1, 4), axis=1, bitorder='little'))
        tokens: list[int] = (words[rows] * 32 + columns).tolist()
        return tokens

    def _forced_by_its_bytes(self, allowed: list[int]) -> list[int]:
        """
        Return a token that is certain though the grammar allows others, or nothing.

        The next bytes may be forced and their token be in doubt, since it could merge with what
        follows. Where no allowed token goes beyond those bytes, none can merge; the others are
        mere parts of the one that the tokenizer would write.
        """
        forced: bytes = self._matcher.compute_ff_bytes() if allowed else b''
        self._check()
        if not forced:
            return []
        pieces = [self._words.piece(token) for token in allowed]
        if any(not forced.startswith(piece) for piece in pieces):
            return []
        token = self._words.first_token(forced)
        certain = token in allowed and self._words.piece(token) == max(pieces, key=len)
        return [token] if certain and not self._words.piece(token).isspace() else []

    def words(self) -> Sequence[tuple[int, bytes]]:
        """
        Return the allowed tokens, if they are few, each with the word that it begins.

        The word ends at a quote, or where there is a choice again.
        """
        known = self._known.get(self._consumed)
        if known is None:
            known = [(token, self._word(token)) for token in self._few(self.mask())]
            if len(self._known) >= _KNOWN:
                self._known.clear()
            self._known[self._consumed] = known
        return known

    def _word(self, token: int) -> bytes:
        after = self.copy()
        after.consume([token])
        forced: bytes = b'' if after.complete else after._matcher.compute_ff_bytes()
        return (self._words.piece(token) + forced).split(b'"')[0]

    def mask(self) -> Mask:
        """Return which tokens may come next: a bit each, in a buffer that is reused."""
        self._matcher.unsafe_compute_mask_ptr(self._bits.ctypes.data, self._bits.nbytes)
        self._check()
        return self._bits


class GrammarCompiler:
    """
    Compiles grammars and keeps the last ones.

    :param tokenizer: llguidance's view of the vocabulary
    :param words: the vocabulary
    :param kept: compiled grammars kept
    """

    def __init__(self, tokenizer: Any, words: Words, kept: int = 32) -> None:
        self._tokenizer = tokenizer
        self._words = words
        self._kept = kept
        self._compiled: OrderedDict[str, tuple[LLMatcher, KnownWords]] = OrderedDict()

    def matcher(self, grammar: str) -> Matcher:
        """
        Return a matcher at the start of a Lark grammar.

        :raises EngineError: with llguidance's words if the grammar is not valid
        """
        compiled = self._compiled.pop(grammar, None)
        if compiled is None:
            matcher = LLMatcher(
                self._tokenizer, LLMatcher.grammar_from_lark(grammar), log_level=0)
            if matcher.is_error():
                raise EngineError(f'grammar: {matcher.get_error()}')
            compiled = matcher, {}
        self._compiled[grammar] = compiled
        if len(self._compiled) > self._kept:
            self._compiled.popitem(last=False)
        # A copy, since reset() does not bring back all of a matcher's first state (llguidance
        # 1.9.1: the forced tokens after a reset are cut at the start).
        matcher, known = compiled
        return Matcher(matcher.deep_copy(), self._words, known)
