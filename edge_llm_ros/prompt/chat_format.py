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

"""What a chat format is: it owns the frames of messages and the shape of a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import json
from typing import Any, Protocol

from edge_llm_ros.flow.errors import EngineError
from edge_llm_ros.flow.forethought import Judgement
from edge_llm_ros.flow.tool import ToolCall, ToolSchema
from edge_llm_ros.prompt.call_grammar import Branch
from edge_llm_ros.prompt.pieces import Data, Markup, Piece


@dataclass(frozen=True)
class Example:
    """
    A goal and the calls that reach it, each with what came of it (empty after the last).

    :param judgement: of the goal, where the model writes one
    :param plan: its sub-goals, where the model writes them
    :param thoughts: one for each call, where the model has them
    :param before: what stands before each call
    """

    instruction: str
    steps: tuple[tuple[ToolCall, str], ...]
    judgement: Judgement = Judgement.CAN_DO
    plan: tuple[str, ...] = ()
    thoughts: tuple[str, ...] = ()
    before: tuple[tuple[Piece, ...], ...] = ()

    def turns(self) -> list[tuple[tuple[Piece, ...], ToolCall, str]]:
        """Return what stands before each call, the call, and what came of it."""
        before = self.before or ((),) * len(self.steps)
        return [(text, *step) for text, step in zip(before, self.steps)]


@dataclass(frozen=True)
class PlainTurn:
    """What a person says, and what the model answers."""

    said: str
    answer: str


class ChatFormat(Protocol):
    """
    One way to write a conversation.

    ``frame`` is the text that opens and closes a call: not counted as generated. The text after
    ``end_of_turn`` belongs to the next message.
    """

    name: str
    frame: tuple[str, str]
    end_of_turn: str

    def prefix(self, system: str, tools: Sequence[ToolSchema], examples: Sequence[Example]
               ) -> list[Piece]:
        """Return the blocks that never change: system, tools, static examples."""

    def plain_prefix(self, system: str, turns: Sequence[PlainTurn]) -> list[Piece]:
        """Return blocks that never change where the model answers in plain text."""

    def instruction(self, text: str, first: bool) -> list[Piece]:
        """
        Return a person's message.

        :param first: whether it follows the prefix, not a call
        """

    def observation(self, call: ToolCall, text: str) -> list[Piece]:
        """Return what came of a call."""

    def call_prompt(self) -> list[Piece]:
        """Return what stands before a call of the model."""

    def call(self, call: ToolCall) -> list[Piece]:
        """Return a call as the model writes it, from after call_prompt() to the end of turn."""

    def grammar(self, tools: Sequence[ToolSchema], text_length: int) -> str:
        """Return the grammar of one call of any of the tools."""

    def turn_grammar(self, branches: Sequence[Branch], rules: Sequence[str], text_length: int
                     ) -> str:
        """
        Return the grammar of one call and what stands before it.

        :param rules: that the branches need
        """

    def sentence_grammar(self, length: int) -> str:
        """Return the grammar of an answer in plain text: a line, then the end of turn."""

    def parse(self, text: str) -> ToolCall:
        """Return the call that a complete generation is; raises EngineError where it is none."""


def example_pieces(chat_format: ChatFormat, examples: Sequence[Example]) -> list[Piece]:
    """Return examples as a conversation in a chat format."""
    pieces: list[Piece] = []
    for example in examples:
        pieces += chat_format.instruction(example.instruction, first=False)
        for before, call, observation in example.turns():
            pieces += [*chat_format.call_prompt(), *before, *chat_format.call(call)]
            pieces += chat_format.observation(call, observation) if observation else []
    return pieces


def plain_turns(chat_format: ChatFormat, turns: Sequence[PlainTurn]) -> list[Piece]:
    """Return turns in plain text as a conversation in a chat format."""
    pieces: list[Piece] = []
    for turn in turns:
        pieces += [*chat_format.instruction(turn.said, first=False), *chat_format.call_prompt(),
                   Data(turn.answer), Markup(chat_format.end_of_turn)]
    return pieces


def signature(tool: ToolSchema) -> dict[str, Any]:
    """Return a tool as models are trained to see it."""
    function = {
        'name': tool.name, 'description': tool.description, 'parameters': dict(tool.parameters)
    }
    return {'type': 'function', 'function': function}


def with_frame(opening: str, data: str, closing: str) -> list[Piece]:
    """Return data between two pieces of markup."""
    return [Markup(opening), Data(data), Markup(closing)]


def parse_json_call(text: str, arguments_key: str) -> ToolCall:
    """
    Return the call in a JSON object with a name and arguments.

    :raises EngineError: if the text is not such an object
    """
    try:
        value: Mapping[str, Any] = json.loads(text)
        return ToolCall(value['name'], value[arguments_key])
    except (ValueError, KeyError, TypeError) as error:
        raise EngineError(
            f'the model wrote no call that can be read ({error}): {text!r}') from error
