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

"""Guesses change how many decodes a call takes, and nothing else."""

from collections.abc import Iterator
import json
from pathlib import Path
import random

from edge_llm_ros.engine.batch_costs import BatchCosts, SIZES
from edge_llm_ros.engine.draft import Drafter
from edge_llm_ros.engine.guess import Acceptance, Guess, History
from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.flow.engine import Completion, EngineConfig, GenerateRequest, Sampling, Stop
from edge_llm_ros.flow.errors import EngineError
from edge_llm_ros.flow.tool import ToolCall, ToolSchema
from edge_llm_ros.prompt.call_grammar import arguments_schema
from edge_llm_ros.prompt.formats import chat_format
from edge_llm_ros.prompt.pieces import PieceTokenizer
from edge_llm_ros.tools.load_tools import load_tools
from edge_llm_ros.tools.toolset import GatedToolset
from forced_tokens import follow
from hypothesis import given, strategies as st
import numpy as np
import pytest
from tiny_models import write_tiny_model

FREE = [1.0] * len(SIZES)  # batches on a GPU: more tokens cost nothing
LINEAR = [float(size) for size in SIZES]
GRAMMAR = """%llguidance {}
start: "{\\"name\\": \\"" ( go | say ) "}" <|im_end|>
go: "drive_to\\", \\"place\\": " %json {"enum": ["kitchen", "office", "storage room", "kiosk"]}
say: "say\\", \\"text\\": " %json {"type": "string", "maxLength": 90}
"""


