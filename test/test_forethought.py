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

"""What the model writes before a call: the grammar holds it, and it stays in the conversation."""

from collections.abc import Iterator, Sequence
import dataclasses

from edge_llm_ros.agent.agent import Agent
from edge_llm_ros.agent.construction import planning_model
from edge_llm_ros.agent.parameters import parameter_values
from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.engine import EngineConfig, SpecialToken, TokenKind
from edge_llm_ros.flow.errors import ConfigError, EngineError
from edge_llm_ros.flow.event import Event, EventKind, Finished
from edge_llm_ros.flow.forethought import ForethoughtSettings, Judgement, Occasion, Reasoning
from edge_llm_ros.flow.goal import FinishCheckMode, Goal
from edge_llm_ros.flow.model import CallMade
from edge_llm_ros.flow.tool import (
    ASK_PERSON, FINISH, NO_FACTS, Observation, Status, ToolCall, ToolSchema)
from edge_llm_ros.prompt.call_grammar import Branch
from edge_llm_ros.prompt.call_text import forethought_of, free_text_tokens, without_frame
from edge_llm_ros.prompt.chat_format import Example
from edge_llm_ros.prompt.forethought import Forethought
from edge_llm_ros.prompt.formats import chat_format
from edge_llm_ros.prompt.generation_limits import GenerationLimits
from edge_llm_ros.prompt.local_model import LocalModel
from edge_llm_ros.prompt.pieces import PieceTokenizer
from edge_llm_ros.prompt.prompt_file import PromptFile
from edge_llm_ros.prompt.words import Labels, Words
from edge_llm_ros.tools.builtins import builtin_schemas, Builtins
from pydantic import ValidationError
import pytest

GO = ToolSchema('go', 'Drive.', {
    'type': 'object', 'properties': {'place': {'type': 'string', 'enum': ['lab', 'gym']}},
    'required': ['place']})
END, ASK = (tool for name in (FINISH, ASK_PERSON) for tool in builtin_schemas(
    Builtins(ask_person=5.0)) if tool.name == name)
GYM = ToolCall('go', {'place': 'gym'})
YES, NO = (ToolCall(FINISH, {'success': value, 'summary': 'So.'}) for value in (True, False))
WHICH = ToolCall(ASK_PERSON, {'question': 'Which?'})
ALL = ForethoughtSettings(True, True, Reasoning.SHORT)
WORDS = Words()


@pytest.fixture(scope='module')
def tiny(tiny_model: str) -> Iterator[LocalEngine]:
    """Return an engine whose model says nothing that makes sense."""
    engine = LocalEngine(EngineConfig(model_path=tiny_model, context_tokens=8192, max_sessions=2,
                                      threads=1))
    yield engine
    engine.close()


class Turns:
    """Says whether a turn is in the grammar."""

    def __init__(self, engine: LocalEngine, settings: ForethoughtSettings, name: str,
                 tools: Sequence[ToolSchema] = (GO, ASK, END), tokens: int = 300) -> None:
        self.engine = engine
        self.format = chat_format(name, engine.info())
        self.format.prefix('S', list(tools), [])
        self.forethought = Forethought(settings, WORDS, engine.info())
        self.tools, self.tokens = tools, tokens
        self.pieces = PieceTokenizer(engine, engine.info().special_tokens)

    def takes(self, before: str, call: ToolCall, occasion: Occasion = Occasion.FIRST) -> bool:
        branches, rules = self.forethought.branches(self.tools, occasion, self.tokens)
        matcher = self.engine._compiler.matcher(self.format.turn_grammar(branches, rules, 40))
        tokens = [*self.engine.tokenize(before, True), *self.pieces.tokens(self.format.call(call))]
        try:
            for token in tokens:
                matcher.consume([token])
        except EngineError:
            return False
        return matcher.complete


def judged(judgement: Judgement) -> str:
    return f'{WORDS.triage_opening}{WORDS.labels.of(judgement)}\n'


