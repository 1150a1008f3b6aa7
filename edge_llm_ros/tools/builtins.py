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

"""The tools that every planner has, and which of them a file switches on."""

from __future__ import annotations

from typing import Any, Literal

from edge_llm_ros.flow.tool import (
    ASK_PERSON, COMPARE, FINISH, LOOK_AROUND, RECALL, REMEMBER, ToolSchema, WAIT)
from edge_llm_ros.tools.readings import Readings
from edge_llm_ros.tools.strict_model import StrictModel
from pydantic import Field

SUMMARY_LENGTH = 160
QUESTION_LENGTH = 160
ANSWER_LENGTH = 512
SUBJECT_LENGTH = 40
NOTE_LENGTH = 160


class LookAround(StrictModel):
    """
    A short summary of what the robot's topics say.

    :param readings: by the names that the model is told
    :param length: characters of the summary at most; what does not fit is named as left out
    """

    readings: Readings = Field(min_length=1, max_length=16)
    length: int = Field(default=400, ge=40, le=2000)


class Builtins(StrictModel):
    """
    Tools that are the planner's own.

    :param finish: whether the model can end a goal; without it, goals end by a limit.
        summary_first: the model says what was done, or why not, before it says whether that is
        success
    :param compare: whether the model can have two numbers compared, which small models do badly
    :param wait: seconds that the model may wait at most; 0 for no such tool
    :param ask_person: seconds that a question to a person waits for its answer; 0 for no such tool
    :param look_around: what the model is told when it looks around; left out for no such tool
    :param notes: what the robot can be told to remember for later goals, notes at most; 0 for no
        such tools
    """

    finish: bool | Literal['summary_first'] = True
    compare: bool = True
    wait: float = Field(default=30.0, ge=0, le=600)
    ask_person: float = Field(default=0.0, ge=0, le=3600)
    look_around: LookAround | None = None
    notes: int = Field(default=0, ge=0, le=1000)


def _schema(name: str, description: str, properties: dict[str, Any]) -> ToolSchema:
    return ToolSchema(name, description, {
        'type': 'object', 'properties': properties, 'required': list(properties)})


def builtin_schemas(builtins: Builtins) -> tuple[ToolSchema, ...]:
    """Return the built-in tools that are switched on, in the order of the prompt."""
    schemas = []
    if builtins.look_around is not None:
        names = ', '.join(builtins.look_around.readings)
        schemas.append(_schema(
            LOOK_AROUND, f'Tell in short what the robot knows right now: {names}.', {}))
    if builtins.ask_person:
        schemas.append(_schema(ASK_PERSON, 'Ask a person and wait for the answer.', {
            'question': {'type': 'string', 'description': 'One clear question',
                         'maxLength': QUESTION_LENGTH}}))
    if builtins.notes:
        schemas += _note_schemas()
    if builtins.compare:
        number = {'type': 'number'}
        schemas.append(_schema(
            COMPARE, 'Compare a reading with a limit; call it before you decide.',
            {'value': number, 'limit': number}))
    if builtins.wait:
        schemas.append(_schema(WAIT, 'Wait before the next call.', {
            'seconds': {'type': 'number', 'description': 'How long [s]', 'minimum': 0,
                        'maximum': builtins.wait}}))
    if builtins.finish:
        schemas.append(_schema(FINISH, 'End the goal; always the last call.',
                               _finish_arguments(builtins.finish == 'summary_first')))
    return tuple(schemas)


def _note_schemas() -> list[ToolSchema]:
    about = {'type': 'string', 'description': 'What it is about, in a few words',
             'minLength': 1, 'maxLength': SUBJECT_LENGTH}
    text = {'type': 'string', 'description': 'What to remember', 'minLength': 1,
            'maxLength': NOTE_LENGTH}
    return [_schema(REMEMBER, 'Note something for later goals, where a person wants that.',
                    {'about': about, 'text': text}),
            _schema(RECALL, 'Look up what was noted in earlier goals.', {'about': about})]


def _finish_arguments(summary_first: bool) -> dict[str, Any]:
    success = {'type': 'boolean', 'description': 'true if the goal is reached, false if not'}
    summary = {'type': 'string', 'description': 'One sentence: what was done or why not',
               'maxLength': SUMMARY_LENGTH}
    arguments = {'success': success, 'summary': summary}
    return dict(reversed(arguments.items())) if summary_first else arguments
