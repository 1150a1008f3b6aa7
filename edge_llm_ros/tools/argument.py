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

"""The arguments of a tool: what the model may give, and what is refused in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from pathlib import Path
from typing import Any, Literal

from edge_llm_ros.tools.named_places import named_places
from edge_llm_ros.tools.readings import ValuesFrom
from edge_llm_ros.tools.strict_model import StrictModel
from edge_llm_ros.tools.value_words import figure, kind_needed, told
from pydantic import Field, model_validator, ValidationInfo

Scalar = bool | int | float | str
JsonType = Literal['string', 'number', 'integer', 'boolean', 'array', 'object']
FOLDER = 'folder'  # key of the validation context: where the paths of a file count from


class Value(StrictModel):
    """
    What a value may be; what is left out is taken from the type of the request field.

    :param enum: the values that are allowed
    :param fields: of an object: those that the model gives, by name; all where it is left out
    :param items: what each item of a list may be
    """

    description: str = ''
    type: JsonType | None = None
    unit: str = ''
    minimum: float | None = None
    maximum: float | None = None
    max_length: int | None = Field(default=None, ge=1, le=512)
    enum: list[Scalar] | None = Field(default=None, min_length=1, max_length=256)
    fields: dict[str, Value] | None = Field(default=None, min_length=1, max_length=32)
    items: Value | None = None
    min_items: int | None = Field(default=None, ge=0, le=256)
    max_items: int | None = Field(default=None, ge=1, le=256)

    @model_validator(mode='before')
    @classmethod
    def _type_that_keys_say(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if isinstance(data.get('fields'), list):
            data = {**data, 'fields': {str(name): {} for name in data['fields']}}
        if data.get('type') is None:
            kind = _said_type(data)
            data = {**data, 'type': kind} if kind else data
        return data

    @model_validator(mode='after')
    def _consistent_value(self) -> Value:
        for keys, kinds in ((('minimum', 'maximum'), ('number', 'integer')),
                            (('max_length',), ('string',)), (('fields',), ('object',)),
                            (('items', 'min_items', 'max_items'), ('array',)),
                            (('enum',), ('string', 'number', 'integer', 'boolean'))):
            given = [key for key in keys if getattr(self, key) is not None]
            if given and self.type is not None and self.type not in kinds:
                what = 'numbers' if 'number' in kinds[:1] else f'{" or ".join(kinds)} values'
                raise ValueError(f'{" and ".join(keys)}: for {what}, not for type {self.type}')
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError(f'minimum {self.minimum:g} is above maximum {self.maximum:g}')
        if (self.min_items or 0) > (256 if self.max_items is None else self.max_items):
            raise ValueError(f'min_items {self.min_items} is above max_items {self.max_items}')
        if self.type is not None:
            for value in self.enum or ():
                self.check(value)
        return self

    def check(self, value: object) -> None:
        """Refuse a value that is not allowed; raises ValueError with the reason."""
        words = self.words()
        if words is not None and value not in words:
            raise ValueError(f'one of {", ".join(map(str, words))} is needed, not {told(value)}')
        if self.type is None or not _is(self.type, value):
            raise ValueError(f'{kind_needed(self.type or "string")} is needed, not {told(value)}')
        if isinstance(value, str):
            self._check_text(value)
        elif isinstance(value, Mapping):
            self._check_fields(value)
        elif isinstance(value, Sequence):
            self._check_items(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            self._check_number(value)

    def words(self) -> list[Any] | None:
        """Return the values that are allowed, if they are listed."""
        return self.enum

    def _check_text(self, value: str) -> None:
        if self.max_length is not None and len(value) > self.max_length:
            raise ValueError(
                f'the text has {len(value)} characters, {self.max_length} are allowed')

    def _check_number(self, value: float) -> None:
        if not -math.inf < value < math.inf:
            raise ValueError(f'{value!r} is not a finite number')
        if self.minimum is not None and value < self.minimum:
            raise ValueError(f'{value!r} is below the minimum {figure(self.minimum)}')
        if self.maximum is not None and value > self.maximum:
            raise ValueError(f'{value!r} is above the maximum {figure(self.maximum)}')

    def _check_items(self, value: Sequence[Any]) -> None:
        low, high = self.min_items or 0, self.max_items
        if len(value) < low or (high is not None and len(value) > high):
            allowed = f'{low}' if low == high else f'{low} … {"" if high is None else high}'
            raise ValueError(f'the list has {len(value)} items, {allowed} are allowed')
        for i, item in enumerate(value):
            if self.items is not None:
                _inside(self.items, item, f'item {i}')

    def _check_fields(self, value: Mapping[str, Any]) -> None:
        allowed = self.fields or {}
        for name in value:
            if name not in allowed:
                raise ValueError(f'unknown field {name!r}; allowed: {", ".join(allowed)}')
        for name, field in allowed.items():
            if name not in value:
                raise ValueError(f'the field {name!r} is missing')
            _inside(field, value[name], name)


class Argument(Value):
    """
    One argument of a tool.

    :param values: the words that are allowed, each with the request fields that it stands for
    :param places: a file of such words, from the folder of the tool file
    :param constants: prefix of the message's constants, whose names are the words
    :param unit_of_model: what the model gives instead of the field's own value
    :param field: path of the request field, with dots; the argument's own name where it is left
        out
    :param values_from: where the values that are allowed are read at the start of each goal
    """

    description: str = Field(min_length=1)
    values: dict[str, dict[str, Any]] | None = Field(default=None, min_length=1, max_length=256)
    places: str | None = None
    constants: str | None = None
    unit_of_model: Literal['degrees', 'yaw_degrees'] | None = Field(default=None, alias='as')
    default: Scalar | None = None
    field: str | None = None
    values_from: ValuesFrom | None = None

    @model_validator(mode='before')
    @classmethod
    def _places_are_values(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get('places'), str):
            return data
        if data.get('values') is not None:
            raise ValueError('give values or places, not both')
        folder = (info.context or {}).get(FOLDER, Path())
        return {**data, 'type': data.get('type') or 'string',
                'values': named_places(data['places'], folder)}

    @model_validator(mode='after')
    def _consistent(self) -> Argument:
        ways = [key for key, there in (
            ('enum', self.enum), ('values', self.values), ('constants', self.constants),
            ('as', self.unit_of_model), ('values_from', self.values_from)) if there is not None]
        if len(ways) > 1:
            raise ValueError(f'give {" or ".join(ways)}, not both')
        if self.values is not None and (self.type != 'string' or self.field is not None):
            raise ValueError('values needs type string and names its fields itself (no field)')
        if self.unit_of_model is not None and self.type != 'number':
            raise ValueError(f'as: {self.unit_of_model} needs type number, not {self.type}')
        if self.values_from is not None and (
                self.type not in (None, 'string', 'integer') or self.default is not None):
            raise ValueError('values_from needs type string or integer, and no default')
        if self.default is not None and self.type is not None and self.constants is None:
            self.check(self.default)
        return self

    def words(self) -> list[Any] | None:
        """Return the values that are allowed, if they are listed."""
        return list(self.values) if self.values is not None else self.enum


def _said_type(data: Mapping[str, Any]) -> str | None:
    """Return the type that other keys of a value leave no choice about."""
    enum = data.get('enum')
    words = isinstance(enum, list) and all(isinstance(word, str) for word in enum)
    for there, kind in ((data.get('values') or data.get('max_length') or words, 'string'),
                        (data.get('as'), 'number'), (data.get('fields'), 'object'),
                        (data.get('items'), 'array')):
        if there:
            return kind
    return None


def _is(kind: str, value: object) -> bool:
    """Say whether a value is of a JSON type; a whole number may be written with a fraction .0."""
    if isinstance(value, bool):
        return kind == 'boolean'
    if isinstance(value, (int, float)):
        return kind == 'number' or (kind == 'integer' and (
            isinstance(value, int) or value.is_integer()))
    if isinstance(value, str):
        return kind == 'string'
    if isinstance(value, Mapping):
        return kind == 'object'
    return kind == 'array' and isinstance(value, Sequence)


def _inside(value: Value, given: object, name: str) -> None:
    try:
        value.check(given)
    except ValueError as error:
        raise ValueError(f'{name}: {error}') from None
