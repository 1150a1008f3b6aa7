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

"""What the fields of a message may hold, narrowed by what a tool file says of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edge_llm_ros.ros.convert import convert
from edge_llm_ros.ros.idl import (
    field_types, FLOATS, INTEGERS, is_list, is_message, longest_text, message_class, most_items,
    name_of, whole_seconds)
from edge_llm_ros.tools.argument import Value
from pydantic import ValidationError
from rosidl_parser.definition import (
    AbstractGenericString, Array, BasicType, BoundedSequence, NamespacedType)

_MAX_DEPTH = 4  # objects and lists in each other; deeper ones no small model writes
_MAX_FIELDS = 32  # of one argument, at all depths together
_MAX_ITEMS = 16  # of a list whose definition names no bound, unless the file does
_MAX_BITS = 32  # of integers whose range is in the prompt: longer ranges cost more than they help
_MOST_ITEMS = 256  # of a list, whatever the file says
_MAX_TEXT = 512  # characters of a text
_HEADER = 'std_msgs/msg/Header'  # its stamp is filled, its frame is the tool file's to say


def reason(error: Exception) -> str:
    """Return what is wrong, without what pydantic writes around it."""
    if isinstance(error, ValidationError):
        return '; '.join(e['msg'].removeprefix('Value error, ') for e in error.errors())
    return str(error)


def with_keys(value: Value, **changes: Any) -> dict[str, Any]:
    """Return the keys of a value as in a file, some of them changed."""
    keys = value.model_dump(by_alias=True, exclude_defaults=True, exclude={'places', 'fields',
                                                                           'items'})
    return {key: item for key, item in {**keys, **changes}.items() if item is not None}


class Narrowing:
    """Narrows IDL types by what a file says; counts the fields of one argument."""

    def __init__(self) -> None:
        self._fields = 0

    def of(self, value: Value, kind: Any, depth: int = _MAX_DEPTH) -> dict[str, Any]:
        """Return the keys of a value that holds no more than a field of this type."""
        if depth == 0:
            raise ValueError(f'is nested more than {_MAX_DEPTH} deep; set parts of it by fixed '
                             'or values, or give arguments for its fields')
        if isinstance(kind, BasicType):
            return _basic(value, kind)
        if isinstance(kind, AbstractGenericString):
            return _text(value, kind)
        if is_list(kind):
            return self._list(value, kind, depth)
        if whole_seconds(kind) is not None:
            return _time(value, kind)
        if isinstance(kind, NamespacedType):
            return self._object(value, kind, depth)
        raise ValueError(f'fields of type {name_of(kind)} cannot be set')

    def _list(self, value: Value, kind: Any, depth: int) -> dict[str, Any]:
        _must_be(value, kind, 'array')
        most, least = most_items(kind), value.min_items
        limit = value.max_items
        if isinstance(kind, Array):
            if {limit or most, least or most} != {most}:
                raise ValueError(f'the field is {name_of(kind)}: it has {most} items always')
            least = limit = most
        elif isinstance(kind, BoundedSequence):
            if max(limit or 0, least or 0) > (most or 0):
                raise ValueError(f'the field is {name_of(kind)}: it has {most} items at most')
            limit = limit or min(most or 0, max(_MAX_ITEMS, least or 0))
        items = self.of(value.items or Value(), kind.value_type, depth - 1)
        limit = limit or max(_MAX_ITEMS, least or 0)
        if limit > _MOST_ITEMS:
            raise ValueError(f'the field is {name_of(kind)}: no model writes so many items')
        return with_keys(value, type='array', items=items, min_items=least, max_items=limit)

    def _object(self, value: Value, kind: NamespacedType, depth: int) -> dict[str, Any]:
        _must_be(value, kind, 'object')
        types = field_types(message_class(kind))
        chosen: Mapping[str, Value] = value.fields or {
            name: Value() for name, type_ in types.items() if not is_message(type_, _HEADER)}
        fields = {}
        for name, field in chosen.items():
            if name not in types:
                raise ValueError(f'there is no field {name!r}; fields here: '
                                 f'{", ".join(types) or "none"}')
            self._fields += 1
            try:
                fields[name] = self.of(field, types[name], depth - 1)
            except ValueError as error:
                raise ValueError(f'{name}: {reason(error)}') from None
        if not fields:
            raise ValueError(f'{name_of(kind)} has no field that a model could give')
        if self._fields > _MAX_FIELDS:
            raise ValueError(f'has more than {_MAX_FIELDS} fields; name those that the model '
                             'gives by fields: [...], or give arguments for them')
        return with_keys(value, type='object', fields=fields)


def _must_be(value: Value, kind: Any, *allowed: str) -> str:
    """Return the JSON type; raises ValueError if the file says one that does not fit."""
    if value.type is not None and value.type not in allowed:
        raise ValueError(
            f'is of type {value.type}, and the field is {name_of(kind)}: type must be '
            f'{" or ".join(allowed)}, or left out; "values" maps words to the values of fields, '
            'as in values: {open: {data: true}}')
    return value.type or allowed[0]


def _within(value: Value, kind: Any, low: float, high: float) -> None:
    for key, bound in (('minimum', value.minimum), ('maximum', value.maximum)):
        if bound is not None and not low <= bound <= high:
            raise ValueError(f'{key} {bound:g} is outside of what the field holds: '
                             f'{name_of(kind)} is {low} … {high}')


def _basic(value: Value, kind: BasicType) -> dict[str, Any]:
    name = kind.typename
    if name == 'boolean':
        return with_keys(value, type=_must_be(value, kind, 'boolean'))
    if name == 'char':
        return with_keys(value, type=_must_be(value, kind, 'string'), max_length=1)
    if name in FLOATS:
        for bound in (value.minimum, value.maximum):
            if bound is not None:
                convert(bound, kind, 'the bound')
        keys = with_keys(value, type=_must_be(value, kind, 'number', 'integer'))
        return _enum(keys, value, kind)
    if name not in INTEGERS:
        raise ValueError(f'fields of type {name_of(kind)} cannot be set')
    low, high = INTEGERS[name]
    keys = with_keys(value, type=_must_be(value, kind, 'integer'))
    _within(value, kind, low, high)
    if value.enum is None:
        short = high < 1 << _MAX_BITS
        keys.setdefault('minimum', low if short or low == 0 else None)
        keys.setdefault('maximum', high if short else None)
    return _enum(keys, value, kind)


def _enum(keys: dict[str, Any], value: Value, kind: Any) -> dict[str, Any]:
    for word in value.enum or ():
        convert(word, kind, 'enum')
    return keys


def _text(value: Value, kind: Any) -> dict[str, Any]:
    kind_name, most = _must_be(value, kind, 'string'), longest_text(kind)
    if most is not None and (value.max_length or 0) > most:
        raise ValueError(f'max_length {value.max_length} is more than the field holds: '
                         f'{name_of(kind)}')
    limit = value.max_length
    if most is not None and limit is None and value.enum is None:
        limit = min(most, _MAX_TEXT)
    return _enum(with_keys(value, type=kind_name, max_length=limit), value, kind)


def _time(value: Value, kind: Any) -> dict[str, Any]:
    low, high = whole_seconds(kind) or (0, 0)
    kind_name = _must_be(value, kind, 'number', 'integer')
    _within(value, kind, low, high + 1)
    keys = with_keys(value, type=kind_name, unit=value.unit or 's')
    if low == 0 and value.enum is None:
        keys.setdefault('minimum', low)
    return _enum(keys, value, kind)
