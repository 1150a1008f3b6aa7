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

"""The prefix on disk: it comes back exactly, and nothing damaged or foreign is ever accepted."""

import json
import os
from pathlib import Path
import random

from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.engine.model_fingerprint import ModelFingerprints, sample
from edge_llm_ros.engine.prefix_store import PrefixKey, PrefixStore
from edge_llm_ros.flow.engine import EngineConfig, GenerateRequest
import numpy as np
import pytest
from tiny_models import write_tiny_model

TEXT = 'You control a robot that drives, grasps and speaks. ' * 20
GRAMMAR = '%llguidance {}\nstart: %json {"type": "string", "maxLength": 40} <|im_end|>\n'


def _engine(model: str, folder: Path, **fields: object) -> LocalEngine:
    return LocalEngine(EngineConfig(model_path=model, context_tokens=2048, max_sessions=2,
                                    prefix_folder=str(folder), **fields))


def _warm(engine: LocalEngine, text: str = TEXT) -> bool:
    """Warm up and say whether the prefix came from disk."""
    *_, last = engine.warm_up(engine.tokenize(text, True))
    engine.check_integrity()
    return last.restored


@pytest.fixture(scope='module')
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a tiny model with plain attention."""
    path = tmp_path_factory.mktemp('tiny') / 'full.gguf'
    write_tiny_model(path, 'full')
    return str(path)


def _say(engine: LocalEngine) -> tuple[int, ...]:
    tokens = engine.tokenize(TEXT, True)
    tokens += engine.tokenize('<|im_start|>user\nSpeak.<|im_end|>\n', True)
    end = list(engine.generate(GenerateRequest('r', 's', tokens, GRAMMAR, 64)))[-1]
    assert end.cached >= len(engine.tokenize(TEXT, True)) - 1
    return end.tokens


def test_a_restart_evaluates_nothing_of_the_prefix_again(test_model: str, tmp_path: Path) -> None:
    said = []
    for restored in (False, True, True):
        engine = _engine(test_model, tmp_path)
        assert _warm(engine) is restored
        said.append(_say(engine))
        engine.close()
    assert said[0] == said[1] == said[2]
    assert len(list(tmp_path.glob('*.prefix'))) == 1


def test_another_prefix_or_model_is_evaluated(test_model: str, llama3_model: str,
                                              tmp_path: Path) -> None:
    for model, text, restored in ((test_model, TEXT, False), (test_model, TEXT + 'So.', False),
                                  (llama3_model, TEXT, False), (test_model, TEXT, True)):
        engine = _engine(model, tmp_path)
        assert _warm(engine, text) is restored
        engine.close()
    assert len(list(tmp_path.glob('*.prefix'))) == 3


def _damaged(data: bytes, generator: random.Random, kind: int) -> bytes:
    """Return a file that is cut, flipped, overwritten, grown, shortened inside or empty."""
    changed = bytearray(data)
    at = generator.randrange(len(data) if generator.random() < 0.5 else 2000)
    if kind == 0:
        del changed[at:]
    elif kind == 1:
        changed[at] ^= 1 << generator.randrange(8)
    elif kind == 2:
        changed[at:at + 64] = bytes(64) if any(changed[at:at + 64]) else b'x' * 64
    elif kind == 3:
        changed += bytes(generator.randrange(1, 100))
    elif kind == 4:
        del changed[at:at + generator.randrange(1, 100)]
    else:
        changed.clear()
    return bytes(changed)


@pytest.mark.parametrize('count', [
    pytest.param(100), pytest.param(1000, marks=pytest.mark.soak)])
def test_damaged_files_are_never_accepted_nor_fatal(tiny: str, tmp_path: Path, count: int
                                                    ) -> None:
    """Each is met at a warm-up; what is said afterwards is what was said before."""
    engine = _engine(tiny, tmp_path)
    assert not _warm(engine)
    said = _say(engine)
    file, = tmp_path.glob('*.prefix')
    whole = file.read_bytes()
    generator = random.Random(0)
    for i in range(count):
        file.write_bytes(_damaged(whole, generator, i % 6))
        assert not _warm(engine), i
        assert _say(engine) == said
        assert file.read_bytes() == whole, 'a good file is written again'
    assert _warm(engine) and _say(engine) == said
    engine.close()


@pytest.mark.parametrize('fields', [
    {'rope_freq_base': 5000.0}, {'rope_freq_scale': 0.5},
    {'cache_type_k': 'q8_0', 'cache_type_v': 'q8_0'}, {'flash_attention': 'off'}])
def test_a_state_of_another_context_is_not_taken(tiny: str, tmp_path: Path,
                                                 fields: dict[str, object]) -> None:
    """Not even where the file has the right name."""
    engine = _engine(tiny, tmp_path)
    _warm(engine)
    engine.close()
    data = next(tmp_path.glob('*.prefix')).read_bytes()
    other = _engine(tiny, tmp_path, **fields)
    assert not _warm(other)
    said = _say(other)
    for file in tmp_path.glob('*.prefix'):
        file.write_bytes(data)
    assert not _warm(other) and _say(other) == said
    other.close()


def engine_key(engine: LocalEngine) -> PrefixKey:
    return PrefixKey(engine._warm_up.state_facts(), engine.tokenize(TEXT, True))


@pytest.mark.parametrize('name', [
    'engine', 'system', 'gpu_layers', 'kv', 'flash_attention', 'unified', 'context_tokens',
    'swa_full', 'memory', 'rope', 'lora', 'no_rotation', 'model'])
def test_every_fact_counts(tiny: str, tmp_path: Path, name: str) -> None:
    engine = _engine(tiny, tmp_path)
    facts = engine._warm_up.state_facts()
    engine.close()
    store, state = PrefixStore(str(tmp_path), 1 << 20), np.arange(256, dtype=np.uint8)
    store.save(PrefixKey(facts, (1, 2, 3)), state)
    assert name in facts
    other = PrefixKey({**facts, name: 'other'}, (1, 2, 3))
    assert store.load(other) is None
    # Not even under the right name.
    next(tmp_path.glob('*.prefix')).rename(tmp_path / other.name)
    assert store.load(other) is None
    store.save(PrefixKey(facts, (1, 2, 3)), state)
    assert np.array_equal(store.load(PrefixKey(facts, (1, 2, 3))), state)


@pytest.mark.parametrize('header', [
    b'[' * 5000, b'{"facts": {}, "tokens": 1e999, "state_bytes": 0}', b'{"facts": 1}', b'\xff'])
def test_headers_that_parsers_choke_on_are_damage(tmp_path: Path, header: bytes) -> None:
    store, key = PrefixStore(str(tmp_path), 1 << 20), PrefixKey({}, (1,))
    store.save(key, np.zeros(4, np.uint8))
    file, = tmp_path.glob('*.prefix')
    file.write_bytes(b'EDGELLM1' + len(header).to_bytes(8, 'little') + header)
    assert store.load(key) is None
    file.write_bytes(bytes(2 << 20))
    assert store.load(key) is None, 'a file beyond the limit is not read'


def test_what_a_power_cut_left_is_removed(tmp_path: Path) -> None:
    old, new = tmp_path / 'unfinished-1', tmp_path / 'unfinished-2'
    for path in (old, new):
        path.write_bytes(b'x')
    os.utime(old, (1, 1))
    PrefixStore(str(tmp_path), 1 << 20).save(PrefixKey({}, (1,)), np.zeros(4, np.uint8))
    assert not old.exists() and new.exists()


def test_the_parts_of_a_split_model_all_count(tmp_path: Path) -> None:
    names = [tmp_path / f'm-0000{i}-of-00002.gguf' for i in (1, 2)]
    for path in names:
        path.write_bytes(b'a' * 1000)
    first = ModelFingerprints(str(tmp_path)).of(str(names[0]))
    names[1].write_bytes(b'b' * 1000)
    assert ModelFingerprints(str(tmp_path)).of(str(names[0])) != first
    assert len(first['parts']) == 2


def test_the_files_used_longest_ago_go_first(tmp_path: Path) -> None:
    store, state = PrefixStore(str(tmp_path), 2500), np.zeros(1000, np.uint8)
    keys = [PrefixKey({'n': n}, (n,)) for n in range(3)]
    store.save(keys[0], state)
    store.save(keys[1], state)
    assert store.load(keys[0]) is not None
    store.save(keys[2], state)
    assert [store.load(key) is not None for key in keys] == [True, False, True]


def test_a_folder_that_cannot_be_written_is_no_error(
        tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / 'file').write_text('')
    PrefixStore(str(tmp_path / 'file'), 100).save(PrefixKey({}, (1,)), np.zeros(4, np.uint8))
    assert 'cannot be saved' in caplog.text


def test_a_fingerprint_tells_files_apart(tmp_path: Path) -> None:
    path = tmp_path / 'm'
    path.write_bytes(bytes(1 << 21))
    first = sample(str(path))
    assert sample(str(path)) == first
    with path.open('r+b') as file:
        file.seek((1 << 21) - 300_000)
        file.write(b'x' * 200_000)
    assert sample(str(path))['sample_xxh3'] != first['sample_xxh3']


def test_a_file_is_read_in_full_once_and_known_by_its_content(tmp_path: Path) -> None:
    model, folder = tmp_path / 'm', tmp_path / 'folder'
    data = bytearray(1 << 24)
    model.write_bytes(data)
    first = ModelFingerprints(str(folder)).of(str(model))
    # A copy, or one with a new time, is the same model.
    model.write_bytes(data)
    os.utime(model, ns=(1, 1))
    assert ModelFingerprints(str(folder)).of(str(model)) == first
    assert len(json.loads((folder / 'models.json').read_text())) == 2
    # A byte that no sample covers is seen when the file is new.
    data[(1 << 24) - 3 * (1 << 18)] = 1
    model.write_bytes(data)
    other = ModelFingerprints(str(folder)).of(str(model))
    assert other['parts'][0]['sample_xxh3'] == first['parts'][0]['sample_xxh3'] and other != first
    # What is known already is believed, so that a start does not read gigabytes.
    known = json.loads((folder / 'models.json').read_text())
    (folder / 'models.json').write_text(json.dumps(dict.fromkeys(known, 'known')))
    assert ModelFingerprints(str(folder)).of(str(model))['parts'][0]['xxh3'] == 'known'
    (folder / 'models.json').write_text('{')
    assert ModelFingerprints(str(folder)).of(str(model)) == other
