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

"""A loaded model: its file, its shape, its vocabulary."""

from __future__ import annotations

from collections.abc import Callable
import ctypes
import os
from pathlib import Path
from typing import Any

from edge_llm_ros.engine.llama import library
from edge_llm_ros.engine.llama.vocabulary import Vocabulary
from edge_llm_ros.flow.engine import EngineConfig, MemoryKind, ModelInfo
from edge_llm_ros.flow.errors import EngineError
import llama_cpp.llama_cpp as api


_UNKNOWN_MEMORY = ('deepseek4',)


def check_file(path: str) -> None:
    """
    Refuse what is not a GGUF file, before llama.cpp sees it.

    :raises EngineError: with the reason and what to do
    """
    file = Path(path)
    if not file.is_file():
        raise EngineError(
            f'model_path: there is no file {path!r}. Give the path of a GGUF file; '
            f'in a clone, `make models` fetches the demo model.')
    with file.open('rb') as stream:
        if stream.read(4) != b'GGUF':
            raise EngineError(
                f'model_path: {path!r} is not a GGUF file (it does not start with "GGUF").')


class LlamaModel:
    """
    A loaded model.

    :param config: how to load it
    :param keep_loading: asked while the file is read; False gives it up
    :param progress: told the share that is there, as often
    :param vocab_only: whether only the tokenizer and the metadata are wanted
    :raises EngineError: if it cannot be loaded
    """

    def __init__(self, config: EngineConfig, keep_loading: Callable[[], bool],
                 progress: Callable[[float], None] = lambda share: None,
                 vocab_only: bool = False) -> None:
        check_file(config.model_path)
        library.start()
        library.errors.clear()
        library.offloaded.clear()
        params = api.llama_model_default_params()

        def on_progress(share: float, _: Any) -> bool:
            progress(share)
            return keep_loading()

        callback = api.llama_progress_callback(on_progress)
        params.progress_callback = callback
        params.vocab_only = vocab_only
        params.n_gpu_layers = config.gpu_layers if config.gpu_layers >= 0 else 999
        self.handle: Any = api.llama_model_load_from_file(os.fsencode(config.model_path), params)
        if not self.handle and not keep_loading():
            raise EngineError('loading the model was given up.')
        if not self.handle:
            raise EngineError(
                f'model_path: llama.cpp cannot load {config.model_path!r}: '
                f'{library.why() or "no reason given"}.')
        # Not what was asked for: llama.cpp says how many layers really went to the GPU.
        self.gpu_layers = library.offloaded[-1] if library.offloaded else 0
        self.path = config.model_path
        self.vocabulary = Vocabulary(api.llama_model_get_vocab(self.handle))
        self.window = int(api.llama_model_n_swa(self.handle))
        self.memory = self._memory_kind()
        self._refuse_unknown_memory()

    def _refuse_unknown_memory(self) -> None:
        """Refuse what would abort the process at the first fork."""
        architecture = self.metadata('general.architecture')
        if architecture in _UNKNOWN_MEMORY:
            self.close()
            raise EngineError(
                f'model_path: {self.path!r} is of the architecture {architecture}, whose memory '
                'llama.cpp cannot share between sessions. Use another model.')

    def _memory_kind(self) -> MemoryKind:
        if api.llama_model_is_recurrent(self.handle):
            return MemoryKind.RECURRENT
        if api.llama_model_is_hybrid(self.handle):
            return MemoryKind.HYBRID
        # With swa_full, too: llama.cpp takes the cells behind the window for others all the same.
        return MemoryKind.WINDOW if self.window else MemoryKind.FULL

    def metadata(self, key: str) -> str:
        """Return a metadata value of the file as text; empty where it is missing."""
        buffer = ctypes.create_string_buffer(256)
        length = api.llama_model_meta_val_str(self.handle, key.encode(), buffer, len(buffer))
        return buffer.value.decode('utf-8', 'replace') if length > 0 else ''

    def number(self, key: str, otherwise: int) -> int:
        """Return a number of the architecture's own metadata."""
        text = self.metadata(f'{self.metadata("general.architecture")}.{key}')
        return int(text) if text.isdigit() else otherwise

    def values_per_token(self) -> tuple[int, int]:
        """Return how many key and value numbers a token has in all layers together."""
        model = self.handle
        heads = max(1, api.llama_model_n_head(model))
        size = api.llama_model_n_embd(model) // heads
        kv_heads = api.llama_model_n_layer(model) * api.llama_model_n_head_kv(model)
        return (kv_heads * self.number('attention.key_length', size),
                kv_heads * self.number('attention.value_length', size))

    def info(self, context_tokens: int, threads: int, shape: tuple[int, int],
             kv_bytes: int) -> ModelInfo:
        """Return what the model says of itself, and what its context is."""
        description = ctypes.create_string_buffer(128)
        api.llama_model_desc(self.handle, description, len(description))
        template = api.llama_model_chat_template(self.handle, None)
        vocabulary = self.vocabulary
        return ModelInfo(
            path=self.path,
            name=self.metadata('general.name') or Path(self.path).stem,
            architecture=self.metadata('general.architecture'),
            description=description.value.decode(),
            size_bytes=api.llama_model_size(self.handle),
            context_tokens=context_tokens,
            trained_context_tokens=api.llama_model_n_ctx_train(self.handle),
            vocabulary=vocabulary.size,
            add_bos=vocabulary.add_bos,
            bos_text=vocabulary.bos,
            eos_text=vocabulary.eos,
            chat_template=template.decode('utf-8', 'replace') if template else '',
            special_tokens=vocabulary.special_tokens(),
            layers=api.llama_model_n_layer(self.handle),
            gpu_layers=self.gpu_layers,
            kv_bytes_per_token=shape[0],
            state_bytes=shape[1],
            kv_bytes=kv_bytes,
            memory=self.memory,
            window=self.window,
            threads=threads,
            gpu=bool(api.llama_supports_gpu_offload()))

    def close(self) -> None:
        """Free the model; a second call does nothing."""
        if self.handle:
            api.llama_model_free(self.handle)
        self.handle = None
