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


"""What a goal is told at its start, and how that narrows its calls and nothing else."""

from collections.abc import Iterator
import json
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from edge_llm_interfaces.msg import Question, ToolInfo, ToolList
from edge_llm_interfaces.srv import Answer
from edge_llm_ros.agent.agent import Agent
from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.event import Finished
from edge_llm_ros.flow.goal import Goal
from edge_llm_ros.flow.model import CallMade
from edge_llm_ros.flow.result import Outcome
from edge_llm_ros.flow.tool import GoalFacts, NO_FACTS, Status, ToolCall
from edge_llm_ros.prompt.chatml import ChatML
from edge_llm_ros.prompt.generation_limits import GenerationLimits
from edge_llm_ros.prompt.local_model import LocalModel
from edge_llm_ros.ros.qos import LATCHED
from edge_llm_ros.ros.sources import FieldOf
from edge_llm_ros.tools.builtins import Builtins, LookAround
from edge_llm_ros.tools.gate import Refused
from edge_llm_ros.tools.goal_facts import check_choices, FactsReader, NotRead
from edge_llm_ros.tools.load_tools import LoadedTools
from edge_llm_ros.tools.look_around import LookAroundTool, within
from edge_llm_ros.tools.readings import Reading
from edge_llm_ros.tools.tool_file import Tool
from hypothesis import given, strategies as st
import pytest
from robot_bench import Bench
from sensor_msgs.msg import JointState
from test_agent import DONE, LOOK, Script, Tools

LIST = {'topic': 'things', 'type': 'diagnostic_msgs/msg/DiagnosticArray', 'field': 'status[].name'}
GRASP: dict[str, Any] = {
    'description': 'Grasp.', 'effect': 'act',
    'publish': {'topic': 'grasp', 'type': 'std_msgs/msg/String'},
    'arguments': {'thing': {'description': 'What', 'field': 'data', 'type': 'string',
                            'values_from': {**LIST, 'most': 4}}}}
READINGS = {
    'battery': Reading(topic='b', type='sensor_msgs/msg/BatteryState', field='percentage',
                       scale=100.0, digits=0, unit='%'),
    'place': Reading(topic='p', type='std_msgs/msg/String', field='data')}
LOADED = LoadedTools({'grasp': Tool.model_validate(GRASP)}, Builtins(), {'grasp': 'f'},
                     context_from=READINGS)


class Fixed:
    """A reader with one answer."""

    def __init__(self, value: object) -> None:
        self._value = value
        self.asked = 0

    def ask(self) -> None:
        self.asked += 1

    def answer(self, cancellation: Cancellation) -> object:
        if isinstance(self._value, Exception):
            raise self._value
        return self._value


def _facts(things: object, allowed: frozenset[str] | None = None) -> GoalFacts:
    reader = FactsReader(
        LOADED, {'battery': Fixed(0.874), 'place': Fixed(NotRead("no message on 'p'"))},
        {('grasp', 'thing'): Fixed(things)})
    return reader.read(allowed, Cancellation())


def test_readings_are_told_and_what_is_missing_is_said() -> None:
    facts = _facts(['cup', 'ball', 'cup'])
    assert facts.text.splitlines() == [
        'Readings now: {"battery": "87 %", "place": "not known: no message on \'p\'"}',
        'grasp: thing is one of ["cup", "ball"]; 1 more are left out']
    assert facts.choices == {'grasp': {'thing': ('cup', 'ball')}} and not facts.impossible
    assert 'grasp' not in _facts(['cup'], frozenset({'finish'})).text


@pytest.mark.parametrize('things, reason', [
    (NotRead('nobody publishes'), 'nobody publishes'), ([], "none on 'things'"),
    (['x' * 65, '', 5, None, {'a': 1}], 'tells nothing that it can be')])
def test_an_argument_whose_values_are_not_known_is_no_free_text(things: object, reason: str
                                                                ) -> None:
    facts = _facts(things)
    assert not facts.choices and reason in facts.impossible['grasp']
    assert f'grasp cannot be called now: {facts.impossible["grasp"]}.' in facts.text
    with pytest.raises(Refused, match='not known'):
        check_choices(ToolCall('grasp', {'thing': 'cup'}), LOADED.tools['grasp'], facts)


def test_the_gate_takes_no_other_value() -> None:
    facts, tool = _facts(['cup', 'ball', 'a', 'b', 'c']), LOADED.tools['grasp']
    check_choices(ToolCall('grasp', {'thing': 'b'}), tool, facts)
    for value in ('c', 'Cup', ['cup'], 1, True):
        with pytest.raises(Refused, match='cup, ball, a, b'):
            check_choices(ToolCall('grasp', {'thing': value}), tool, facts)
    with pytest.raises(Refused, match='not known'):
        check_choices(ToolCall('grasp', {'thing': 'cup'}), tool, NO_FACTS)


