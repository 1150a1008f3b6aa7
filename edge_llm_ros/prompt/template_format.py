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

"""Any other model: bare JSON calls in the frames that its own chat template draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.engine import ModelInfo, TokenKind
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import ToolCall, ToolSchema
from edge_llm_ros.prompt.call_grammar import (
    Branch, call_grammar, literal, sentence_grammar)
from edge_llm_ros.prompt.chat_format import (
    Example, parse_json_call, PlainTurn, signature)
from edge_llm_ros.prompt.pieces import Data, Markup, Piece
from edge_llm_ros.prompt.template_renderer import render

_BEFORE_TOOLS = '\n\nThe functions that you can call, one JSON signature a line:'
_AFTER_TOOLS = (
    '\n\nAnswer every message with exactly one call, written as a JSON object and nothing else: '
    '{"name": <function>, "arguments": <object>}')


@dataclass(frozen=True)
class _Frames:
    """What the template writes around contents, after the static messages."""

    before_instruction: str
    after_first_instruction: str
    before_next: str
    after_next: str
    call_prompt: str
    closing: str


def _placeholder(i: int) -> str:
    return f'QxZ{i}ZxQ'


class TemplateFormat:
    """
    The format ``json``.

    The template is rendered once, when the prefix is made, with marks in place of all contents;
    its text around the marks becomes the frames. So contents never pass through the template, and
    history is never rendered again.

    :param info: the model, with its template
    """

    name = 'json'

    def __init__(self, info: ModelInfo) -> None:
        if not info.chat_template:
            raise ConfigError(
                f'chat_format: json needs a chat template, and {info.path!r} holds none.')
        self._info = info
        self._frames = self._read_frames([{'role': 'system'}])[1]
        self.end_of_turn = self._frames.closing
        self.frame = ('', self.end_of_turn)

    def _render(self, messages: list[dict[str, str]]) -> list[str]:
        """Render every beginning of some messages, and each with the prompt for a call."""
        conversations: list[dict[str, Any]] = []
        for n in range(1, len(messages) + 1):
            for prompt in (False, True):
                conversations.append({'messages': messages[:n], 'add_generation_prompt': prompt})
        start = 2 if messages[0]['role'] == 'system' else 0
        return [''] * start + render(
            self._info.chat_template, conversations[start:], bos_text=self._info.bos_text,
            eos_text=self._info.eos_text)

    def _read_frames(self, static: list[dict[str, str]]) -> tuple[str, _Frames]:
        """
        Render static messages and two turns after them.

        :param static: messages with roles; the contents are marks by position
        :returns: the text up to the next instruction, and the frames
        :raises ConfigError: if the template rewrites history, or ends no turn
        """
        roles = [m['role'] for m in static] + ['user', 'assistant', 'user', 'assistant']
        messages = [{'role': role, 'content': _placeholder(i)} for i, role in enumerate(roles)]
        try:
            rendered = self._render(messages)
        except ConfigError as error:
            if 'ystem' not in str(error):
                raise
            # The template knows no system role: its text opens the first message instead.
            messages[1]['content'] = f'{_placeholder(0)}\n\n{_placeholder(1)}'
            rendered = [''] * 2 + self._render(messages[1:])
        return self._frames_of(rendered, [m['role'] for m in messages], len(static))

    def _frames_of(self, rendered: list[str], roles: list[str], n: int) -> tuple[str, _Frames]:
        plain, prompted = rendered[0::2], rendered[1::2]
        for i in range(1, len(plain)):
            grows = plain[i].startswith(plain[i - 1])
            if roles[i] == 'assistant':
                grows = grows and plain[i].startswith(prompted[i - 1])
            if not grows or plain[i].count(_placeholder(i)) != 1:
                raise ConfigError(
                    f'chat_format: json cannot be used with {self._info.path!r}: its chat '
                    'template '
                    f'changes, repeats or drops message {i} once another follows, so no prefix '
                    'would stay '
                    'valid.'
                )
        before, after_first = plain[n].split(_placeholder(n))
        call = plain[n + 1][len(prompted[n]):]
        if not call.startswith(_placeholder(n + 1)):
            raise ConfigError(
                f'chat_format: json cannot be used with {self._info.path!r}: its chat template '
                'does not '
                f'begin an answer where its generation prompt ends.')
        closing, rest = self._split_closing(call[len(_placeholder(n + 1)):])
        before_next, after_next = (rest + plain[n + 2][len(plain[n + 1]):]).split(
            _placeholder(n + 2))
        return before, _Frames(
            before_instruction=before,
            after_first_instruction=after_first,
            before_next=before_next,
            after_next=after_next,
            call_prompt=prompted[n][len(plain[n]):],
            closing=closing)

    def _split_closing(self, text: str) -> tuple[str, str]:
        """Split what follows an answer after its end-of-turn token."""
        ends = [(text.find(t.text), t.text) for t in self._info.special_tokens
                if t.kind is TokenKind.END and t.text and t.text in text]
        if not ends:
            raise ConfigError(
                f'chat_format: json cannot be used with {self._info.path!r}: its chat template '
                'ends an '
                f'answer with {text!r}, in which there is no end-of-generation token.')
        at, token = min(ends)
        return text[:at + len(token)], text[at + len(token):]

    def prefix(self, system: str, tools: Sequence[ToolSchema], examples: Sequence[Example]
               ) -> list[Piece]:
        """Return the blocks that never change, up to where the first instruction begins."""
        lines = [canonical_json(signature(tool)) for tool in tools]
        messages: list[tuple[str, list[Piece]]] = [
            ('system', [Data('\n'.join([system + _BEFORE_TOOLS, *lines]) + _AFTER_TOOLS)])]
        for example in examples:
            messages.append(('user', [Data(example.instruction)]))
            for before, call, observation in example.turns():
                messages.append(('assistant', [*before, Data(self._body(call))]))
                messages += [('user', [Data(self._result(call, observation))])] if (
                    observation) else []
        return self._static(messages)

    def plain_prefix(self, system: str, turns: Sequence[PlainTurn]) -> list[Piece]:
        """Return the blocks that never change where the model answers in plain text."""
        messages: list[tuple[str, list[Piece]]] = [('system', [Data(system)])]
        for turn in turns:
            messages += [('user', [Data(turn.said)]), ('assistant', [Data(turn.answer)])]
        return self._static(messages)

    def _static(self, messages: Sequence[tuple[str, list[Piece]]]) -> list[Piece]:
        """Return messages that never change, up to where the first instruction begins."""
        text, self._frames = self._read_frames([{'role': role} for role, _ in messages])
        pieces: list[Piece] = []
        for i, (_, content) in enumerate(messages):
            if _placeholder(i) not in text:
                raise ConfigError(
                    f'chat_format: json cannot be used with {self._info.path!r}: its chat '
                    'template '
                    f'drops message {i} of the prefix.')
            opening, text = text.split(_placeholder(i), 1)
            pieces += [Markup(opening), *content]
        return [*pieces, Markup(text)]

    def instruction(self, text: str, first: bool) -> list[Piece]:
        """Return a person's message."""
        frames = self._frames
        if first:
            return [Data(text), Markup(frames.after_first_instruction)]
        return [Markup(frames.before_next), Data(text), Markup(frames.after_next)]

    @staticmethod
    def _result(call: ToolCall, text: str) -> str:
        return f'Result of {call.name}: {text}'

    def observation(self, call: ToolCall, text: str) -> list[Piece]:
        """Return what came of a call."""
        return self.instruction(self._result(call, text), first=False)

    def call_prompt(self) -> list[Piece]:
        """Return what stands before a call."""
        return [Markup(self._frames.call_prompt)]

    @staticmethod
    def _body(call: ToolCall) -> str:
        return canonical_json({'name': call.name, 'arguments': dict(call.arguments)})

    def call(self, call: ToolCall) -> list[Piece]:
        """Return a call as the model writes it."""
        return [Data(self._body(call)), Markup(self._frames.closing)]

    def grammar(self, tools: Sequence[ToolSchema], text_length: int) -> str:
        """Return the grammar of one call."""
        return self.turn_grammar([Branch('', tools)], (), text_length)

    def turn_grammar(self, branches: Sequence[Branch], rules: Sequence[str], text_length: int
                     ) -> str:
        """Return the grammar of one call and what stands before it."""
        special = self._info.special_tokens
        return call_grammar(
            branches, rules,
            opening=literal('{"name": "', special),
            before_arguments='", "arguments": ',
            after=literal('}' + self._frames.closing, special),
            text_length=text_length)

    def sentence_grammar(self, length: int) -> str:
        """Return the grammar of a line of text."""
        return sentence_grammar(literal(self.end_of_turn, self._info.special_tokens), length)

    def parse(self, text: str) -> ToolCall:
        """Return the call that a complete generation is."""
        return parse_json_call(text.removesuffix(self._frames.closing), 'arguments')
