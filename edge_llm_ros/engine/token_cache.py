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

"""What was tokenised lately, so that the engine's process is not asked twice."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
import threading

_TEXTS = 512
_CHARACTERS = 2048  # of a text that is kept
_GRAMMARS = 64


class TokenCache:
    """
    Tokens of texts, bytes of tokens and grammars that are valid; any thread may ask.

    All of them depend on the vocabulary alone, so they outlive the process that said them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: OrderedDict[tuple[str, bool], tuple[int, ...]] = OrderedDict()
        self._pieces: dict[int, bytes] = {}
        self._grammars: OrderedDict[str, None] = OrderedDict()

    def tokens(self, text: str, special: bool, ask: Callable[[], tuple[int, ...]]
               ) -> tuple[int, ...]:
        """Return the tokens of a text, asked for where they are not known."""
        key = text, special
        with self._lock:
            known = self._texts.get(key)
            if known is not None:
                self._texts.move_to_end(key)
                return known
        tokens = ask()
        if len(text) <= _CHARACTERS:
            with self._lock:
                self._texts[key] = tokens
                if len(self._texts) > _TEXTS:
                    self._texts.popitem(last=False)
        return tokens

    def text(self, tokens: Sequence[int], ask: Callable[[tuple[int, ...]], Sequence[bytes]]
             ) -> bytes:
        """Return the bytes of tokens, asking for those that are not known."""
        unknown = tuple({token for token in tokens if token not in self._pieces})
        if unknown:
            self._pieces.update(zip(unknown, ask(unknown)))
        return b''.join([self._pieces[token] for token in tokens])

    def is_valid(self, grammar: str) -> bool:
        """Say whether a grammar is known to be valid."""
        with self._lock:
            return grammar in self._grammars

    def add_valid(self, grammar: str) -> None:
        """Take note that a grammar is valid."""
        with self._lock:
            self._grammars[grammar] = None
            if len(self._grammars) > _GRAMMARS:
                self._grammars.popitem(last=False)
