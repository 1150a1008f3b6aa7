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

"""Calls as mission files write them: the name and its arguments in order, as on a command line."""

from __future__ import annotations

from collections.abc import Mapping
import shlex
from typing import Any

from edge_llm_ros.eval.event import Event
from edge_llm_ros.flow.tool import COMPARE, FINISH, ToolCall, WAIT
from edge_llm_ros.tools.builtins import builtin_schemas
from edge_llm_ros.tools.gate import pass_gate, Refused
from edge_llm_ros.tools.tool_file import Tool, ToolFile

_BUILTIN_ARGUMENTS = {FINISH: ('success', 'summary'), COMPARE: ('value', 'limit'),
                      WAIT: ('seconds',)}
_KINDS: Mapping[str, type | tuple[type, ...]] = {
    'string': str, 'number': (int, float), 'integer': int, 'boolean': bool}


def read_call(text: str, tools: Mapping[str, Tool]) -> ToolCall:
    """
    Read a call; the last argument is the rest of the line, so that a text needs no quotes.

    :raises ValueError: if it is no call of these tools or of a built-in one
    """
    name, _, rest = text.strip().partition(' ')
    if name in _BUILTIN_ARGUMENTS:
        names = _BUILTIN_ARGUMENTS[name]
        kinds = {'success': 'boolean', 'summary': 'string'}
    elif name in tools:
        names = tuple(tools[name].arguments)
        kinds = {key: argument.type or 'string' for key, argument in tools[name].arguments.items()}
    else:
        raise ValueError(f'{text!r}: there is no tool {name!r}')
    words = rest.split(maxsplit=max(0, len(names) - 1)) if rest else []
    if len(words) == 1 and len(names) == 1:
        words = [rest]
    if len(words) != len(names):
        raise ValueError(f'{text!r}: {name} takes {", ".join(names) or "no argument"}')
    return ToolCall(name, {key: _value(word, kinds.get(key, 'number'))
                           for key, word in zip(names, words)})


def _value(word: str, kind: str) -> Any:
    if kind == 'boolean':
        return {'true': True, 'false': False}[word]
    if kind in ('number', 'integer'):
        return int(word) if kind == 'integer' or word.lstrip('-').isdigit() else float(word)
    return word


def write_call(call: ToolCall) -> str:
    """Return a call in short, for people."""
    return shlex.join([call.name, *map(_word, call.arguments.values())])


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def why_invalid(call: ToolCall, tools: ToolFile) -> str:
    """Return why the schema forbids a call; empty if it does not."""
    if call.name in tools.tools:
        try:
            pass_gate(tools.tools[call.name], call.arguments)
        except Refused as refusal:
            return str(refusal)
        return ''
    schema = next((s for s in builtin_schemas(tools.builtins) if s.name == call.name), None)
    if schema is None:
        return f'there is no tool {call.name!r}'
    properties = schema.parameters['properties']
    if set(call.arguments) != set(schema.parameters['required']):
        return f'arguments {sorted(call.arguments)}'
    return next(filter(None, (_why_not(properties[key], key, value)
                              for key, value in call.arguments.items())), '')


def _why_not(schema: Mapping[str, Any], name: str, value: Any) -> str:
    kind = schema['type']
    if not isinstance(value, _KINDS[kind]) or isinstance(value, bool) != (kind == 'boolean'):
        return f'{name}: {value!r} is no {kind}'
    if isinstance(value, str):
        return f'{name}: too long' if len(value) > schema.get('maxLength', len(value)) else ''
    if not schema.get('minimum', value) <= value <= schema.get('maximum', value):
        return f'{name}: {value!r} is out of bounds'
    return ''


def act_of(call: ToolCall, tools: Mapping[str, Tool]) -> Event | None:
    """Return the event that a call asks for; None for reads and built-in tools."""
    tool = tools.get(call.name)
    if tool is None or tool.effect != 'act':
        return None
    detail = '' if call.name == 'creep' else ' '.join(map(str, call.arguments.values()))
    return Event(call.name, detail)
