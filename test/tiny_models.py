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
Models of two layers with random weights, one for each kind of memory.

They say nothing that makes sense, but what they say depends on every token before, and thousands
of evaluations take seconds.
"""

from pathlib import Path

import gguf
import numpy as np

WIDTH, HEADS, FORWARD, CONTEXT = 64, 2, 96, 8192
HEAD = WIDTH // HEADS
WINDOW = 64
STATE, INNER, CONVOLUTION, RANK = 16, 128, 4, 8
KINDS = ('full', 'window', 'recurrent', 'hybrid')
_ARCHITECTURES = {'full': 'llama', 'window': 'gemma2', 'recurrent': 'mamba', 'hybrid': 'jamba'}


_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + "
    "message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")


def _byte_tokens() -> list[str]:
    """Return the 256 letters that stand for bytes in GPT-2's vocabularies."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    letters = {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(others)}
    return [letters[b] for b in range(256)]


class _Writer:
    def __init__(self, path: Path, kind: str, seed: int) -> None:
        self.architecture = _ARCHITECTURES[kind]
        self.out = gguf.GGUFWriter(str(path), self.architecture)
        self._random = np.random.default_rng(seed)

    def matrix(self, name: str, *shape: int, scale: float | None = None) -> None:
        scale = shape[-1] ** -0.5 if scale is None else scale
        self.out.add_tensor(name + '.weight', (self._random.standard_normal(shape) * scale).astype(
            np.float32))

    def ones(self, name: str, *shape: int) -> None:
        self.out.add_tensor(name, np.ones(shape, np.float32))

    def vocabulary(self) -> int:
        tokens = [*_byte_tokens(), 'he', '<|im_start|>', '<|im_end|>']
        kinds = [gguf.TokenType.NORMAL] * 257 + [gguf.TokenType.CONTROL] * 2
        self.out.add_tokenizer_model('gpt2')
        self.out.add_tokenizer_pre('gpt-2')
        self.out.add_token_list(tokens)
        self.out.add_token_types(kinds)
        self.out.add_token_merges(['h e'])
        self.out.add_eos_token_id(258)
        self.out.add_add_bos_token(False)
        self.out.add_chat_template(_TEMPLATE)
        return len(tokens)

    def attention(self, layer: str) -> None:
        self.matrix(f'{layer}.attn_q', HEADS * HEAD, WIDTH)
        self.matrix(f'{layer}.attn_k', HEADS // 2 * HEAD, WIDTH)
        self.matrix(f'{layer}.attn_v', HEADS // 2 * HEAD, WIDTH)
        self.matrix(f'{layer}.attn_output', WIDTH, HEADS * HEAD)

    def mixer(self, layer: str) -> None:
        self.matrix(f'{layer}.ssm_in', 2 * INNER, WIDTH)
        self.matrix(f'{layer}.ssm_conv1d', INNER, CONVOLUTION)
        self.ones(f'{layer}.ssm_conv1d.bias', INNER)
        self.matrix(f'{layer}.ssm_x', RANK + 2 * STATE, INNER)
        self.matrix(f'{layer}.ssm_dt', INNER, RANK)
        self.ones(f'{layer}.ssm_dt.bias', INNER)
        decay = -np.tile(np.arange(1, STATE + 1, dtype=np.float32) / 20, (INNER, 1))
        self.out.add_tensor(f'{layer}.ssm_a', decay)
        self.ones(f'{layer}.ssm_d', INNER)
        self.matrix(f'{layer}.ssm_out', WIDTH, INNER)
        if self.architecture == 'jamba':
            self.ones(f'{layer}.ssm_dt_norm.weight', RANK)
            self.ones(f'{layer}.ssm_b_norm.weight', STATE)
            self.ones(f'{layer}.ssm_c_norm.weight', STATE)

    def forward(self, layer: str, experts: int) -> None:
        self.ones(f'{layer}.ffn_norm.weight', WIDTH)
        if experts:
            self.matrix(f'{layer}.ffn_gate_inp', experts, WIDTH)
            self.matrix(f'{layer}.ffn_gate_exps', experts, FORWARD, WIDTH)
            self.matrix(f'{layer}.ffn_up_exps', experts, FORWARD, WIDTH)
            self.matrix(f'{layer}.ffn_down_exps', experts, WIDTH, FORWARD)
            return
        self.matrix(f'{layer}.ffn_gate', FORWARD, WIDTH)
        self.matrix(f'{layer}.ffn_up', FORWARD, WIDTH)
        self.matrix(f'{layer}.ffn_down', WIDTH, FORWARD)

    def close(self) -> None:
        self.out.write_header_to_file()
        self.out.write_kv_data_to_file()
        self.out.write_tensors_to_file()
        self.out.close()


def write_tiny_model(path: Path, kind: str, seed: int = 0, experts: int = 0) -> None:
    """Write a model of one of the KINDS; with experts, two of them see each token."""
    writer = _Writer(path, kind, seed)
    out = writer.out
    out.add_name(f'tiny {kind}')
    out.add_file_type(gguf.LlamaFileType.ALL_F32)
    out.add_context_length(CONTEXT)
    out.add_embedding_length(WIDTH)
    out.add_block_count(2)
    out.add_feed_forward_length(0 if kind == 'recurrent' else FORWARD)
    out.add_head_count(0 if kind == 'recurrent' else HEADS)
    if kind != 'recurrent':
        out.add_head_count_kv([0, HEADS // 2] if kind == 'hybrid' else HEADS // 2)
        out.add_key_length(HEAD)
        out.add_value_length(HEAD)
    out.add_layer_norm_rms_eps(1e-5)
    if kind == 'window':
        out.add_sliding_window(WINDOW)
    if kind in ('recurrent', 'hybrid'):
        out.add_ssm_conv_kernel(CONVOLUTION)
        out.add_ssm_inner_size(INNER)
        out.add_ssm_state_size(STATE)
        out.add_ssm_time_step_rank(RANK)
    if experts:
        out.add_expert_count(experts)
        out.add_expert_used_count(2)
    size = writer.vocabulary()
    writer.matrix('token_embd', size, WIDTH, scale=1.0)
    writer.ones('output_norm.weight', WIDTH)
    if kind != 'window':
        writer.matrix('output', size, WIDTH)
    for number in range(2):
        layer = f'blk.{number}'
        writer.ones(f'{layer}.attn_norm.weight', WIDTH)
        if kind == 'recurrent' or kind == 'hybrid' and number == 0:
            writer.mixer(layer)
        else:
            writer.attention(layer)
        if kind == 'window':
            writer.ones(f'{layer}.post_attention_norm.weight', WIDTH)
            writer.ones(f'{layer}.post_ffw_norm.weight', WIDTH)
        if kind != 'recurrent':
            writer.forward(layer, experts)
    writer.close()
