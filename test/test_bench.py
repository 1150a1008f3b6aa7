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

"""The claims of the KV memory, counted; and the commands that count them for users."""

import json
from pathlib import Path
import random
import subprocess
import sys

from edge_llm_ros.bench.engine_arm import EngineArm
from edge_llm_ros.bench.kv_memory import counts, growth
from edge_llm_ros.bench.kv_types import compare_types, questions
from edge_llm_ros.bench.prompt_log import read_log
from edge_llm_ros.bench.row import Row, row
from edge_llm_ros.bench.script import Script
from edge_llm_ros.bench.speed import chosen
from edge_llm_ros.bench.synthetic import write_synthetic
from edge_llm_ros.bench.workload import filler, Workload, workloads
from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.engine.model_vocabulary import ModelVocabulary
from edge_llm_ros.engine.sequences import PREFIX
from edge_llm_ros.flow.engine import EngineConfig
from edge_llm_ros.flow.errors import ConfigError
import pytest
from tiny_models import write_tiny_model


@pytest.fixture(scope='module')
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a tiny model with plain attention."""
    path = tmp_path_factory.mktemp('tiny') / 'full.gguf'
    write_tiny_model(path, 'full')
    return str(path)


def _value(rows: list[Row], workload: str, arm: str, metric: str) -> float:
    return next(r.median for r in rows if (r.workload, r.arm, r.metric) == (workload, arm, metric))


def test_every_token_is_evaluated_once(tiny: str) -> None:
    """In turns, in sessions interleaved, after a restart and after a spill."""
    rows = list(counts(tiny, 0.5, lambda line: None))
    names = {r.workload for r in rows}
    assert names == {'four_turn', 'ten_turn', 'eight_sessions', 'drop_thinking',
                     'long_then_short', 'restart', 'spill'}
    for name in names:
        new, calls = (_value(rows, name, 'ours', metric) for metric in ('new_tokens', 'calls'))
        assert _value(rows, name, 'ours', 'prefill_tokens') <= 1.02 * new + calls
    # The count can fail: without the cache everything is evaluated at every call.
    assert _value(rows, 'ten_turn', 'ours_nocache', 'prefill_tokens') > 10 * _value(
        rows, 'ten_turn', 'ours', 'prefill_tokens')


def test_half_of_the_room_that_is_needed(tiny: str) -> None:
    """The prefix stays, and every session goes on."""
    arm = EngineArm(EngineConfig(model_path=tiny, context_tokens=2048, max_sessions=8))
    prefix = filler(arm.tokenize, 300, 'prefix')
    arm.warm_up(prefix)
    generator, sessions = random.Random(0), {}
    cached = prompt = 0
    for step in range(120):
        session = f's{generator.randrange(8)}'
        tokens = sessions.get(session, prefix) + filler(arm.tokenize, 60, str(step))
        end = arm.generate(session, tokens)
        cached, prompt = cached + end.cached, prompt + end.cached + end.prefill
        assert end.cached >= len(prefix)
        assert list(arm.engine._cache.tokens(PREFIX)) == list(prefix)
        arm.engine.check_integrity()
        tokens += end.tokens
        sessions[session] = tokens if len(tokens) < 850 else prefix
    assert cached / prompt > 0.7
    arm.close()


@pytest.mark.parametrize('steps, share', [
    pytest.param(200, 0.02),
    pytest.param(2000, 0.01, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])])
def test_memory_does_not_grow(test_model: str, tiny: str, steps: int, share: float) -> None:
    figure, = growth(tiny if steps < 2000 else test_model, steps, lambda line: None)
    assert figure.median < share


def test_texts_of_workloads_have_the_length_that_they_say(tiny: str) -> None:
    engine = LocalEngine(EngineConfig(model_path=tiny, context_tokens=512, max_sessions=1))
    texts = {filler(lambda text: engine.tokenize(text, False), 50, str(i)) for i in range(20)}
    assert len(texts) == 20 and {len(text) for text in texts} == {50}
    engine.close()
    for workload in workloads():
        tokens = sum(turn.tokens for turn in workload.turns if turn.session == 'a')
        assert workload.prefix + tokens < workload.context
        assert isinstance(workload.scaled(0.125), Workload)


def test_types_of_cells_are_compared_by_their_calls(tiny: str) -> None:
    rows = compare_types(tiny, (4096,), 3)
    assert [r['type'] for r in rows] == ['f16', 'q8_0', 'q4_0']
    assert rows[0]['same'] == 3 and rows[1]['kv_bytes'] <= 0.55 * rows[0]['kv_bytes']
    assert len({q.fact for q in questions(200) if q.fact}) == 10


def test_figures_are_medians() -> None:
    figure = row('w', 'a', 'm', [3.0, 1.0, 2.0, 100.0], 's')
    assert (figure.median, figure.p95, figure.n) == (2.5, 100.0, 4)


def _edge_llm(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, '-m', 'edge_llm_ros.cli.main', *arguments],
                          capture_output=True, text=True, timeout=240)


def test_the_prompt_that_ships_is_reused(test_model: str) -> None:
    done = _edge_llm('cache', '--model', test_model)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('%') == 9 and ' 98.' in done.stdout.splitlines()[-1]


@pytest.fixture
def small_prompt(tmp_path: Path) -> list[str]:
    """Return the arguments for a prompt of one tool, which the time of day makes dynamic."""
    prompt, tools = tmp_path / 'prompt.yaml', tmp_path / 'tools.yaml'
    prompt.write_text('version: 1\nsystem: You control a robot. It is 14:35 now.\n')
    tools.write_text("""version: 1
