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

"""
Models of real shapes with random weights, for measuring speed where no model can be had.

What such a model says makes no sense, so the file's calls are taken; what its kernels cost is what
a real one's cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edge_llm_ros.flow.errors import ConfigError
import numpy as np
import numpy.typing as npt

_CHUNK_BLOCKS = 1 << 14


@dataclass(frozen=True)
class Shape:
    """
    A decoder of Qwen2's or Llama's kind.

    :param biased: whether queries, keys and values have biases, as Qwen2's do
    """

    architecture: str
    layers: int
    width: int
    heads: int
    kv_heads: int
    forward: int
    biased: bool


SHAPES = {
    'qwen2.5-7b': Shape('qwen2', 28, 3584, 28, 4, 18944, True),
    'llama-8b': Shape('llama', 32, 4096, 32, 8, 14336, False),
    'qwen2.5-1.5b': Shape('qwen2', 28, 1536, 12, 2, 8960, True),
    'tiny': Shape('llama', 2, 256, 4, 2, 512, False)}
# Name of a block's type in gguf, values and bytes of a block, and where its scales are.
_TYPES: dict[str, tuple[int, int, tuple[int, ...]]] = {
    'Q4_K': (256, 144, (0, 2)), 'Q6_K': (256, 210, (208,)), 'F16': (1, 2, ())}


def write_synthetic(path: Path, shape_name: str, kind: str, vocabulary_path: str) -> Path:
    """
    Write a model, unless it is there already.

    :param kind: f16, or q4_k_m as llama.cpp mixes it: Q4_K, with Q6_K for the output and for half
        of the value and down projections
    :param vocabulary_path: a GGUF file whose vocabulary and chat template are copied
    :raises ConfigError: if shape or kind are not known, or gguf is not installed
    """
    if path.exists():
        return path
    if shape_name not in SHAPES or kind not in ('f16', 'q4_k_m'):
        raise ConfigError(f'synthetic: shapes are {", ".join(SHAPES)}; kinds are f16, q4_k_m.')
    try:
        import gguf
    except ImportError:
        raise ConfigError('synthetic: the package gguf is needed to write a model.') from None
    shape, unfinished = SHAPES[shape_name], path.with_suffix('.unfinished')
    writer: Any = gguf.GGUFWriter(str(unfinished), shape.architecture, use_temp_file=False)
    size = _copy_vocabulary(writer, gguf, vocabulary_path)
    _write_shape(writer, shape, shape_name)
    for name, rows, columns, type_name in _tensors(shape, size, kind):
        data = _blocks(name, rows, columns, type_name)
        writer.add_tensor(name, data, raw_shape=None if type_name == 'F32' else data.shape,
                          raw_dtype=gguf.GGMLQuantizationType[type_name])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return unfinished.replace(path)


def _write_shape(writer: Any, shape: Shape, name: str) -> None:
    writer.add_name(f'synthetic {name}')
    writer.add_context_length(32768)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_rope_freq_base(1000000.0)
    writer.add_layer_norm_rms_eps(1e-6)


def _copy_vocabulary(writer: Any, gguf: Any, path: str) -> int:
    """Copy the tokenizer of a file and return its number of tokens."""
    size = 0
    for name, entry in gguf.GGUFReader(path).fields.items():
        if not name.startswith('tokenizer.'):
            continue
        value, kind = entry.contents(), entry.types[0]
        if name == 'tokenizer.ggml.tokens':
            size = len(value)
        if kind == gguf.GGUFValueType.ARRAY:
            writer.add_array(name, value)
        else:
            writer.add_key_value(name, value, kind)
    return size


def _tensors(shape: Shape, size: int, kind: str) -> Iterator[tuple[str, int, int, str]]:
    """Yield name, rows, columns and type of each tensor; vectors have no rows."""
    width, kv = shape.width, shape.width // shape.heads * shape.kv_heads
    usual, better = ('F16', 'F16') if kind == 'f16' else ('Q4_K', 'Q6_K')
    yield 'token_embd.weight', size, width, usual
    yield 'output_norm.weight', 0, width, 'F32'
    yield 'output.weight', size, width, better
    for i in range(shape.layers):
        more = better if i < shape.layers // 8 or i % 3 == 2 else usual
        layer = f'blk.{i}'
        for name in ('attn_norm', 'ffn_norm'):
            yield f'{layer}.{name}.weight', 0, width, 'F32'
        for name, rows, kind_of in (('attn_q', width, usual), ('attn_k', kv, usual),
                                    ('attn_v', kv, more)):
            yield f'{layer}.{name}.weight', rows, width, kind_of
            if shape.biased:
                yield f'{layer}.{name}.bias', 0, rows, 'F32'
        yield f'{layer}.attn_output.weight', width, width, usual
        for name in ('ffn_gate', 'ffn_up'):
            yield f'{layer}.{name}.weight', shape.forward, width, usual
        yield f'{layer}.ffn_down.weight', width, shape.forward, more


def _blocks(name: str, rows: int, columns: int, type_name: str) -> npt.NDArray[Any]:
    """Return the bytes of a tensor: random blocks with small scales, repeated."""
    if type_name == 'F32':
        value = 0.0 if name.endswith('.bias') else 1.0
        return np.full(columns, value, np.float32)
    generator = np.random.default_rng(len(name))
    if type_name == 'F16':
        values = (generator.standard_normal(1 << 20) * columns ** -0.5).astype(np.float16)
        return np.resize(values, (rows, columns))
    values_per_block, bytes_per_block, scales = _TYPES[type_name]
    chunk = generator.integers(0, 256, (_CHUNK_BLOCKS, bytes_per_block), np.uint8)
    for at in scales:
        chunk[:, at:at + 2] = np.frombuffer(np.float16(1e-4).tobytes(), np.uint8)
    return np.resize(chunk, (rows, columns // values_per_block * bytes_per_block))
