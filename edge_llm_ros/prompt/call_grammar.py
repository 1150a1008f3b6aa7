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

"""Lark grammars for llguidance, from the frame of a call and the schemas of tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
import json
from typing import Any

from edge_llm_ros.flow.canonical_json import canonical_json, ITEM_SEPARATOR, KEY_SEPARATOR
from edge_llm_ros.flow.engine import SpecialToken
from edge_llm_ros.flow.tool import Choices, ToolSchema

_GUIDANCE = {
    'whitespace_flexible': False,
    'item_separator': ITEM_SEPARATOR,
    'key_separator': KEY_SEPARATOR,
}


@dataclass(frozen=True)
class Branch:
    """
    Calls that may follow a text.

    :param before: Lark terminals and rules of the text; empty for none
    """

    before: str
    tools: Sequence[ToolSchema]


def literal(text: str, special: Sequence[SpecialToken]) -> str:
    """Write markup as Lark terminals: special tokens by id, everything else as strings."""
    by_text = sorted(special, key=lambda token: -len(token.text))
    terminals: list[str] = []
    plain = ''
    while text:
        token = next((t for t in by_text if t.text and text.startswith(t.text)), None)
        if token is None:
            plain, text = plain + text[0], text[1:]
            continue
        terminals += [_quoted(plain)] if plain else []
        terminals.append(f'<[{token.id}]>')
        plain, text = '', text[len(token.text):]
    terminals += [_quoted(plain)] if plain else []
    return ' '.join(terminals)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def arguments_schema(tool: ToolSchema, text_length: int) -> dict[str, Any]:
    """
    Return the JSON schema that the grammar enforces: the tool's own, closed and bounded.

    :param text_length: characters of a free text at most, where the tool does not say less
    """
    properties = {
        name: _enforced(schema, text_length)
        for name, schema in tool.parameters['properties'].items()
    }
    return {
        'type': 'object',
        'properties': properties,
        'required': list(tool.parameters.get('required', ())),
        'additionalProperties': False,
        'x-guidance': _GUIDANCE,
    }


def _enforced(schema: Mapping[str, Any], text_length: int) -> dict[str, Any]:
    """Return the schema of a value, closed and bounded, without what is only read."""
    rules = {key: value for key, value in schema.items() if key not in ('description', 'default')}
    if is_free_text(schema):
        rules['maxLength'] = min(text_length, schema.get('maxLength', text_length))
    if 'items' in schema:
        rules['items'] = _enforced(schema['items'], text_length)
    if 'properties' in schema:
        rules['properties'] = {
            name: _enforced(field, text_length) for name, field in schema['properties'].items()}
        rules['additionalProperties'] = False
    return rules


def sentence_grammar(after: str, length: int) -> str:
    """
    Return the grammar of a line of plain text.

    :param after: Lark terminals after the text
    :param length: characters at most
    """
    return f'%llguidance {{}}\nstart: TEXT {after}\nTEXT: /[^\\n]{{1,{length}}}/\n'


def with_choices(tools: Sequence[ToolSchema], choices: Choices) -> list[ToolSchema]:
    """
    Return the tools that can be called in a goal, narrowed to the values that were read for it.

    A tool with an argument whose values are missing is left out: it would be free text.
    """
    narrowed = []
    for tool in tools:
        values = choices.get(tool.name, {})
        if any(name not in values for name in tool.chosen):
            continue
        properties = {name: {**schema, 'enum': list(values[name])} if name in tool.chosen
                      else schema for name, schema in tool.parameters['properties'].items()}
        narrowed.append(replace(tool, parameters={**tool.parameters, 'properties': properties})
                        if tool.chosen else tool)
    return narrowed


def is_free_text(schema: Mapping[str, Any]) -> bool:
    """Say whether an argument is text that the model writes itself."""
    return schema.get('type') == 'string' and 'enum' not in schema and 'const' not in schema


def call_grammar(branches: Sequence[Branch], rules: Sequence[str], *, opening: str,
                 before_arguments: str, after: str, text_length: int) -> str:
    """
    Return the grammar of one call, from the first generated token to the end of turn.

    :param branches: what can stand before which calls
    :param rules: that they need
    :param opening: Lark terminals before the tool's name
    :param before_arguments: text between the tool's name and its arguments
    :param after: Lark terminals after the arguments
    """
    tools: list[ToolSchema] = []
    starts = []
    for branch in branches:
        tools += [tool for tool in branch.tools if tool not in tools]
        names = ' | '.join(f'call_{tools.index(tool)}' for tool in branch.tools)
        starts.append(f'{branch.before} {opening} ( {names} ) {after}'.strip())
    lines = ['%llguidance {}', f'start: {" | ".join(starts)}', *rules]
    for i, tool in enumerate(tools):
        schema = canonical_json(arguments_schema(tool, text_length))
        lines.append(f'call_{i}: {_quoted(tool.name + before_arguments)} arguments_{i}')
        lines.append(f'arguments_{i}: %json {schema}')
    return '\n'.join(lines) + '\n'
