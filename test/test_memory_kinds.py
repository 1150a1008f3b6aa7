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

"""What is found again is what was evaluated, for every kind of memory."""

from collections.abc import Iterator
from pathlib import Path
import random

from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.engine.sequences import PREFIX
from edge_llm_ros.flow.engine import EngineConfig, MemoryKind
from edge_llm_ros.flow.errors import EngineError
import numpy as np
import pytest
from tiny_models import KINDS, WINDOW, write_tiny_model

# Logits of these models reach 30 in the window model and 3 in the others; a token that is missing
# or wrong moves them by 0.5 and more, another chunk boundary by less than this.
TOLERANCE = {'full': 0.02, 'window': 0.05, 'window with all cells': 0.05, 'recurrent': 0.001,
             'hybrid': 0.01}
CHUNK = 64


@pytest.fixture(scope='session')
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the path of a tiny model of each kind."""
    folder = tmp_path_factory.mktemp('tiny')
    for kind in KINDS:
        write_tiny_model(folder / f'{kind}.gguf', kind)
    paths = {kind: str(folder / f'{kind}.gguf') for kind in KINDS}
    return {**paths, 'window with all cells': paths['window']}


def engine_of(model: str, **fields: object) -> LocalEngine:
    defaults = {'context_tokens': 2048, 'max_sessions': 4, 'swa_full': False, 'threads': 1,
                'batch_tokens': CHUNK}
    return LocalEngine(EngineConfig(model_path=model, **{**defaults, **fields}))


@pytest.fixture(params=[*KINDS, 'window with all cells'])
def pair(request: pytest.FixtureRequest, tiny: dict[str, str]
         ) -> Iterator[tuple[str, LocalEngine, LocalEngine]]:
    """Return a kind, an engine of it, and one that evaluates everything."""
    fields = {'swa_full': True} if request.param == 'window with all cells' else {}
    warm = engine_of(tiny[request.param], **fields)
    cold = engine_of(tiny[request.param], reuse=False, **fields)
    yield request.param, warm, cold
    warm.close()
    cold.close()


def evaluate(engine: LocalEngine, session: str, tokens: tuple[int, ...], stop: int | None = None
             ) -> tuple[int, np.ndarray]:
    """
    Evaluate a conversation.

    :param stop: tokens to evaluate at most: the turn is given up then
    :returns: how many tokens were there, and the logits after the last one
    """
    cache = engine._cache
    lease = cache.lease(session, tokens, len(tokens) - 1)
    rest = list(tokens[lease.length:stop])
    while rest:
        chunk = rest[:CHUNK]
        assert engine._evaluator.evaluate(lease.sequence, chunk, [len(chunk) - 1])
        del rest[:CHUNK]
    logits = engine._context.logits(-1).copy() if stop is None else np.empty(0)
    cache.release(lease.sequence)
    engine.check_integrity()
    return lease.length, logits


def words(generator: random.Random, least: int, most: int) -> tuple[int, ...]:
    return tuple(generator.randrange(256) for _ in range(generator.randrange(least, most)))


@pytest.mark.parametrize('cases', [
    pytest.param(100), pytest.param(1000, marks=pytest.mark.soak)])
def test_going_back_is_exact_or_evaluated_again(pair, cases: int) -> None:
    """Sessions go on, go back to a random length and are given up, four of them interleaved."""
    kind, warm, cold = pair
    generator = random.Random(0)
    prefix = words(generator, 150, 151)
    list(warm.warm_up(prefix))
    conversations = dict.fromkeys('abcd', prefix)
    reused = given_up = 0
    for _ in range(cases):
        session = generator.choice('abcd')
        start = conversations[session]
        if generator.random() < 0.4:
            least = min(len(start), generator.choice((1, len(prefix), len(prefix))))
            start = start[:generator.randrange(least, len(start) + 1)]
        tokens = start + words(generator, 1, 60)
        if generator.random() < 0.2:
            evaluate(warm, session, tokens, stop=generator.randrange(1, len(tokens)))
            given_up += 1
            continue
        tokens = tokens if len(tokens) < 500 else prefix + tokens[-20:]
        there, logits = evaluate(warm, session, tokens)
        reused += there > len(prefix)
        _, right = evaluate(cold, 'x', tokens)
        assert np.abs(logits - right).max() < TOLERANCE[kind], (kind, there, len(tokens))
        conversations[session] = tokens
    assert reused > cases / 5 and given_up > cases / 10
    assert list(warm._cache.tokens(PREFIX)) == list(prefix)


def test_a_turn_that_is_given_up_costs_only_itself(pair) -> None:
    """Where memory cannot be cut, the snapshot of the turn's start is used."""
    kind, warm, cold = pair
    generator = random.Random(1)
    prefix = words(generator, 100, 101)
    list(warm.warm_up(prefix))
    tokens = prefix
    for _ in range(6):
        tokens += words(generator, 20, 40)
        evaluate(warm, 'a', tokens)
        evaluate(warm, 'a', tokens + words(generator, 90, 91), stop=len(tokens) + 50)
    there, logits = evaluate(warm, 'a', tokens + (1,))
    assert there == len(tokens)
    _, right = evaluate(cold, 'x', tokens + (1,))
    assert np.abs(logits - right).max() < TOLERANCE[kind]


