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

"""Tools as the functions of a program: what the model is told of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import re
from typing import Any

from edge_llm_ros.flow.tool import COMPARE, FINISH, ToolSchema
from edge_llm_ros.program.language import ENDINGS, FUNCTIONS
from edge_llm_ros.program.syntax import called, parts

# A program compares by itself, and its ending says what finish would.
_NOT_FUNCTIONS = frozenset({COMPARE, FINISH})
_QUOTED = re.compile(r'"(\\.|[^"\\])*"')
_CALL = re.compile(r'(?:^|; )([A-Za-z_]\w*)\(')


def functions(tools: Sequence[ToolSchema]) -> list[ToolSchema]:
    """Return the tools that programs call."""
    return [tool for tool in tools if tool.name not in _NOT_FUNCTIONS]


def called_tools(text: str) -> set[str]:
    """
    Return the tools that a program calls.

    :raises ProgramError: if it is not Python
    """
    return {called(node) for node in parts(text)} - ENDINGS - FUNCTIONS - {''}


def told_tools(text: str) -> set[str]:
    """Return the tools that were called, of what the next goal is told."""
    return set(_CALL.findall(_QUOTED.sub('""', text))) - ENDINGS


def stub(tool: ToolSchema) -> str:
    """Return a tool as a function without a body."""
    required = tool.parameters.get('required', ())
    arguments = [name if name in required else f'{name}=None'
                 for name in tool.parameters['properties']]
    told = [tool.description, *(
        note for name, schema in tool.parameters['properties'].items()
        if (note := _note(name, schema)))]
    text = ' '.join(part if part.endswith('.') else f'{part}.' for part in told)
    return f'def {tool.name}({", ".join(arguments)}):\n    """{text}"""\n'


def _note(name: str, schema: Mapping[str, Any]) -> str:
    """Return what is told of an argument; empty where its name says it."""
    told = str(schema.get('description', ''))
    values = [str(value) for value in schema.get('enum', ())]
    if any(value not in told for value in values):
        told = ', '.join(values)
    bounds = [f'{word} {schema[key]:g}' for key, word in (
        ('minimum', 'from'), ('maximum', 'to')) if key in schema]
    told = ' '.join(filter(None, (told, *bounds)))
    return f'{name}: {told}' if told else ''