tools:
  look: {description: Look., effect: read, read: {topic: seen, type: std_msgs/msg/String},
         result: [data]}
""")
    return ['--prompt', str(prompt), '--tools', str(tools)]


def test_a_prompt_that_looks_dynamic_fails(test_model: str, small_prompt: list[str]) -> None:
    done = _edge_llm('cache', '--model', test_model, *small_prompt)
    assert done.returncode == 2 and 'a time of day' in done.stderr
    assert _edge_llm('cache', '--model', test_model, *small_prompt, '--allow-dynamic',
                     '--threshold', '0.5').returncode == 0


def test_a_prompt_that_is_not_reused_enough_fails(test_model: str, small_prompt: list[str]
                                                  ) -> None:
    done = _edge_llm('cache', '--model', test_model, *small_prompt, '--allow-dynamic',
                     '--threshold', '0.99')
    assert done.returncode == 1 and 'below 99%' in done.stderr


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return a log of three prompts, the second going on, the third changed at the start."""
    path = tmp_path / 'log.jsonl'
    prompts = ['It is noon. ' + 'x' * 88, 'It is noon. ' + 'x' * 188, 'It was noon.' + 'x' * 88]
    path.write_text('\n'.join(json.dumps({'prompt': prompt}) for prompt in prompts))
    return path


def test_a_log_tells_what_repeats(log: Path) -> None:
    read = list(read_log(str(log), lambda text: tuple(text.encode())))
    assert [(p.tokens, p.repeated) for p in read] == [(100, 0), (200, 100), (100, 3)]
    done = _edge_llm('cache', '--log', str(log))
    assert done.returncode == 1
    assert '400 bytes; 103 of them (25.8%)' in done.stdout and 'helps little' in done.stdout
    assert _edge_llm('cache', '--log', str(log), '--threshold', '0.2').returncode == 0


def test_a_log_may_hold_messages_or_tokens(tmp_path: Path) -> None:
    path = tmp_path / 'log'
    messages = [{'role': 'user', 'content': 'Grüße'}]
    path.write_text('\n'.join(map(json.dumps, [
        {'tokens': [1, 2, 3]}, {'tokens': [1, 2, 3]}, {'messages': messages},
        {'messages': [*messages, {'role': 'assistant', 'content': 'ja'}]}])))
    read = list(read_log(str(path), lambda text: tuple(text.encode())))
    assert read[1].repeated == 2 and read[3].repeated == read[2].tokens


@pytest.mark.parametrize('line', ['{', '[]', '{"text": 1}', '{"prompt": 3}', '3',
                                  '{"tokens": ["a"]}', '{"tokens": [99999999999]}'])
def test_a_log_that_cannot_be_read_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / 'log'
    path.write_text('{"prompt": "a"}\n' + line)
    with pytest.raises(ConfigError, match='prompt 2: '):
        list(read_log(str(path), lambda text: tuple(text.encode())))


def test_no_such_part_of_the_benchmark(test_model: str) -> None:
    done = _edge_llm('bench', 'all', '--model', test_model)
    assert done.returncode == 2 and 'parts: speed, counts' in done.stderr


def test_a_report_is_written(tiny: str, tmp_path: Path) -> None:
    done = _edge_llm('bench', 'counts', 'fork', '--model', tiny, '--scale', '0.1', '--repeats',
                     '1', '--out', str(tmp_path))
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / 'report.json').read_text())
    assert {'commit', 'llama_cpp', 'model'} <= set(report['meta'])
    assert {'workload', 'arm', 'metric', 'median', 'p95', 'n', 'unit'} == set(report['rows'][0])
    assert [r['median'] for r in report['rows'] if r['metric'] == 'extra_cells'] == [0]
    assert '| ten_turn | ours | prefill_tokens |' in (tmp_path / 'report.md').read_text()


def _figures(folder: Path) -> dict[tuple[str, str, str], float]:
    rows = json.loads((folder / 'report.json').read_text())['rows']
    return {(r['workload'], r['arm'], r['metric']): r['median'] for r in rows}


