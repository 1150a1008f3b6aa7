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

"""
Values to message fields, by their IDL types, exactly or not at all.

rclpy does not check field types in release builds: an int in a float64 field leaves as 5e-324. So
nothing is assigned to a message before it is of the field's own type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import importlib
import math
import struct
from typing import Any

from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.tools.gate import Refused
from rosidl_parser.definition import (
    AbstractGenericString, AbstractNestedType, AbstractSequence, Array, BasicType, BoundedSequence,
    BoundedString, BoundedWString, NamespacedType)

_INTEGERS = {
    **{f'int{bits}': (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f'uint{bits}': (0, (1 << bits) - 1) for bits in (8, 16, 32, 64)},
}
_MAX_ITEMS = 16  # of an array that the model is told
_MAX_TEXT = 512  # characters of a text that the model is told


def interface(name: str, where: str) -> Any:
    """
    Return the Python class of an interface such as ``std_srvs/srv/SetBool``.

    :param where: file and key, for the message
    :raises ConfigError: if it is not installed here
    """
    package, kind, type_name = name.split('/')
    try:
        module = importlib.import_module(f'{package}.{kind}')
    except ImportError:
        module = None
    if module is not None and not hasattr(module, type_name):
        names = sorted(n for n in dir(module) if n[0].isupper())
        raise ConfigError(
            f'{where}: {package!r} has no {kind} {type_name!r}; it has {", ".join(names)}.')
    if module is not None:
        return getattr(module, type_name)
    else:
        raise ConfigError(
            f'{where}: the interface {name!r} is not installed here. Install the package '
            f'{package!r} '
            f'and source its workspace, or correct the type.') from None


def _field_types(message: Any) -> dict[str, Any]:
    return dict(zip(message.get_fields_and_field_types(), message.SLOT_TYPES))


def _message_class(kind: NamespacedType) -> Any:
    module = importlib.import_module('.'.join(kind.namespaces))
    return getattr(module, kind.name)


def check_path(message_class: Any, path: str) -> None:
    """
    Check that a dotted path names a field.

    :raises ValueError: with the fields that there are
    """
    current: Any = message_class
    for part in path.split('.'):
        types = _field_types(current) if current is not None else {}
        if part not in types:
            raise ValueError(
                f'{path!r}: there is no field {part!r}; fields here: {", ".join(types) or "none"}')
        kind = types[part]
        current = _message_class(kind) if isinstance(kind, NamespacedType) else None


def fill(message: Any, fields: Mapping[str, Any]) -> None:
    """
    Set fields of a message.

    :param fields: values by dotted path
    :raises Refused: if a value does not fit its field exactly
    """
    for path, value in fields.items():
        *parents, last = path.split('.')
        target = message
        for parent in parents:
            if parent not in _field_types(target):
                raise Refused(f'there is no field {path!r}')
            target = getattr(target, parent)
        kind = _field_types(target).get(last) if hasattr(target, 'SLOT_TYPES') else None
        if kind is None:
            here = ', '.join(_field_types(target)) if hasattr(target, 'SLOT_TYPES') else 'none'
            raise Refused(f'there is no field {path!r}; fields here: {here}')
        setattr(target, last, convert(value, kind, path))


def convert(value: Any, kind: Any, path: str) -> Any:
    """
    Return a value as the Python type that rclpy wants for an IDL type.

    :raises Refused: if that would change the value
    """
    if isinstance(kind, BasicType):
        return _basic(value, kind.typename, path)
    if isinstance(kind, AbstractGenericString):
        return _text(value, kind, path)
    if isinstance(kind, AbstractNestedType):
        return _items(value, kind, path)
    if isinstance(kind, NamespacedType):
        if not isinstance(value, Mapping):
            raise Refused(f'{path}: an object is needed, not {value!r}')
        message = _message_class(kind)()
        fill(message, value)
        return message
    raise Refused(f'{path}: fields of type {kind} cannot be set')


def _basic(value: Any, name: str, path: str) -> Any:
    if name == 'boolean':
        if not isinstance(value, bool):
            raise Refused(f'{path}: true or false is needed, not {value!r}')
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Refused(f'{path}: a number is needed, not {value!r}')
    if not math.isfinite(value):
        raise Refused(f'{path}: {value!r} is not finite')
    if name in ('float', 'double'):
        try:
            # A value beyond float32 would leave as infinity.
            struct.pack('<f' if name == 'float' else '<d', value)
            return float(value)
        except OverflowError:
            raise Refused(f'{path}: {value!r} is too large for {name}') from None
    if name == 'octet':
        return bytes([_integer(value, 0, 255, path)])
    if name in _INTEGERS:
        return _integer(value, *_INTEGERS[name], path)
    raise Refused(f'{path}: fields of type {name} cannot be set')


def _integer(value: float, low: int, high: int, path: str) -> int:
    if value != int(value):
        raise Refused(f'{path}: a whole number is needed, not {value!r}')
    if not low <= value <= high:
        raise Refused(f'{path}: {value!r} is not in {low} … {high}')
    return int(value)


def _text(value: Any, kind: Any, path: str) -> str:
    if not isinstance(value, str):
        raise Refused(f'{path}: text is needed, not {value!r}')
    if '\0' in value or any(0xD800 <= ord(c) <= 0xDFFF for c in value):
        raise Refused(f'{path}: the text holds a character that cannot be sent')
    if isinstance(kind, (BoundedString, BoundedWString)):
        length = len(value.encode()) if isinstance(kind, BoundedString) else len(value)
        if length > int(kind.maximum_size):
            raise Refused(f'{path}: the text is longer than {kind.maximum_size}')
    return value


def _items(value: Any, kind: Any, path: str) -> list[Any]:
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise Refused(f'{path}: a list is needed, not {value!r}')
    if isinstance(kind, Array) and len(value) != kind.size:
        raise Refused(f'{path}: {kind.size} items are needed, not {len(value)}')
    if isinstance(kind, BoundedSequence) and len(value) > int(kind.maximum_size):
        raise Refused(f'{path}: {kind.maximum_size} items at most, not {len(value)}')
    return [convert(item, kind.value_type, f'{path}[{i}]') for i, item in enumerate(value)]


def get(message: Any, path: str) -> Any:
    """Return the value at a dotted path."""
    for part in path.split('.'):
        message = getattr(message, part)
    return message


def plain(value: Any, kind: Any) -> Any:
    """Return a field's value as what canonical JSON can hold, shortened where it is long."""
    if isinstance(kind, NamespacedType):
        return {name: plain(getattr(value, name), t) for name, t in _field_types(value).items()}
    if isinstance(kind, (Array, AbstractSequence)):
        if len(value) > _MAX_ITEMS:
            return f'{len(value)} items'
        # Arrays of numbers are numpy arrays or array.array: neither's items are JSON's.
        items = value.tolist() if hasattr(value, 'tolist') else value
        return [plain(item, kind.value_type) for item in items]
    if isinstance(value, (bytes, bytearray)):
        return value[0] if len(value) == 1 else f'{len(value)} bytes'
    if isinstance(value, str):
        return value if len(value) <= _MAX_TEXT else value[:_MAX_TEXT] + '…'
    if isinstance(value, float):
        single = isinstance(kind, BasicType) and kind.typename == 'float'
        return float(f'{value:.7g}' if single else f'{value:.12g}')
    return value


def field_kind(message_class: Any, path: str) -> Any:
    """Return the IDL type at a dotted path."""
    kind: Any = None
    for part in path.split('.'):
        kind = _field_types(message_class)[part]
        message_class = _message_class(kind) if isinstance(kind, NamespacedType) else None
    return kind
