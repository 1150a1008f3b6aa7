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

"""Sessions that outgrow their room, and tool results that are too long."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.engine import EngineConfig, GenerateRequest
from edge_llm_ros.flow.errors import CallCutShort, ContextFull
from edge_llm_ros.flow.metrics import TokenCounts
from edge_llm_ros.flow.model import CallCanceled, CallMade
from edge_llm_ros.flow.result import Outcome
from edge_llm_ros.flow.tool import Observation, Status, ToolCall, ToolSchema
from edge_llm_ros.prompt.formats import chat_format
from edge_llm_ros.prompt.generation_limits import GenerationLimits
from edge_llm_ros.prompt.local_conversation import LocalConversation
from edge_llm_ros.prompt.local_model import LocalModel
from edge_llm_ros.prompt.shorten import shortened
from edge_llm_ros.prompt.transcript import Message, MessageKind, Transcript
from gguf_rename import copy_with
from hypothesis import given, settings, strategies as st
import pytest

LOOK = ToolSchema('look', 'Look around.', {
    'type': 'object', 'properties': {'at': {'type': 'string', 'enum': ['door', 'window']}},
    'required': ['at']})


@pytest.fixture(scope='module')
def small(test_model: str) -> Iterator[LocalEngine]:
    """Return an engine with little room."""
    engine = LocalEngine(EngineConfig(model_path=test_model, context_tokens=1024, max_sessions=2))
    yield engine
    engine.close()


def model_of(engine: LocalEngine, name: str = 'chatml', **limits: object) -> LocalModel:
    model = LocalModel(engine, chat_format(name, engine.info()), 'You are a robot.', [LOOK], [],
                       GenerationLimits(**{'call_tokens': 64, **limits}))
    list(model.warm_up())
    return model


def step(conversation: LocalConversation, text: str) -> CallMade:
    *_, made = conversation.next_call(None, Cancellation())
    assert isinstance(made, CallMade)
    conversation.observe(made.call, Observation(Status.SUCCEEDED, text))
    return made


def text_of(engine: LocalEngine, conversation: LocalConversation) -> str:
    return engine.detokenize(conversation.tokens).decode()


@pytest.mark.parametrize('name', ['chatml', 'json'])
def test_a_session_goes_on_beyond_its_room(small: LocalEngine, name: str) -> None:
    model = model_of(small, name)
    conversation = model.conversation('s')
    dropped = 0
    for goal in range(4):
        conversation.instruct(f'Goal {goal}: look everywhere.', '')
        for i in range(3):
            made = step(conversation, f'{{"seen": "thing {goal} {i}"}}' + ' ' + 'word ' * 70)
            dropped += 'left out' in made.lost
            assert made.counts.new <= made.counts.prefill
            if not made.lost:
                assert made.counts.prefill <= made.counts.new + 1
        conversation.end('')
    text = text_of(small, conversation)
    assert 1 <= dropped <= 4, 'room for several turns is made at once'
    assert text.count('left out to save room') == 1, 'the model is told once'
    assert 'Goal 3' in text and 'Goal 0' not in text
    assert text.startswith(small.detokenize(model.prefix).decode())
    small.check_integrity()


def test_the_steps_of_a_long_goal_are_dropped_but_not_its_instruction(small: LocalEngine) -> None:
    conversation = model_of(small).conversation('')
    conversation.instruct('Look at the door until it opens.', '')
    for i in range(16):
        step(conversation, f'{{"step": {i}}}' + ' word' * 50)
    text = text_of(small, conversation)
    assert 'until it opens' in text and '"step": 15' in text and '"step": 0}' not in text
    # Each call is followed by what came of it.
    assert text.count('<|im_start|>assistant') == text.count('<tool_response>')


def test_the_model_sums_up_what_is_dropped(small: LocalEngine) -> None:
    conversation = model_of(small, summary_length=80).conversation('')
    conversation.instruct('Look at the door.', '')
    cost = TokenCounts()
    for i in range(14):
        cost += step(conversation, f'{{"step": {i}}}' + ' word' * 30).counts
    text = text_of(small, conversation)
    summary = text.split('Summary: ')[1].split(')\n')[0]
    assert 0 < len(summary) <= 80 and 'user\nBefore going on' not in text
    assert cost.text > 0


def test_a_session_has_the_room_that_it_is_given(small: LocalEngine) -> None:
    model = model_of(small, session_tokens=200)
    conversation = model.conversation('s')
    for i in range(8):
        conversation.instruct(f'Goal {i}.', '')
        step(conversation, 'word ' * 20)
        conversation.end('')
        opening = model.tokens(model.format.call_prompt())
        assert len(conversation.tokens) - len(model.prefix) <= 200 + len(opening) + 64 + 40


def test_what_cannot_be_dropped_is_too_much(small: LocalEngine) -> None:
    conversation = model_of(small).conversation('')
    conversation.instruct('word ' * 2000, '')
    with pytest.raises(ContextFull):
        step(conversation, '')


def test_long_results_are_cut_with_a_mark(small: LocalEngine) -> None:
    model = model_of(small, observation_tokens=50)
    conversation = model.conversation('')
    conversation.instruct('Look.', '')
    before = len(conversation.tokens)
    conversation.observe(ToolCall('look', {'at': 'door'}),
                         Observation(Status.SUCCEEDED, '{"points": [' + '1.5, ' * 50_000 + ']}'))
    frame = len(model.tokens(model.format.observation(ToolCall('look'), '')))
    assert len(conversation.tokens) - before <= 50 + frame + 2
    assert 'of 250014 characters]' in text_of(small, conversation)


@settings(max_examples=200, deadline=None)
@given(st.text(), st.integers(30, 60))
def test_texts_are_cut_only_where_they_are_too_long(text: str, tokens: int) -> None:
    def count(text: str) -> int:
        return len(text.encode())  # a vocabulary of bytes

    short = shortened(text, tokens, count)
    if count(text) <= tokens:
        assert short == text
    elif count(f' … [cut: the first 0 of {len(text)} characters]') <= tokens:
        assert count(short) <= tokens and text.startswith(short.split(' … [cut')[0])


_kinds = st.lists(st.integers(0, 4), max_size=6)  # goals, each with some steps


@given(_kinds, st.integers(1, 100))
def test_dropping_keeps_the_goal_and_the_last_step(goals: list[int], room: int) -> None:
    transcript = Transcript((0, 0))
    for i, steps in enumerate(goals):
        transcript.append(Message(MessageKind.INSTRUCTION, (1,) * 5, f'goal {i}'))
        for _ in range(steps):
            transcript.append(Message(MessageKind.CALL, (2,) * 3))
            transcript.append(Message(MessageKind.OBSERVATION, (3,) * 4))
    before, calls = transcript.tokens, transcript.tokens.count(2)
    fits = transcript.can_shorten(room, lambda text: (9,) * 6)
    dropped, added = transcript.shorten(room, room // 2, lambda text: (9,) * 6)
    assert bool(dropped) == fits and added == bool(dropped)
    after = transcript.tokens
    assert after[:2] == (0, 0)
    if not dropped:
        assert after == before
        return
    assert len(after) - 2 <= room
    assert after[2:8] == (9,) * 6 and after.count(2) // 3 == after.count(3) // 4
    assert goals[-1] == 0 or after[-4:] == (3,) * 4
    assert after.count(2) < calls or after.count(1) + 5 <= before.count(1)


def test_completions_say_why_tokens_were_evaluated_again(small: LocalEngine) -> None:
    model = model_of(small)
    conversations = [model.conversation(name) for name in 'abc']
    for conversation in conversations:
        conversation.instruct(f'Look for {conversation.name}.', '')
        step(conversation, 'word ' * 350)
        conversation.end('')
    for conversation in reversed(conversations):
        conversation.instruct('Look again.', '')
        made = step(conversation, '')
        conversation.end('')
    assert 'evicted' in made.lost and made.counts.prefill > made.counts.new


def test_nothing_is_summed_up_where_nothing_can_be_dropped(small: LocalEngine) -> None:
    """One step is too long: it would be the same after every summary."""
    conversation = model_of(small, summary_length=80, session_tokens=120).conversation('')
    conversation.instruct('Look. ' + 'word ' * 120, '')
    for _ in range(3):
        made = step(conversation, 'word ' * 60)
        assert made.counts.text == 0 and not made.lost
    assert 'Summary' not in text_of(small, conversation)


def test_a_cancel_while_summing_up_keeps_everything(small: LocalEngine) -> None:
    conversation = model_of(small, summary_length=80, session_tokens=500).conversation('s')
    for goal in range(3):
        conversation.instruct(f'Goal {goal}.', '')
        step(conversation, 'word ' * 150)
        conversation.end('')
    before = conversation.tokens
    cancellation = Cancellation()
    cancellation.cancel(Outcome.CANCELED)
    *_, end = conversation.next_call(None, cancellation)
    assert isinstance(end, CallCanceled)
    assert conversation.tokens == before and 'Goal 0' in text_of(small, conversation)
    conversation.instruct('Goal 3.', '')
    made = step(conversation, '{}')
    assert 'left out' in made.lost and 'Summary: ' in text_of(small, conversation)


DROPS_THINKING = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' }}"
    "{% if message['role'] == 'assistant' and not loop.last %}"
    "{{ message['content'].split('</think>')[-1] }}{% else %}{{ message['content'] }}{% endif %}"
    "{{ '<|im_end|>' + '\\n' }}{% endfor %}")


def test_a_template_that_drops_thinking_costs_no_reuse(test_model: str, tmp_path: Path) -> None:
    """Its messages are never rendered again: only new ones are evaluated."""
    path = tmp_path / 'thinking.gguf'
    copy_with(test_model, str(path), {}, DROPS_THINKING)
    engine = LocalEngine(EngineConfig(model_path=str(path), context_tokens=1024, max_sessions=2))
    conversation = model_of(engine, 'auto').conversation('s')
    for goal in range(2):
        conversation.instruct(f'Goal {goal}: look.', '')
        for i in range(3):
            made = step(conversation, f'{{"seen": {i}}}')
            assert made.counts.prefill <= made.counts.new + 1 and not made.lost
        conversation.end('')
    engine.close()


class Hasty:
    """An engine that gives its first calls fewer tokens than they are asked for."""

    def __init__(self, engine: LocalEngine, calls: int) -> None:
        self._engine, self._calls = engine, calls
        self.grammars: list[str] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)

    def generate(self, request: GenerateRequest) -> Iterator[object]:
        self.grammars.append(request.grammar)
        if len(self.grammars) <= self._calls:
            request = replace(request, max_tokens=12)
        return self._engine.generate(request)


SAY = ToolSchema('say', 'Speak.', {'type': 'object', 'properties': {
    'text': {'type': 'string', 'maxLength': 160}}, 'required': ['text']})


def test_a_call_that_is_too_long_is_made_once_more_with_shorter_texts(small: LocalEngine) -> None:
    engine = Hasty(small, 1)
    model = LocalModel(engine, chat_format('chatml', small.info()), 'You are a robot.', [SAY], [],
                       GenerationLimits())
    list(model.warm_up())
    conversation = model.conversation('')
    conversation.instruct('Greet the people in the hall.', '')
    *_, made = conversation.next_call(None, Cancellation())
    assert isinstance(made, CallMade) and len(made.call.arguments['text']) <= 40
    first, second = engine.grammars
    assert '"maxLength": 160' in first and '"maxLength": 40' in second
    text = text_of(small, conversation)
    assert text.count('{"name": "say"') == 1 + text.split('Greet')[0].count('{"name": "say"')
    assert made.counts.prefill == made.counts.new, 'the first attempt is counted once'
    small.check_integrity()


def test_a_call_that_is_too_long_twice_is_an_error(small: LocalEngine) -> None:
    model = LocalModel(Hasty(small, 2), chat_format('chatml', small.info()), 'You are a robot.',
                       [SAY], [], GenerationLimits())
    list(model.warm_up())
    conversation = model.conversation('')
    conversation.instruct('Greet the people in the hall.', '')
    before = conversation.tokens
    with pytest.raises(CallCutShort, match='call_tokens = 256') as caught:
        list(conversation.next_call(None, Cancellation()))
    assert caught.value.counts.forced > 12 and conversation.tokens == before