@pytest.mark.parametrize('name', ['chatml', 'json'])
def test_a_judgement_narrows_the_first_call(tiny: LocalEngine, name: str) -> None:
    turns = Turns(tiny, ForethoughtSettings(triage=True), name)
    calls = {'go': GYM, 'ask': WHICH, 'yes': YES, 'no': NO}
    may = {Judgement.CAN_DO: 'go ask yes no', Judgement.NO_CALL_NEEDED: 'yes no',
           Judgement.MISSING_INFORMATION: 'ask no', Judgement.IMPOSSIBLE: 'no',
           Judgement.UNSAFE: 'no'}
    for judgement in Judgement:
        for word, call in calls.items():
            assert turns.takes(judged(judgement), call) == (word in may[judgement].split())
    assert not turns.takes('', GYM) and not turns.takes('The goal is nice\n', GYM)
    for occasion in (Occasion.NEXT, Occasion.AFTER_FAILURE):
        assert turns.takes('', GYM, occasion) and not turns.takes(
            judged(Judgement.CAN_DO), GYM, occasion)


def test_there_is_no_judgement_without_a_way_to_say_no(tiny: LocalEngine) -> None:
    assert Turns(tiny, ForethoughtSettings(triage=True), 'chatml', [GO]).takes('', GYM)
    asks = Turns(tiny, ForethoughtSettings(triage=True), 'chatml', [GO, ASK])
    assert asks.takes(judged(Judgement.MISSING_INFORMATION), WHICH)
    assert not asks.takes(judged(Judgement.UNSAFE), WHICH)


@pytest.mark.parametrize('name', ['chatml', 'json'])
def test_a_plan_has_one_to_six_lines(tiny: LocalEngine, name: str) -> None:
    turns = Turns(tiny, ForethoughtSettings(plan=True), name)
    for lines in range(9):
        plan = ''.join(f'{n}. go gym\n' for n in range(1, lines + 1))
        for occasion in Occasion:
            due = occasion is not Occasion.NEXT
            assert turns.takes(f'Plan:\n{plan}', GYM, occasion) == (due and 1 <= lines <= 6)
            assert turns.takes('', GYM, occasion) == (not due)
    for line in ('', 'a' * 61, 'a{', 'a<', 'a' * 21):  # 20 tokens, which are bytes here
        assert not turns.takes(f'Plan:\n1. {line}\n', GYM)


@pytest.mark.parametrize('name', ['chatml', 'json'])
def test_a_thought_is_a_line_or_several_within_its_budget(tiny: LocalEngine, name: str) -> None:
    for occasion in Occasion:
        short = Turns(tiny, ForethoughtSettings(reasoning=Reasoning.SHORT), name, tokens=9)
        assert short.takes('Thought: Go 1 way.\n', GYM, occasion)
        for text in ('', 'Thought: \n', 'Thought: Go one way.\n', 'Thought: a\nb\n',
                     'Thought: a<\n', 'Thought: {\n'):
            assert not short.takes(text, GYM, occasion)
        free = Turns(tiny, ForethoughtSettings(reasoning=Reasoning.FREE), name, tokens=9)
        assert free.takes('Thought: Go\n1 way.', GYM, occasion)
        assert free.takes('Thought: Go\n1.\n\n', GYM, occasion)
        assert not free.takes('Thought: Go\none way.', GYM, occasion)


def test_thoughts_are_between_the_model_s_own_tags(tiny: LocalEngine) -> None:
    info = tiny.info()
    tag = SpecialToken(tiny.tokenize('he', False)[0], '</think>', TokenKind.USER_DEFINED)
    info = dataclasses.replace(info, chat_template='{{ "<think>" }}', special_tokens=(
        *info.special_tokens, tag))
    for reasoning, text in ((Reasoning.SHORT, r'"\n" <[256]> "\n\n"'),
                            (Reasoning.FREE, r'thought <[256]> "\n\n"')):
        forethought = Forethought(ForethoughtSettings(reasoning=reasoning), WORDS, info)
        (branch,), _ = forethought.branches([GO, END], Occasion.NEXT, 9)
        assert branch.before.startswith(r'"<think>\n" thought') and text in branch.before


def test_all_together_come_in_one_order(tiny: LocalEngine) -> None:
    turns = Turns(tiny, ALL, 'chatml')
    thought, plan = 'Thought: Hm.\n', 'Plan:\n1. go gym\n'
    assert turns.takes(thought + judged(Judgement.CAN_DO) + plan, GYM)
    assert turns.takes(thought + judged(Judgement.UNSAFE), NO)
    assert not turns.takes(thought + judged(Judgement.UNSAFE) + plan, NO)
    assert not turns.takes(judged(Judgement.CAN_DO) + plan, GYM)
    assert turns.takes(thought + plan, GYM, Occasion.AFTER_FAILURE)
    assert turns.takes(thought, GYM, Occasion.NEXT)


