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

"""The tokenizer and the chat template of a model file, without its weights."""

from __future__ import annotations

from collections.abc import Sequence

from edge_llm_ros.engine.llama.model import LlamaModel
from edge_llm_ros.flow.engine import EngineConfig, ModelInfo


class ModelVocabulary:
    """
    Counts tokens of a model that is not loaded.

    :param path: a GGUF file
    :raises EngineError: if it cannot be read
    """

    def __init__(self, path: str) -> None:
        self._model = LlamaModel(EngineConfig(model_path=path), lambda: True, vocab_only=True)

    def info(self) -> ModelInfo:
        """Return what the file says of the model."""
        return self._model.info(0, 1, (0, 0), 0)

    def tokenize(self, text: str, special: bool) -> tuple[int, ...]:
        """Return the tokens of a text; role tokens are recognised only if ``special``."""
        return self._model.vocabulary.tokenize(text, special)

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of tokens, special ones as their text."""
        return self._model.vocabulary.detokenize(tokens)

    def close(self) -> None:
        """Free it; a second call does nothing."""
        self._model.close()
