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

"""The engine in a process of its own: what ends it is an error of one request and no more."""

from collections.abc import Callable, Iterator
import os
from pathlib import Path
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

from edge_llm_ros.engine.host import HostEngine, RESTARTED
from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.flow.engine import (
    EngineConfig, GenerateRequest, PrefillProgress, Stop, TokensProgress)
from edge_llm_ros.flow.errors import EngineError
from hypothesis import given, HealthCheck, settings, strategies as st
import pytest
from robot_bench import children
# Run here against the engine in its own process; `engine` is the fixture below.
from test_engine import (  # noqa: F401
    FORCED, GRAMMAR, PREFIX, prompt, run,
    test_a_cancel_that_comes_first_is_remembered,
    test_a_new_session_evaluates_only_its_own_tokens,
    test_an_abandoned_request_leaves_the_engine_usable,
    test_cancel_in_prefill_keeps_what_was_evaluated,
    test_length_limit_is_reported,
    test_other_sessions_are_not_touched_by_a_cancel,
    test_sampling_is_repeatable_by_seed,
    test_several_calls_that_are_forced_whole_are_no_prefill_later,
    test_the_next_call_of_a_session_evaluates_only_what_is_new,
    test_wrong_grammar_is_refused_in_words)
from tiny_models import write_tiny_model

SMALL = {'context_tokens': 512, 'max_sessions': 1, 'threads': 1}


@pytest.fixture(scope='module')
def engine(test_model: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostEngine]:
    """Return an engine in a process of its own, as the one of conftest.py is in this one."""
    engine = HostEngine(EngineConfig(
        model_path=test_model, context_tokens=2048, max_sessions=4, chunk_seconds=0.02, threads=1,
        prefix_folder=str(tmp_path_factory.mktemp('prefixes'))), patience=1.0)
    yield engine
    engine.close()


@pytest.fixture
def warm(engine: HostEngine) -> HostEngine:
    """Return the engine with its prefix there and no session."""
    list(engine.warm_up(engine.tokenize(PREFIX, True)))
    return engine


