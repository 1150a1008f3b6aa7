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

"""A model's context: evaluates tokens, and keeps them in sequences of KV cells."""

from __future__ import annotations

from collections.abc import Sequence
import ctypes
import mmap
import os
from typing import Any

from edge_llm_ros.engine.llama import library
from edge_llm_ros.engine.llama.model import LlamaModel
from edge_llm_ros.engine.pace import REST
from edge_llm_ros.flow.engine import CACHE_TYPES, EngineConfig, MemoryKind
from edge_llm_ros.flow.errors import EngineError
import llama_cpp.llama_cpp as api
import numpy as np
import numpy.typing as npt

_MAX_SEQUENCES = 256  # LLAMA_MAX_SEQ: a larger id aborts the process
# Bytes of a value: a block of 32 has a scale of two bytes.
_TYPES = {'f16': (api.GGML_TYPE_F16, 2.0), 'q8_0': (api.GGML_TYPE_Q8_0, 34 / 32),
          'q4_0': (api.GGML_TYPE_Q4_0, 18 / 32)}
_FLASH_ATTENTION = {'auto': -1, 'off': 0, 'on': 1}

_CELL_NOTE = 12  # bytes of a state that say what a cell is

DECODE_OK, DECODE_NO_SLOT, DECODE_ABORTED = 0, 1, 2

State = npt.NDArray[np.uint8]


def default_threads(own_cores: bool = False) -> int:
    """
    Return how many threads leave the robot's other nodes room: all but two, at least two.

    :param own_cores: whether this thread's cores are the model's alone
    """
    cores = len(os.sched_getaffinity(0))
    return cores if own_cores else max(min(cores, 2), cores - 2)


def check_cache_types(config: EngineConfig) -> None:
    """
    Refuse types of KV cells that llama.cpp has no fast kernels for.

    :raises EngineError: naming the parameter and what is possible
    """
    keys, values = config.cache_type_k, config.cache_type_v
    for name, value in (('cache_type_k', keys), ('cache_type_v', values)):
        if value not in CACHE_TYPES:
            raise EngineError(f'{name}: {value!r} is not one of {", ".join(CACHE_TYPES)}.')
    if keys != values:
        raise EngineError(
            f'cache_type_k, cache_type_v: {keys} keys with {values} values have no fast kernel '
            'on a GPU, so attention would run on the CPU. Give both the same type.')
    if values != 'f16' and config.flash_attention == 'off':
        raise EngineError(
            f'flash_attention: off does not go with cache_type_v: {values}; quantized values '
            'need it. Use auto or on, or f16.')


