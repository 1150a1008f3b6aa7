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

"""Limits of what the model is shown of a tool, and of what the grammar is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import ToolSchema

MAX_DEPTH = 8  # of objects and lists in each other
MAX_PROPERTIES = 32  # of an object
MAX_WORDS = 256  # of an enumeration
MAX_WORD = 128  # characters of one
MAX_DESCRIPTION = 1024
MAX_TEXT = 512  # of maxLength
MAX_ITEMS = 256  # of maxItems
MAX_SCHEMA = 1 << 15  # characters of the whole


def check_bounds(tool: ToolSchema, where: str) -> None:
    """
    Check that a tool is small enough for prompt and grammar.

    :param where: file and key, for the message
    :raises ConfigError: with the part of the tool that is too large and the limit
    """
    if len(tool.description) > MAX_DESCRIPTION:
        raise ConfigError(f'{where}.description: has {len(tool.description)} characters; '
                          f'{MAX_DESCRIPTION} are allowed.')
    for key, reason in _too_large(tool.parameters, '', 1):
        raise ConfigError(f'{where}{key}: {reason}.')
    size = len(canonical_json(dict(tool.parameters)))
    if size > MAX_SCHEMA:
        raise ConfigError(f'{where}: the schema of its arguments has {size} characters; '
                          f'{MAX_SCHEMA} are allowed.')


def _too_large(schema: Mapping[str, Any], where: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > MAX_DEPTH:
        yield where, f'is nested more than {MAX_DEPTH} levels deep'
        return
    words = schema.get('enum', ())
    if len(words) > MAX_WORDS:
        yield where, f'has {len(words)} values; {MAX_WORDS} are allowed'
    long = next((w for w in words if isinstance(w, str) and len(w) > MAX_WORD), None)
    if long is not None:
        yield where, f'the value {long[:20] + "…"!r} is longer than {MAX_WORD} characters'
    for key, most in (('maxLength', MAX_TEXT), ('maxItems', MAX_ITEMS)):
        if schema.get(key, 0) > most:
            yield where, f'{key} {schema[key]} is above {most}'
    if len(str(schema.get('description', ''))) > MAX_DESCRIPTION:
        yield f'{where}.description', f'is longer than {MAX_DESCRIPTION} characters'
    properties = schema.get('properties', {})
    if len(properties) > MAX_PROPERTIES:
        yield where, f'has {len(properties)} fields; {MAX_PROPERTIES} are allowed'
    for name, inner in properties.items():
        label = f'.arguments.{name}' if depth == 1 else f'{where}.{name}'
        yield from _too_large(inner, label, depth + 1)
    if isinstance(schema.get('items'), Mapping):
        yield from _too_large(schema['items'], f'{where}[]', depth + 1)