PUSH, LIFT, SING = (ToolSchema(name, 'Do it.', {'type': 'object', 'properties': {},
                                                'required': []}, group=group)
                    for name, group in (('push', 'arms'), ('lift', 'arms'), ('sing', 'voice')))
GROUPED = (GO, PUSH, LIFT, SING, END)


def grouped(engine: LocalEngine, name: str, **settings: object) -> Turns:
    turns = Turns(engine, ForethoughtSettings(route=True, **settings), name, GROUPED)
    turns.forethought = Forethought(turns.forethought.settings, WORDS, engine.info(), GROUPED)
    return turns


@pytest.mark.parametrize('name', ['chatml', 'json'])
def test_a_group_narrows_the_first_call(tiny: LocalEngine, name: str) -> None:
    turns = grouped(tiny, name)
    push, sing = ToolCall('push'), ToolCall('sing')
    may = {'arms': (push, GYM, YES), 'voice': (sing, GYM, YES), 'all': (push, sing, GYM, YES)}
    for group, calls in may.items():
        for call in (push, sing, GYM, YES):
            assert turns.takes(f'Functions: {group}\n', call) == (call in calls)
    for before in ('', 'Functions: legs\n', 'Functions: \n'):
        assert not turns.takes(before, push)
    assert turns.takes('', push, Occasion.NEXT) and turns.takes('', sing, Occasion.AFTER_FAILURE)
    chosen = turns.forethought.chosen
    assert chosen('Functions: arms\n') == {'go', 'push', 'lift', 'finish'}
    assert chosen('Functions: all\n') is chosen('') is chosen('Functions: legs\n') is None
    assert 'arms (push, lift); voice (sing)' in turns.forethought.explained()


def test_a_group_comes_after_the_judgement_and_before_the_plan(tiny: LocalEngine) -> None:
    turns = grouped(tiny, 'chatml', triage=True, plan=True, reasoning=Reasoning.SHORT)
    thought, line, plan = 'Thought: Functions: arms\n', 'Functions: voice\n', 'Plan:\n1. sing\n'
    can = judged(Judgement.CAN_DO)
    assert turns.takes(thought + can + line + plan, ToolCall('sing'))
    assert not turns.takes(thought + can + plan, ToolCall('sing'))
    assert not turns.takes(thought + can + line + plan, ToolCall('push'))
    assert turns.takes(thought + judged(Judgement.UNSAFE), NO)
    assert turns.forethought.chosen(thought + can + line + plan) == {'go', 'sing', 'finish'}
    assert turns.forethought.chosen(thought + can + plan) is None
    free = grouped(tiny, 'chatml', reasoning=Reasoning.FREE)
    assert free.forethought.chosen('Thought: Hm.\nFunctions: arms\nSo.\n\n') is None
    assert free.forethought.chosen('Thought: Functions: arms\n\n' + line) == {
        'go', 'sing', 'finish'}
    assert turns.forethought.tokens(0) - grouped(tiny, 'chatml').forethought.tokens(0) > 0


def test_nothing_is_chosen_among_less_than_two_groups(tiny: LocalEngine) -> None:
    turns = Turns(tiny, ForethoughtSettings(route=True), 'chatml', [GO, PUSH, LIFT, END])
    assert turns.takes('', ToolCall('push'))


@pytest.mark.parametrize('calls, group', [
    (['push', 'go', 'lift'], 'arms'), (['sing'], 'voice'), (['push', 'sing'], 'all'),
    (['go'], 'all'), ([], 'all')])
def test_examples_show_the_group_that_they_need(
        tiny: LocalEngine, calls: list[str], group: str) -> None:
    made = [(GYM if call == 'go' else ToolCall(call), '{}') for call in calls]
    shown = grouped(tiny, 'chatml').forethought.shown(Example('Do it.', (*made, (YES, ''))))
    assert [piece.text for piece in shown.before[0]] == [f'Functions: {group}\n']
    assert not any(shown.before[1:])


