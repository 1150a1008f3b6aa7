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
"""The engine with a real model: sessions, counts, forced tokens, cancel, refusals."""

import json
import threading

from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.flow.engine import (
    Completion, EngineConfig, GenerateRequest, PrefillProgress, Sampling, Stop, TokensProgress)
from edge_llm_ros.flow.errors import ContextFull, EngineError
import pytest

PREFIX = 'You control a robot that drives, grasps and speaks. ' * 12
GRAMMAR = """%llguidance {}
start: "{\\"name\\": \\"" ( go | say ) "}" <|im_end|>
go: "go\\", \\"place\\": " %json {"enum": ["kitchen", "office", "storage room"]}
say: "say\\", \\"text\\": " %json {"type": "string", "maxLength": 60}
"""
FORCED = '%llguidance {}\nstart: "{\\"name\\": \\"stop\\"}" <|im_end|>\n'


def prompt(engine: LocalEngine, text: str) -> tuple[int, ...]:
    return engine.tokenize(PREFIX, True) + engine.tokenize(
        f'<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n', True)


def run(engine: LocalEngine,
        session: str,
        tokens: tuple[int, ...],
        grammar: str = GRAMMAR,
        **fields: object) -> Completion:
    request = GenerateRequest(f'{session}{id(tokens)}', session, tokens, grammar, 96, **fields)
    *events, end = engine.generate(request)
    streamed = [t for e in events if isinstance(e, TokensProgress) for t in e.tokens]
    assert tuple(streamed) == end.tokens[:len(streamed)]
    engine.check_integrity()
    return end


@pytest.fixture
def warm(engine: LocalEngine) -> LocalEngine:
    """Return the engine with its prefix evaluated and no session."""
    *_, last = engine.warm_up(engine.tokenize(PREFIX, True))
    assert last == PrefillProgress(last.total, last.total)
    return engine


def test_a_new_session_evaluates_only_its_own_tokens(warm: LocalEngine) -> None:
    prefix = len(warm.tokenize(PREFIX, True))
    for session in ('a', 'b'):
        tokens = prompt(warm, f'Session {session}: where now?')
        end = run(warm, session, tokens)
        assert end.stop is Stop.COMPLETE
        assert end.cached >= prefix and end.cached + end.prefill == len(tokens)
        assert end.prefill <= len(tokens) - prefix + 1


def test_the_next_call_of_a_session_evaluates_only_what_is_new(warm: LocalEngine) -> None:
    first = prompt(warm, 'Go somewhere.')
    end = run(warm, 'a', first)
    new = warm.tokenize('\n<|im_start|>user\nThere you are.<|im_end|>\n<|im_start|>assistant\n',
                        True)
    again = run(warm, 'a', first + end.tokens + new)
    # What was forced after the last choice rides along, and is neither cached nor prefill.
    assert again.prefill == len(new)
    assert len(first + end.tokens) - 12 < again.cached < len(first + end.tokens)
    assert again.decode_calls >= again.origins.count('S')


def test_decode_calls_are_choices_and_further_chunks(warm: LocalEngine) -> None:
    tokens = prompt(warm, 'Go.')
    run(warm, 'a', tokens)
    end = run(warm, 'a', tokens)
    assert end.prefill == 1  # everything was there; one token is evaluated again for its logits
    assert end.decode_calls == end.origins.count('S')
    assert end.origins.startswith('FFF')


def test_text_after_a_fork_equals_that_of_an_engine_that_did_nothing_else(test_model: str) -> None:
    """At the same chunk boundaries; at others, logits differ in the last digits."""
    text = 'Tell the people in the kitchen that the soup is hot.'
    results = []
    for others in ((), ('Go.', 'Where are you?')):
        # Chunks of the smallest size, whatever the machine has to do beside this.
        engine = LocalEngine(EngineConfig(model_path=test_model, context_tokens=2048,
                                          max_sessions=3, chunk_seconds=1e-6))
        list(engine.warm_up(engine.tokenize(PREFIX, True)))
        for i, other in enumerate(others):
            run(engine, f'other {i}', prompt(engine, other))
            engine.release(f'other {i}')
        results.append(run(engine, 'a', prompt(engine, text)))
        call = json.loads(
            engine.detokenize(results[-1].tokens).decode().removesuffix('<|im_end|>'))
        assert call['name'] in ('go', 'say')
        engine.close()
    assert results[0].tokens == results[1].tokens and results[0].cached == results[1].cached > 0


def test_what_is_forced_whole_needs_no_decode(warm: LocalEngine) -> None:
    tokens = prompt(warm, 'Stop.')
    end = run(warm, 'a', tokens, FORCED)
    assert (end.decode_calls, end.prefill, set(end.origins)) == (0, 0, {'F'})
    # Its message is prefill once a choice is due; what was forced is not.
    rest = warm.tokenize('\n<|im_start|>user\nGo on.<|im_end|>\n<|im_start|>assistant\n', True)
    again = run(warm, 'a', tokens + end.tokens + rest)
    assert again.prefill == len(tokens) - end.cached + len(rest)


def test_several_calls_that_are_forced_whole_are_no_prefill_later(warm: LocalEngine) -> None:
    conversation = prompt(warm, 'Stop.')
    messages = len(conversation)
    start = None
    for text in ('Again.', 'And again.', 'Go on.'):
        end = run(warm, 'a', conversation, FORCED if text != 'Go on.' else GRAMMAR)
        start = end.cached if start is None else start
        if text == 'Go on.':
            break
        new = warm.tokenize(f'\n<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n', True)
        messages += len(new)
        conversation += end.tokens + new
    assert end.prefill == messages - start


