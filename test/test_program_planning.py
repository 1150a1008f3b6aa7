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

"""What a model that writes programs does with them, from the goal to its end."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
import time

from edge_llm_ros.agent.agent import Agent
from edge_llm_ros.agent.construction import planning_model
from edge_llm_ros.agent.parameters import parameter_values
from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.flow.cancellation import Cancellation, StepCancellation
from edge_llm_ros.flow.engine import Completion, EngineConfig, GenerateRequest, Sampling, Stop
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.event import Finished
from edge_llm_ros.flow.goal import Goal
from edge_llm_ros.flow.model import CallCanceled, CallMade
from edge_llm_ros.flow.result import Outcome, Result
from edge_llm_ros.flow.tool import FINISH, Observation, Status, ToolCall, ToolSchema
from edge_llm_ros.program.program_model import ProgramModel
from edge_llm_ros.prompt.formats import chat_format
from edge_llm_ros.prompt.generation_limits import GenerationLimits
from edge_llm_ros.prompt.prompt_file import PromptFile
import pytest
from test_agent import Tools


def _tool(name: str, description: str, **properties: object) -> ToolSchema:
    return ToolSchema(name, description, {
        'type': 'object', 'properties': properties, 'required': list(properties)})


GO = _tool('go', 'Drive.', place={
    'type': 'string', 'enum': ['lab', 'gym', 'dock'], 'description': 'lab (laboratory)'})
LIGHT = _tool('light', 'Switch the light.', state={'type': 'string', 'enum': ['on', 'off']})
WARMTH = _tool('warmth', 'Measure.')
TAKE = _tool('take', 'Grasp.')
END = _tool(FINISH, 'End.', success={'type': 'boolean'}, summary={'type': 'string'})
TOOLS = [GO, LIGHT, WARMTH, TAKE, END]


class Writer:
    """An engine that writes given programs: the grammar and all that is evaluated are real."""

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine
        self.programs: list[str] = []
        self.requests: list[GenerateRequest] = []
        self.stops: list[Stop] = []
        self.before: Callable[[], object] = lambda: None
        self.after: Callable[[], object] = lambda: None

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)

    def generate(self, request: GenerateRequest) -> Iterator[object]:
        self.requests.append(request)
        self.before()
        if self.programs:
            text = self.programs.pop(0)
            script = (*self._engine.tokenize(text, False),
                      *self._engine.tokenize('<|im_end|>', True))
            request = replace(request, script=tuple(script))
        for event in self._engine.generate(request):
            if isinstance(event, Completion):
                self.stops.append(event.stop)
                self.after()
            yield event


@pytest.fixture(scope='module')
def small(test_model: str) -> Iterator[LocalEngine]:
    """Return an engine that all tests of this file share."""
    engine = LocalEngine(EngineConfig(model_path=test_model, context_tokens=2048, max_sessions=2))
    yield engine
    engine.close()


@pytest.fixture
def writer(small: LocalEngine) -> Writer:
    """Return the engine with nothing to write yet."""
    return Writer(small)


def model_of(writer: Writer, tools: Sequence[ToolSchema] = TOOLS, candidates: int = 1,
             **prompt: object) -> ProgramModel:
    return ProgramModel(
        writer, chat_format('chatml', writer.info()),
        PromptFile(version=1, system='You write programs.', **prompt), tools,
        GenerationLimits(candidates=candidates))


def run(writer: Writer, goal: str, programs: Sequence[str],
        work: Callable[..., object] = lambda *_: '{}', model: ProgramModel | None = None,
        session: str = '') -> tuple[Result, list[str]]:
    """Run a goal; return its result and what the model was told after the prefix."""
    writer.programs = list(programs)
    tools = Tools(work)
    tools.schemas = lambda: tuple(TOOLS)
    model = model or model_of(writer)
    asked = Goal(goal, session_id=session or 's', max_steps=12)
    result = [event.result for event in Agent(model, tools).run(asked, Cancellation())
              if isinstance(event, Finished)][-1]
    told = writer.detokenize(model.conversation(session or 's').tokens[len(model.prefix):])
    return result, told.decode().split('<|im_start|>')


def calls(result: Result) -> list[str]:
    return [f'{step.tool} {step.arguments}' for step in result.steps]


def failed(error: str = 'blocked') -> Observation:
    return Observation(Status.FAILED, f'{{"error": "{error}"}}', error)


def test_a_program_is_written_once_and_made_call_by_call(writer: Writer) -> None:
    result, _ = run(writer, 'Warm the lab up.', [
        'go("lab")\nt = warmth()\nif t < 20:\n    light("on")\n'
        '    done(f"It was {t} degrees.")\nelse:\n    done("Warm.")\n'],
        lambda call, *_: '{"celsius": 18.5}' if call.name == 'warmth' else '{}')
    assert calls(result) == [
        'go {"place": "lab"}', 'warmth {}', 'light {"state": "on"}',
        'finish {"success": true, "summary": "It was 18.5 degrees."}']
    assert (result.outcome, result.message) == (Outcome.SUCCEEDED, 'It was 18.5 degrees.')
    assert len(writer.requests) == 1 and writer.stops == [Stop.COMPLETE]
    first, *others = result.steps
    assert first.metrics.tokens.generated > 0 and first.metrics.tokens.prefill > 0
    assert all(step.metrics.tokens.decode_calls == 0 for step in others)


@pytest.mark.parametrize('kind', ['ask', 'refuse', 'failed'])
def test_an_ending_that_is_no_success_ends_the_goal_failed(writer: Writer, kind: str) -> None:
    result, _ = run(writer, 'Go on.', [f'{kind}("Where to?")\n'])
    assert (result.outcome, result.message) == (Outcome.FAILED, 'Where to?')


def test_a_call_that_fails_once_is_made_again_and_the_model_never_hears_of_it(
        writer: Writer) -> None:
    made: list[ToolCall] = []

    def work(call: ToolCall, *_: object) -> object:
        made.append(call)
        return failed() if len(made) == 1 else '{}'

    result, told = run(writer, 'Go to the lab.', ['go("lab")\ndone("There.")\n'], work)
    assert calls(result)[:2] == ['go {"place": "lab"}'] * 2
    assert result.outcome is Outcome.SUCCEEDED and len(writer.requests) == 1
    assert not any('blocked' in text for text in told)


def test_a_call_that_fails_twice_ends_the_program_and_what_it_read_stays_known(
        writer: Writer) -> None:
    def work(call: ToolCall, *_: object) -> object:
        return failed() if call.arguments == {'place': 'lab'} else '{"celsius": 21.5}'

    result, told = run(writer, 'Go to the lab, or to the gym.', [
        't = warmth()\ngo("lab")\nlight("on")\ngo("gym")\ndone("Seen both.")\n',
        'go("gym")\ndone(f"In the gym; it was {t} degrees.")\n'], work)
    assert result.message == 'In the gym; it was 21.5 degrees.'
    assert any('Stopped: go("lab") failed twice: blocked' in text for text in told), told
    assert not any('light' in call for call in calls(result))


def test_who_makes_what_failed_twice_again_gives_up(writer: Writer) -> None:
    result, _ = run(writer, 'Go to the lab.', ['go("lab")\ndone("There.")\n'] * 2,
                    lambda *_: failed())
    assert calls(result)[:2] == ['go {"place": "lab"}'] * 2 and len(result.steps) == 3
    assert (result.outcome, result.message) == (Outcome.FAILED, 'go("lab") failed: blocked')


def test_after_another_call_worked_it_may_be_tried_again(writer: Writer) -> None:
    open_now: list[bool] = []

    def work(call: ToolCall, *_: object) -> object:
        open_now.extend([True] * (call.name == 'light'))
        return failed('dark') if call.name == 'go' and not open_now else '{}'

    result, _ = run(writer, 'Go to the lab.', [
        'go("lab")\ndone("There.")\n', 'light("on")\ngo("lab")\ndone("There, with light.")\n'],
        work)
    assert result.message == 'There, with light.'


def test_a_refused_call_is_not_repeated(writer: Writer) -> None:
    refused = Observation(Status.REFUSED, '{"error": "not allowed"}', 'not allowed')
    result, told = run(writer, 'Light!', ['light("on")\ndone("On.")\n', 'failed("No.")\n'],
                       lambda *_: refused)
    assert calls(result)[:1] == ['light {"state": "on"}'] and len(result.steps) == 2
    assert any('light("on") failed: not allowed' in text for text in told)


def test_a_call_that_is_a_condition_may_fail(writer: Writer) -> None:
    at: list[str] = []

    def work(call: ToolCall, *_: object) -> object:
        at.extend(call.arguments.values())
        return failed('nothing here') if call.name == 'take' and at[-1] == 'lab' else (
            '{"object": "cup"}' if call.name == 'take' else '{}')

    result, _ = run(writer, 'Find the cup in the lab or the gym.', [
        'for place in ["lab", "gym"]:\n    go(place)\n    if take() == "cup":\n'
        '        done(f"It was in the {place}.")\nfailed("No cup.")\n'], work)
    assert result.message == 'It was in the gym.' and len(writer.requests) == 1


def test_a_loop_may_make_the_same_call_again_and_again(writer: Writer) -> None:
    result, _ = run(writer, 'Light on, five times.', [
        'for i in range(5):\n    light("on")\ndone("Five times.")\n'])
    assert result.outcome is Outcome.SUCCEEDED and len(result.steps) == 6


@pytest.mark.parametrize(('goal', 'first', 'told'), [
    ('Light on in the lab.', 'light("on")\ndone("On.")\n', 'it does nothing at lab'),
    ('Light on in the LABORATORY!', 'light("on")\ndone("On.")\n', 'it does nothing at lab'),
    ('Go where I said.', 'go("lab")\ndone("There.")\n', 'nobody said lab'),
])
def test_a_program_that_speaks_of_other_things_than_the_goal_is_questioned_before_it_runs(
        writer: Writer, goal: str, first: str, told: str) -> None:
    made: list[ToolCall] = []
    result, heard = run(writer, goal, [first, 'ask("Where?")\n'],
                        lambda call, *_: made.append(call) or '{}')
    assert not made and result.message == 'Where?'
    assert any('Stopped: Not run: ' in text and told in text for text in heard)


@pytest.mark.parametrize(('goal', 'program'), [
    ('Light on, but not in the lab.', 'light("on")\ndone("On.")\n'),
    ('Is the lab far?', 'done("The lab is near.")\n'),
    ('Announce it in the lab.', 'ask("What should I announce?")\n'),
    ('Go to the lab.', 'for place in ["lab"]:\n    go(place)\ndone("There.")\n'),
])
def test_these_are_run_as_they_are(writer: Writer, goal: str, program: str) -> None:
    run(writer, goal, [program])
    assert len(writer.requests) == 1


def test_who_insists_is_not_asked_again(writer: Writer) -> None:
    result, _ = run(writer, 'Light on in the lab.', ['light("on")\ndone("On.")\n'] * 2)
    assert result.outcome is Outcome.SUCCEEDED and len(writer.requests) == 2


def test_the_next_goal_is_told_what_was_read_and_may_speak_of_it(writer: Writer) -> None:
    model = model_of(writer)
    run(writer, 'Where are you?', ['place = warmth()\ndone("In the lab.")\n'],
        lambda *_: '{"place": "lab"}', model, 'a')
    result, told = run(writer, 'Go back there.', ['go("lab")\ndone("Back.")\n'], model=model,
                       session='a')
    assert result.message == 'Back.'
    assert any('warmth() was "lab")\n\nGo back there.' in text for text in told)


def test_what_is_found_on_the_way_can_be_spoken_of(writer: Writer) -> None:
    def work(call: ToolCall, *_: object) -> object:
        return failed('stuck') if call.name == 'light' else '{"place": "gym"}'

    result, _ = run(writer, 'Light on, or go back.', [
        'place = warmth()\nlight("on")\ndone("On.")\n', 'go("gym")\ndone("Back.")\n'], work)
    assert result.message == 'Back.' and len(writer.requests) == 2


ON, LAB, GYM = 'light("on")\ndone("On.")\n', 'go("lab")\ndone("I am there.")\n', (
    'go("gym")\ndone("I am there.")\n')
IDLE = 't = warmth()\ngo("lab")\ndone("There.")\n'  # reads what it makes nothing of


@pytest.mark.parametrize('written, run_, requests', [
    ([LAB], LAB, 1),  # nothing speaks against the first
    ([ON, LAB, GYM], LAB, 2),  # the first one forgets the lab
    (['go("lab")\nx = y\ndone("There.")\n', GYM, LAB], LAB, 3),  # one that fails, one that guesses
    ([IDLE, GYM, ON], IDLE, 3)])
def test_of_the_programs_for_a_goal_the_least_doubtful_is_run(
        writer: Writer, written: list[str], run_: str, requests: int) -> None:
    result, told = run(writer, 'To the lab.', written, model=model_of(writer, candidates=3))
    assert result.outcome is Outcome.SUCCEEDED and len(writer.requests) == requests
    assert [text for text in told if run_ in text] and len(told) == 3  # goal, program, and ''
    first, *others = [request.sampling for request in writer.requests]
    assert first.temperature == 0 and all(other.temperature > 0 for other in others)
    assert len({other.seed for other in (first, *others)}) == requests
    spent = sum((step.metrics.tokens.generated for step in result.steps))
    assert spent >= sum(len(writer.tokenize(text, False)) for text in written[:requests])


def test_where_all_programs_are_doubtful_the_model_is_told_why(writer: Writer) -> None:
    result, told = run(writer, 'To the lab.', [ON, ON, LAB], model=model_of(writer, candidates=2))
    assert calls(result)[0] == 'go {"place": "lab"}' and len(writer.requests) == 3
    assert any('Not run: it does nothing at lab' in text for text in told)


def test_no_program_is_begun_that_the_time_of_a_step_is_too_short_for(writer: Writer) -> None:
    conversation = model_of(writer, candidates=16).conversation('')
    conversation.instruct('To the lab.', '')
    step = StepCancellation(Cancellation(), 600.0)
    writer.programs = [IDLE] * 16
    writer.after = lambda: step.limit(0.01 if len(writer.requests) == 2 else 600.0)
    *_, made = conversation.next_call(None, step)
    assert made is not None and len(writer.requests) == 2


def test_another_program_that_takes_too_long_costs_the_goal_nothing(writer: Writer) -> None:
    conversation = model_of(writer, candidates=16).conversation('')
    conversation.instruct('To the lab.', '')
    step = StepCancellation(Cancellation(), 6.0)
    writer.programs = [IDLE, GYM]
    writer.before = lambda: len(writer.requests) == 2 and time.sleep(0.9 * step.seconds_left)
    *_, made = conversation.next_call(None, step)
    assert isinstance(made, CallMade) and made.call == ToolCall('warmth')
    assert writer.stops == [Stop.COMPLETE, Stop.CANCELED]


def test_a_goal_that_is_canceled_among_its_programs_ends(writer: Writer) -> None:
    goal, model = Cancellation(), model_of(writer, candidates=3)
    conversation = model.conversation('')
    conversation.instruct('To the lab.', '')
    writer.programs = [IDLE, IDLE, IDLE]
    writer.before = lambda: len(writer.requests) == 2 and goal.cancel(Outcome.CANCELED)
    *_, last = conversation.next_call(None, goal)
    assert isinstance(last, CallCanceled) and writer.stops == [Stop.COMPLETE, Stop.CANCELED]
    writer.before = lambda: None
    conversation.instruct('To the gym.', '')
    writer.programs = [GYM]
    *_, made = conversation.next_call(None, Cancellation())
    assert isinstance(made, CallMade) and made.call.arguments == {'place': 'gym'}
    assert made.counts.prefill <= made.counts.new + 1


def test_a_token_is_new_once_however_many_programs_are_written(writer: Writer) -> None:
    conversation = model_of(writer, candidates=4).conversation('')
    again = 0  # what of the program before was lost, since another was written after it
    for programs in ([LAB], [IDLE, LAB], [IDLE, GYM, ON, LAB], [IDLE, GYM, ON, GYM], [LAB]):
        before = len(conversation.tokens)
        conversation.instruct('To the lab.', '')
        appended = len(conversation.tokens) - before
        writer.programs = list(programs)
        *_, made = conversation.next_call(None, Cancellation())
        assert isinstance(made, CallMade) and not writer.programs
        if before > len(conversation._model.prefix):  # else the prefix is evaluated with it
            opening = len(writer.tokenize('<|im_start|>assistant\n', True)) + 1
            assert appended <= made.counts.new <= appended + opening + 1
            assert made.counts.prefill <= made.counts.new + len(programs) + again
        assert made.decode > 0 and 0 < made.first_token <= made.seconds
        again = 40 if programs[-1] is not LAB else 0


def test_a_refusal_is_final(writer: Writer) -> None:
    result, _ = run(writer, 'Say "你好", lab.', ['refuse("No.")\n', LAB],
                    model=model_of(writer, candidates=3))
    assert result.outcome is Outcome.FAILED and len(writer.requests) == 1


def test_the_rest_of_a_program_need_not_do_again_what_was_done(writer: Writer) -> None:
    def work(call: ToolCall, *_: object) -> object:
        return failed() if call.arguments == {'place': 'gym'} else '{"celsius": 21}'

    goal = 'If it has over 20 degrees in the lab, light; then to the gym or the dock.'
    result, _ = run(writer, goal, [
        'go("lab")\nt = warmth()\nif t > 20:\n    light("on")\ngo("gym")\ngo("dock")\n'
        'done("There.")\n', 'go("dock")\ndone("At the dock.")\n', GYM],
        work, model=model_of(writer, candidates=3))
    assert result.message == 'At the dock.' and len(writer.requests) == 2


def test_what_a_goal_came_to_is_told_in_few_words(writer: Writer) -> None:
    model = model_of(writer)
    run(writer, 'Light, gym.',
        ['light("on")\ngo("gym")\ndone("On.")\n', 'go("gym")\ndone("On.")\n'], lambda call, *_: (
            failed() if call.name == 'go' else '{}'), model=model, session='t')
    text = 'x' * 70
    run(writer, 'Talk.', [f'for i in range(9):\n    light("on")\nask("{text}")\n'], model=model,
        session='t')
    _, told = run(writer, 'And now?', ['done("No.")\n'], model=model, session='t')
    said = [t for t in told if t.startswith('user') and 'And now?' in t][0]
    assert '(Before: "Light, gym." light("on"); failed("go(' in said
    assert len(said) < 2 * 400 + 200


def test_a_follow_up_is_shown_others_like_it(writer: Writer) -> None:
    examples = [{'before': [{'goal': 'To the gym.', 'did': 'go("gym")'}],
                 'goal': 'And the same with the lab.', 'program': LAB},
                {'before': [{'goal': 'Warm?', 'did': 'warmth() was 18.5'}],
                 'goal': 'Is that more than 15?', 'program': 'done("Yes.")\n'}]
    model = model_of(writer, follow_ups=examples, follow_ups_shown=1)
    _, told = run(writer, 'To the gym.', [GYM], model=model, session='f')
    assert not any('Before' in text for text in told)
    _, told = run(writer, 'Now the same with the dock.', ['go("dock")\ndone("There.")\n'],
                  model=model, session='f')
    said = [text for text in told if text.startswith('user')]
    assert said[1].startswith('user\n(Before: "To the gym." go("gym"))\n\nAnd the same with')
    assert said[2].startswith('user\n(Before: "To the gym." go("gym"))\n\nNow the same with')
    _, told = run(writer, 'Is that far?', ['done("No.")\n'], model=model, session='f')
    said = [text for text in told if text.startswith('user')]
    assert 'Is that more than 15?' in said[3]
    assert said[4].startswith('user\n(Before: "To the gym." go("gym"))\n(Before: "Now the same '
                              'with the dock." go("dock"))\n\nIs that far?')


def test_a_follow_up_that_cannot_be_run_is_named(writer: Writer) -> None:
    with pytest.raises(ConfigError, match=r'follow_ups\.0: fly'):
        model_of(writer, follow_ups=[{'before': [{'goal': 'On.', 'did': 'light("on")'}],
                                      'goal': 'Up!', 'program': 'fly()\ndone("Up.")\n'}])


def test_a_prompt_for_the_other_way_to_act_is_refused(writer: Writer) -> None:
    programs = [{'goal': 'Light on.', 'program': 'light("on")\ndone("On.")\n'}]
    examples = [{'instruction': 'Stop.', 'steps': [
        {'call': FINISH, 'arguments': {'success': True, 'summary': 'Done.'}}]}]
    for given, way in (({'programs': programs}, 'calls'), ({'examples': examples}, 'programs')):
        prompt = PromptFile(version=1, system='S.', **given)
        with pytest.raises(ConfigError, match=f'prompt_file: .*act_by: {way}'):
            planning_model(writer, parameter_values({'act_by': way, 'chat_format': 'chatml'}),
                           prompt, TOOLS, [])


def test_a_program_that_cannot_go_on_is_told_why_and_not_for_ever(writer: Writer) -> None:
    result, told = run(writer, 'Warm?', ['t = warmth()\nif t > "a":\n    light("on")\n'
                                         'done("Yes.")\n'] * 3, lambda *_: '{"celsius": 20}')
    assert result.outcome is Outcome.FAILED and 'cannot be compared' in result.message
    assert sum('Stopped: ' in text for text in told) >= 2


def test_a_number_that_a_service_tells_as_text_can_be_compared(writer: Writer) -> None:
    result, _ = run(writer, 'Damp?', ['h = warmth()\nif h > 40:\n    done("Yes.")\nelse:\n'
                                      '    done("No.")\n'], lambda *_: '{"percent": "47"}')
    assert result.message == 'Yes.'


def test_a_bias_decides_what_kind_of_goal_it_is(writer: Writer) -> None:
    for kind, ending in (('harmful', 'refuse('), ('unclear', 'ask(')):
        model = model_of(writer, judgement_bias={kind: 100.0}, programs=[
            {'goal': 'Light on.', 'program': 'light("on")\ndone("On.")\n'}])
        assert b'# fine\nlight("on")' in writer.detokenize(model.prefix)
        conversation = model.conversation('')
        conversation.instruct('Light off.', '')
        *_, made = conversation.next_call(None, Cancellation())
        assert isinstance(made, CallMade) and made.call.arguments['success'] is False
        text = writer.detokenize(conversation.tokens[len(model.prefix):]).decode()
        assert f'# {kind}\n{ending}' in text


def test_a_judgement_is_not_sampled(writer: Writer) -> None:
    model = model_of(writer, judgement_bias={'unclear': 0.0}, programs=[
        {'goal': 'Light on.', 'program': 'light("on")\ndone("On.")\n'}])
    tokens = (*model.prefix, *model.tokens([
        *model.format.instruction('Light off.', True), *model.format.call_prompt()]))

    def judged(bias: Mapping[int, float], temperature: float, seed: int) -> str:
        *_, done = writer.generate(GenerateRequest(
            f'{bias} {temperature} {seed}', 'judged', tokens, model.grammar(None, 40), 6,
            Sampling(temperature, top_k=0, top_p=1.0, min_p=0.0, seed=seed),
            biased=tuple(bias), bias=tuple(bias.values())))
        return writer.detokenize(done.tokens).decode().split('\n')[0]
    greedy = judged(model.bias(follows=False), 0.0, 0)
    assert {judged(model.bias(follows=False), 20.0, seed) for seed in range(12)} == {greedy}
    assert len({judged({}, 20.0, seed) for seed in range(12)}) > 1


def test_what_a_session_said_before_is_no_reason_to_ask(writer: Writer) -> None:
    model = model_of(writer, judgement_bias={'unclear': 3.0, 'harmful': 1.0})
    assert sorted(model.bias(follows=False).values()) == [0.0, 0.0, 1.0, 3.0]
    assert sorted(model.bias(follows=True).values()) == [0.0, 0.0, 0.0, 1.0]


def test_examples_that_cannot_be_run_are_named(writer: Writer) -> None:
    with pytest.raises(ConfigError, match=r'programs\.0: fly'):
        model_of(writer, programs=[{'goal': 'Up!', 'program': 'fly()\ndone("Up.")\n'}])
    with pytest.raises(ConfigError, match='builtins.finish'):
        model_of(writer, [GO])
