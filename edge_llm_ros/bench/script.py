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

"""A workload as tokens: what every arm is given, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
import random
from typing import Any

from edge_llm_ros.bench.workload import Turn, WORDS, Workload
from edge_llm_ros.flow.engine import ModelInfo, Tokenizer
from edge_llm_ros.flow.tool import ToolCall, ToolSchema
from edge_llm_ros.prompt.chat_format import ChatFormat
from edge_llm_ros.prompt.formats import chat_format
from edge_llm_ros.prompt.pieces import Piece, PieceTokenizer
import yaml

_TEXT_LENGTH = 200
_SYSTEM = (
    'You control a robot. Do what the last message asks for with one call. Notes of the day: ')
_JSON_START = '<tool_call>\n'  # what stands before the JSON of a call


def tools() -> tuple[ToolSchema, ...]:
    """Return the tools of the benchmark."""
    entries = yaml.safe_load((Path(__file__).resolve().parent / 'tools.yaml').read_text())
    return tuple(ToolSchema(e['name'], e['description'], {
        'type': 'object', 'properties': e.get('arguments', {}),
        'required': list(e.get('arguments', {}))}) for e in entries)


@dataclass(frozen=True)
class ScriptStep:
    """
    What an arm is given.

    :param session: of the conversation
    :param tokens: the whole conversation, up to where the call begins
    :param new: message tokens among them that no earlier step had
    :param call: that the file has, and its tokens
    """

    session: str
    tokens: tuple[int, ...]
    new: int
    call: ToolCall
    call_tokens: tuple[int, ...]


class Script:
    """
    Makes the steps of workloads for a vocabulary.

    :param info: of a model with the ChatML format
    """

    def __init__(self, tokenizer: Tokenizer, info: ModelInfo) -> None:
        self._pieces = PieceTokenizer(tokenizer, info.special_tokens)
        self.format: ChatFormat = chat_format('auto', info)
        self.tools = tools()
        self.grammar = self.format.grammar(self.tools, _TEXT_LENGTH)
        self.json_start = tokenizer.tokenize(_JSON_START, True)

    def json_schema(self) -> dict[str, Any]:
        """Return the schema of a call, for arms that know no grammar of ours."""
        return {'anyOf': [{
            'type': 'object',
            'properties': {'name': {'const': tool.name}, 'arguments': {
                **tool.parameters, 'additionalProperties': False}},
            'required': ['name', 'arguments'], 'additionalProperties': False}
            for tool in self.tools]}

    def prefix(self, workload: Workload) -> tuple[int, ...]:
        """Return the pinned tokens of a workload."""
        def of(words: Sequence[str]) -> tuple[int, ...]:
            return self._pieces.tokens(
                self.format.prefix(_SYSTEM + ' '.join(words), self.tools, []))

        return self._filled(of, workload.prefix, 'prefix')

    def steps(self, workload: Workload, repeat: int) -> Iterator[ScriptStep]:
        """
        Yield what every arm is given, in order; calls are those of the file.

        :param repeat: changes the texts, not what they ask for
        """
        prefix = self.prefix(workload)
        conversations: dict[str, tuple[tuple[int, ...], ToolCall | None]] = {}
        opening = self._pieces.tokens(self.format.call_prompt())
        for number, turn in enumerate(workload.turns):
            before, last = conversations.get(turn.session, (prefix, None))
            message = self._message(turn, last, f'{number} of {workload.name}', repeat) + opening
            call = ToolCall(turn.call, turn.arguments)
            call_tokens = self._pieces.tokens(self.format.call(call))
            yield ScriptStep(turn.session, before + message, len(message), call, call_tokens)
            conversations[turn.session] = before + message + call_tokens, call

    def _message(self, turn: Turn, last: ToolCall | None, seed: str, repeat: int
                 ) -> tuple[int, ...]:
        def of(words: Sequence[str]) -> tuple[int, ...]:
            text = ' '.join([f'{repeat}.', *words, turn.text])
            pieces: list[Piece] = (
                self.format.instruction(text, True) if last is None
                else self.format.observation(last, text))
            return self._pieces.tokens(pieces)

        return self._filled(of, turn.tokens, f'{repeat} {seed}')

    @staticmethod
    def _filled(of: Any, tokens: int, seed: str) -> tuple[int, ...]:
        """Return the tokens of a text with as many plain words as fit."""
        generator = random.Random(seed)
        words = generator.choices(WORDS, k=max(0, tokens))
        low, high = 0, len(words)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if len(of(words[:middle])) <= tokens else (low, middle - 1)
        result: tuple[int, ...] = of(words[:low])
        return result
