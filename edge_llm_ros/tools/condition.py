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

"""Conditions on what the robot's sensors say, as a tool file writes them."""

from __future__ import annotations

from dataclasses import dataclass
import json
import math
import operator
import re
from typing import Annotated, Any, Protocol

from pydantic import AfterValidator

_CONDITION = re.compile(
    r'(?P<signal>[a-z][a-z0-9_]{0,63})\.(?P<field>[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)*)'
    r'\s*(?P<operator><=|>=|==|!=|<|>)\s*(?P<value>\S.*)')
_NUMBER = re.compile(r'[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?')
_OPERATORS: dict[str, Any] = {
    '<': operator.lt, '<=': operator.le, '>': operator.gt, '>=': operator.ge,
    '==': operator.eq, '!=': operator.ne}


@dataclass(frozen=True)
class Condition:
    """
    A comparison of one field of a signal with a value.

    :param signal: its name in the tool file
    :param field: dotted path in the signal's message
    :param text: as it was written
    """

    signal: str
    field: str
    operator: str
    value: bool | float | str
    text: str

    @classmethod
    def parse(cls, text: str) -> Condition:
        """
        Read a condition such as ``battery.percentage > 0.15``.

        :raises ValueError: with what is expected
        """
        found = _CONDITION.fullmatch(text.strip())
        if found is None:
            raise ValueError(
                f'{text!r} is not a condition; write signal.field, one of < <= > >= == != and a '
                f'number, true, false or a quoted text, as in battery.percentage > 0.15')
        value = _value(found['value'])
        if isinstance(value, (bool, str)) and found['operator'] not in ('==', '!='):
            raise ValueError(f'{text!r}: {found["operator"]} needs a number on its right side')
        return cls(found['signal'], found['field'], found['operator'], value, text.strip())

    def unmet(self, value: object) -> str:
        """Return why a field's value does not meet the condition; empty if it does."""
        name = f'{self.signal}.{self.field}'
        if isinstance(self.value, float):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                return f'{name} is no number, and {self.text} is required'
            if not math.isfinite(value):
                return f'{name} is not a finite number, and {self.text} is required'
        elif type(value) is not type(self.value):
            return f'{name} is no {_KINDS[type(self.value)]}, and {self.text} is required'
        if _OPERATORS[self.operator](value, self.value):
            return ''
        return f'{name} is {json.dumps(value)}, and {self.text} is required'


_KINDS: dict[type, str] = {bool: 'truth value', str: 'text', float: 'number'}


def _value(text: str) -> bool | float | str:
    if text in ('true', 'false'):
        return text == 'true'
    if _NUMBER.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    if len(text) >= 2 and text[0] == text[-1] and text[0] in '\'"' and text[0] not in text[1:-1]:
        return text[1:-1]
    raise ValueError(f'{text!r} is not a number, true, false or a quoted text')


def _checked(text: str) -> str:
    Condition.parse(text)
    return text


ConditionText = Annotated[str, AfterValidator(_checked)]


class Signals(Protocol):
    """What the sensors say now."""

    def why_unmet(self, condition: Condition) -> str:
        """Return why a condition is not met, no value among the reasons; empty if it is met."""


class NoSignals:
    """Nothing is known; no condition is met."""

    def why_unmet(self, condition: Condition) -> str:
        """Say that there is no value."""
        return f'nothing is known of {condition.signal}, and {condition.text} is required'
