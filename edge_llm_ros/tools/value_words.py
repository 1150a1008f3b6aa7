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

"""Values in the words in which a refusal tells them to the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_MAX_TEXT = 40  # characters of a text that is told


def told(value: object) -> str:
    """Return a value with its kind, short and in the words of JSON."""
    if value is None:
        return 'null'
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, int) and value.bit_length() > 256:
        return 'a number that is far too large'  # and that Python may refuse to write
    if isinstance(value, (int, float)):
        return f'the number {_short(repr(value))}'
    if isinstance(value, str):
        return f'the text "{_short(value)}"'
    if isinstance(value, Mapping):
        return 'an object'
    if isinstance(value, Sequence):
        return f'a list of {len(value)}'
    return f'a {type(value).__name__}'


def _short(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + '…'


def figure(value: float) -> int | float:
    """Return a number without the ".0" that it does not need."""
    return int(value) if value == int(value) else value


def kind_needed(kind: str) -> str:
    """Return what a JSON type asks for, in words."""
    return {
        'string': 'text', 'number': 'a number', 'integer': 'a whole number',
        'boolean': 'true or false', 'array': 'a list', 'object': 'an object'
    }[kind]
