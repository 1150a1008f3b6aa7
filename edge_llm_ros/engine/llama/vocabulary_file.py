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

"""The vocabulary of a model file, without the model: there in a fraction of a second."""

from __future__ import annotations

import os
from typing import Any

from edge_llm_ros.engine.llama import library
from edge_llm_ros.engine.llama.model import check_file
from edge_llm_ros.engine.llama.vocabulary import Vocabulary
from edge_llm_ros.flow.errors import EngineError
import llama_cpp.llama_cpp as api


class VocabularyFile:
    """
    Tokenises while the model itself still loads.

    :param path: a GGUF file
    :raises EngineError: if it cannot be loaded
    """

    def __init__(self, path: str) -> None:
        check_file(path)
        library.start()
        library.errors.clear()
        params = api.llama_model_default_params()
        params.vocab_only = True
        params.n_gpu_layers = 0
        self._handle: Any = api.llama_model_load_from_file(os.fsencode(path), params)
        if not self._handle:
            raise EngineError(
                f'model_path: llama.cpp cannot load the vocabulary of {path!r}: '
                f'{library.why() or "no reason given"}.')
        self.vocabulary = Vocabulary(api.llama_model_get_vocab(self._handle))

    def close(self) -> None:
        """Free it; a second call does nothing."""
        if self._handle:
            api.llama_model_free(self._handle)
        self._handle = None