@pytest.fixture(scope='module')
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a model that loads in no time."""
    path = tmp_path_factory.mktemp('tiny') / 'full.gguf'
    write_tiny_model(path, 'full')
    return str(path)


def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, 'timed out'
        time.sleep(0.01)


def running(pid: int) -> bool:
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False


def request(engine: HostEngine, session: str, text: str, tokens: int = 96) -> GenerateRequest:
    request.number += 1
    return GenerateRequest(f'r{request.number}', session, prompt(engine, text), GRAMMAR, tokens)


request.number = 0


# Texts and tokens

@settings(max_examples=40, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=200), st.booleans())
def test_texts_are_tokenised_as_in_this_process(
        engine: HostEngine, vocabulary: LocalEngine, text: str, special: bool) -> None:
    text = text.replace('\0', ' ')
    tokens = vocabulary.tokenize(text, special)
    assert engine.tokenize(text, special) == engine.tokenize(text, special) == tokens
    assert engine.detokenize(tokens) == vocabulary.detokenize(tokens)


@pytest.fixture(scope='module')
def vocabulary(test_model: str) -> Iterator[LocalEngine]:
    engine = LocalEngine(EngineConfig(model_path=test_model, **SMALL))
    yield engine
    engine.close()


def test_texts_are_tokenised_while_a_request_runs(warm: HostEngine) -> None:
    stream = warm.generate(request(warm, 'a', 'Look around. ' * 100))
    assert isinstance(next(stream), PrefillProgress)
    start = time.monotonic()
    assert warm.tokenize('something that was never asked before', False)
    assert time.monotonic() - start < 1.0
    assert list(stream)[-1].prefill > 100, 'it was over already'


def test_a_cancel_ends_a_decode_that_is_running(test_model: str) -> None:
    engine = HostEngine(EngineConfig(model_path=test_model, context_tokens=4096,
                                     batch_tokens=2048, chunk_seconds=60.0, threads=1))
    try:
        tokens = engine.tokenize('Look here. ' * 600, True)
        stream = engine.generate(GenerateRequest('r', 'a', tokens, GRAMMAR, 96))
        assert next(stream).evaluated < 100  # and the next chunk is all the rest
        threading.Timer(0.3, engine.cancel, ['r']).start()
        start = time.monotonic()
        end = list(stream)[-1]
        assert end.stop is Stop.CANCELED and end.prefill < len(tokens)
        assert time.monotonic() - start < 1.3
        engine.check_integrity()
    finally:
        engine.close()


# Faults

def starve(pid: int) -> None:
    """Let no allocation of a process succeed any more."""
    resource.prlimit(pid, resource.RLIMIT_AS, (1 << 20, 1 << 20))


FAULTS = {'SIGKILL': lambda pid: os.kill(pid, signal.SIGKILL),
          'SIGSEGV': lambda pid: os.kill(pid, signal.SIGSEGV),
          'SIGSTOP': lambda pid: os.kill(pid, signal.SIGSTOP),
          'memory': starve}


def inflict(engine: HostEngine, fault: str) -> None:
    FAULTS[fault](engine.state.pid)
    if fault == 'memory':
        # The engine has all that it needs for a request; this needs more.
        with pytest.raises(EngineError):
            engine.tokenize('look ' * (1 << 20), False)


@pytest.mark.parametrize('phase', ['idle', 'prefill', 'decode'])
@pytest.mark.parametrize('fault', FAULTS)
def test_a_fault_ends_the_request_and_the_next_one_works(warm: HostEngine, fault: str, phase: str
                                                         ) -> None:
    before = run(warm, 'a', prompt(warm, 'Say hello.'))
    restarts = warm.state.restarts
    text, kind = {'idle': ('Say hello.', None), 'prefill': ('Look. ' * 200, PrefillProgress),
                  'decode': ('Say hello.', TokensProgress)}[phase]
    asked = request(warm, 'a', text)
    try:
        if phase == 'idle':
            inflict(warm, fault)
        for event in warm.generate(asked):
            if kind is not None and isinstance(event, kind):
                inflict(warm, fault)
                kind = None
        # Only while idle can the end be noticed before the request is made.
        assert phase == 'idle'
    except EngineError as error:
        assert {'SIGKILL': 'SIGKILL', 'SIGSEGV': 'SIGSEGV', 'SIGSTOP': 'no sign of life',
                'memory': 'the engine process'}[fault] in str(error)
    start = time.monotonic()
    tokens = prompt(warm, 'Say hello.')
    end = run(warm, 'a', tokens)
    assert time.monotonic() - start < 10
    assert end.tokens == before.tokens and end.cached >= len(warm.tokenize(PREFIX, True)) - 1
    assert end.lost in (RESTARTED, '') and (phase == 'idle' or end.lost == RESTARTED)
    state = warm.state
    assert state.alive and state.restarts == restarts + 1 and state.last_error


def test_an_end_while_idle_is_seen_at_once(warm: HostEngine) -> None:
    os.kill(warm.state.pid, signal.SIGKILL)
    until(lambda: not warm.state.alive)
    assert 'SIGKILL' in warm.state.last_error and warm.state.pid == 0
    assert run(warm, 'a', prompt(warm, 'Go.')).stop is Stop.COMPLETE


def test_an_end_is_told_before_it_can_be_seen(warm: HostEngine) -> None:
    told: list[tuple[str, bool]] = []
    withdraw = warm.on_end(lambda why: told.append((why, warm.state.alive)))
    os.kill(warm.state.pid, signal.SIGKILL)
    until(lambda: not warm.state.alive)
    assert [('SIGKILL' in why, alive) for why, alive in told] == [(True, True)]
    assert run(warm, 'a', prompt(warm, 'Go.')).stop is Stop.COMPLETE
    withdraw()
    os.kill(warm.state.pid, signal.SIGKILL)
    until(lambda: not warm.state.alive)
    assert len(told) == 1
    assert run(warm, 'a', prompt(warm, 'Go.')).stop is Stop.COMPLETE


def test_a_cancel_is_seen_while_the_model_loads_again(warm: HostEngine) -> None:
    asked = request(warm, 'a', 'Go on and tell me more.')
    os.kill(warm.state.pid, signal.SIGKILL)
    until(lambda: not warm.state.alive)
    assert warm.tokenize('words that nobody knows before', False)
    threading.Timer(0.02, warm.cancel, [asked.id]).start()
    end, = warm.generate(asked)
    assert (end.stop, end.decode_calls) == (Stop.CANCELED, 0)
    assert run(warm, 'a', asked.tokens).stop is Stop.COMPLETE


def test_one_that_ends_again_and_again_has_to_wait(warm: HostEngine) -> None:
    asked = request(warm, 'a', 'Go.')
    for _ in range(2):
        stream = warm.generate(asked)
        next(stream)
        os.kill(warm.state.pid, signal.SIGKILL)
        with pytest.raises(EngineError, match='SIGKILL'):
            list(stream)
    start = time.monotonic()
    with pytest.raises(EngineError, match='2 times in a row; it is started again in'):
        list(warm.generate(asked))
    assert time.monotonic() - start < 0.5
    time.sleep(1.0)
    assert list(warm.generate(asked))[-1].stop is Stop.COMPLETE


def test_signals_of_a_group_do_not_end_it(warm: HostEngine) -> None:
    pid = warm.state.pid
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(pid, number)
    assert run(warm, 'a', prompt(warm, 'Go.')).stop is Stop.COMPLETE
    assert warm.state.pid == pid


def test_another_model_under_the_same_name_is_refused(tiny: str, tmp_path: Path) -> None:
    path = tmp_path / 'model.gguf'
    shutil.copy(tiny, path)
    engine = HostEngine(EngineConfig(model_path=str(path), **SMALL))
    try:
        asked = GenerateRequest('r', 'a', engine.tokenize('hehe', False), FORCED, 20)
        path.unlink()
        write_tiny_model(path, 'window')
        os.kill(engine.state.pid, signal.SIGKILL)
        until(lambda: not engine.state.alive)
        with pytest.raises(EngineError, match='is another one than at configure'):
            list(engine.generate(asked))
    finally:
        engine.close()


# Beginning and end

@pytest.mark.parametrize('content, reason', [(None, 'there is no file'),
                                             (b'GGUF' + bytes(200), 'cannot load')])
def test_files_that_are_no_model_are_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / 'model.gguf'
    if content is not None:
        path.write_bytes(content)
    before = children(os.getpid())
    with pytest.raises(EngineError, match=reason):
        HostEngine(EngineConfig(model_path=str(path)))
    assert children(os.getpid()) == before


def test_loading_is_told_and_can_be_given_up(test_model: str) -> None:
    shares: list[float] = []
    with pytest.raises(EngineError, match='given up'):
        HostEngine(EngineConfig(model_path=test_model), lambda: not shares, shares.append)
    assert 0 <= shares[0] <= 1


def test_the_process_is_the_first_to_go_and_gives_way(tiny: str) -> None:
    core = min(os.sched_getaffinity(0))
    engine = HostEngine(EngineConfig(model_path=tiny, cpu_affinity=str(core), niceness=7, **SMALL))
    try:
        process = Path(f'/proc/{engine.state.pid}')
        assert (process / 'oom_score_adj').read_text() == '800\n'
        evaluating = [int(t.name) for t in (process / 'task').iterdir()
                      if os.getpriority(os.PRIO_PROCESS, int(t.name)) == 7]
        assert evaluating and all(os.sched_getaffinity(t) == {core} for t in evaluating)
        assert os.getpriority(os.PRIO_PROCESS, engine.state.pid) == os.getpriority(
            os.PRIO_PROCESS, 0)
    finally:
        engine.close()


def test_a_closed_engine_says_so_and_its_request_ends(warm_again: HostEngine) -> None:
    engine, pid = warm_again, warm_again.state.pid
    stream = engine.generate(request(engine, 'a', 'Look. ' * 200))
    next(stream)
    threading.Timer(0.05, engine.close).start()
    try:
        assert list(stream)[-1].stop is Stop.CANCELED
    except EngineError as error:
        assert 'closed' in str(error)
    engine.close()
    assert not running(pid)
    for use in (lambda: list(engine.warm_up([1, 2])), lambda: engine.tokenize('a', False),
                lambda: engine.detokenize([1]), lambda: engine.check_grammar(FORCED),
                engine.batch_costs, engine.check_integrity):
        with pytest.raises(EngineError, match='closed'):
            use()


@pytest.fixture
def warm_again(test_model: str) -> Iterator[HostEngine]:
    engine = HostEngine(EngineConfig(model_path=test_model, context_tokens=2048, threads=1))
    yield engine
    engine.close()


def test_twenty_rounds_leave_nothing_behind(tiny: str) -> None:
    def left() -> tuple[int, int, list[int]]:
        return (threading.active_count(), len(os.listdir('/proc/self/fd')),
                children(os.getpid()))

    before = left()
    for number in range(20):
        engine = HostEngine(EngineConfig(model_path=tiny, **SMALL))
        assert engine.tokenize('he', False)
        if number % 2:
            os.kill(engine.state.pid, signal.SIGKILL)
        engine.close()
    threads, files, processes = left()
    # Fewer where a timer of the test before had not ended when this one began.
    assert threads <= before[0] and files <= before[1] and processes == before[2]


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_its_parent(tiny: str, number: int) -> None:
    code = ('import sys, time\n'
            'from edge_llm_ros.engine.host import HostEngine\n'
            'from edge_llm_ros.flow.engine import EngineConfig\n'
            'engine = HostEngine(EngineConfig(model_path=sys.argv[1], context_tokens=512))\n'
            'assert "llama_cpp" not in sys.modules\n'
            'print(engine.state.pid, flush=True)\n'
            'time.sleep(60)\n')
    parent = subprocess.Popen([sys.executable, '-c', code, tiny], stdout=subprocess.PIPE,
                              text=True)
    child = int(parent.stdout.readline())
    assert running(child)
    parent.send_signal(number)
    parent.wait(5.0)
    until(lambda: not running(child))
    parent.stdout.close()