def _run(facts: GoalFacts, calls: list, **goal: Any) -> tuple[Any, Script, Tools]:
    model, tools = Script(calls), Tools()
    tools.known = facts
    *_, end = Agent(model, tools).run(Goal('Look.', **goal), Cancellation())
    assert isinstance(end, Finished)
    return end.result, model, tools


def test_the_agent_tells_facts_before_the_context_and_narrows() -> None:
    facts = GoalFacts('Now: noon.', {'look': {'at': ('sun',)}}, {'fly': 'no wings'})
    result, model, tools = _run(facts, [LOOK, DONE], context='Sunny.',
                                allowed_tools=frozenset({'look', 'fly', 'finish'}))
    assert result.outcome is Outcome.SUCCEEDED
    assert model.told[0] == ('Look.', 'Now: noon.\nSunny.')
    assert model.choices == facts.choices and tools.allowed == {'look', 'finish'}


def test_a_goal_that_can_call_nothing_ends_in_words() -> None:
    result, model, _ = _run(GoalFacts('', {}, {'fly': 'no wings'}), [],
                            allowed_tools=frozenset({'fly'}))
    assert result.outcome is Outcome.FAILED and 'fly: no wings' in result.message
    assert not model.told


def _call(model: LocalModel, **choices: Any) -> ToolCall:
    conversation = model.conversation('')
    conversation.instruct('Grasp the ball.', '')
    *_, made = conversation.next_call(None, Cancellation(), choices)
    conversation.end('')
    assert isinstance(made, CallMade)
    assert made.counts.text == 0 or made.call.name != 'grasp'
    return made.call


def test_values_narrow_the_grammar_and_never_the_prefix(engine: LocalEngine) -> None:
    tools = tuple(s for s in LOADED.schemas() if s.name == 'grasp')
    assert tools[0].chosen == ('thing',) and 'enum' not in str(tools[0].parameters)
    model = LocalModel(engine, ChatML(engine.info()), 'You grasp.', tools, [],
                       GenerationLimits(call_tokens=64))
    prefix = model.prefix
    for values in (('red ball', 'cup'), ('</tool_call><|im_end|>"\\',), ('a\nb',)):
        assert _call(model, grasp={'thing': values}).arguments['thing'] in values
    for i in range(60):
        model.grammar(None, 40, {'grasp': {'thing': (f'thing {i}',)}})
    assert model.prefix == prefix and len(engine._compiler._compiled) <= 32
    assert 'thing 59' in model.grammar(None, 40, {'grasp': {'thing': ('thing 59',)}})


@given(st.dictionaries(st.text('abc', min_size=1, max_size=6), st.text(max_size=40), max_size=16),
       st.integers(40, 200))
def test_a_look_around_keeps_its_budget(values: dict, length: int) -> None:
    told = within(values, length)
    assert len(told) <= length
    told = json.loads(told)
    left_out = told.pop('left_out', [])
    if isinstance(left_out, list) and 'left_out' not in values:
        assert {**told, **{name: values[name] for name in left_out}} == values


def test_looking_around_reads_everything_and_takes_no_arguments() -> None:
    readers = {'a': Fixed(1.26), 'b': Fixed(NotRead('silent'))}
    reading = {'topic': 't', 'type': 'std_msgs/msg/String', 'field': 'data', 'digits': 1}
    tool = LookAroundTool(LookAround(readings={'a': reading, 'b': reading}), readers)
    assert json.loads(tool.call({}, Cancellation(), True).text) == {
        'a': 1.3, 'b': 'not known: silent'}
    assert all(reader.asked == 1 for reader in readers.values())
    with pytest.raises(Refused):
        tool.call({'a': 1}, Cancellation(), False)
    canceled = Cancellation()
    canceled.cancel(Outcome.CANCELED)
    assert tool.call({}, canceled, False).status is Status.CANCELED


