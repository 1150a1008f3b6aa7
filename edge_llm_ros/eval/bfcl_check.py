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

"""Says whether calls are those that a BFCL item allows, by the rules of its syntax-tree check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import re
from typing import Any

from edge_llm_ros.eval.bfcl import BfclItem
from edge_llm_ros.eval.bfcl_world import BfclWorld
from edge_llm_ros.flow.tool import ToolCall

_PYTHON = {'string': str, 'integer': int, 'float': float, 'boolean': bool, 'array': list,
           'tuple': list, 'dict': dict, 'any': str}
_OPTIONAL = ''  # among the allowed values: the parameter may be left out


def why_wrong(item: BfclItem, calls: Sequence[ToolCall]) -> str:
    """Return why calls are not right; empty if they are. Their order does not matter."""
    if item.category == 'irrelevance':
        return f'no function fits, and {calls[0].name} was called' if calls else ''
    if len(calls) != len(item.answers):
        return f'{len(calls)} calls, not {len(item.answers)}'
    left = list(calls)
    for name, allowed in item.answers:
        reasons = [_why_call(item, call, name, allowed) for call in left]
        if '' not in reasons:
            return f'{name}: ' + '; '.join(dict.fromkeys(reasons))
        del left[reasons.index('')]
    return ''


def why_turn_wrong(model: BfclWorld, truth: BfclWorld, told: Sequence[str], due: Sequence[str]
                   ) -> str:
    """
    Return why a turn is not right; empty if it is.

    :param model: the objects after the model's calls
    :param truth: the same after the calls that are due
    :param told: results of the model's calls, of all turns so far
    :param due: results of the calls that are due in this turn
    """
    state = model.state()
    for name, attributes in truth.state().items():
        for key, value in attributes.items():
            if state[name].get(key) != value:
                return f'{name}.{key} is {state[name].get(key)!r}, not {value!r}'
    left = list(told)
    for result in due:
        if result not in left:
            return f'no call told {result}'
        left.remove(result)
    return ''


def _why_call(item: BfclItem, call: ToolCall, name: str, allowed: Mapping[str, list[Any]]) -> str:
    if call.name != name:
        return f'{call.name} was called'
    parameters = item.functions[name]['parameters']
    for key in parameters.get('required', ()):
        if key not in call.arguments:
            return f'{key} is missing'
    for key, value in call.arguments.items():
        if key not in parameters.get('properties', {}) or key not in allowed:
            return f'{key} is not expected'
        if not _fits(value, allowed[key], parameters['properties'][key]):
            return f'{key}: {value!r} is none of {allowed[key]!r}'
    missing = [key for key, values in allowed.items()
               if _OPTIONAL not in values and key not in call.arguments]
    return f'{missing[0]} is missing' if missing else ''


def _fits(value: Any, allowed: Sequence[Any], schema: Mapping[str, Any]) -> bool:
    kind = _PYTHON.get(schema['type'].lower(), str)
    if kind is float and type(value) is int:
        value = float(value)
    named = next((type(a) for a in allowed if a != _OPTIONAL), None)
    if type(value) is not kind:
        # The name of a variable, say, where its value is not known.
        return type(value) is named and value in allowed
    inner = _PYTHON.get(schema.get('items', {}).get('type', '').lower())
    if isinstance(value, list) and inner is not None and not any(
            _items_fit(value, other, inner) for other in allowed):
        return False
    if named is not None and named is not kind:
        return value in allowed
    if isinstance(value, str):
        return _plain(value) in [_plain(other) for other in allowed if isinstance(other, str)]
    if isinstance(value, dict):
        return any(isinstance(other, dict) and _dict_fits(value, other) for other in allowed)
    if isinstance(value, list):
        return any(isinstance(other, list) and _list_fits(value, other) for other in allowed)
    return value in allowed


def _items_fit(value: Sequence[Any], other: Any, inner: type) -> bool:
    if not isinstance(other, list):
        return True
    named = type(other[0]) if other else inner
    return all(type(v) in (inner, named) for v in value)


def _list_fits(value: Sequence[Any], other: Sequence[Any]) -> bool:
    if value and all(isinstance(v, dict) for v in value):
        return len(value) == len(other) and all(
            isinstance(o, dict) and _dict_fits(v, o) for v, o in zip(value, other))
    return [_plain(v) for v in value] == [_plain(o) for o in other]


def _dict_fits(value: Mapping[str, Any], other: Mapping[str, Sequence[Any]]) -> bool:
    return all(key in other and _plain(v) in [_plain(o) for o in other[key]]
               for key, v in value.items()) and all(
        key in value or _OPTIONAL in values for key, values in other.items())


def _plain(value: Any) -> Any:
    """Return a text without what the check does not look at; anything else as it is."""
    if not isinstance(value, str):
        return value
    return re.sub(r'[ ,./\-_*^]', '', value).lower().replace("'", '"')