class LlamaContext:
    """
    One context with unified KV cells.

    One caller at a time, except for abort(), which any thread may call.

    :param sequences: sequence ids
    :param watcher: eval callback that sees the nodes of every graph; None for nobody
    :raises EngineError: if it cannot be made
    """

    def __init__(self, model: LlamaModel, config: EngineConfig, sequences: int,
                 watcher: Any = None) -> None:
        check_cache_types(config)
        if not 1 < sequences < _MAX_SEQUENCES:
            raise EngineError(
                f'max_sessions: {config.max_sessions} needs {sequences} sequences; llama.cpp has '
                f'{_MAX_SEQUENCES - 1}.')
        self._model = model
        self._config = config
        self._watcher = watcher
        self.sequences = sequences
        self.threads = config.threads or default_threads(bool(config.cpu_affinity))
        # A small rest of a prompt rides in its last chunk.
        self.batch_tokens = config.batch_tokens + config.batch_tokens // REST
        self._batch: Any = None
        library.errors.clear()
        library.buffers.clear()
        self._handle: Any = api.llama_init_from_model(model.handle, self._params())
        if not self._handle:
            raise EngineError(
                f'context_tokens, cache_type_k: no context of {config.context_tokens} tokens '
                f'with {config.cache_type_k} cells for {model.path!r}: '
                f'{library.why() or "not enough memory?"}.')
        self.kv_bytes = int(sum(library.buffers) * (1 << 20))
        self.context_tokens = int(api.llama_n_ctx(self._handle))
        self._memory = api.llama_get_memory(self._handle)
        self._batch = api.llama_batch_init(self.batch_tokens, 0, 1)

    def _params(self) -> Any:
        config = self._config
        params = api.llama_context_default_params()
        params.n_ctx = config.context_tokens
        params.n_batch = params.n_ubatch = self.batch_tokens
        params.n_seq_max = self.sequences
        params.kv_unified = True
        params.swa_full = config.swa_full
        params.type_k = _TYPES[config.cache_type_k][0]
        params.type_v = _TYPES[config.cache_type_v][0]
        quantized = config.cache_type_v != 'f16'
        params.flash_attn_type = _FLASH_ATTENTION['on' if quantized else config.flash_attention]
        params.rope_freq_base = config.rope_freq_base
        params.rope_freq_scale = config.rope_freq_scale
        params.n_threads = self.threads
        params.n_threads_batch = config.batch_threads or self.threads
        params.no_perf = True
        # A C function as callback, so that polling it never waits for Python's lock: strlen of ""
        # is false, of a one-letter string true.
        self._abort = ctypes.create_string_buffer(2)
        params.abort_callback = ctypes.cast(ctypes.CDLL(None).strlen, api.ggml_abort_callback)
        params.abort_callback_data = ctypes.cast(self._abort, ctypes.c_void_p)
        if self._watcher is not None:
            params.cb_eval = self._watcher
        return params

    def shape(self) -> tuple[int, int]:
        """
        Return the bytes of a token in the KV cache, and of a sequence's state beside its tokens.

        Plain attention is known from the model's shape. Other models have layers of several
        kinds, so two tokens are evaluated and their states compared.
        """
        if self.kind is MemoryKind.FULL:
            keys, values = self._model.values_per_token()
            return int(keys * _TYPES[self._config.cache_type_k][1]
                       + values * _TYPES[self._config.cache_type_v][1]), 0
        sizes = []
        for position in range(2):
            if self.decode(0, position, [0]) != DECODE_OK:
                raise EngineError('the model cannot be evaluated.')
            sizes.append(self.state_bytes(0))
        self.cut_sequence(0, 0)
        caches = {MemoryKind.WINDOW: 2, MemoryKind.HYBRID: 1}.get(self.kind, 0)
        token = sizes[1] - sizes[0]
        return max(0, token - caches * _CELL_NOTE), sizes[0] - token

    # Evaluation

    def decode(self, sequence: int, position: int, tokens: Sequence[int],
               rows: Sequence[int] = ()) -> int:
        """
        Evaluate tokens at the end of a sequence.

        :param position: of the first token: the length of the sequence
        :param rows: indices of the tokens after which logits are wanted
        :returns: DECODE_OK, DECODE_NO_SLOT (nothing changed), DECODE_ABORTED (part may be
            evaluated), or a negative error of llama_decode
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
        for row in rows:
            batch.logits[row] = 1
        return int(api.llama_decode(self._handle, batch))

    def synchronize(self) -> None:
        """Wait until the last batch is evaluated."""
        api.llama_synchronize(self._handle)

    def logits(self, row: int) -> npt.NDArray[np.float32]:
        """Return the logits after a token of the last batch, a view that the next one replaces."""
        pointer = api.llama_get_logits_ith(self._handle, row)
        if not pointer:
            raise EngineError(f'llama.cpp has no logits for token {row} of the batch.')
        return np.ctypeslib.as_array(pointer, shape=(self._model.vocabulary.size,))

    def abort(self, on: bool) -> None:
        """Have a running decode on a CPU end at its next operation; off before the next one."""
        (library.aborting.add if on else library.aborting.discard)(id(self))
        self._abort[0] = b'x' if on else b'\0'

    # Sequences

    @property
    def kind(self) -> MemoryKind:
        """Return how the memory of this model can be cut."""
        return self._model.memory

    def can_cut(self, sequence: int, length: int) -> bool:
        """
        Say whether a sequence that is cut to a length goes on as if it had never been longer.

        llama.cpp cuts a sliding window whose older cells are overwritten already, and evaluates
        wrongly from then on; so the oldest cell that is left decides.
        """
        now = self.sequence_length(sequence)
        if length in (0, now) or self.kind is MemoryKind.FULL:
            return length <= now
        if self.kind is not MemoryKind.WINDOW or length > now:
            return False
        oldest = int(api.llama_memory_seq_pos_min(self._memory, sequence))
        return oldest <= max(0, length - self._model.window + 1)

    def copy_sequence(self, source: int, target: int, length: int, start: int = 0) -> None:
        """Let ``target`` share the cells of ``source`` from ``start`` to ``length``, uncopied."""
        assert 0 <= source < self.sequences and 0 <= target < self.sequences
        assert start or self.can_cut(source, length)
        api.llama_memory_seq_cp(self._memory, source, target, start, length)

    def cut_sequence(self, sequence: int, length: int) -> None:
        """Drop all tokens of a sequence from position ``length`` on."""
        assert 0 <= sequence < self.sequences
        if not api.llama_memory_seq_rm(self._memory, sequence, length, -1):
            raise EngineError(
                f'the memory of this model cannot be cut (sequence {sequence}, {length}).')

    def sequence_length(self, sequence: int) -> int:
        """Return how many tokens llama.cpp holds for a sequence."""
        return int(api.llama_memory_seq_pos_max(self._memory, sequence)) + 1

    # State

    def state_bytes(self, sequence: int) -> int:
        """Return the bytes that sequence_state() takes."""
        return int(api.llama_state_seq_get_size(self._handle, sequence))

    def sequence_state(self, sequence: int) -> State:
        """Return the evaluated state of a sequence."""
        # Pages of its own, which go back when it goes: an allocator's heap keeps holes instead.
        state = np.frombuffer(mmap.mmap(-1, self.state_bytes(sequence)), np.uint8)
        pointer = state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        written = api.llama_state_seq_get_data(self._handle, pointer, len(state), sequence)
        if written != len(state):
            raise EngineError(f'llama.cpp gave {written} of {len(state)} bytes of a state.')
        return state

    def restore_sequence(self, sequence: int, state: State, length: int) -> bool:
        """
        Fill an empty sequence from a state that is known to be whole and of this model.

        :param length: tokens that must be there afterwards
        :returns: whether they are; if not, the sequence is empty
        """
        assert self.sequence_length(sequence) == 0
        pointer = np.ascontiguousarray(state).ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        read = api.llama_state_seq_set_data(self._handle, pointer, len(state), sequence)
        if read == len(state) and self.sequence_length(sequence) == length:
            return True
        self.cut_sequence(sequence, 0)
        return False

    def facts(self) -> dict[str, Any]:
        """Return what an evaluated state depends on beside the model's file and the tokens."""
        config = self._config
        return {
            'engine': library.version(),
            'system': library.system(),
            'gpu_layers': self._model.gpu_layers,
            'kv': [config.cache_type_k, config.cache_type_v],
            'flash_attention': config.flash_attention,
            'unified': True,
            'context_tokens': self.context_tokens,
            'swa_full': config.swa_full,
            'memory': self.kind.name.lower(),
            'rope': [config.rope_freq_base, config.rope_freq_scale],
            'lora': [],
            'no_rotation': os.environ.get('LLAMA_ATTN_ROT_DISABLE', '')}

    def close(self) -> None:
        """Free the context; a second call does nothing."""
        if self._batch is not None:
            api.llama_batch_free(self._batch)
        if self._handle:
            api.llama_free(self._handle)
        library.aborting.discard(id(self))
        self._batch = self._handle = None
