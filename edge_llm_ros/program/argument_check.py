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

"""The arguments of a call in a program: which is which, and whether the tool takes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from edge_llm_ros.flow.tool import ToolSchema
from edge_llm_ros.program.language import ProgramError
from edge_llm_ros.program.value import in_text, is_number, plain, told

_WORDS = 12  # of an enumeration that are told
_Given = TypeVar('_Given')


def by_name(tool: ToolSchema, given: Sequence[_Given], named: Mapping[str, _Given]
            ) -> dict[str, _Given]:
    """
    Return what is given for each argument, in the order of the schema.

    :raises ProgramError: if an argument is missing, unknown or given twice
    """
    names = list(tool.parameters['properties'])
    if len(given) > len(names):
        takes = ', '.join(names) if names else 'nothing'
        raise ProgramError(f'{tool.name} takes {takes}, and {len(given)} values are given')
    arguments = dict(zip(names, given))
    for name in named:
        if name not in names:
            raise ProgramError(f'{tool.name} has no argument {name}')
        if name in arguments:
            raise ProgramError(f'{tool.name}: {name} is given twice')
    arguments.update(named)
    for name in tool.parameters.get('required', ()):
        if name not in arguments:
            raise ProgramError(f'{tool.name}: {name} is missing')
    return {name: arguments[name] for name in names if name in arguments}


def word(schema: Mapping[str, Any], name: str) -> Any:
    """Return the listed value that a name without quotes stands for, or None."""
    return name if name in _listed(schema) else None


def _listed(schema: Mapping[str, Any]) -> list[Any]:
    return list(schema.get('enum', [schema['const']] if 'const' in schema else ()))


def checked(schema: Mapping[str, Any], value: Any, where: str) -> Any:
    """
    Return a value as the tool takes it.

    :param where: what it is for, for the message
    :raises ProgramError: if the tool does not take it
    """
    kind = schema.get('type')
    if kind == 'string' and value is not None and not isinstance(value, (str, Mapping, tuple)):
        value = in_text(value)
    listed = _listed(schema)
    if listed:
        return _one_of(listed, value, where)
    check = _CHECKS.get(kind) if isinstance(kind, str) else None
    return check(schema, value, where) if check is not None else plain(value)


def _one_of(listed: Sequence[Any], value: Any, where: str) -> Any:
    for item in listed:
        if item == value and isinstance(item, bool) == isinstance(value, bool):
            return item
    told_words = [in_text(item) for item in listed[:_WORDS]]
    words = ', '.join(told_words) + ', …' if len(listed) > _WORDS else (
        ' or '.join(filter(None, [', '.join(told_words[:-1]), told_words[-1]])))
    raise ProgramError(f'{where} must be {words}, not {_short(value)}')


def _short(value: Any) -> str:
    return value if isinstance(value, str) and 0 < len(value) <= 40 else told(value)


def _text(schema: Mapping[str, Any], value: Any, where: str) -> str:
    if value is None:
        raise ProgramError(f'{where} must be a text, not nothing')
    text = in_text(value)
    if len(text) > schema.get('maxLength', len(text)):
        raise ProgramError(
            f'{where} has {len(text)} characters, {schema["maxLength"]} are allowed')
    return text


def _number(schema: Mapping[str, Any], value: Any, where: str) -> Any:
    if not is_number(value):
        raise ProgramError(f'{where} must be a number, not {told(value)}')
    for key, wrong, words in (('minimum', value < schema.get('minimum', value), 'at least'),
                              ('maximum', value > schema.get('maximum', value), 'at most')):
        if wrong:
            raise ProgramError(
                f'{where} must be {words} {in_text(schema[key])}, not {in_text(value)}')
    return value


def _whole(schema: Mapping[str, Any], value: Any, where: str) -> int:
    number = _number(schema, value, where)
    if number != int(number):
        raise ProgramError(f'{where} must be a whole number, not {in_text(number)}')
    return int(number)


def _truth(schema: Mapping[str, Any], value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise ProgramError(f'{where} must be True or False, not {told(value)}')
    return value


def _list(schema: Mapping[str, Any], value: Any, where: str) -> list[Any]:
    if not isinstance(value, tuple):
        raise ProgramError(f'{where} must be a list, not {told(value)}')
    for key, wrong, words in (('minItems', len(value) < schema.get('minItems', 0), 'at least'),
                              ('maxItems', len(value) > schema.get('maxItems', len(value)),
                               'at most')):
        if wrong:
            raise ProgramError(f'{where} must have {words} {schema[key]} items, not {len(value)}')
    items = schema.get('items', {})
    return [checked(items, item, f'{where} item {i}') for i, item in enumerate(value)]


def _object(schema: Mapping[str, Any], value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ProgramError(f'{where} must be an object, not {told(value)}')
    fields = schema.get('properties', {})
    for name in value:
        if name not in fields:
            raise ProgramError(f'{where} has no field {in_text(name)}')
    for name in schema.get('required', ()):
        if name not in value:
            raise ProgramError(f'{where}: the field {name} is missing')
    return {name: checked(fields[name], value[name], f'{where} {name}')
            for name in fields if name in value}


_CHECKS: Mapping[str, Callable[[Mapping[str, Any], Any, str], Any]] = {
    'string': _text, 'number': _number, 'integer': _whole, 'boolean': _truth, 'array': _list,
    'object': _object,
}