def test_sampling_is_repeatable_by_seed(warm: LocalEngine) -> None:
    tokens = prompt(warm, 'Say something nice.')
    texts = {}
    for seed in (1, 2, 1):
        sampling = Sampling(temperature=1.5, top_k=0, top_p=1.0, min_p=0.0, seed=seed)
        end = run(warm, 'a', tokens, sampling=sampling)
        assert texts.setdefault(seed, end.tokens) == end.tokens
    assert texts[1] != texts[2]


def test_cancel_in_prefill_keeps_what_was_evaluated(warm: LocalEngine) -> None:
    tokens = prompt(warm, 'Look. ' * 300)
    stream = warm.generate(GenerateRequest('r', 'a', tokens, GRAMMAR, 96))
    assert isinstance(next(stream), PrefillProgress)
    warm.cancel('r')
    end = list(stream)[-1]
    assert end.stop is Stop.CANCELED and end.prefill < 300
    warm.check_integrity()
    assert run(warm, 'a', tokens).cached >= end.cached + end.prefill


def test_cancel_from_another_thread_ends_a_running_decode(test_model: str) -> None:
    # One chunk of the whole prompt: without the abort callback this would not be seen in time.
    engine = LocalEngine(
        EngineConfig(model_path=test_model,
                     context_tokens=4096,
                     batch_tokens=2048,
                     chunk_seconds=60.0))
    try:
        engine._evaluator.pace.measured(2048, 1.0)
        tokens = engine.tokenize('Look here. ' * 600, True)
        assert engine._evaluator.pace.chunk == 2048 > len(tokens) > 1500
        timer = threading.Timer(0.3, engine.cancel, ['r'])
        timer.start()
        end = list(engine.generate(GenerateRequest('r', 'a', tokens, GRAMMAR, 96)))[-1]
        timer.join()
        assert end.stop is Stop.CANCELED and end.prefill < len(tokens)
        engine.check_integrity()
        assert run(engine, 'a', tokens).stop is Stop.COMPLETE
    finally:
        engine.close()


def test_a_cancel_that_comes_first_is_remembered(warm: LocalEngine) -> None:
    warm.cancel('early')
    end = list(warm.generate(GenerateRequest('early', 'a', prompt(warm, 'Go.'), GRAMMAR, 96)))[-1]
    assert end.stop is Stop.CANCELED and end.decode_calls == 0
    assert run(warm, 'a', prompt(warm, 'Go.')).stop is Stop.COMPLETE


def test_other_sessions_are_not_touched_by_a_cancel(warm: LocalEngine) -> None:
    tokens = prompt(warm, 'Go to the office.')
    before = run(warm, 'b', tokens)
    stream = warm.generate(GenerateRequest('r', 'a', prompt(warm, 'Look. ' * 200), GRAMMAR, 96))
    next(stream)
    warm.cancel('r')
    list(stream)
    assert run(warm, 'b', tokens).tokens == before.tokens


def test_an_abandoned_request_leaves_the_engine_usable(warm: LocalEngine) -> None:
    stream = warm.generate(GenerateRequest('r', 'a', prompt(warm, 'Look. ' * 200), GRAMMAR, 96))
    next(stream)
    stream.close()
    assert run(warm, 'a', prompt(warm, 'Go.')).stop is Stop.COMPLETE


def test_length_limit_is_reported(warm: LocalEngine) -> None:
    request = GenerateRequest('r', 'a', prompt(warm, 'Go.'), GRAMMAR, 4)
    assert list(warm.generate(request))[-1].stop is Stop.LENGTH


def test_what_does_not_fit_is_refused_and_sessions_are_evicted_before(warm: LocalEngine) -> None:
    for i in range(6):  # together more than the context
        assert run(warm, f's{i}', prompt(warm, f'{i} look. ' * 150)).stop is Stop.COMPLETE
    with pytest.raises(ContextFull, match='context_tokens = 2048'):
        run(warm, 'a', prompt(warm, 'Look. ' * 2000))
    prefix = len(warm.tokenize(PREFIX, True))
    assert run(warm, 'new', prompt(warm, 'Go.')).cached >= prefix - 1


def test_wrong_grammar_is_refused_in_words(warm: LocalEngine) -> None:
    with pytest.raises(EngineError, match='grammar: .*unknown'):
        warm.check_grammar('%llguidance {}\nstart: nothing_of_this_name\n')


@pytest.mark.parametrize('content, reason', [(None, 'there is no file'),
                                             (b'PK\x03\x04', 'not a GGUF file'),
                                             (b'GGUF' + bytes(200), 'cannot load')])
def test_files_that_are_no_model_are_refused(tmp_path, content: bytes, reason: str) -> None:
    path = tmp_path / 'model.gguf'
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(EngineError, match=reason):
        LocalEngine(EngineConfig(model_path=str(path)))


def test_a_closed_engine_says_so(test_model: str) -> None:
    engine = LocalEngine(EngineConfig(model_path=test_model, context_tokens=512))
    engine.close()
    engine.close()
    for use in (lambda: list(engine.warm_up([1, 2])), lambda: engine.tokenize('a', False),
                lambda: engine.detokenize([1]), lambda: engine.check_grammar(FORCED)):
        with pytest.raises(EngineError, match='closed'):
            use()


def test_loading_can_be_given_up(test_model: str) -> None:
    with pytest.raises(EngineError, match='given up'):
        LocalEngine(EngineConfig(model_path=test_model), keep_loading=lambda: False)
