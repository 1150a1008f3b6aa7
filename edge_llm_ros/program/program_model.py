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

"""A model that answers a goal with a program instead of one call after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edge_llm_ros.flow.engine import Engine
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.forethought import Occasion
from edge_llm_ros.flow.tool import Choices, FINISH, NO_CHOICES, ToolSchema
from edge_llm_ros.program.follow_ups import FollowUps
from edge_llm_ros.program.language import ProgramError
from edge_llm_ros.program.program import Program
from edge_llm_ros.program.program_conversation import ProgramConversation
from edge_llm_ros.program.program_format import ProgramFormat
from edge_llm_ros.program.stubs import functions
from edge_llm_ros.prompt.call_grammar import with_choices
from edge_llm_ros.prompt.chat_format import ChatFormat
from edge_llm_ros.prompt.generation_limits import GenerationLimits
from edge_llm_ros.prompt.local_conversation import LocalConversation
from edge_llm_ros.prompt.local_model import LocalModel
from edge_llm_ros.prompt.pieces import Data, Piece
from edge_llm_ros.prompt.prompt_file import judgement_line, JUDGEMENTS, PromptFile, UNCLEAR


class ProgramModel(LocalModel):
    """
    Plans by programs (executable actions: Wang et al. 2024, arXiv 2402.01030).

    A program is written in one turn and run call by call, each through the agent and the gate; a
    call that fails ends it, and the model writes the rest anew.

    :param frames: the model's own chat format
    :param prompt: system prompt, examples and words
    :param tools: in the order of the prompt
    :raises ConfigError: if an example cannot be run with these tools, or all of it does not fit
    """

    def __init__(self, engine: Engine, frames: ChatFormat, prompt: PromptFile,
                 tools: Sequence[ToolSchema], limits: GenerationLimits) -> None:
        finish = next((tool for tool in tools if tool.name == FINISH), None)
        if finish is None:
            raise ConfigError('act_by: programs need builtins.finish, which ends them.')
        self.summary_length: int = finish.parameters['properties']['summary'].get(
            'maxLength', limits.text_length)
        self.words = prompt.words
        self.functions: Sequence[ToolSchema] = functions(tools)
        _check(prompt, self.functions)
        self._bias = prompt.judgement_bias
        turns = [turn for example in prompt.programs
                 for turn in example.turns(prompt.words, self._bias is not None)]
        self._follow_ups = FollowUps(prompt, self.functions, self._bias is not None)
        self._programs = ProgramFormat(frames, engine.info(), turns)
        super().__init__(engine, self._programs, prompt.system, tools, [], limits)
        self._tokens_of = self._judging_tokens()

    def _begin(self, name: str, lasting: bool) -> LocalConversation:
        return ProgramConversation(self, name, lasting)

    def grammar(self, allowed: frozenset[str] | None, text_length: int,
                choices: Choices = NO_CHOICES, occasion: Occasion = Occasion.FIRST) -> str:
        """
        Return the grammar of a program that calls the allowed tools, compiled by the engine.

        :param occasion: which decides whether the goal is judged first
        """
        tools = with_choices(
            [t for t in self.tools if allowed is None or t.name in allowed], choices)
        grammar = self._programs.grammar(
            tools, text_length, self._bias is not None and occasion is Occasion.FIRST)
        self.engine.check_grammar(grammar)
        return grammar

    def follow_ups(self, goal: str) -> Sequence[Piece]:
        """Return examples of goals that need those before them, as this one may."""
        return self._programs.examples(self._follow_ups.like(goal))

    def bias(self, follows: bool) -> Mapping[int, float]:
        """
        Return what is added to the logits of tokens where a goal is judged.

        :param follows: whether the session had goals before, which may say what this one does not
        """
        bias = {} if self._bias is None else self._bias.model_dump()
        if follows:
            bias.pop(UNCLEAR, None)
        return {token: bias.get(name, 0.0) for name, token in self._tokens_of.items()}

    def _judging_tokens(self) -> Mapping[str, int]:
        """Return the tokens by which judgements begin to differ."""
        if self._bias is None:
            return {}
        lines = {name: self.tokens([Data(judgement_line(name))])
                 for name in JUDGEMENTS}
        at = next(i for i, tokens in enumerate(zip(*lines.values())) if len(set(tokens)) > 1)
        found = {name: tokens[at] for name, tokens in lines.items()}
        if len(set(found.values())) < len(found):
            raise ConfigError('judgement_bias: this model has no token of its own for each '
                              'judgement. Leave it out.')
        return found


def _check(prompt: PromptFile, tools: Sequence[ToolSchema]) -> None:
    """Raise ConfigError if an example is no program of these tools."""
    for name, examples in (('programs', prompt.programs), ('follow_ups', prompt.follow_ups)):
        for i, example in enumerate(examples):
            for text in example.texts():
                try:
                    Program.parse(text, tools)
                except ProgramError as error:
                    raise ConfigError(f'prompt_file: {name}.{i}: {error}') from None
