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

"""ChatML with Hermes tool calls: the Qwen family and its kin."""

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

_BEFORE_TOOLS = (
    '\n\n# Tools\n\nThe functions that you can call, one JSON signature a line:\n<tools>')
_AFTER_TOOLS = (
    '\n</tools>\n\nAnswer every message with exactly one call, written as a JSON object between '
    '<tool_call></tool_call> tags:\n<tool_call>\n{"name": <function>, "arguments": <object>}\n'
    '</tool_call>')


class ChatML:
    """The format of models trained on ``<|im_start|>`` turns and ``<tool_call>`` tags."""

    name = 'chatml'
    frame = ('<tool_call>', '</tool_call><|im_end|>')
    end_of_turn = '<|im_end|>'

    def __init__(self, info: ModelInfo) -> None:
        self._special = info.special_tokens
        self._bos = info.bos_text if info.add_bos else ''

    @staticmethod
    def matches(info: ModelInfo) -> bool:
        """Say whether a model's file asks for this format."""
        texts = {token.text for token in info.special_tokens}
        return '<|im_start|>' in info.chat_template and {'<|im_start|>', '<|im_end|>'} <= texts

    def prefix(self, system: str, tools: Sequence[ToolSchema], examples: Sequence[Example]
               ) -> list[Piece]:
        """Return the blocks that never change."""
        pieces: list[Piece] = [
            Markup(self._bos + '<|im_start|>system\n'), Data(system), Markup(_BEFORE_TOOLS)]
        pieces += [Data('\n' + canonical_json(signature(tool))) for tool in tools]
        pieces += [Markup(_AFTER_TOOLS), Markup('<|im_end|>')]
        return pieces + example_pieces(self, examples)

    def plain_prefix(self, system: str, turns: Sequence[PlainTurn]) -> list[Piece]:
        """Return the blocks that never change where the model answers in plain text."""
        return [Markup(self._bos + '<|im_start|>system\n'), Data(system), Markup('<|im_end|>'),
                *plain_turns(self, turns)]

    def instruction(self, text: str, first: bool) -> list[Piece]:
        """Return a person's message."""
        return with_frame('\n<|im_start|>user\n', text, '<|im_end|>')

    def observation(self, call: ToolCall, text: str) -> list[Piece]:
        """Return what came of a call."""
        return with_frame('\n<|im_start|>user\n<tool_response>\n', text,
                          '\n</tool_response><|im_end|>')

    def call_prompt(self) -> list[Piece]:
        """Return what stands before a call."""
        return [Markup('\n<|im_start|>assistant\n')]

    def call(self, call: ToolCall) -> list[Piece]:
        """Return a call as the model writes it."""
        body = canonical_json({'name': call.name, 'arguments': dict(call.arguments)})
        return with_frame('<tool_call>', f'\n{body}\n', '</tool_call><|im_end|>')

    def grammar(self, tools: Sequence[ToolSchema], text_length: int) -> str:
        """Return the grammar of one call."""
        return self.turn_grammar([Branch('', tools)], (), text_length)

    def turn_grammar(self, branches: Sequence[Branch], rules: Sequence[str], text_length: int
                     ) -> str:
        """Return the grammar of one call and what stands before it."""
        return call_grammar(
            branches, rules,
            opening=literal('<tool_call>\n{"name": "', self._special),
            before_arguments='", "arguments": ',
            after=literal('}\n</tool_call><|im_end|>', self._special),
            text_length=text_length)

    def sentence_grammar(self, length: int) -> str:
        """Return the grammar of a line of text."""
        return sentence_grammar(literal(self.end_of_turn, self._special), length)

    def parse(self, text: str) -> ToolCall:
        """Return the call that a complete generation is."""
        opening, closing = self.frame
        return parse_json_call(text.removeprefix(opening).removesuffix(closing), 'arguments')
