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

"""A model reads conversations that are written already, from end to end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
import math
from typing import Any

from edge_llm_ros.engine.llama.activations import Activations, Importance
from edge_llm_ros.engine.llama.context import DECODE_OK, LlamaContext
from edge_llm_ros.engine.llama.model import LlamaModel
from edge_llm_ros.flow.engine import EngineConfig
from edge_llm_ros.flow.errors import EngineError
import numpy as np

_SHARED, _OWN, _SEQUENCES = 0, 1, 2
_BATCH = 128  # logits of each token are kept: with a vocabulary of 152 k, 80 MB

Tokens = tuple[int, ...]
Conversation = tuple[Tokens, Tokens]
"""A prefix, which many conversations share, and what follows it."""


@dataclass(frozen=True)
class Perplexity:
    """
    How surprising texts are to a model.

    :param value: exp of the mean negative log likelihood of a token
    :param tokens: how many were predicted
    """

    value: float
    tokens: int


class Reader:
    """
    A model with a context that is only read into; a context manager.

    :param config: how to load it
    :param watcher: eval callback that sees the nodes of every graph
    :raises EngineError: if it cannot be loaded
    """

    def __init__(self, config: EngineConfig, watcher: Any = None) -> None:
        self._prefix: Tokens = ()
        self._model = LlamaModel(config, lambda: True)
        try:
            self._context = LlamaContext(
                self._model, replace(config, batch_tokens=_BATCH), _SEQUENCES, watcher)
        except BaseException:
            self._model.close()
            raise

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exception: object) -> None:
        self._context.close()
        self._model.close()

    def read(self, prefix: Tokens, conversation: Tokens) -> Iterator[tuple[int, Tokens]]:
        """
        Read a conversation after its prefix, which is read once while it stays the same.

        :param conversation: what follows the prefix
        :returns: the index of the first token of each batch in the conversation, and its tokens
        """
        context = self._context
        context.cut_sequence(_OWN, 0)
        if self._prefix != prefix:
            context.cut_sequence(_SHARED, 0)
            for start in range(0, len(prefix), _BATCH):
                self._decode(_SHARED, start, prefix[start:start + _BATCH])
            self._prefix = prefix
        if prefix:
            context.copy_sequence(_SHARED, _OWN, len(prefix))
        for start in range(0, len(conversation), _BATCH):
            batch = conversation[start:start + _BATCH]
            self._decode(_OWN, len(prefix) + start, batch)
            yield start, batch

    def _decode(self, sequence: int, position: int, tokens: Tokens) -> None:
        # Logits of each token: the last layer is computed for no others.
        if self._context.decode(sequence, position, tokens, range(len(tokens))) != DECODE_OK:
            raise EngineError(f'{self._model.path}: {len(tokens)} tokens at {position} cannot be '
                              'evaluated.')
        self._context.synchronize()

    def surprise(self, row: int, token: int) -> float:
        """Return the negative log likelihood of a token after one of the last batch."""
        logits = self._context.logits(row).astype(np.float64)
        highest = float(logits.max())
        return highest + math.log(float(np.exp(logits - highest).sum())) - float(logits[token])


def perplexity(config: EngineConfig, conversations: Sequence[Conversation]) -> Perplexity:
    """Return how surprising conversations are, from their second token after the prefix on."""
    total, count = 0.0, 0
    with Reader(config) as reader:
        for prefix, tokens in conversations:
            for start, batch in reader.read(prefix, tokens):
                for row, token in enumerate(tokens[start + 1:start + 1 + len(batch)]):
                    total += reader.surprise(row, token)
                    count += 1
    return Perplexity(math.exp(total / max(1, count)), count)


def importance(config: EngineConfig, conversations: Sequence[Conversation]) -> Importance:
    """
    Return how much each input of each weight matters while a model reads conversations.

    A prefix that stays the same counts once.

    :raises EngineError: if that cannot be seen
    """
    activations = Activations()
    with Reader(config, activations.callback) as reader:
        for prefix, tokens in conversations:
            for _ in reader.read(prefix, tokens):
                activations.check()
    activations.check()
    return activations.importance()
