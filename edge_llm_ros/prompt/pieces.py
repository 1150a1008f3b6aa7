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

"""Text of two kinds: markup, which may be role tokens, and data, which must never be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
import re

from edge_llm_ros.flow.engine import SpecialToken, Tokenizer, TokenKind
from edge_llm_ros.flow.errors import EngineError


@dataclass(frozen=True)
class Markup:
    """Text of the chat format itself."""

    text: str


@dataclass(frozen=True)
class Data:
    """Text from anywhere else: instructions, observations, descriptions."""

    text: str


Piece = Markup | Data


class PieceTokenizer:
    """
    Tokenises pieces so that data never becomes a role token.

    Tokenising without special tokens is not enough: user-defined tokens are recognised all the
    same. So the result is checked, and the text is split inside each such literal.

    :param tokenizer: the model's tokenizer
    :param special: every control, user-defined and end-of-generation token of the vocabulary
    """

    def __init__(self, tokenizer: Tokenizer, special: Sequence[SpecialToken]) -> None:
        self._tokenizer = tokenizer
        self._special = {token.id: token for token in special}
        texts = sorted((t.text for t in special if len(t.text) > 1), key=len, reverse=True)
        # A lookahead, so that literals which overlap are all found.
        self._literals = re.compile(f'(?={"|".join(map(re.escape, texts))})') if texts else None

    def tokens(self, pieces: Iterable[Piece]) -> tuple[int, ...]:
        """Return the tokens of pieces, each tokenised on its own."""
        tokens: list[int] = []
        for piece in pieces:
            if isinstance(piece, Markup):
                tokens += self._tokenizer.tokenize(piece.text, special=True)
            else:
                tokens += self._data_tokens(piece.text)
        return tuple(tokens)

    def _data_tokens(self, text: str) -> list[int]:
        # NUL would end the text in C; lone surrogates cannot be encoded.
        text = text.encode('utf-8', 'replace').decode().replace('\0', '\ufffd')
        done: list[int] = []
        todo = self._split(text)[::-1]
        while todo:
            part = todo.pop()
            tokens = self._tokenizer.tokenize(part, special=False)
            found = next((self._special[t] for t in tokens if t in self._special), None)
            if found is None:
                done += tokens
                continue
            at = part.find(found.text)
            if at < 0 or len(found.text) < 2:
                done += self._indivisible(found, tokens)
                continue
            # What stands before the cut is tokenised first: todo is a stack.
            todo += [part[at + 1:], part[:at + 1]]
        return done

    def _split(self, text: str) -> list[str]:
        """Cut a text inside every literal of a special token, in one pass."""
        cuts = [found.start() + 1
                for found in self._literals.finditer(text)] if self._literals else []
        bounds = [0, *cuts, len(text)]
        return [text[a:b] for a, b in zip(bounds, bounds[1:]) if a < b]

    @staticmethod
    def _indivisible(token: SpecialToken, tokens: tuple[int, ...]) -> tuple[int, ...]:
        """Let user-defined single characters pass (they are plain text); refuse anything else."""
        if token.kind is TokenKind.USER_DEFINED and len(token.text) == 1:
            return tokens
        raise EngineError(
            f'the vocabulary turns plain text into token {token.id} ({token.text!r}), and the '
            'text '
            f'cannot be split to avoid it.')
