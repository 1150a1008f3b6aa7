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

"""The only file that talks to llama.cpp: model, vocabulary, context, sequences."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
import ctypes
import logging
import os
from pathlib import Path
import re
from typing import Any

from edge_llm_ros.flow.engine import BackendInfo, EngineConfig, ModelInfo, SpecialToken, TokenKind
from edge_llm_ros.flow.errors import EngineError
import llama_cpp
import llama_cpp.llama_cpp as api
import llguidance.llamacpp
import numpy as np
import numpy.typing as npt

logger = logging.getLogger(__name__)

_ATTRIBUTE_CONTROL = 1 << 3
_ATTRIBUTE_USER_DEFINED = 1 << 4
_MAX_SEQUENCES = 256  # LLAMA_MAX_SEQ: a larger id aborts the process
_HARMLESS = 'control-looking token'
_aborting: set[int] = set()  # contexts whose decode is being aborted
_LOG_LEVELS = {2: logging.DEBUG, 3: logging.WARNING, 4: logging.ERROR}

DECODE_OK, DECODE_NO_SLOT, DECODE_ABORTED = 0, 1, 2

_last_errors: deque[str] = deque(maxlen=4)
_OFFLOADED = re.compile(r'offloaded (\d+)/\d+ layers to GPU')
_offloaded: deque[int] = deque(maxlen=1)


@api.llama_log_callback  # type: ignore[untyped-decorator]
def _on_log(level: int, text: bytes, _: Any) -> None:
    """Hand llama.cpp's log lines to logging; info lines become debug."""
    line = text.decode('utf-8', 'replace').rstrip()
    if _aborting or _HARMLESS in line:
        # What llama.cpp says of an abort that we asked for reads like a crash.
        level = 0
    found = _OFFLOADED.search(line)
    if found:
        _offloaded.append(int(found[1]))
    if level == 4:
        _last_errors.append(line)
    if line:
        logger.log(_LOG_LEVELS.get(level, logging.DEBUG), '%s', line)


def backend() -> BackendInfo:
    """Return what llama.cpp was built with."""
    return BackendInfo(
        version=llama_cpp.__version__, gpu=bool(api.llama_supports_gpu_offload()),
        system=api.llama_print_system_info().decode('utf-8', 'replace').strip())