def test_costs_are_linear_between_what_was_measured() -> None:
    costs = BatchCosts([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert [costs(n) for n in (1, 3, 12, 32, 64)] == [1.0, 2.5, 4.5, 6.0, 12.0]
    costs.learn(8, 14.0)
    assert costs(8) == pytest.approx(5.0)
    costs.learn(7, 14.0)
    assert costs(7) == pytest.approx(4.5)


@pytest.mark.parametrize('seconds', [[1.0], [], [1, 2, 3, 4, 5, -6], [1, 2, 3, 4, 5, 'x'], None])
def test_costs_that_cannot_be_are_refused(seconds: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        BatchCosts(seconds)


def test_what_riders_cost() -> None:
    assert BatchCosts(LINEAR).of_riders(4, 2, 1) == pytest.approx(2.2)
    steps = BatchCosts([1.0, 1.2, 1.5, 2.5, 2.0, 3.0])
    assert steps.of_riders(8, 8, 3) == pytest.approx(0.495), 'never free'


def test_a_source_that_is_wrong_is_believed_less() -> None:
    acceptance = Acceptance()
    assert acceptance.probability('a') == 0.5
    for _ in range(50):
        acceptance.learn('a', False)
        acceptance.learn('b', True)
    assert acceptance.probability('a') < 0.1 and acceptance.probability('b') > 0.9
    for _ in range(60):
        acceptance.learn('a', True)
    assert acceptance.probability('a') > 0.7


@given(st.lists(st.integers(0, 3), max_size=60), st.sets(st.integers(0, 3)))
def test_what_followed_the_longest_match_is_guessed(tokens: list[int], allowed: set[int]) -> None:
    history = History(np.asarray(tokens[:5], np.int32), 2)
    history.append(tokens[5:])
    guess = history.follower(allowed.__contains__, 'text')
    best: tuple[int, int] | None = None
    for place in range(max(0, len(tokens) - 1)):
        length = 0
        while length < 8 and length <= place and tokens[place - length] == tokens[-1 - length]:
            length += 1
        if length >= 2 and tokens[place + 1] in allowed:
            best = max(best or (0, 0), (length, place))
    # Only the last places are looked at, so a far one may be missed where there are many.
    if best is None:
        assert guess is None
    elif tokens.count(tokens[-1]) <= 24:
        assert guess == Guess(tokens[best[1] + 1], f'text {min(best[0], 4)}')
    assert len(history) == len(tokens)


@pytest.fixture(scope='module')
def pair(test_model: str) -> Iterator[tuple[LocalEngine, LocalEngine]]:
    """Return an engine that guesses wherever it can, and one that does not."""
    guessing, plain = (LocalEngine(EngineConfig(
        model_path=test_model, context_tokens=2048, max_sessions=3, guess=guess))
        for guess in (True, False))
    for engine in (guessing, plain):
        list(engine.warm_up(engine.tokenize('You are a robot. ' * 20, True)))
    assert guessing._drafter is not None and plain._drafter is None
    guessing._drafter = Drafter(BatchCosts(FREE), Acceptance())
    yield guessing, plain
    guessing.close()
    plain.close()


def _run(engine: LocalEngine, session: str, text: str, sampling: Sampling = Sampling(),
         max_tokens: int = 96) -> Completion:
    tokens = engine.tokenize('You are a robot. ' * 20, True) + engine.tokenize(
        f'<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n', True)
    *_, end = engine.generate(GenerateRequest(
        f'{session} {text}', session, tokens, GRAMMAR, max_tokens, sampling))
    engine.check_integrity()
    return end


TEXTS = [f'{verb} the {place}: {{"name": "say", "text": "The {place} is closed today"}}'
         for verb in ('Go to', 'Tell me of') for place in ('kitchen', 'office', 'kiosk')]


def test_greedy_text_is_the_same_with_and_without_guesses(pair) -> None:
    guessing, plain = pair
    accepted = saved = 0
    for number, text in enumerate(TEXTS):
        ours, right = (_run(engine, f's{number}', text) for engine in pair)
        assert ours.tokens == right.tokens
        assert set(right.origins) <= {'S', 'F'} and right.guessed == 0
        assert ours.origins.count('A') <= ours.guessed
        accepted += ours.origins.count('A')
        saved += right.decode_calls - ours.decode_calls
        assert saved >= accepted - ours.decode_calls
    assert accepted > 10 and saved > 10


def test_sampled_text_is_the_same_with_and_without_guesses(pair) -> None:
    sampling = Sampling(temperature=0.8, seed=3)
    for number, text in enumerate(TEXTS[:4]):
        ours, right = (_run(engine, f't{number}', text, sampling) for engine in pair)
        assert ours.tokens == right.tokens


def test_a_decode_is_a_choice_with_guesses_too(pair) -> None:
    for engine in pair:
        for number in range(4):
            _run(engine, 'd', TEXTS[number])
            end = _run(engine, 'd', TEXTS[number])
            assert end.prefill == 1
            assert end.decode_calls == end.origins.count('S')


def test_a_limit_is_a_limit_with_guesses_too(pair) -> None:
    for engine in pair:
        for limit in (1, 5, 9, 12):
            end = _run(engine, f'l{limit}', TEXTS[3], max_tokens=limit)
            assert end.stop is Stop.LENGTH and len(end.tokens) >= limit
            assert len(end.tokens) <= limit + 8, 'a forced run may follow the last choice'


def test_guesses_that_never_pay_are_not_made(pair) -> None:
    guessing, _ = pair
    kept, guessing._drafter = guessing._drafter, Drafter(BatchCosts(LINEAR), Acceptance())
    try:
        end = _run(guessing, 'n', TEXTS[0])
        assert end.guessed == 0
        # But the sources are watched, so that they can prove themselves.
        assert guessing._drafter.acceptance._seen
    finally:
        guessing._drafter = kept


def test_more_guesses_may_pay_where_fewer_do_not(pair) -> None:
    """Kernels take tokens in fours: two cost more than four."""
    guessing, _ = pair
    kept = guessing._drafter
    guessing._drafter = Drafter(BatchCosts([1.0, 2.6, 1.4, 2.8, 5.6, 11.0]), Acceptance())
    guessing._drafter.acceptance._seen = {
        f'copied text {n}': (20.0, 22.0) for n in range(2, 5)}
    try:
        end = _run(guessing, 'fours', TEXTS[3])
        assert end.origins.count('A') >= 5
    finally:
        guessing._drafter = kept


@pytest.fixture(scope='module')
def drafting(test_model: str) -> Iterator[LocalEngine]:
    """Return an engine whose draft model is the model itself, at a smaller one's price."""
    engine = LocalEngine(EngineConfig(model_path=test_model, draft_model_path=test_model,
                                      context_tokens=2048, max_sessions=3))
    list(engine.warm_up(engine.tokenize('You are a robot. ' * 20, True)))
    assert engine._draft_model is not None and engine._draft_model.costs is not None
    engine._draft_model.costs = BatchCosts([0.001 * size for size in SIZES])
    engine._drafter = Drafter(BatchCosts(FREE), Acceptance(), engine._draft_model)
    yield engine
    engine.close()


@pytest.mark.parametrize('sampling', [Sampling(), Sampling(temperature=0.8, seed=3)])
def test_text_is_the_same_with_and_without_a_draft_model(
        pair, drafting: LocalEngine, sampling: Sampling) -> None:
    accepted = guessed = 0
    for number, text in enumerate(TEXTS):
        text = text.replace('closed', 'full of people who wait')
        ours, right = (_run(engine, f'{sampling.seed}{number}', text, sampling)
                       for engine in (drafting, pair[1]))
        assert ours.tokens == right.tokens
        accepted += ours.origins.count('A')
        guessed += ours.guessed
    assert accepted > 20
    if not sampling.temperature:
        # Not all: a batch of several tokens differs from single ones in the last digit.
        assert accepted > 0.9 * guessed, 'the model would say what it says itself'


def test_a_draft_model_that_costs_as_much_is_not_asked(drafting: LocalEngine) -> None:
    model, kept = drafting._draft_model, drafting._drafter
    assert model is not None and model.costs is not None
    cheap, model.costs = model.costs, BatchCosts(FREE)
    drafting._drafter = Drafter(BatchCosts(FREE), Acceptance(), model)
    try:
        end = _run(drafting, 'dear', 'Say that the river is deep')
        assert not any(s == 'draft model' and seen[1] > 0
                       for s, seen in drafting._drafter.acceptance._seen.items())
        assert end.stop in (Stop.COMPLETE, Stop.LENGTH)
    finally:
        model.costs, drafting._drafter = cheap, kept


def test_draft_models_that_do_not_fit_are_refused(test_model: str, tmp_path) -> None:
    paths = {kind: str(tmp_path / f'{kind}.gguf') for kind in ('full', 'recurrent')}
    for kind, path in paths.items():
        write_tiny_model(Path(path), kind)
    for model, draft, guess, word in (
            (test_model, paths['full'], True, 'same family'),
            (paths['full'], paths['recurrent'], True, 'cannot be cut'),
            (paths['recurrent'], paths['full'], True, 'cannot be taken back'),
            (paths['full'], paths['full'], False, 'guess is off'),
            (paths['full'], '/no/such.gguf', True, 'there is no file')):
        with pytest.raises(EngineError, match=f'^draft_model_path: .*{word}'):
            LocalEngine(EngineConfig(model_path=model, draft_model_path=draft, guess=guess,
                                     context_tokens=256, max_sessions=2))


def test_costs_are_measured_once_for_a_machine(test_model: str, tmp_path) -> None:
    config = EngineConfig(model_path=test_model, context_tokens=512, max_sessions=2,
                          prefix_folder=str(tmp_path))
    tables = []
    for _ in range(2):
        engine = LocalEngine(config)
        list(engine.warm_up(engine.tokenize('You are a robot.', True)))
        engine.check_integrity()
        tables.append(json.loads((tmp_path / 'batch_costs.json').read_text()))
        engine.close()
    assert tables[0] == tables[1] and len(tables[0]) == 1
    assert all(len(table) == len(SIZES) for table in tables[0].values())


def _value(generator: random.Random, schema: dict, length: int) -> object:
    if 'enum' in schema:
        return generator.choice(schema['enum'])
    low, high = schema.get('minimum', -500), schema.get('maximum', 500)
    if schema['type'] == 'boolean':
        return generator.random() < 0.5
    if schema['type'] == 'integer':
        return generator.randint(int(low), int(high))
    if schema['type'] == 'number':
        digits = generator.choice((0, 1, 2, 3))
        value = min(max(round(generator.uniform(low, high), digits), low), high)
        return int(value) if value == int(value) else value
    alphabet = 'abc XYZ,.!?0123456789äß"\\/\n\t你好去厨房🤖<|>{}[]_-\''
    return ''.join(generator.choice(alphabet) for _ in range(generator.randrange(length)))


def random_call(generator: random.Random, tools: tuple[ToolSchema, ...]) -> ToolCall:
    tool = generator.choice(tools)
    schema = arguments_schema(tool, 40)
    return ToolCall(tool.name, {
        name: _value(generator, rules, rules.get('maxLength', 40))
        for name, rules in schema['properties'].items()
        if name in schema['required'] or generator.random() < 0.5})


@pytest.mark.parametrize('count', [
    pytest.param(500), pytest.param(10_000, marks=[pytest.mark.soak, pytest.mark.timeout(900)])])
@pytest.mark.parametrize('model', ['test_model', 'demo_model'])
def test_forced_runs_of_random_calls_are_canonical(request, model: str, count: int) -> None:
    """What is not sampled is what the tokenizer would have written."""
    engine = LocalEngine(EngineConfig(model_path=request.getfixturevalue(model),
                                      context_tokens=256, max_sessions=1))
    tools = GatedToolset(load_tools(['config/simulated_robot.yaml']), {}).schemas()
    form = chat_format('auto', engine.info())
    grammar, pieces = form.grammar(tools, 40), PieceTokenizer(engine, engine.info().special_tokens)
    generator = random.Random(count)
    free = sampled = 0
    for _ in range(count):
        call = random_call(generator, tools)
        tokens = list(pieces.tokens(form.call(call)))
        sampled += follow(engine, grammar, tokens, call)
        assert form.parse(engine.detokenize(tokens).decode()) == call
        free += len(tokens)
    assert sampled < 0.6 * free
    engine.close()
