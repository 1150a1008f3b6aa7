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
from typing import Any

from edge_llm_ros.flow.errors import EngineError
from llguidance import LLMatcher
import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.uint32]


class Matcher:
    """
    A grammar that follows what is generated.

    :param matcher: llguidance's own, in its initial state
    :param vocabulary: number of tokens
    """

    def __init__(self, matcher: LLMatcher, vocabulary: int) -> None:
        self._matcher = matcher
        self._bits = np.zeros((vocabulary + 31) // 32, np.uint32)

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

    def forced(self) -> list[int]:
        """Return the tokens that must come next, consumed already; empty at a choice."""
        tokens: list[int] = self._matcher.compute_ff_tokens()
        self._check()
        if not tokens and not self.complete:
            mask = self.mask()
            words = np.flatnonzero(mask)
            if len(words) == 1:
                bits = int(mask[words[0]])
                if bits & (bits - 1) == 0:
                    tokens = [int(words[0]) * 32 + bits.bit_length() - 1]
        if tokens:
            self.consume(tokens)
        return tokens

    def mask(self) -> Mask:
        """Return which tokens may come next: a bit each, in a buffer that is reused."""
        self._matcher.unsafe_compute_mask_ptr(self._bits.ctypes.data, self._bits.nbytes)
        self._check()
        return self._bits


class GrammarCompiler:
    """
    Compiles grammars and keeps the last ones.

    :param tokenizer: llguidance's view of the vocabulary
    :param vocabulary: number of tokens
    :param kept: compiled grammars kept
    """

    def __init__(self, tokenizer: Any, vocabulary: int, kept: int = 32) -> None:
        self._tokenizer = tokenizer
        self._vocabulary = vocabulary
        self._kept = kept
        self._compiled: OrderedDict[str, LLMatcher] = OrderedDict()

    def matcher(self, grammar: str) -> Matcher:
        """
        Return a matcher at the start of a Lark grammar.

        :raises EngineError: with llguidance's words if the grammar is not valid
        """
        compiled = self._compiled.pop(grammar, None)
        if compiled is None:
            compiled = LLMatcher(self._tokenizer,
                                 LLMatcher.grammar_from_lark(grammar),
                                 log_level=0)
            if compiled.is_error():
                raise EngineError(f'grammar: {compiled.get_error()}')
        self._compiled[grammar] = compiled
        if len(self._compiled) > self._kept:
            self._compiled.popitem(last=False)
        # A copy, since reset() does not bring back all of a matcher's first state (llguidance
        # 1.9.1: the forced tokens after a reset are cut at the start).
        return Matcher(compiled.deep_copy(), self._vocabulary)
