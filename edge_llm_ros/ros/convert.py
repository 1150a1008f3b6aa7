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

Whole numbers arrive exactly. A fraction arrives as the nearest number that the field has, which is
the nature of floats, but never as zero or infinity instead of itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
import math
import struct
from typing import Any

from edge_llm_ros.ros.idl import (
    field_types, FLOATS, INTEGERS, longest_text, message_class, most_items, NANOSECONDS,
    whole_seconds)
from edge_llm_ros.tools.gate import Refused
from edge_llm_ros.tools.value_words import told
from rosidl_parser.definition import (
    AbstractGenericString, AbstractNestedType, AbstractWString, Array, BasicType, NamespacedType)

# What rclpy's own check, which Humble always makes, takes for the largest float32.
_FLOAT32_MOST = 3.402823466e38
_EXACT_IN_FLOAT = 1 << 53  # from here on, a float may stand for several whole numbers


def convert(value: Any, kind: Any, label: str) -> Any:
    """
    Return a value as the Python type that rclpy wants for an IDL type.

    :param label: what the value is called in a refusal
    :raises Refused: if that would change the value
    """
    if isinstance(kind, BasicType):
        return _basic(value, kind.typename, label)
    if isinstance(kind, AbstractGenericString):
        return _text(value, kind, label)
    if isinstance(kind, AbstractNestedType):
        return _items(value, kind, label)
    if isinstance(kind, NamespacedType):
        if whole_seconds(kind) is not None and not isinstance(value, Mapping):
            return _seconds(value, kind, label)
        if not isinstance(value, Mapping):
            raise Refused(f'{label}: an object is needed, not {told(value)}')
        message = message_class(kind)()
        fill(message, value, lambda path: f'{label}, field {path!r}')
        return message
    raise Refused(f'{label}: fields of type {kind} cannot be set')


def fill(message: Any, fields: Mapping[str, Any], label: Callable[[str], str] = str) -> None:
    """
    Set fields of a message, all of them or, if one does not fit, none.

    :param fields: values by dotted path
    :param label: what the value at a path is called in a refusal
    :raises Refused: if a value does not fit its field exactly
    """
    ready = []
    for path, value in fields.items():
        *parents, last = path.split('.')
        target = message
        for parent in parents:
            target = getattr(target, parent) if parent in _types(target) else None
        kind = _types(target).get(last)
        if kind is None:
            here = ', '.join(_types(target)) or 'none'
            raise Refused(f'{label(path)}: there is no field {path!r}; fields here: {here}')
        ready.append((target, last, convert(value, kind, label(path))))
    for target, last, value in ready:
        setattr(target, last, value)


def _types(message: Any) -> Mapping[str, Any]:
    return field_types(type(message)) if hasattr(message, 'SLOT_TYPES') else {}


def _basic(value: Any, name: str, label: str) -> Any:
    if name == 'boolean':
        if not isinstance(value, bool):
            raise Refused(f'{label}: true or false is needed, not {told(value)}')
        return value
    if name == 'char':
        if not isinstance(value, str) or len(value) != 1 or not '\0' < value < '\x80':
            raise Refused(f'{label}: one ASCII character is needed, not {told(value)}')
        return value
    if name in FLOATS:
        return _float(_number(value, 'a number', label), name == 'float', label)
    if name in INTEGERS:
        low, high = INTEGERS[name]
        needed = f'a whole number in {low} … {high}'
        whole = _whole(_number(value, needed, label), low, high, needed, label)
        return bytes([whole]) if name == 'octet' else whole
    raise Refused(f'{label}: fields of type {name} cannot be set')


def _number(value: Any, needed: str, label: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Refused(f'{label}: {needed} is needed, not {told(value)}')
    if isinstance(value, float) and not math.isfinite(value):
        raise Refused(f'{label}: {value!r} is not a finite number')
    return value


def _whole(value: int | float, low: int, high: int, needed: str, label: str) -> int:
    if value != int(value) or not low <= value <= high:
        raise Refused(f'{label}: {needed} is needed, not {told(value)}')
    if isinstance(value, float) and abs(value) >= _EXACT_IN_FLOAT:
        raise Refused(f'{label}: write so large a number without fraction and exponent, not as '
                      f'{value!r}')
    return int(value)


def _float(value: int | float, single: bool, label: str) -> float:
    try:
        result = float(value)
        if single:
            result, = struct.unpack('<f', struct.pack('<f', result))
            if abs(result) > _FLOAT32_MOST:
                raise OverflowError
    except OverflowError:
        largest = '3.4e38' if single else '1.7e308'
        raise Refused(f'{label}: at most {largest} is allowed, not {told(value)}') from None
    if result == 0 and value != 0:
        raise Refused(f'{label}: {value!r} is too near to zero; give 0 or a larger number')
    if isinstance(value, int) and result != value:
        raise Refused(f'{label}: {told(value)} has more digits than arrive exactly; at most '
                      f'{1 << (24 if single else 53)} does')
    return result


def _seconds(value: Any, kind: NamespacedType, label: str) -> Any:
    """Return a Time or a Duration of a number of seconds, to the nanosecond."""
    bounds = whole_seconds(kind)
    assert bounds is not None
    needed = f'a number of seconds in {bounds[0]} … {bounds[1]}'
    number = _number(value, needed, label)
    # As the number is written: 0.1 is a tenth here, not the nearest binary fraction.
    nanoseconds = int((Decimal(repr(number)) * NANOSECONDS).to_integral_value()) if (
        abs(number) < 1 << 33) else None
    if nanoseconds is None or not bounds[0] <= nanoseconds // NANOSECONDS <= bounds[1]:
        raise Refused(f'{label}: {needed} is needed, not {told(value)}')
    if nanoseconds == 0 and number != 0:
        raise Refused(f'{label}: {number!r} seconds are less than a nanosecond')
    seconds, rest = divmod(nanoseconds, NANOSECONDS)
    return message_class(kind)(sec=seconds, nanosec=rest)


def _text(value: Any, kind: Any, label: str) -> str:
    if not isinstance(value, str):
        raise Refused(f'{label}: text is needed, not {told(value)}')
    if '\0' in value or any(0xD800 <= ord(c) <= 0xDFFF for c in value):
        raise Refused(f'{label}: the text holds a character that cannot be sent (NUL or half a '
                      'surrogate pair)')
    most = longest_text(kind)
    if most is not None:
        wide = isinstance(kind, AbstractWString)
        length = len(value.encode('utf-16-le')) // 2 if wide else len(value.encode())
        if length > most:
            raise Refused(f'{label}: the text is longer than {most}: it has {length} '
                          f'{"characters" if wide else "bytes"}')
    return value


def _items(value: Any, kind: Any, label: str) -> list[Any]:
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise Refused(f'{label}: a list is needed, not {told(value)}')
    most = most_items(kind)
    if isinstance(kind, Array) and len(value) != most:
        raise Refused(f'{label}: {most} items are needed, not {len(value)}')
    if most is not None and len(value) > most:
        raise Refused(f'{label}: {most} items at most are allowed, not {len(value)}')
    return [convert(item, kind.value_type, f'{label}, item {i}') for i, item in enumerate(value)]
