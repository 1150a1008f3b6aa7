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

"""Tool files, read and merged into one set of tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import ToolSchema
from edge_llm_ros.tools.builtins import builtin_schemas, Builtins
from edge_llm_ros.tools.read_file import read_file
from edge_llm_ros.tools.readings import Reading
from edge_llm_ros.tools.schema import tool_schema
from edge_llm_ros.tools.schema_bounds import check_bounds
from edge_llm_ros.tools.tool_file import Tool, ToolFile

_MOST = 256  # tools of all files together


@dataclass(frozen=True)
class LoadedTools:
    """
    The tools of some files.

    :param tools: by name, in the order of the prompt
    :param files: the file of each tool; of readings as context_from.NAME, and of builtins
    :param context_from: readings that the model is told at the start of each goal
    """

    tools: Mapping[str, Tool]
    builtins: Builtins
    files: Mapping[str, str]
    context_from: Mapping[str, Reading] = field(default_factory=dict)

    def schemas(self) -> tuple[ToolSchema, ...]:
        """Return the tools as the model sees them, in the order of the prompt."""
        return (*(tool_schema(name, tool) for name, tool in self.tools.items()),
                *builtin_schemas(self.builtins))

    def check_bounds(self) -> None:
        """
        Check that each tool is small enough for prompt and grammar; its types must be known.

        :raises ConfigError: with file, tool and part
        """
        for schema in self.schemas():
            built_in = schema.name not in self.tools
            file = self.files.get('builtins' if built_in else schema.name)
            check_bounds(schema, f'{file}: {"builtins" if built_in else "tools"}.{schema.name}')


def load_tools(paths: Sequence[str]) -> LoadedTools:
    """
    Read tool files, in order, into one set of tools.

    :raises ConfigError: if a file is wrong, or two define the same tool
    """
    tools: dict[str, Tool] = {}
    context: dict[str, Reading] = {}
    files: dict[str, str] = {}
    builtins = Builtins()
    for path in paths:
        file = read_file(path, ToolFile)
        _merge(path, 'tools.', tools, file.tools, files)
        _merge(path, 'context_from.', context, file.context_from, files)
        if len(tools) > _MOST:
            raise ConfigError(f'{path}: tools: the files have {len(tools)} tools together; '
                              f'{_MOST} are allowed.')
        if 'builtins' in file.model_fields_set:
            builtins = file.builtins
            files['builtins'] = path
    files = {key.removeprefix('tools.'): path for key, path in files.items()}
    return LoadedTools(tools, builtins, files, context)


def _merge(path: str, key: str, known: dict[str, Any], new: Mapping[str, Any],
           files: dict[str, str]) -> None:
    """Add what a file defines; ConfigError if an earlier one has it."""
    for name, value in new.items():
        if name in known:
            raise ConfigError(f'{path}: {key}{name}: {files[key + name]} has one of this name '
                              'already.')
        known[name] = value
        files[key + name] = path
