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

"""Interface definitions, walked: which fields a message has, and of which IDL types."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
import importlib
from types import MappingProxyType
from typing import Any

from rosidl_parser.definition import (
    AbstractGenericString, AbstractNestedType, AbstractSequence, AbstractWString, Array, BasicType,
    BoundedSequence, BoundedString, BoundedWString, NamespacedType)

INTEGERS: Mapping[str, tuple[int, int]] = {
    **{f'int{bits}': (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f'uint{bits}': (0, (1 << bits) - 1) for bits in (8, 16, 32, 64)},
    'octet': (0, 255),
}
FLOATS = ('float', 'double')
NANOSECONDS = 1_000_000_000
_SECONDS = {'Time': (0, (1 << 31) - 1), 'Duration': (-(1 << 31), (1 << 31) - 1)}


def field_types(of: Any) -> Mapping[str, Any]:
    """Return the IDL type of each field of a message class, in order."""
    return _field_types(of)


@lru_cache(maxsize=1024)
def _field_types(of: Any) -> Mapping[str, Any]:
    return MappingProxyType(dict(zip(of.get_fields_and_field_types(), of.SLOT_TYPES)))


def message_class(kind: NamespacedType) -> Any:
    """Return the Python class of a message type."""
    return _class('.'.join(kind.namespaces), kind.name)


@lru_cache(maxsize=1024)
def _class(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def is_message(kind: Any, name: str) -> bool:
    """Say whether a type is a message such as ``std_msgs/msg/Header``."""
    return isinstance(kind, NamespacedType) and '/'.join(kind.namespaced_name()) == name


def whole_seconds(kind: Any) -> tuple[int, int] | None:
    """Return the seconds that a Time or a Duration holds; None for any other type."""
    if isinstance(kind, NamespacedType) and (
            list(kind.namespaces) == ['builtin_interfaces', 'msg']):
        return _SECONDS.get(kind.name)
    return None


def field_type(of: Any, path: str) -> Any:
    """
    Return the IDL type at a dotted path of a message class.

    :raises ValueError: with the fields that there are
    """
    current, kind = of, None
    for part in path.split('.'):
        types = field_types(current) if current is not None else {}
        if part not in types:
            raise ValueError(
                f'{path!r}: there is no field {part!r}; fields here: {", ".join(types) or "none"}')
        kind = types[part]
        current = message_class(kind) if isinstance(kind, NamespacedType) else None
    return kind


def constants(of: Any, path: str) -> Mapping[str, Any]:
    """Return the constants of the message that holds the field at a dotted path."""
    *parents, _ = path.split('.')
    owner = message_class(field_type(of, '.'.join(parents))) if parents else of
    found = getattr(type(owner), f'_{type(owner).__name__}__constants', {})
    return dict(found)


def most_items(kind: Any) -> int | None:
    """Return how many items an array or a sequence holds at most; None if that is unbounded."""
    if isinstance(kind, Array):
        return int(kind.size)
    return int(kind.maximum_size) if isinstance(kind, BoundedSequence) else None


def longest_text(kind: Any) -> int | None:
    """Return how long a string may be, in bytes or UTF-16 units; None if that is unbounded."""
    bounded = isinstance(kind, (BoundedString, BoundedWString))
    return int(kind.maximum_size) if bounded else None


def name_of(kind: Any) -> str:
    """Return a type in the words of a .msg file."""
    if isinstance(kind, BasicType):
        return {'boolean': 'bool', 'float': 'float32', 'double': 'float64', 'octet': 'byte'}.get(
            kind.typename, str(kind.typename))
    if isinstance(kind, AbstractGenericString):
        length = longest_text(kind)
        wide = 'w' if isinstance(kind, AbstractWString) else ''
        return f'{wide}string{"" if length is None else f"<={length}"}'
    if isinstance(kind, Array):
        return f'{name_of(kind.value_type)}[{kind.size}]'
    if isinstance(kind, AbstractSequence):
        most = most_items(kind)
        return f'{name_of(kind.value_type)}[{"" if most is None else f"<={most}"}]'
    if isinstance(kind, NamespacedType):
        return f'{next(iter(kind.namespaces))}/{kind.name}'
    return str(kind)


def is_list(kind: Any) -> bool:
    """Say whether a type is an array or a sequence."""
    return isinstance(kind, AbstractNestedType)
