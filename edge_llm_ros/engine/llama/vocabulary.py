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

"""A model's vocabulary: text to tokens and back."""

from __future__ import annotations

from collections.abc import Sequence
import ctypes
from typing import Any

from edge_llm_ros.flow.engine import SpecialToken, TokenKind
from edge_llm_ros.flow.errors import EngineError
import llama_cpp.llama_cpp as api
import llguidance.llamacpp

_ATTRIBUTE_CONTROL = 1 << 3
_ATTRIBUTE_USER_DEFINED = 1 << 4


class Vocabulary:
    """
    The tokens of a loaded model; any thread may ask.

    :param handle: llama.cpp's pointer, valid while the model is loaded
    """

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._pieces: dict[int, bytes] = {}
        self.size = int(api.llama_vocab_n_tokens(handle))
        self.add_bos = bool(api.llama_vocab_get_add_bos(handle))

    @property
    def bos(self) -> str:
        """Return the text of the token that begins a conversation; empty where there is none."""
        return self._text(api.llama_vocab_bos(self._handle))

    @property
    def eos(self) -> str:
        """Return the text of the end-of-sequence token; empty where there is none."""
        return self._text(api.llama_vocab_eos(self._handle))

    def _text(self, token: int) -> str:
        return self.piece(token).decode('utf-8', 'replace') if token >= 0 else ''

    def piece(self, token: int) -> bytes:
        """Return the bytes of a token, special ones as their text."""
        piece = self._pieces.get(token)
        if piece is None:
            buffer = ctypes.create_string_buffer(256)
            length = api.llama_token_to_piece(self._handle, token, buffer, len(buffer), 0, True)
            piece = self._pieces[token] = buffer.raw[:length] if length > 0 else b''
        return piece

    def _kind(self, token: int) -> TokenKind | None:
        if api.llama_vocab_is_eog(self._handle, token):
            return TokenKind.END
        attributes = api.llama_vocab_get_attr(self._handle, token)
        if attributes & _ATTRIBUTE_CONTROL:
            return TokenKind.CONTROL
        return TokenKind.USER_DEFINED if attributes & _ATTRIBUTE_USER_DEFINED else None

    def special_tokens(self) -> tuple[SpecialToken, ...]:
        """Return the tokens that must never come out of data."""
        kinds = ((token, self._kind(token)) for token in range(self.size))
        return tuple(SpecialToken(token, self._text(token), kind)
                     for token, kind in kinds if kind is not None)

    def guidance_tokenizer(self, end_ids: Sequence[int]) -> Any:
        """Return llguidance's view of the vocabulary; takes about a second for 152 k tokens."""
        return llguidance.llamacpp.lltokenizer_from_vocab(self._handle, eos_token=list(end_ids))

    def tokenize(self, text: str, special: bool) -> tuple[int, ...]:
        """Return the tokens of a text; role tokens are recognised only if ``special``."""
        data = text.encode()
        size = len(data) + 8
        buffer = (api.llama_token * size)()
        count = api.llama_tokenize(self._handle, data, len(data), buffer, size, False, special)
        if count < 0:
            raise EngineError(f'tokenizing {len(data)} bytes failed ({count}).')
        return tuple(buffer[:count])

    def first_token(self, text: bytes) -> int:
        """Return the token that a text begins with; -1 where that cannot be said."""
        try:
            return self.tokenize(text.decode(), False)[0]
        except UnicodeDecodeError:
            return -1

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of tokens, special ones as their text."""
        return b''.join(self.piece(token) for token in tokens)