def test_tools_without_groups_cannot_be_routed(tiny: LocalEngine) -> None:
    values = parameter_values({'route': True, 'chat_format': 'chatml'})
    for tools in ([GO, END], [GO, PUSH, LIFT, END]):
        with pytest.raises(ConfigError, match='route: the tools have the groups'):
            planning_model(tiny, values, PROMPT, tools, [])
    model = planning_model(tiny, values, PROMPT, GROUPED, [])
    assert 'Functions: ' in model.grammar(None, 9)


PROMPT = PromptFile(version=1, system='Move.', examples=[
    {'instruction': 'Go to both.', 'steps': [
        {'call': 'go', 'arguments': {'place': 'lab'}, 'observation': {'ok': True}},
        {'call': 'go', 'arguments': {'place': 'gym'}, 'observation': {'ok': True}},
        {'call': FINISH, 'arguments': YES.arguments, 'thought': 'All done.'}]},
    {'instruction': 'Explode.', 'judgement': 'unsafe', 'steps': [
        {'call': FINISH, 'arguments': NO.arguments}]},
    {'instruction': 'Hello.', 'steps': [{'call': FINISH, 'arguments': YES.arguments}]},
    {'instruction': 'Fly.', 'steps': [{'call': FINISH, 'arguments': NO.arguments}]}])


def model_of(engine: LocalEngine, settings: ForethoughtSettings | None, name: str = 'chatml',
             **limits: int) -> LocalModel:
    return LocalModel(
        engine, chat_format(name, engine.info()), PROMPT.system, [GO, END],
        PROMPT.for_tools('p', [GO, END]), GenerationLimits(**{'text_length': 20, **limits}),
        forethought=None if settings is None else Forethought(settings, WORDS, engine.info()))


@pytest.mark.parametrize('reasoning', [Reasoning.SHORT, Reasoning.FREE])
@pytest.mark.parametrize('name', ['chatml', 'json'])
def test_examples_show_what_the_grammar_asks_for(tiny: LocalEngine, name: str, reasoning) -> None:
    settings = dataclasses.replace(ALL, reasoning=reasoning)
    model = model_of(tiny, settings, name)
    text = tiny.detokenize(model.prefix).decode()
    for words in (WORDS.triage_explained, WORDS.plan_explained, WORDS.thought_explained):
        assert text.count(words) == 1
    assert text.count('Thought: ') == 6 and text.count('Plan:\n') == 1
    end = '\n' if reasoning is Reasoning.SHORT else '\n\n'
    assert (f'Thought: Done: nothing. Next: go lab.{end}The goal is clear and possible\n'
            'Plan:\n1. go lab\n2. go gym\n') in text
    assert 'Thought: Done: go lab. Next: go gym.\n' in text and 'Thought: All done.\n' in text
    for judgement in (Judgement.UNSAFE, Judgement.NO_CALL_NEEDED, Judgement.IMPOSSIBLE):
        assert text.count(judged(judgement)) == 1
    turns = Turns(tiny, settings, name, [GO, END])
    for example in map(model.forethought.shown, PROMPT.for_tools('p', [GO, END])):
        for index, (before, call, _) in enumerate(example.turns()):
            assert turns.takes(''.join(piece.text for piece in before), call,
                               Occasion.NEXT if index else Occasion.FIRST)


def test_a_prefix_without_it_is_what_it_was(tiny: LocalEngine) -> None:
    off = model_of(tiny, ForethoughtSettings())
    assert off.prefix == model_of(tiny, None).prefix
    assert off.turn_tokens == off.limits.call_tokens
    before = 'start: <[257]>' not in off.grammar(None, 9)
    assert before and 'thought' not in off.grammar(None, 9)


class Tools:
    """Tools whose every second call fails."""

    fallback = None

    def __init__(self) -> None:
        self.count = 0

    def schemas(self):
        return (GO, END)

    def facts(self, allowed, cancellation):
        return NO_FACTS

    def call(self, call, cancellation, **more):
        self.count += 1
        if self.count % 2:
            return Observation(Status.FAILED, '{"error": "stuck"}', 'stuck')
        return Observation(Status.SUCCEEDED, f'{{"count": {self.count}}}')


