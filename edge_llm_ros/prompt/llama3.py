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

"""Llama 3: header turns and bare JSON calls."""

from __future__ import annotations

from collections.abc import Sequence

from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.engine import ModelInfo
from edge_llm_ros.flow.tool import ToolCall, ToolSchema
from edge_llm_ros.prompt.call_grammar import (
    Branch, call_grammar, literal, sentence_grammar)
from edge_llm_ros.prompt.chat_format import (
    Example, example_pieces, parse_json_call, plain_turns, PlainTurn, signature, with_frame)
from edge_llm_ros.prompt.pieces import Data, Markup, Piece

_BEFORE_TOOLS = '\n\nThe functions that you can call, one JSON signature a line:'
_AFTER_TOOLS = (
    '\n\nAnswer every message with exactly one call, written as a JSON object: '
    '{"name": <function>, "parameters": <object>}')


class Llama3:
    """The format of models trained on ``<|start_header_id|>`` turns."""

    name = 'llama3'
    frame = ('', '<|eot_id|>')
    end_of_turn = '<|eot_id|>'

    def __init__(self, info: ModelInfo) -> None:
        self._special = info.special_tokens

    @staticmethod
    def matches(info: ModelInfo) -> bool:
        """Say whether a model's file asks for this format."""
        texts = {token.text for token in info.special_tokens}
        needed = {'<|start_header_id|>', '<|end_header_id|>', '<|eot_id|>'}
        return '<|start_header_id|>' in info.chat_template and needed <= texts

    @staticmethod
    def _turn(role: str, text: str) -> list[Piece]:
        return with_frame(f'<|start_header_id|>{role}<|end_header_id|>\n\n', text, '<|eot_id|>')

    def prefix(self, system: str, tools: Sequence[ToolSchema], examples: Sequence[Example]
               ) -> list[Piece]:
        """Return the blocks that never change."""
        lines = [canonical_json(signature(tool)) for tool in tools]
        text = '\n'.join([system + _BEFORE_TOOLS, *lines]) + _AFTER_TOOLS
        pieces: list[Piece] = [Markup('<|begin_of_text|>'), *self._turn('system', text)]
        return pieces + example_pieces(self, examples)

    def plain_prefix(self, system: str, turns: Sequence[PlainTurn]) -> list[Piece]:
        """Return the blocks that never change where the model answers in plain text."""
        return [Markup('<|begin_of_text|>'), *self._turn('system', system),
                *plain_turns(self, turns)]

    def instruction(self, text: str, first: bool) -> list[Piece]:
        """Return a person's message."""
        return self._turn('user', text)

    def observation(self, call: ToolCall, text: str) -> list[Piece]:
        """Return what came of a call."""
        return self._turn('ipython', text)

    def call_prompt(self) -> list[Piece]:
        """Return what stands before a call."""
        return [Markup('<|start_header_id|>assistant<|end_header_id|>\n\n')]

    def call(self, call: ToolCall) -> list[Piece]:
        """Return a call as the model writes it."""
        body = canonical_json({'name': call.name, 'parameters': dict(call.arguments)})
        return [Data(body), Markup('<|eot_id|>')]

    def grammar(self, tools: Sequence[ToolSchema], text_length: int) -> str:
        """Return the grammar of one call."""
        return self.turn_grammar([Branch('', tools)], (), text_length)

    def turn_grammar(self, branches: Sequence[Branch], rules: Sequence[str], text_length: int
                     ) -> str:
        """Return the grammar of one call and what stands before it."""
        return call_grammar(
            branches, rules,
            opening=literal('{"name": "', self._special),
            before_arguments='", "parameters": ',
            after=literal('}<|eot_id|>', self._special),
            text_length=text_length)

    def sentence_grammar(self, length: int) -> str:
        """Return the grammar of a line of text."""
        return sentence_grammar(literal(self.end_of_turn, self._special), length)

    def parse(self, text: str) -> ToolCall:
        """Return the call that a complete generation is."""
        return parse_json_call(text.removesuffix(self.frame[1]), 'parameters')
