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

"""The values of a program: what comes from calls, how it is reckoned with, compared and told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
import math
import operator
from types import MappingProxyType
from typing import Any

from edge_llm_ros.program.language import MAX_DIGITS, MAX_PARTS, MAX_TEXT, ProgramError

_BITS = 64  # of a whole number
_NESTED = 8  # levels of what a call returned
_TOLD = 40  # characters of a text in a message
_ORDER = {'<': operator.lt, '>': operator.gt, '<=': operator.le, '>=': operator.ge}


def taken(value: Any, parts: int = MAX_PARTS) -> Any:
    """
    Return JSON as a value that a program cannot change.

    :param parts: values in each other at most; what is beyond them is None
    """
    return _frozen(value, _NESTED, iter(range(parts)))


def _frozen(value: Any, levels: int, left: Iterator[int]) -> Any:
    if next(left, None) is None or not levels:
        return None
    if isinstance(value, str):
        return value[:MAX_TEXT]
    if isinstance(value, Mapping):
        return MappingProxyType({
            str(key)[:MAX_TEXT]: _frozen(item, levels - 1, left)
            for key, item in islice(value.items(), MAX_PARTS)})
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(item, levels - 1, left) for item in value[:MAX_PARTS])
    return value if value is None or isinstance(value, bool) or is_number(value) else None


def is_number(value: object) -> bool:
    """Say whether a value is a number that a program can have."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return value.bit_length() <= _BITS if isinstance(value, int) else math.isfinite(value)


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def told(value: object) -> str:
    """Return a value as a message to the model tells it."""
    if value is None:
        return 'nothing'
    if isinstance(value, str):
        return f'the text "{value}"' if len(value) <= _TOLD else f'the text "{value[:_TOLD]}…"'
    if is_number(value):
        return f'the number {in_text(value)}'
    if isinstance(value, (Mapping, tuple)):
        return 'a list' if isinstance(value, tuple) else 'a table'
    return str(value) if isinstance(value, bool) else 'a number that is too large'


def in_text(value: Any) -> str:
    """Return a value as it stands in a text."""
    text, parts = '', 0
    for part in _parts(value):
        text, parts = text + part, parts + 1
        if max(len(text), parts) > MAX_TEXT:
            raise ProgramError(f'a text has more than {MAX_TEXT} characters')
    return text


def _parts(value: Any) -> Iterator[str]:
    if isinstance(value, float):
        # Without the noise of binary fractions: 0.3, not 0.30000000000000004.
        yield repr(float(f'{value:.10g}'))
    elif isinstance(value, Mapping):
        for i, (key, item) in enumerate(value.items()):
            yield f', {key}: ' if i else f'{key}: '
            yield from _parts(item)
    elif isinstance(value, tuple):
        for i, item in enumerate(value):
            yield ', ' if i else ''
            yield from _parts(item)
    else:
        yield str(value)


def _number(value: Any) -> Any:
    if not is_number(value):
        raise ProgramError(f'a number is needed, not {told(value)}')
    return value


def _kept(value: Any) -> Any:
    if not is_number(value):
        raise ProgramError('a number is too large')
    return value


def added(a: Any, b: Any) -> Any:
    """Return the sum of two numbers, or two texts as one."""
    if isinstance(a, str) and isinstance(b, str):
        return in_text(a + b)
    if isinstance(a, str) or isinstance(b, str):
        raise ProgramError(f'{told(a)} and {told(b)} cannot be added; write f"...{{name}}..."')
    return _kept(_number(a) + _number(b))


def subtracted(a: Any, b: Any) -> Any:
    """Return the difference of two numbers."""
    return _kept(_number(a) - _number(b))


def negative(value: Any) -> Any:
    """Return a number with the other sign."""
    return _kept(-_number(value))


def absolute(value: Any) -> Any:
    """Return a number without its sign."""
    return _kept(abs(_number(value)))


def rounded(value: Any, digits: Any = None) -> Any:
    """Return a number with fewer digits, and without digits a whole one."""
    if digits is None:
        return _kept(round(_number(value)))
    if isinstance(digits, bool) or not isinstance(digits, int) or not 0 <= digits <= MAX_DIGITS:
        raise ProgramError(f'round needs 0 to {MAX_DIGITS} digits')
    return _kept(round(_number(value), digits))


def less(a: Any, sign: str, b: Any) -> bool:
    """Compare two numbers or two texts by their order."""
    if not (is_number(a) and is_number(b) or isinstance(a, str) and isinstance(b, str)):
        raise ProgramError(f'{told(a)} cannot be compared with {told(b)} by {sign}')
    return bool(_ORDER[sign](a, b))


def among(item: Any, values: Any) -> bool:
    """Say whether a value is in a list or a table, or a text in a text."""
    if isinstance(values, str) and not isinstance(item, str):
        raise ProgramError(f'in a text there can be a text, not {told(item)}')
    if not isinstance(values, (str, tuple, Mapping)):
        raise ProgramError(f'a list or a text is needed after in, not {told(values)}')
    if isinstance(values, Mapping) and not isinstance(item, str):
        return item in list(values)
    return item in values
