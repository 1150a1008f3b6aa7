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

"""The format of the prompt file: what the model is told before any goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.forethought import Judgement
from edge_llm_ros.flow.tool import FINISH, ToolCall, ToolSchema
from edge_llm_ros.prompt.chat_format import Example, PlainTurn
from edge_llm_ros.prompt.forethought import MOST_SUB_GOALS
from edge_llm_ros.prompt.words import Words
from pydantic import BaseModel, ConfigDict, Field

SubGoal = Annotated[str, Field(min_length=1, max_length=60, pattern=r'^[^\n{<]+$')]


class _Strict(BaseModel):
    model_config = ConfigDict(extra='forbid', strict=True, frozen=True)


class ExampleStep(_Strict):
    """
    A call, and what came of it; the last call of an example has none.

    :param thought: what the model thinks before it; what was done and what comes next by itself
    """

    call: str
    thought: str = Field(default='', pattern=r'^[^\n{<]*$')
    arguments: dict[str, Any] = Field(default_factory=dict)
    observation: dict[str, Any] | None = None


class ExampleGoal(_Strict):
    """
    A goal and the calls that reach it.

    :param judgement: what kind of goal it is; by itself what its calls say
    :param plan: its sub-goals; by itself its calls
    """

    instruction: str = Field(min_length=1)
    steps: list[ExampleStep] = Field(min_length=1, max_length=32)
    judgement: Literal['', 'can_do', 'no_call_needed', 'missing_information', 'impossible',
                       'unsafe'] = ''
    plan: list[SubGoal] = Field(default_factory=list, max_length=MOST_SUB_GOALS)

    def example(self, tools: Mapping[str, ToolSchema]) -> Example:
        """
        Return it as the chat format takes it.

        :param tools: by name; the model writes arguments in their order, so its examples do
        """
        calls = [FINISH if step.call == FINISH else ToolCall(step.call, step.arguments).in_words()
                 for step in self.steps]
        done = ['Done: ' + (', '.join(calls[:i]) or 'nothing') for i in range(len(calls))]
        judgement = Judgement.CAN_DO
        if self.judgement:
            judgement = Judgement(self.judgement)
        elif calls == [FINISH]:
            reached = self.steps[0].arguments.get('success') is True
            judgement = Judgement.NO_CALL_NEEDED if reached else Judgement.IMPOSSIBLE
        return Example(
            self.instruction,
            tuple((ToolCall(step.call, {
                name: step.arguments[name] for name in tools[step.call].parameters['properties']
                if name in step.arguments}),
                   '' if step.observation is None else canonical_json(step.observation))
                  for step in self.steps),
            judgement, tuple(self.plan or calls[:-1][:MOST_SUB_GOALS] or calls),
            tuple(step.thought or f'{text}. Next: {call}.'
                  for step, text, call in zip(self.steps, done, calls)))


JUDGEMENTS = FINE, UNCLEAR, IMPOSSIBLE, HARMFUL = ('fine', 'unclear', 'impossible', 'harmful')
"""What a goal may be for a model that writes programs."""


def judgement_line(judgement: str) -> str:
    """Return the line that says what kind of goal it is, before a program."""
    return f'# {judgement}\n'


class EarlierGoal(_Strict):
    """
    A goal of the same session.

    :param did: the calls that worked, and an ending without success, as the next goal is told
    """

    goal: str = Field(min_length=1)
    did: str = Field(min_length=1)


class JudgementBias(_Strict):
    """
    What is added to the logits of a judgement.

    A model of few parameters ranks goals well, but its threshold is anywhere: these move it.
    """

    unclear: float = Field(default=0.0, ge=-100, le=100)
    impossible: float = Field(default=0.0, ge=-100, le=100)
    harmful: float = Field(default=0.0, ge=-100, le=100)


class StoppedProgram(_Strict):
    """Why a program did not go on, and the program that then follows."""

    stopped: str = Field(min_length=1)
    program: str = Field(min_length=1)


class ExampleProgram(_Strict):
    """
    A goal and the program that reaches it; others where that one was stopped.

    :param judgement: of the goal, which the model writes before its program
    """

    goal: str = Field(min_length=1)
    judgement: Literal['fine', 'unclear', 'impossible', 'harmful'] = 'fine'
    program: str = Field(min_length=1)
    then: list[StoppedProgram] = Field(default_factory=list, max_length=8)

    def texts(self) -> list[str]:
        """Return its programs."""
        return [self.program, *(more.program for more in self.then)]

    def turns(self, words: Words, judged: bool) -> list[PlainTurn]:
        """Return it as a conversation."""
        before = judgement_line(self.judgement) if judged else ''
        return [PlainTurn(self.goal, before + self.program), *(
            PlainTurn(words.stopped.format(reason=more.stopped), more.program)
            for more in self.then)]


class FollowUp(ExampleProgram):
    """
    A goal that needs those before it, and its program.

    :param before: earlier goals of the session, the last one last
    """

    before: list[EarlierGoal] = Field(min_length=1, max_length=4)

    def turns(self, words: Words, judged: bool) -> list[PlainTurn]:
        """Return it as a conversation, after the earlier goals."""
        told = '\n'.join(words.earlier(earlier.goal, earlier.did) for earlier in self.before)
        first, *others = super().turns(words, judged)
        return [PlainTurn(f'{told}\n\n{first.said}', first.answer), *others]


class PromptFile(_Strict):
    """
    A prompt file.

    :param examples: for a model that makes calls
    :param programs: for one that writes programs
    :param follow_ups: of which the most alike are shown before a goal that is not the first of its
        session; they are no part of the prefix
    :param follow_ups_shown: how many
    :param judgement_bias: has the model say of each goal what kind it is before it writes a
        program; only a fine one gets one that does something
    """

    version: Literal[1]
    system: str = Field(min_length=1)
    words: Words = Field(default_factory=Words)
    examples: list[ExampleGoal] = Field(default_factory=list, max_length=32)
    programs: list[ExampleProgram] = Field(default_factory=list, max_length=256)
    follow_ups: list[FollowUp] = Field(default_factory=list, max_length=1024)
    follow_ups_shown: int = Field(default=3, ge=0, le=16)
    judgement_bias: JudgementBias | None = None

    def for_tools(self, path: str, tools: Sequence[ToolSchema]) -> list[Example]:
        """
        Return the examples, each call checked against the tools.

        :param path: of this file, for messages
        :raises ConfigError: if an example calls what is not there or ends in the middle
        """
        known = {tool.name: tool for tool in tools}
        for i, example in enumerate(self.examples):
            for j, step in enumerate(example.steps):
                where = f'{path}: examples.{i}.steps.{j}'
                tool = known.get(step.call)
                if tool is None:
                    raise ConfigError(
                        f'{where}.call: no tool {step.call!r}; tools: {", ".join(known)}.')
                properties = tool.parameters['properties']
                for name, value in step.arguments.items():
                    words = properties.get(name, {}).get('enum')
                    if name not in properties or (words is not None and value not in words):
                        raise ConfigError(
                            f'{where}.arguments.{name}: {value!r} is not what {step.call} takes.')
                missing = [
                    n for n in tool.parameters.get('required', ()) if n not in step.arguments
                ]
                if missing:
                    raise ConfigError(
                        f'{where}.arguments: {missing[0]!r} of {step.call} is missing.')
                last = j == len(example.steps) - 1
                if last != (step.observation is None) or (FINISH in known and last != (
                        step.call == FINISH)):
                    raise ConfigError(
                        f'{where}: every call but the last needs an observation, and the last '
                        'must be '
                        f'{FINISH} without one.')
        return [example.example(known) for example in self.examples]
