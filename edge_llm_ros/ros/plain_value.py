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

"""Fields of messages as what canonical JSON can hold, short and marked where something is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
import math
from typing import Any

from edge_llm_ros.ros.idl import field_types, is_list, is_message, NANOSECONDS, whole_seconds
import numpy
from rosidl_parser.definition import BasicType, NamespacedType

_MAX_MARKS = 8  # nulls that are explained one by one
_FIRST = 3  # items that are told of a long list of texts or messages
_DIGITS = {'float': 7, 'double': 15}  # significant decimal digits that the type carries


@dataclass
class PlainValues:
    """
    Makes plain values; remembers what the nulls among them stand for.

    :param max_items: of a list; a longer one is summarised
    :param max_text: characters of a text; a longer one is cut
    :param marks: what each null stands for, by its place
    """

    max_items: int = 16
    max_text: int = 512
    marks: dict[str, str] = field(default_factory=dict)

    def of(self, value: Any, kind: Any, place: str, scale: float = 1.0,
           shape: Sequence[int] = ()) -> Any:
        """
        Return a field's value.

        :param place: what the value is called in a mark
        :param scale: factor for numbers
        :param shape: of a list, where its message says it
        """
        if isinstance(kind, NamespacedType):
            seconds = whole_seconds(kind) is not None
            return _seconds(value.sec, value.nanosec) if seconds else self.message(value, place)
        if is_list(kind):
            return self._list(value, kind.value_type, place, scale, shape)
        if isinstance(value, (bytes, bytearray)):
            return value[0] if len(value) == 1 else {'length': len(value)}
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return value
        return self.number(value, kind, place, scale)

    def number(self, value: float, kind: Any, place: str, scale: float = 1.0
               ) -> int | float | None:
        """Return a number as long as its type is exact, or null with a mark."""
        if scale != 1.0:
            value = value * scale
        if isinstance(value, int):
            return value
        if not math.isfinite(value):
            self._mark(value, place)
            return None
        name = kind.typename if isinstance(kind, BasicType) else 'double'
        rounded = float(f'{value:.{_DIGITS.get(name, 15)}g}')
        return rounded if math.isfinite(rounded) else value

    def _mark(self, value: float, place: str) -> None:
        words = 'not a number' if math.isnan(value) else (
            'infinite' if value > 0 else 'minus infinite')
        if len(self.marks) < _MAX_MARKS:
            self.marks[place] = words
        else:
            self.marks['others'] = 'not a number or infinite'

    def message(self, message: Any, place: str = '') -> dict[str, Any]:
        """Return all fields of a message, which is called ``place`` in a mark."""
        shape = shape_said(message)
        return {name: self.of(getattr(message, name), kind, f'{place}.{name}' if place else name,
                              shape=shape)
                for name, kind in field_types(type(message)).items()}

    def text(self, value: str) -> str:
        """Return a text, or its start with a mark where it is too long."""
        if len(value) <= self.max_text:
            return value
        return (f'{value[:self.max_text]} … [cut: the first {self.max_text} of {len(value)} '
                'characters]')

    def _list(self, value: Any, kind: Any, place: str, scale: float, shape: Sequence[int]) -> Any:
        if len(value) > self.max_items:
            return self._summary(value, kind, place, scale, shape)
        # Arrays of numbers are numpy arrays or array.array: neither's items are JSON's.
        items = value.tolist() if hasattr(value, 'tolist') else value
        return [self.of(item, kind, f'{place}[{i}]', scale) for i, item in enumerate(items)]

    def _summary(self, value: Any, kind: Any, place: str, scale: float, shape: Sequence[int]
                 ) -> dict[str, Any]:
        summary: dict[str, Any] = {'length': len(value)}
        each, rest = divmod(len(value), math.prod(shape) or 1)
        if shape and each and not rest:
            summary['shape'] = [*shape, *([each] if each > 1 else [])]
        if not isinstance(kind, BasicType):
            summary['first'] = [self.of(item, kind, f'{place}[{i}]')
                                for i, item in enumerate(value[:_FIRST])]
        elif kind.typename not in ('boolean', 'octet', 'char'):
            numbers = numpy.asarray(value)
            finite = numbers[numpy.isfinite(numbers)]
            if len(finite):
                ends = sorted((finite.min().item(), finite.max().item()))
                low, high = sorted(self.number(end, kind, place, scale) or 0 for end in ends)
                summary.update(min=low, max=high)
            if len(finite) < len(numbers):
                summary['not_finite'] = len(numbers) - len(finite)
        return summary


def _seconds(whole: int, nanoseconds: int) -> int | float:
    """Return the seconds of a Time or a Duration."""
    if not nanoseconds:
        return int(whole)
    # As text: a sum of floats would show digits that nobody sent.
    total = whole * NANOSECONDS + nanoseconds
    sign = '-' if total < 0 else ''
    seconds, rest = divmod(abs(total), NANOSECONDS)
    return float(f'{sign}{seconds}.{rest:09d}')


def shape_said(message: Any) -> list[int]:
    """Return the shape of the data of a picture, a map or a tensor, as its message says it."""
    types = field_types(type(message))
    if is_message(types.get('layout'), 'std_msgs/msg/MultiArrayLayout'):
        return [int(dimension.size) for dimension in message.layout.dim]
    for part in (message, getattr(message, 'info', None)):
        sides = [getattr(part, side, None) for side in ('height', 'width')]
        if all(isinstance(side, int) and not isinstance(side, bool) for side in sides):
            return [int(side) for side in sides if side is not None]
    return []


def plain(value: Any, kind: Any) -> Any:
    """Return a field's value as what canonical JSON can hold, shortened where it is long."""
    return PlainValues().of(value, kind, 'value')