def test_arms_make_the_calls_of_the_file(test_model: str, tmp_path: Path) -> None:
    """With random weights, where the file's calls are taken: every arm does the same work."""
    done = _edge_llm(
        'bench', 'speed', '--synthetic', 'tiny', '--vocabulary', test_model, '--out',
        str(tmp_path), '--scale', '0.1', '--repeats', '1', '--threads', '1', '--workloads',
        'four_turn', 'argument_copy')
    assert done.returncode == 0, done.stderr
    figures = _figures(tmp_path)
    arms = {arm for workload, arm, _ in figures}
    assert arms == {'ours', 'ours_in_process', 'ours_nocache', 'ours_noforced', 'ours_noguess',
                    'baseline'}
    for workload, calls in (('four_turn', 4), ('argument_copy', 3)):
        for arm in arms:
            assert figures[workload, arm, 'valid_calls'] == calls
            assert figures[workload, arm, 'diverged_steps'] == 0
            assert figures[workload, arm, 'wall_s'] > 0
            assert (figures[workload, arm, 'peak_memory_bytes'] is None) == (
                arm == 'ours_in_process'), 'in a process with others it cannot be told'
            assert (workload, arm, 'energy_joule') in figures
        assert figures[workload, 'ours', 'arguments'] >= figures[workload, 'ours', 'text_calls']
        assert figures[workload, 'ours', 'prefill_tokens'] <= (
            1.02 * figures[workload, 'ours', 'new_tokens'] + calls)
        # Decodes are choices, and chunks of the prompt beyond the first.
        chunks = figures[workload, 'ours', 'new_tokens'] / 16 + calls
        assert figures[workload, 'ours', 'decode_calls'] <= (
            figures[workload, 'ours', 'sampled_tokens'] + chunks)
    key = 'four_turn', 'ours', 'sampled_tokens'
    assert 4 * figures[key] < figures['four_turn', 'ours_noforced', 'sampled_tokens']
    page = (tmp_path / 'report.html').read_text()
    assert 'data:image/png;base64,' in page and 'http' not in page.replace('http-equiv', '')
    assert {p.name for p in tmp_path.glob('*.png')} == {
        'four_turn.png', 'argument_copy.png', 'speedup.png'}


def test_a_peer_is_measured_beside_ours(test_model: str, tmp_path: Path) -> None:
    model = write_synthetic(tmp_path / 'm.gguf', 'tiny', 'q4_k_m', test_model)
    done = _edge_llm(
        'bench', 'speed', '--model', str(model), '--arms', 'ours', 'llama_cpp_python', '--out',
        str(tmp_path), '--scale', '0.6', '--repeats', '1', '--workloads', 'new_goal')
    assert done.returncode == 0, done.stderr
    figures = _figures(tmp_path)
    # Such a model says nothing; what it does is counted, and not compared in time.
    for arm in ('ours', 'llama_cpp_python'):
        assert figures['new_goal', arm, 'calls'] == 3
    report = json.loads((tmp_path / 'report.json').read_text())
    assert report['meta']['arms']['ours']['weights_bytes'] > 1e6


def test_a_peer_that_is_missing_is_named(test_model: str, tmp_path: Path,
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('PATH', '/usr/bin')
    monkeypatch.delenv('LLAMA_SERVER', raising=False)
    done = _edge_llm('bench', 'speed', '--model', test_model, '--arms', 'ours', 'llama_server',
                     '--out', str(tmp_path), '--workloads', 'new_goal', '--scale', '0.1')
    assert done.returncode == 2 and 'make bench-peers' in done.stderr


@pytest.mark.parametrize('arguments, words', [
    (['speed'], '--model is needed'), (['speed', '--synthetic', 'tiny'], 'needs --vocabulary')])
def test_what_the_benchmark_needs_is_said(arguments: list[str], words: str) -> None:
    done = _edge_llm('bench', *arguments)
    assert done.returncode == 2 and words in done.stderr


def test_scripts_are_the_same_for_every_arm_and_new_in_every_round(demo_model: str) -> None:
    engine = LocalEngine(EngineConfig(model_path=demo_model, context_tokens=256, max_sessions=1))
    script = Script(engine, engine.info())
    for workload in (w for w in workloads() if w.scripted):
        small = workload.scaled(0.125) if workload.prefix > 2300 else workload
        steps = list(script.steps(small, 1))
        assert steps == list(script.steps(small, 1))
        other = list(script.steps(small, 2))
        prefix = script.prefix(small)
        assert abs(len(prefix) - small.prefix) <= max(4, len(script.prefix(
            small.model_copy(update={'prefix': 1}))) - small.prefix)
        for mine, theirs, turn in zip(steps, other, small.turns):
            assert mine.tokens != theirs.tokens and mine.call == theirs.call
            assert mine.tokens[:len(prefix)] == prefix
            if turn.tokens > 60:
                assert abs(mine.new - turn.tokens) <= 16
            assert script.format.parse(
                engine.detokenize(mine.call_tokens).decode()) == mine.call
    engine.close()


@pytest.mark.parametrize('scale', [0.125, 1.0])
def test_every_scripted_workload_fits_into_its_own_context(test_model: str, scale: float) -> None:
    vocabulary = ModelVocabulary(test_model)
    script = Script(vocabulary, vocabulary.info())
    for workload in chosen([w.name for w in workloads() if w.scripted], scale):
        longest = max(len(step.tokens) for step in script.steps(workload, 0))
        assert longest + 128 <= workload.context, workload.name
    vocabulary.close()
