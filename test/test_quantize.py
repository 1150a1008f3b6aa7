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

"""Files of fewer bits: what is important is measured, and what is refused is said."""

from pathlib import Path

from edge_llm_ros.engine.llama.activations import Activations
from edge_llm_ros.engine.llama.quantize import check_source, quantize
from edge_llm_ros.engine.reading import importance, perplexity, Reader
from edge_llm_ros.flow.engine import EngineConfig
from edge_llm_ros.flow.errors import EngineError
import gguf
import numpy as np
import pytest
from tiny_models import FORWARD, HEAD, WIDTH, write_tiny_model

TOKENS = (104, 5, 200, 77, 31, 104, 9, 140)


def _config(path: Path) -> EngineConfig:
    return EngineConfig(str(path), context_tokens=512, threads=1, gpu_layers=0)


def _tensors(path: Path) -> dict[str, np.ndarray]:
    return {t.name: np.array(t.data) for t in gguf.GGUFReader(str(path)).tensors}


@pytest.fixture(scope='module')
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp('quantize') / 'tiny.gguf'
    write_tiny_model(path, 'full', seed=3)
    return path


def _norm(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt(np.mean(x * x) + 1e-5)


def _inputs(weights: dict[str, np.ndarray], token: int) -> dict[str, np.ndarray]:
    """Return the input of every product for a conversation of one token, which sees itself."""
    inputs = {}
    x = weights['token_embd.weight'][token]
    for number in range(2):
        def product(name: str, vector: np.ndarray) -> np.ndarray:
            key = f'blk.{number}.{name}.weight'  # noqa: B023
            inputs[key] = vector
            return weights[key] @ vector

        n = _norm(x)
        product('attn_q', n), product('attn_k', n)
        values = product('attn_v', n)  # of one head, which both query heads read
        assert values.shape == (HEAD,)
        x = x + product('attn_output', np.tile(values, 2))
        n = _norm(x)
        gate = product('ffn_gate', n)
        x = x + product('ffn_down', gate / (1 + np.exp(-gate)) * product('ffn_up', n))
    return inputs


def test_importance_is_the_mean_square_of_each_input(model: Path) -> None:
    weights = _tensors(model)
    found = importance(_config(model), [((), (token,)) for token in TOKENS])
    each = [_inputs(weights, token) for token in TOKENS]
    assert found.keys() == each[0].keys()
    for name, values in found.items():
        wanted = np.mean([inputs[name] ** 2 for inputs in each], axis=0)
        np.testing.assert_allclose(values, wanted, rtol=0.02, atol=1e-4, err_msg=name)


def test_a_prefix_counts_once_and_a_conversation_each_time(model: Path) -> None:
    config = _config(model)
    name = 'blk.1.ffn_down.weight'
    prefix, first, second = TOKENS[:3], TOKENS[3:5], TOKENS[5:]
    alone = importance(config, [(prefix, ())])[name] * 3
    both = [importance(config, [(prefix, c)])[name] * (3 + len(c)) for c in (first, second)]
    found = importance(config, [(prefix, first), (prefix, second)])[name] * len(TOKENS)
    np.testing.assert_allclose(found, both[0] + both[1] - alone, rtol=1e-3)


def test_importance_of_experts_is_that_of_the_tokens_they_see(tmp_path: Path) -> None:
    path = tmp_path / 'experts.gguf'
    write_tiny_model(path, 'full', seed=4, experts=4)
    watch = Activations()
    with Reader(_config(path), watch.callback) as reader:
        assert [start for start, _ in reader.read((), TOKENS)] == [0]
    watch.check()
    found = watch.importance()
    for layer in range(2):
        router = found[f'blk.{layer}.ffn_gate_inp.weight']
        experts = found[f'blk.{layer}.ffn_up_exps.weight'].reshape(4, WIDTH)
        counts = watch.counts(f'blk.{layer}.ffn_up_exps.weight')
        assert counts.sum() == 2 * len(TOKENS) and counts.max() > counts.min()
        # Each token goes to two experts, so together they see twice what the router sees.
        np.testing.assert_allclose(counts @ experts, 2 * len(TOKENS) * router, rtol=1e-3)
        assert found[f'blk.{layer}.ffn_down_exps.weight'].shape == (4 * FORWARD,)
    target = tmp_path / 'experts_q4.gguf'
    quantize(str(path), target, 'Q4_0', found, 1)
    assert target.stat().st_size < path.stat().st_size / 2


def test_important_inputs_are_kept_better(model: Path, tmp_path: Path) -> None:
    """Half of the inputs count a thousand times as much: their weights come out closer."""
    name = 'blk.0.ffn_up.weight'
    weights = np.where(np.arange(WIDTH) % 2, 1000.0, 1.0).astype(np.float32)
    errors = {}
    for kind, values in (('plain', {}), ('weighted', {name: weights})):
        target = tmp_path / f'{kind}.gguf'
        quantize(str(model), target, 'Q4_0', values, 1)
        tensor = next(t for t in gguf.GGUFReader(str(target)).tensors if t.name == name)
        back = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        errors[kind] = np.square(back - _tensors(model)[name]).mean(0)
    odd = np.arange(WIDTH) % 2 == 1
    assert errors['weighted'][odd].mean() < 0.9 * errors['plain'][odd].mean()
    assert errors['weighted'][~odd].mean() > errors['plain'][~odd].mean()


def test_fewer_bits_surprise_the_model_more(model: Path, tmp_path: Path) -> None:
    """Perplexity is that of the file's own probabilities: of random text, about its size."""
    texts = [(TOKENS[:2], TOKENS[2:]), (TOKENS[:2], TOKENS[::-1])]
    whole = perplexity(_config(model), texts)
    assert whole.tokens == 5 + 7
    assert 30 < whole.value < 3000
    target = tmp_path / 'q8.gguf'
    quantize(str(model), target, 'Q8_0', {}, 1)
    close = perplexity(_config(target), texts)
    assert close.value == pytest.approx(whole.value, rel=0.05) and close.value != whole.value


def test_what_has_lost_its_bits_is_refused(model: Path, tmp_path: Path) -> None:
    small = tmp_path / 'q4.gguf'
    quantize(str(model), small, 'Q4_0', {}, 1)
    with pytest.raises(EngineError, match='quantized already.*--requantize'):
        check_source(str(small), False)
    check_source(str(small), True)
    with pytest.raises(EngineError, match='is there already'):
        quantize(str(model), small, 'Q4_0', {}, 1)
    assert [p.name for p in tmp_path.iterdir()] == ['q4.gguf']


def test_importance_of_the_wrong_size_leaves_no_file(model: Path, tmp_path: Path) -> None:
    values = {'blk.0.ffn_up.weight': np.ones(WIDTH + 1, np.float32)}
    with pytest.raises(EngineError, match='llama.cpp cannot write it as Q4_0'):
        quantize(str(model), tmp_path / 'q4.gguf', 'Q4_0', values, 1)
    assert not list(tmp_path.iterdir())