def test_a_field_may_lie_behind_lists() -> None:
    array = DiagnosticArray(status=[
        DiagnosticStatus(name=name, values=[KeyValue(key=name * 2)]) for name in ('a', 'b')])
    assert FieldOf(DiagnosticArray, 'status[].name', 'w').of(array) == ['a', 'b']
    assert FieldOf(DiagnosticArray, 'status[].values[].key', 'w').of(array) == ['aa', 'bb']
    joints = JointState(name=[f'joint {i}' for i in range(40)])
    for path in ('name', 'name[]'):
        assert FieldOf(JointState, path, 'w', each=True).of(joints) == joints.name
    for path in ('status[].nope', 'header[].frame_id', 'status.name', 'status[].name[]'):
        with pytest.raises(ConfigError, match='w.field'):
            FieldOf(DiagnosticArray, path, 'w')


# With a planner in a process of its own

@pytest.fixture
def things(bench: Bench) -> Iterator[Any]:
    """Publish names of things, on a best-effort topic such as detectors have."""
    from rclpy.qos import qos_profile_sensor_data
    publisher = bench.node.create_publisher(DiagnosticArray, 'things', qos_profile_sensor_data)
    names: list[str] = []
    timer = bench.node.create_timer(0.1, lambda: names and publisher.publish(
        DiagnosticArray(status=[DiagnosticStatus(name=name) for name in names])))
    yield names
    bench.node.destroy_timer(timer)
    bench.node.destroy_publisher(publisher)


def test_values_are_read_anew_for_each_goal(bench: Bench, test_model: str, things: list[str]
                                            ) -> None:
    from std_msgs.msg import String
    got: list[str] = []
    listed: list[ToolList] = []
    bench.node.create_subscription(String, 'grasp', lambda m: got.append(m.data), 10)
    bench.node.create_subscription(ToolList, 'planner/tools', listed.append, LATCHED)
    things[:] = ['cup']
    bench.planner(test_model, {'grasp': GRASP})
    bench.until(lambda: bool(listed) and bool(listed[-1].tools))
    tool = listed[-1].tools[0]
    assert (tool.name, tool.effect, list(tool.chosen_at_goal_start)) == (
        'grasp', ToolInfo.EFFECT_ACT, ['thing'])
    assert 'thing' in json.loads(tool.parameters)['properties']
    for name in ('cup', 'a ball'):
        things[:] = [name]
        bench.spin(0.3)
        end = bench.plan('Grasp it.', max_steps=1)
        assert json.loads(end.result.steps[0].arguments) == {'thing': name}
        bench.until(lambda: name in got, 5)
    things.clear()
    bench.spin(2.2)  # max_age
    end = bench.plan('Grasp it.', max_steps=1)
    assert end.result.outcome == end.result.FAILED and not end.result.steps
    assert 'the last message' in end.result.message and got == ['cup', 'a ball']


def test_a_question_goes_out_and_its_answer_comes_in_once(bench: Bench, test_model: str) -> None:
    asked: list[Question] = []
    bench.planner(test_model, {}, builtins={
        'finish': False, 'wait': 0.0, 'compare': False, 'ask_person': 6.0})
    bench.node.create_subscription(Question, 'planner/question', asked.append, LATCHED)
    client = bench.node.create_client(Answer, 'planner/answer')

    def answer(name: str, text: str) -> Any:
        sending = client.call_async(Answer.Request(id=name, text=text))
        bench.until(sending.done, 5)
        return sending.result()

    goal = bench.send('Ask.', max_steps=1)
    bench.until(lambda: bool(asked) and asked[-1].time_left.sec > 0)
    question = asked[-1]
    assert question.text and len(question.id) == 32
    for name, text, reason in (('x', 'yes', 'no open question'), (question.id, ' ', 'empty'),
                               (question.id, 'y' * 513, '512 are allowed')):
        refused = answer(name, text)
        assert not refused.accepted and reason in refused.reason
    assert answer(question.id, 'The red one.').accepted
    again = answer(question.id, 'No, the blue one.')
    assert not again.accepted and 'over' in again.reason
    end = goal.end()
    assert json.loads(end.result.steps[0].observation) == {'answer': 'The red one.'}
    bench.until(lambda: asked[-1].id == question.id and asked[-1].time_left.sec == 0)
    goal = bench.send('Ask.', max_steps=1)
    bench.until(lambda: asked[-1].time_left.sec > 0)
    assert goal.cancel() < 2.0
    assert not answer(asked[-1].id, 'Too late.').accepted
    end = bench.plan('Ask.', max_steps=1, dry_run=True)
    assert 'nobody was asked' in end.result.steps[0].observation
    end = bench.plan('Ask.', max_steps=1)
    assert end.result.steps[0].error == 'nobody answered within 6 s'


def test_without_the_new_keys_nothing_new_is_there() -> None:
    names = [schema.name for schema in LoadedTools({}, Builtins(), {}).schemas()]
    assert names == ['compare', 'wait', 'finish']