def test_a_window_that_is_cut_too_far_would_be_wrong(tiny: dict[str, str]) -> None:
    """The check above can fail: llama.cpp cuts such a window and says nothing."""
    engine, cold = engine_of(tiny['window'], max_sessions=1), engine_of(tiny['window'],
                                                                        reuse=False)
    generator = random.Random(2)
    tokens = words(generator, 1000, 1001)
    evaluate(engine, 'a', tokens)
    context = engine._context
    assert not context.can_cut(1, 400) and context.can_cut(1, 1000)
    context.cut_sequence(1, 400)
    assert context.decode(1, 400, list(tokens[400:420]), [19]) == 0
    _, right = evaluate(cold, 'x', tokens[:420])
    assert np.abs(context.logits(19) - right).max() > 10 * TOLERANCE['window']
    cold.close()
    engine.close()


def test_a_window_is_cut_where_it_is_still_there(tiny: dict[str, str]) -> None:
    engine = engine_of(tiny['window'])
    generator = random.Random(3)
    tokens = words(generator, 200, 201)
    list(engine.warm_up(tokens[:50]))
    evaluate(engine, 'a', tokens)
    there, _ = evaluate(engine, 'a', tokens[:190] + (1, 2))
    assert there == 190
    assert engine.info().window == WINDOW and engine.info().memory is MemoryKind.WINDOW
    engine.close()


@pytest.mark.parametrize('kind', KINDS)
def test_a_fork_is_the_same_bit_for_bit_at_the_same_chunks(tiny: dict[str, str], kind: str
                                                           ) -> None:
    generator = random.Random(4)
    prefix, rest = words(generator, 128, 129), words(generator, 40, 41)
    alone = engine_of(tiny[kind])
    list(alone.warm_up(prefix[:64]))
    _, right = evaluate(alone, 'a', prefix + rest)
    forked = engine_of(tiny[kind])
    list(forked.warm_up(prefix))
    for other in 'xyz':
        evaluate(forked, other, prefix + words(generator, 5, 40))
    there, logits = evaluate(forked, 'a', prefix + rest)
    assert there == len(prefix)
    assert np.array_equal(logits, right)
    alone.close()
    forked.close()


@pytest.mark.parametrize('kind', KINDS)
def test_the_prefix_on_disk_goes_on_exactly(tiny: dict[str, str], kind: str, tmp_path: Path
                                            ) -> None:
    generator = random.Random(5)
    prefix = words(generator, 300, 301)
    tokens, results = prefix + words(generator, 10, 11), []
    for restored in (False, True):
        engine = engine_of(tiny[kind], prefix_folder=str(tmp_path))
        *_, last = engine.warm_up(prefix)
        assert last.restored is restored
        there, logits = evaluate(engine, 'a', tokens)
        assert there == len(prefix)
        results.append(logits)
        engine.close()
    assert np.array_equal(*results)


def test_a_spilled_session_comes_back_exactly(tiny: dict[str, str]) -> None:
    generator = random.Random(6)
    engine = engine_of(tiny['full'], context_tokens=512, max_sessions=2, spill_bytes=1 << 20)
    prefix = words(generator, 200, 201)
    list(engine.warm_up(prefix))
    tokens = prefix + words(generator, 100, 101)
    _, right = evaluate(engine, 'a', tokens)
    evaluate(engine, 'b', prefix + words(generator, 90, 91))
    evaluate(engine, 'c', prefix + words(generator, 150, 151))
    predicted = 100 * (engine.info().kv_bytes_per_token + 12)
    assert engine._cache.spilled_bytes == pytest.approx(predicted, rel=0.02)
    there, logits = evaluate(engine, 'a', tokens)
    assert there == len(tokens) - 1
    assert np.abs(logits - right).max() < TOLERANCE['full']
    engine.close()


