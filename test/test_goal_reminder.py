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
"""The goal told again with each result: the same in examples and in conversations."""

from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.flow.engine import EngineConfig
from edge_llm_ros.flow.tool import FINISH, Observation, Status, ToolCall, ToolSchema
from edge_llm_ros.prompt.chat_format import Example
from edge_llm_ros.prompt.formats import chat_format
from edge_llm_ros.prompt.generation_limits import GenerationLimits
from edge_llm_ros.prompt.goal_reminder import GoalReminder
from edge_llm_ros.prompt.local_model import LocalModel
from edge_llm_ros.prompt.words import Words
from hypothesis import given, strategies

GO = ToolSchema('go', 'Drive.', {
    'type': 'object', 'properties': {'place': {'type': 'string'}}, 'required': ['place']})
END = ToolSchema(FINISH, 'End.', {
    'type': 'object', 'properties': {'success': {'type': 'boolean'}}, 'required': ['success']})
LAB, GYM = (ToolCall('go', {'place': place}) for place in ('lab', 'gym'))
DONE, FAILED = '{"done": true}', '{"error": "blocked"}'
REMINDER = GoalReminder(Words().reminder)


def test_the_goal_and_what_worked_follow_each_result(tiny_model: str) -> None:
    engine = LocalEngine(EngineConfig(
        model_path=tiny_model, context_tokens=4096, max_sessions=1, threads=1))
    example = Example('Go to both.', (
        (LAB, DONE), (GYM, FAILED), (GYM, DONE), (ToolCall(FINISH, {'success': True}), '')))
    model = LocalModel(engine, chat_format('chatml', engine.info()), 'S', [GO, END], [example],
                       GenerationLimits(), reminder=REMINDER)
    prefix = engine.detokenize(model.prefix).decode()
    for text in (DONE + '\nGoal: Go to both.\nDone: go lab\n',
                 FAILED + '\nGoal: Go to both.\nDone: go lab\n',
                 DONE + '\nGoal: Go to both.\nDone: go lab, go gym\n'):
        assert text in prefix
    conversation = model.conversation('')
    for goal in ('Go to both.', 'And now?'):
        conversation.instruct(goal, 'The door is open.')
        conversation.observe(LAB, Observation(Status.SUCCEEDED, DONE))
        conversation.observe(GYM, Observation(Status.FAILED, FAILED, 'blocked'))
    told = engine.detokenize(conversation.tokens[len(model.prefix):]).decode()
    assert told.count(DONE + '\nGoal: Go to both.\nDone: go lab\n') == 1
    assert told.count(FAILED + '\nGoal: And now?\nDone: go lab\n') == 1
    assert told.count('The door is open.') == 2
    engine.close()


@given(goal=strategies.text(min_size=1, max_size=400), place=strategies.text(max_size=40))
def test_texts_are_told_as_they_are(goal: str, place: str) -> None:
    text = REMINDER.after('{goal}', goal, [ToolCall('go', {'place': place})])
    assert text.startswith('{goal}\nGoal: ') and text.endswith(f'Done: go {place}')
    assert len(text) < 400 and goal.strip()[:200] in text


def test_nothing_done_is_told(tiny_model: str) -> None:
    assert REMINDER.after(FAILED, ' Go. ', []) == f'{FAILED}\nGoal: Go.\nDone: -'