@pytest.mark.parametrize('name', ['chatml', 'json'])
@pytest.mark.parametrize('settings', [
    ForethoughtSettings(triage=True), ForethoughtSettings(plan=True),
    ForethoughtSettings(reasoning=Reasoning.SHORT), ForethoughtSettings(reasoning=Reasoning.FREE),
    ALL], ids=str)
def test_every_token_is_evaluated_once_whatever_the_model_writes(
        tiny: LocalEngine, settings: ForethoughtSettings, name: str) -> None:
    model = model_of(tiny, settings, name, reasoning_tokens=24)
    list(model.warm_up())
    prefix = model.prefix
    agent, calls = Agent(model, Tools(), WORDS), 0
    for number in range(3):
        model.limits = dataclasses.replace(model.limits, sampling=dataclasses.replace(
            model.limits.sampling, temperature=1.0, seed=number))
        goal = Goal(f'Goal {number}.', session_id='s', max_steps=4, recovery_hints=True,
                    check_finish=FinishCheckMode.ALL)
        events = list(agent.run(goal, Cancellation()))
        end = events[-1]
        assert isinstance(end, Finished)
        tokens = end.result.metrics.tokens
        calls += len(end.result.steps) + 1
        assert tokens.prefill <= 1.02 * tokens.new + len(end.result.steps) + 1
        assert tokens.prefill < len(prefix), 'the prefix was evaluated again'
        told = [e.text for e in events if isinstance(e, Event) and e.kind is EventKind.CALL]
        assert bool(told[0]) and all('"name"' not in text for text in told)
    assert model.prefix == prefix


def test_what_is_written_before_a_call_is_counted_and_shown(tiny: LocalEngine) -> None:
    model = model_of(tiny, ForethoughtSettings(reasoning=Reasoning.SHORT), reasoning_tokens=8)
    conversation = model.conversation('')
    conversation.instruct('Go.', '')
    *events, made = conversation.next_call(frozenset({'go'}), Cancellation())
    assert isinstance(made, CallMade)
    assert made.forethought.startswith('Thought: ')
    assert 0 < made.counts.text <= 8 + len('Thought: \n') and (
        made.counts.generated > made.counts.text)
    assert any(event.text.startswith('Thought: ') for event in events if hasattr(event, 'text'))
    conversation.end('')


@pytest.mark.parametrize('frame', [('<tool_call>', '</tool_call>'), ('', '<end>')])
def test_a_turn_is_split_where_its_call_begins(frame: tuple[str, str]) -> None:
    opening, closing = frame
    body = '{"name": "say", "arguments": {"text": "Hi"}}'
    whole = f'Thought: a\n{opening}{body}{closing}'
    assert forethought_of(whole, frame) == 'Thought: a\n'
    assert forethought_of(opening + body, frame) == ''
    assert forethought_of('', frame) == '' and forethought_of('Thou', frame) == 'Thou'
    assert without_frame(whole, frame) == f'Thought: a\n{body}'
    say = ToolSchema('say', '', {'properties': {'text': {'type': 'string'}}})
    pieces = [bytes([c]) for c in whole.encode()]
    counted, text = free_text_tokens(pieces, frame, say, ToolCall('say', {'text': 'Hi'}),
                                     'Thought: a\n')
    join = ''.join
    assert join(c for c, yes in zip(whole, counted) if yes) == f'Thought: a\n{body}'
    assert join(c for c, yes in zip(whole, text) if yes) == 'Thought: a\nHi'


def test_words_that_cannot_be_used_are_refused() -> None:
    for words in ({'labels': {'unsafe': Labels().impossible}}, {'labels': {'unsafe': 'a{'}},
                  {'triage_opening': 'a\nb'}, {'check': ''}, {'chek': 'a'}):
        with pytest.raises(ValidationError):
            Words.model_validate(words)
    assert Words.model_validate({'labels': {'unsafe': 'bad'}}).labels.of(Judgement.UNSAFE) == 'bad'


def test_a_branch_without_anything_before_it_is_the_grammar_of_a_call(tiny: LocalEngine) -> None:
    form = chat_format('chatml', tiny.info())
    grammar = form.turn_grammar([Branch('', [GO])], (), 20)
    assert grammar == form.grammar([GO], 20)
    assert grammar.splitlines()[1].startswith('start: "<tool_call>\\n{\\"name\\": \\"" ( call_0 )')