def test_cells_take_what_was_predicted(tiny: dict[str, str], test_model: str) -> None:
    for types in ('f16', 'q8_0', 'q4_0'):
        engine = LocalEngine(EngineConfig(model_path=test_model, context_tokens=1024,
                                          cache_type_k=types, cache_type_v=types))
        info = engine.info()
        assert info.kv_bytes == pytest.approx(1024 * info.kv_bytes_per_token, rel=0.02)
        if types == 'f16':
            full = info.kv_bytes
        elif types == 'q8_0':
            assert info.kv_bytes <= 0.55 * full
        engine.close()


@pytest.mark.parametrize('fields, message', [
    ({'cache_type_k': 'q8_0'}, 'q8_0 keys with f16 values'),
    ({'cache_type_k': 'q8_0', 'cache_type_v': 'q4_0'}, 'q8_0 keys with q4_0 values'),
    ({'cache_type_k': 'q5_1', 'cache_type_v': 'q5_1'}, 'cache_type_k: .q5_1. is not one of'),
    ({'cache_type_k': 'q8_0', 'cache_type_v': 'q8_0', 'flash_attention': 'off'},
     'flash_attention: off does not go with'),
    ({'max_sessions': 255}, 'max_sessions: 255 needs 257 sequences')])
def test_what_cannot_be_fast_is_refused_by_name(test_model: str, fields: dict[str, object],
                                                message: str) -> None:
    with pytest.raises(EngineError, match=message):
        LocalEngine(EngineConfig(model_path=test_model, context_tokens=512, **fields))


@pytest.mark.parametrize('kind', ['window', 'recurrent', 'hybrid'])
def test_states_take_what_was_predicted(tiny: dict[str, str], kind: str) -> None:
    """What a token and a sequence take is asked of the model; llama.cpp says what it allocated."""
    engine = engine_of(tiny[kind], swa_full=True, context_tokens=8192, max_sessions=3)
    info, sequences = engine.info(), engine._context.sequences
    predicted = info.kv_bytes_per_token * 8192
    predicted += info.state_bytes * sequences if kind in ('recurrent', 'hybrid') else 0
    assert info.kv_bytes == pytest.approx(predicted, rel=0.02)
    engine.close()


def test_cells_behind_a_window_are_taken_for_others(tiny: dict[str, str]) -> None:
    """Also where there are enough for all; so a session whose cells went is not cut to them."""
    engine = engine_of(tiny['window'], swa_full=True, context_tokens=512, max_sessions=3)
    cold = engine_of(tiny['window'], swa_full=True, reuse=False)
    generator = random.Random(8)
    list(engine.warm_up(words(generator, 10, 11)))
    first, second = words(generator, 60, 61), words(generator, 200, 201)
    evaluate(engine, 'a', first)
    evaluate(engine, 'b', second)
    engine.release('a')
    evaluate(engine, 'c', words(generator, 180, 181))
    cut = second[:150] + (3,)
    _, logits = evaluate(engine, 'b', cut)
    _, right = evaluate(cold, 'x', cut)
    assert np.abs(logits - right).max() < TOLERANCE['window']
    engine.close()
    cold.close()


def test_an_aborted_batch_of_a_recurrent_model_says_why_it_costs(tiny: dict[str, str]) -> None:
    engine = engine_of(tiny['recurrent'])
    generator = random.Random(9)
    prefix = words(generator, 50, 51)
    list(engine.warm_up(prefix))
    tokens = prefix + words(generator, 60, 61)
    lease = engine._cache.lease('a', tokens, len(tokens) - 1)
    assert engine._evaluator.evaluate(lease.sequence, list(tokens[50:90]))
    engine._context.abort(True)
    assert not engine._evaluator.evaluate(lease.sequence, list(tokens[90:100]))
    engine._context.abort(False)
    engine._cache.release(lease.sequence)
    engine.check_integrity()
    lease = engine._cache.lease('a', tokens, len(tokens) - 1)
    assert lease.length == len(prefix) and 'did not end' in lease.lost
    engine.close()
