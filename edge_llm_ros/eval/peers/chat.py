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

"""What is said to a peer and what it answers, in the words of chat completion APIs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
import json
from typing import Any, Protocol

from edge_llm_ros.eval.peers.configuration import Calls
from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.tool import ToolCall, ToolSchema
from edge_llm_ros.prompt.chat_format import Example, signature

NO_CALL = 'no_call'  # what an answer counts as that calls nothing
UNREADABLE = 'unreadable'  # the argument of a call whose arguments are no JSON object
_SCHEMA_SYSTEM = (
    '{system}\n\nThe functions that you can call, one JSON signature a line:\n{tools}\n\nAnswer '
    'every message with exactly one call, written as a JSON object: '
    '{{"name": <function>, "arguments": <object>}}')

Message = dict[str, Any]


@dataclass(frozen=True)
class ChatReply:
    """
    An answer.

    :param calls: name and arguments of each call, as they came
    :param text: the rest of it
    :param prefill: prompt tokens evaluated
    :param cached: prompt tokens that were not
    """

    calls: tuple[tuple[str, str], ...]
    text: str
    prefill: int = 0
    cached: int = 0
    generated: int = 0


class ChatPeer(Protocol):
    """An engine that answers chats."""

    def answer(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> ChatReply:
        """
        Return the next message of the assistant.

        :raises ContextFull: if the messages do not fit
        :raises EngineError: if it does not answer
        """

    def close(self) -> None:
        """Free everything."""


def functions(tools: Sequence[ToolSchema]) -> list[dict[str, Any]]:
    """Return tools as the APIs take them."""
    return [signature(tool) for tool in tools]


def answer_schema(tools: Sequence[ToolSchema]) -> dict[str, Any]:
    """Return the JSON schema of one call of any tool."""
    return {'anyOf': [{
        'type': 'object',
        'properties': {'name': {'const': tool.name}, 'arguments': {
            **tool.parameters, 'additionalProperties': False}},
        'required': ['name', 'arguments'], 'additionalProperties': False} for tool in tools]}


def read_calls(reply: ChatReply) -> list[ToolCall]:
    """Return the calls of a reply, with names of their own for what is none."""
    return [_call(name, arguments) for name, arguments in reply.calls] or [
        ToolCall(NO_CALL, {'text': reply.text})]


def _call(name: str, arguments: str) -> ToolCall:
    try:
        value = json.loads(arguments or '{}')
    except ValueError:
        value = None
    return ToolCall(name, value if isinstance(value, dict) else {UNREADABLE: arguments})


def calls_in_text(text: str) -> tuple[tuple[str, str], ...]:
    """Return the calls that a text has as JSON objects, with or without tags around them."""
    return tuple((str(found['name']), json.dumps(found['arguments'], ensure_ascii=False))
                 for found in _objects(text) if {'name', 'arguments'} <= found.keys())


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    decoder, at = json.JSONDecoder(), text.find('{')
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
            yield value
        except ValueError:
            end = at + 1
        at = text.find('{', end)


class Wording:
    """
    Writes the messages of a conversation as a peer's configuration wants them.

    :param calls: how calls are asked for
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def beginning(self, system: str, tools: Sequence[ToolSchema], examples: Sequence[Example]
                  ) -> list[Message]:
        """Return what is said before any goal."""
        if self._calls is Calls.SCHEMA:
            system = _SCHEMA_SYSTEM.format(system=system, tools='\n'.join(
                canonical_json(function) for function in functions(tools)))
        messages: list[Message] = [{'role': 'system', 'content': system}]
        for example in examples:
            messages.append({'role': 'user', 'content': example.instruction})
            for number, (call, observation) in enumerate(example.steps):
                name = f'example_{len(messages)}_{number}'
                arguments = canonical_json(dict(call.arguments))
                messages.append(self.calls([(call.name, arguments)], '', [name]))
                if observation:
                    messages.append(self.result(name, call, observation))
        return messages

    def calls(self, calls: Sequence[tuple[str, str]], text: str, ids: Sequence[str]) -> Message:
        """
        Return a message of the assistant.

        :param ids: of the calls
        """
        if self._calls is Calls.SCHEMA or not calls:
            written = [f'{{"name": {canonical_json(name)}, "arguments": {arguments}}}'
                       for name, arguments in calls]
            return {'role': 'assistant', 'content': '\n'.join(written) or text}
        return {'role': 'assistant', 'content': text, 'tool_calls': [
            {'id': id_, 'type': 'function', 'function': {
                'name': name, 'arguments': self._arguments(arguments)}}
            for id_, (name, arguments) in zip(ids, calls)]}

    def _arguments(self, arguments: str) -> Any:
        # Templates write an object as JSON, and would quote a text once more.
        if self._calls is not Calls.TEXT:
            return arguments
        return dict(_call('', arguments).arguments)

    def result(self, id_: str, call: ToolCall, text: str) -> Message:
        """Return what came of a call."""
        if call.name == NO_CALL:
            return {'role': 'user', 'content': 'That is no call. Answer with a function call.'}
        if self._calls is Calls.SCHEMA:
            return {'role': 'user', 'content': text}
        return {'role': 'tool', 'tool_call_id': id_, 'name': call.name, 'content': text}