def default_threads() -> int:
    """Return how many threads leave the robot's other nodes room: all but two, at least two."""
    cores = len(os.sched_getaffinity(0))
    return max(min(cores, 2), cores - 2)


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
    A loaded model, its vocabulary, and one context with unified KV cells.

    One caller at a time, except for abort(), which any thread may call.

    :param config: how to load it
    :param keep_loading: asked while the file is read; False gives it up
    :raises EngineError: if it cannot be loaded, or its memory cannot be cut
    """

    def __init__(self, config: EngineConfig, keep_loading: Callable[[], bool]) -> None:
        check_file(config.model_path)
        self._model: Any = None
        self._context: Any = None
        self._batch: Any = None
        self.sequences = config.max_sessions + 1
        if not 1 < self.sequences < _MAX_SEQUENCES:
            raise EngineError(
                f'max_sessions: {config.max_sessions} is not in 1 … {_MAX_SEQUENCES - 2}.')
        api.llama_log_set(_on_log, ctypes.c_void_p(0))
        api.llama_backend_init()
        self.threads = config.threads or default_threads()
        try:
            self._load(config, keep_loading)
            self._make_context(config)
        except BaseException:
            self.close()
            raise

    def _load(self, config: EngineConfig, keep_loading: Callable[[], bool]) -> None:
        _last_errors.clear()
        _offloaded.clear()
        params = api.llama_model_default_params()
        progress = api.llama_progress_callback(lambda share, _: keep_loading())
        params.progress_callback = progress
        params.n_gpu_layers = config.gpu_layers if config.gpu_layers >= 0 else 999
        self._model = api.llama_model_load_from_file(os.fsencode(config.model_path), params)
        if not self._model and not keep_loading():
            raise EngineError('loading the model was given up.')
        if not self._model:
            raise EngineError(
                f'model_path: llama.cpp cannot load {config.model_path!r}: '
                f'{"; ".join(_last_errors) or "no reason given"}.')
        for test, kind in ((api.llama_model_is_recurrent, 'recurrent'),
                           (api.llama_model_is_hybrid, 'hybrid (attention and recurrent)')):
            if test(self._model):
                raise EngineError(
                    f'model_path: {config.model_path!r} is a {kind} model; its memory cannot be '
                    'cut back, so '
                    f'sessions cannot share a prefix. Use a model with attention only.')
        # Not what was asked for: llama.cpp says how many layers really went to the GPU.
        self._gpu_layers = _offloaded[-1] if _offloaded else 0
        self._vocab = api.llama_model_get_vocab(self._model)
        self.vocabulary = api.llama_vocab_n_tokens(self._vocab)
        self._path = config.model_path

    def _make_context(self, config: EngineConfig) -> None:
        params = api.llama_context_default_params()
        params.n_ctx = config.context_tokens
        params.n_batch = params.n_ubatch = config.batch_tokens
        params.n_seq_max = self.sequences
        params.kv_unified = True
        params.swa_full = True  # a window that forgets could not be cut back to the prefix
        params.n_threads = self.threads
        params.n_threads_batch = config.batch_threads or self.threads
        params.no_perf = True
        # A C function as callback, so that polling it never waits for Python's lock: strlen of ""
        # is false, of a one-letter string true.
        self._abort = ctypes.create_string_buffer(2)
        params.abort_callback = ctypes.cast(ctypes.CDLL(None).strlen, api.ggml_abort_callback)
        params.abort_callback_data = ctypes.cast(self._abort, ctypes.c_void_p)
        _last_errors.clear()
        self._context = api.llama_init_from_model(self._model, params)
        if not self._context:
            raise EngineError(
                f'context_tokens: no context of {config.context_tokens} tokens for '
                f'{config.model_path!r}: {"; ".join(_last_errors) or "not enough memory?"}.')
        self.context_tokens = api.llama_n_ctx(self._context)
        self.batch_tokens = config.batch_tokens
        self._memory = api.llama_get_memory(self._context)
        self._batch = api.llama_batch_init(self.batch_tokens, 0, 1)

    # Vocabulary

    def metadata(self, key: str) -> str:
        """Return a metadata value of the file as text; empty where it is missing."""
        buffer = ctypes.create_string_buffer(256)
        length = api.llama_model_meta_val_str(self._model, key.encode(), buffer, len(buffer))
        return buffer.value.decode('utf-8', 'replace') if length > 0 else ''

    def _piece(self, token: int) -> bytes:
        buffer = ctypes.create_string_buffer(256)
        length = api.llama_token_to_piece(self._vocab, token, buffer, len(buffer), 0, True)
        return buffer.raw[:length] if length > 0 else b''

    def _special_tokens(self) -> tuple[SpecialToken, ...]:
        special = []
        for token in range(self.vocabulary):
            attributes = api.llama_vocab_get_attr(self._vocab, token)
            if api.llama_vocab_is_eog(self._vocab, token):
                kind = TokenKind.END
            elif attributes & _ATTRIBUTE_CONTROL:
                kind = TokenKind.CONTROL
            elif attributes & _ATTRIBUTE_USER_DEFINED:
                kind = TokenKind.USER_DEFINED
            else:
                continue
            special.append(SpecialToken(token,
                                        self._piece(token).decode('utf-8', 'replace'), kind))
        return tuple(special)

    def info(self) -> ModelInfo:
        """Return what the model says of itself."""
        description = ctypes.create_string_buffer(128)
        api.llama_model_desc(self._model, description, len(description))
        bos, eos = api.llama_vocab_bos(self._vocab), api.llama_vocab_eos(self._vocab)
        template = api.llama_model_chat_template(self._model, None)
        return ModelInfo(
            path=self._path,
            name=self.metadata('general.name') or Path(self._path).stem,
            architecture=self.metadata('general.architecture'),
            description=description.value.decode(),
            size_bytes=api.llama_model_size(self._model),
            context_tokens=self.context_tokens,
            trained_context_tokens=api.llama_model_n_ctx_train(self._model),
            vocabulary=self.vocabulary,
            add_bos=bool(api.llama_vocab_get_add_bos(self._vocab)),
            bos_text=self._piece(bos).decode('utf-8', 'replace') if bos >= 0 else '',
            eos_text=self._piece(eos).decode('utf-8', 'replace') if eos >= 0 else '',
            chat_template=template.decode('utf-8', 'replace') if template else '',
            special_tokens=self._special_tokens(),
            layers=api.llama_model_n_layer(self._model),
            gpu_layers=self._gpu_layers,
            kv_bytes_per_token=self._kv_bytes_per_token(),
            threads=self.threads)

    def _kv_bytes_per_token(self) -> int:
        """Return what a token takes in the KV cache: keys and values, 2 bytes each value."""
        model = self._model
        heads = max(1, api.llama_model_n_head(model))
        head = self.metadata(f'{self.metadata("general.architecture")}.attention.key_length')
        size = int(head) if head.isdigit() else api.llama_model_n_embd(model) // heads
        return int(
            2 * 2 * api.llama_model_n_layer(model) * api.llama_model_n_head_kv(model) * size)

    def guidance_tokenizer(self, end_ids: Sequence[int]) -> Any:
        """Return llguidance's view of the vocabulary; takes about a second for 152 k tokens."""
        return llguidance.llamacpp.lltokenizer_from_vocab(self._vocab, eos_token=list(end_ids))

    def tokenize(self, text: str, special: bool) -> tuple[int, ...]:
        """Return the tokens of a text; role tokens are recognised only if ``special``."""
        data = text.encode()
        size = len(data) + 8
        buffer = (api.llama_token * size)()
        count = api.llama_tokenize(self._vocab, data, len(data), buffer, size, False, special)
        if count < 0:
            raise EngineError(f'tokenizing {len(data)} bytes failed ({count}).')
        return tuple(buffer[:count])

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of tokens, special ones as their text."""
        return b''.join(self._piece(token) for token in tokens)

    # Evaluation

    def decode(self, sequence: int, position: int, tokens: Sequence[int], logits: bool) -> int:
        """
        Evaluate tokens at the end of a sequence.

        :param position: of the first token: the length of the sequence
        :param logits: whether the last token's logits are wanted
        :returns: DECODE_OK, DECODE_NO_SLOT (nothing changed), DECODE_ABORTED (part may be
            evaluated), or
            a negative error of llama_decode
        """
        assert 0 < len(tokens) <= self.batch_tokens and 0 <= sequence < self.sequences
        batch = self._batch
        batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i] = token
            batch.pos[i] = position + i
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = sequence
            batch.logits[i] = 0
        batch.logits[len(tokens) - 1] = logits
        return int(api.llama_decode(self._context, batch))

    def logits(self) -> npt.NDArray[np.float32]:
        """Return the last token's logits, a view that the next decode overwrites."""
        pointer = api.llama_get_logits_ith(self._context, -1)
        if not pointer:
            raise EngineError('llama.cpp has no logits for the last token.')
        return np.ctypeslib.as_array(pointer, shape=(self.vocabulary,))

    def abort(self, on: bool) -> None:
        """Have a running decode on a CPU end at its next operation; off before the next one."""
        (_aborting.add if on else _aborting.discard)(id(self))
        self._abort[0] = b'x' if on else b'\0'

    # Sequences

    def copy_sequence(self, source: int, target: int, length: int) -> None:
        """Let ``target`` share the first ``length`` cells of ``source``; no cell is copied."""
        assert 0 <= source < self.sequences and 0 <= target < self.sequences
        api.llama_memory_seq_cp(self._memory, source, target, 0, length)

    def cut_sequence(self, sequence: int, length: int) -> None:
        """Drop all tokens of a sequence from position ``length`` on."""
        assert 0 <= sequence < self.sequences
        if not api.llama_memory_seq_rm(self._memory, sequence, length, -1):
            raise EngineError(
                f'the memory of this model cannot be cut (sequence {sequence}, {length}).')

    def sequence_length(self, sequence: int) -> int:
        """Return how many tokens llama.cpp holds for a sequence."""
        return int(api.llama_memory_seq_pos_max(self._memory, sequence)) + 1

    def sequence_state(self, sequence: int) -> npt.NDArray[np.uint8]:
        """Return the evaluated state of a sequence."""
        state = np.empty(api.llama_state_seq_get_size(self._context, sequence), np.uint8)
        pointer = state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        written = api.llama_state_seq_get_data(self._context, pointer, len(state), sequence)
        if written != len(state):
            raise EngineError(f'llama.cpp gave {written} of {len(state)} bytes of a state.')
        return state

    def restore_sequence(self, sequence: int, state: npt.NDArray[np.uint8], length: int) -> bool:
        """
        Fill an empty sequence from a state that is known to be whole and of this model.

        :param length: tokens that must be there afterwards
        :returns: whether they are; if not, the sequence is empty
        """
        assert self.sequence_length(sequence) == 0
        pointer = np.ascontiguousarray(state).ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        read = api.llama_state_seq_set_data(self._context, pointer, len(state), sequence)
        if read == len(state) and self.sequence_length(sequence) == length:
            return True
        self.cut_sequence(sequence, 0)
        return False

    def facts(self) -> dict[str, Any]:
        """Return what an evaluated state depends on beside the model's file and the tokens."""
        return {'engine': llama_cpp.__version__, 'system': api.llama_print_system_info().decode(),
                'gpu_layers': self._gpu_layers, 'kv': ['f16', 'f16'], 'flash_attention': 'auto',
                'unified': True, 'swa_full': True, 'rope': 'of the model', 'lora': [],
                'no_rotation': os.environ.get('LLAMA_ATTN_ROT_DISABLE', '')}

    def close(self) -> None:
        """Free context and model; a second call does nothing."""
        if self._batch is not None:
            api.llama_batch_free(self._batch)
        if self._context:
            api.llama_free(self._context)
        if self._model:
            api.llama_model_free(self._model)
        _aborting.discard(id(self))
        self._batch = self._context = self._model = None
