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

"""Finds text in the prefix that looks as if it changed from one start to the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import re

from edge_llm_ros.flow.tool import ToolSchema
from edge_llm_ros.prompt.chat_format import Example

_PATTERNS: Mapping[str, re.Pattern[str]] = {
    'a date': re.compile(
        r'\b(19|20)\d\d[-/.](0?[1-9]|1[0-2])[-/.](0?[1-9]|[12]\d|3[01])\b'
        r'|\b(0?[1-9]|[12]\d|3[01])[-/.](0?[1-9]|1[0-2])[-/.](19|20)\d\d\b'
        r'|\b(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? \d|(19|20)\d\d年'),
    'a time of day': re.compile(r'\b([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d)?\b'),
    'a UUID': re.compile(r'\b[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b'),
    'a time stamp': re.compile(r'\b1[5-9]\d{8}(\d{3}|\d{6}|\d{9})?(\.\d+)?\b'),
    'a random id': re.compile(r'(?<![-\w])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{12,}\b'),
    'a counter': re.compile(
        r'#\d{2,}\b|\b(run|boot|session|counter|serial|build|attempt)\b[^.\n\d]{0,12}\d{2,}\b',
        re.I),
    'a template that was not filled in': re.compile(r'\{\{.*?\}\}|\$\{\w+\}|%\(\w+\)s'),
}


def looks_dynamic(text: str) -> Iterator[tuple[str, str]]:
    """Yield each thing in a text that looks dynamic: what it is, and its words."""
    for what, pattern in _PATTERNS.items():
        for found in pattern.finditer(text):
            yield what, found[0]


def dynamic_prefix(system: str, tools: Sequence[ToolSchema], examples: Sequence[Example],
                   programs: Sequence[str] = ()) -> list[str]:
    """
    Return a warning for each thing in the prefix that looks dynamic.

    Such text makes the prefix another one at each start, and then nothing of it can be reused.

    :param programs: of examples, each with its goal
    """
    texts = [('system', system)]
    texts += [(f'the description of {tool.name}', tool.description) for tool in tools]
    texts += [(f'the description of {tool.name}.{name}', str(schema.get('description', '')))
              for tool in tools for name, schema in tool.parameters.get('properties', {}).items()]
    texts += [(f'examples.{i}.instruction', e.instruction) for i, e in enumerate(examples)]
    texts += [(f'examples.{i}.steps.{j}.observation', text)
              for i, e in enumerate(examples) for j, (_, text) in enumerate(e.steps)]
    texts += [(f'programs.{i}', text) for i, text in enumerate(programs)]
    return [f'{where}: {words!r} looks like {what}. If it changes from start to start, the prefix '
            f'is evaluated again each time; put it into the context of the goal.'
            for where, text in texts for what, words in looks_dynamic(text)]
