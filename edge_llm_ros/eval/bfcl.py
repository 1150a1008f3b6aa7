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

"""Reads the items of the Berkeley Function-Calling Leaderboard from files of its format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
import json
from pathlib import Path
import re
from typing import Any

from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import ToolSchema
from pydantic import BaseModel, ConfigDict, Field, ValidationError

CATEGORIES = ('simple', 'multiple', 'parallel', 'parallel_multiple', 'irrelevance')
_FILE = re.compile(r'BFCL_v\d+_(?:live_)?(' + '|'.join(
    sorted(CATEGORIES, key=len, reverse=True)) + r')(?:_python)?\.json')
# Names of types in these files, in JSON Schema; "any" is no restriction.
_TYPES = {'dict': 'object', 'float': 'number', 'tuple': 'array', 'any': ''}
_KEPT = ('description', 'enum', 'minimum', 'maximum')
# Where a description lists the values.
_LISTED = re.compile(r'\[Enum\]: (\["[^\]]*"\])')
_VALUE = re.compile(r'"([^"]*)"')
_ABOUT_CLASS = ' Tool description: '


class BfclFunction(BaseModel):
    """A function as these files have it."""

    model_config = ConfigDict(extra='ignore', frozen=True)

    name: str
    description: str = ''
    parameters: dict[str, Any] = Field(default_factory=dict)


class _Item(BaseModel):
    model_config = ConfigDict(extra='ignore', frozen=True)

    id: str
    question: list[list[dict[str, str]]] = Field(min_length=1, max_length=1)
    function: list[BfclFunction] = Field(min_length=1)


class _Answer(BaseModel):
    model_config = ConfigDict(extra='ignore', frozen=True)

    id: str
    ground_truth: list[dict[str, dict[str, list[Any]]]]


@dataclass(frozen=True)
class BfclItem:
    """
    One question.

    :param functions: as the file has them, by name
    :param answers: for each call that is due: its name, and the values allowed for each parameter
    """

    id: str
    category: str
    text: str
    functions: Mapping[str, Mapping[str, Any]]
    answers: tuple[tuple[str, Mapping[str, list[Any]]], ...]

    def schemas(self) -> tuple[ToolSchema, ...]:
        """Return the functions as tools."""
        return tuple(tool_of(name, function) for name, function in self.functions.items())


def tool_of(name: str, function: Mapping[str, Any]) -> ToolSchema:
    """Return a function as a tool."""
    parameters = function['parameters']
    # Those of one class all begin with the same sentence about it.
    return ToolSchema(name, function['description'].split(_ABOUT_CLASS)[-1], {
        'type': 'object',
        'properties': {key: json_schema(value)
                       for key, value in parameters.get('properties', {}).items()},
        'required': list(parameters.get('required', ()))})


def json_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema of these files as JSON Schema."""
    kind = _TYPES.get(schema['type'].lower(), schema['type'].lower())
    plain: dict[str, Any] = {'type': kind} if kind else {}
    plain.update((key, schema[key]) for key in _KEPT if key in schema)
    listed = _LISTED.search(str(schema.get('description', '')))
    if listed and kind in ('string', 'array'):
        values = {'type': 'string', 'enum': _VALUE.findall(listed[1])}
        return {**plain, **({'items': values} if kind == 'array' else values)}
    if kind == 'array' and 'items' in schema:
        plain['items'] = json_schema(schema['items'])
    if kind == 'object' and 'properties' in schema:
        plain['properties'] = {
            key: json_schema(value) for key, value in schema['properties'].items()}
        plain['required'] = list(schema.get('required', ()))
    return plain


def read_items(folder: Path) -> Iterator[BfclItem]:
    """
    Read all files of a folder whose names are of single-turn categories, with their answers.

    :raises ConfigError: if one of them cannot be read
    """
    files = {path: found[1] for path in sorted(folder.glob('*.json'))
             if (found := _FILE.fullmatch(path.name))}
    for path, category in files.items():
        answers: dict[str, _Answer] = {}
        if category != 'irrelevance':
            answers = {answer.id: answer for answer in lines_of(
                path.parent / 'possible_answer' / path.name, _Answer)}
        for item in lines_of(path, _Item):
            if category != 'irrelevance' and item.id not in answers:
                raise ConfigError(f'{path}: {item.id} has no possible answer.')
            yield _item(item, category, answers.get(item.id))


def _item(item: _Item, category: str, answer: _Answer | None) -> BfclItem:
    texts = [message['content'] for message in item.question[0]]
    truth = () if answer is None else tuple(
        (name, values) for call in answer.ground_truth for name, values in call.items())
    return BfclItem(item.id, category, '\n'.join(texts),
                    {f.name: f.model_dump() for f in item.function}, truth)


def lines_of(path: Path, model: type[Any]) -> Iterator[Any]:
    """Read a file that has an object a line; raises ConfigError."""
    try:
        for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1):
            if line.strip():
                yield model.model_validate(json.loads(line))
    except OSError as error:
        raise ConfigError(f'{path}: cannot be read: {error.strerror}.') from None
    except (ValueError, ValidationError) as error:
        raise ConfigError(f'{path}:{number}: is no such item: {error}.') from None
