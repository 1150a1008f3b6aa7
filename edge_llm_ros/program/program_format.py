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

"""A chat format in which the model answers with programs."""

from __future__ import annotations

from collections.abc import Sequence

from edge_llm_ros.flow.engine import ModelInfo
from edge_llm_ros.flow.tool import ToolCall, ToolSchema
from edge_llm_ros.program.program_grammar import program_grammar
from edge_llm_ros.program.stubs import functions, stub
from edge_llm_ros.prompt.call_grammar import Branch, literal
from edge_llm_ros.prompt.chat_format import ChatFormat, Example, plain_turns, PlainTurn
from edge_llm_ros.prompt.pieces import Piece

# What a program is while it is no call yet; no tool can be called so, since it is no name.
PROGRAM = '<program>'


class ProgramFormat:
    """
    The frames of a model's own chat format around goals, programs and what came of them.

    :param frames: the model's own
    :param turns: goals and their programs, which are the examples
    """

    end_of_turn: str

    def __init__(self, frames: ChatFormat, info: ModelInfo, turns: Sequence[PlainTurn]) -> None:
        self._frames = frames
        self._special = info.special_tokens
        self._turns = turns
        self.name = frames.name
        self.end_of_turn = frames.end_of_turn
        self.frame = ('', frames.end_of_turn)

    def prefix(self, system: str, tools: Sequence[ToolSchema], examples: Sequence[Example]
               ) -> list[Piece]:
        """Return the blocks that never change: system, functions, programs."""
        text = '\n'.join([f'{system}\n', *map(stub, functions(tools))])
        return self._frames.plain_prefix(text.rstrip('\n'), self._turns)

    def plain_prefix(self, system: str, turns: Sequence[PlainTurn]) -> list[Piece]:
        """Return blocks that never change where the model answers in plain text."""
        return self._frames.plain_prefix(system, turns)

    def instruction(self, text: str, first: bool) -> list[Piece]:
        """Return a person's message."""
        return self._frames.instruction(text, first)

    def examples(self, turns: Sequence[PlainTurn]) -> list[Piece]:
        """Return goals and their programs, as they also stand in the prefix."""
        return plain_turns(self._frames, turns)

    def observation(self, call: ToolCall, text: str) -> list[Piece]:
        """Return why a program did not go on."""
        return self._frames.instruction(text, first=False)

    def call_prompt(self) -> list[Piece]:
        """Return what stands before a program."""
        return self._frames.call_prompt()

    def call(self, call: ToolCall) -> list[Piece]:
        """Return a call as a model of this format would write it, if it wrote calls."""
        return self._frames.call(call)

    def grammar(self, tools: Sequence[ToolSchema], text_length: int, judged: bool = False) -> str:
        """
        Return the grammar of a program.

        :param judged: whether a line before it says what kind of goal it is
        """
        return program_grammar(functions(tools), text_length,
                               literal(self.end_of_turn, self._special), judged=judged)

    def turn_grammar(self, branches: Sequence[Branch], rules: Sequence[str], text_length: int
                     ) -> str:
        """Return the grammar of a program that calls the tools of the branches."""
        return self.grammar([tool for branch in branches for tool in branch.tools], text_length)

    def sentence_grammar(self, length: int) -> str:
        """Return the grammar of an answer in plain text."""
        return self._frames.sentence_grammar(length)

    def parse(self, text: str) -> ToolCall:
        """Return a program as it is carried until it is run."""
        return ToolCall(PROGRAM, {'text': text.removesuffix(self.end_of_turn)})
