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
from edge_llm_ros.tools.condition import Condition
from edge_llm_ros.tools.fallback import Fallback
from edge_llm_ros.tools.rate_limit import RateLimit
from edge_llm_ros.tools.read_file import read_file
from edge_llm_ros.tools.readings import Reading
from edge_llm_ros.tools.schema import tool_schema
from edge_llm_ros.tools.schema_bounds import check_bounds
from edge_llm_ros.tools.tool_file import ReadVerb, Tool, ToolFile

_MOST = 256  # tools of all files together


@dataclass(frozen=True)
class LoadedTools:
    """
    The tools of some files.

    :param tools: by name, in the order of the prompt
    :param files: the file of each tool; of readings as context_from.NAME, and of builtins
    :param signals: topics that conditions are about, by name
    :param rate_limits: of all tools together, one a file at most
    :param context_from: readings that the model is told at the start of each goal
    :param fallback: what is done when the planner cannot go on
    """

    tools: Mapping[str, Tool]
    builtins: Builtins
    files: Mapping[str, str]
    signals: Mapping[str, ReadVerb] = field(default_factory=dict)
    rate_limits: tuple[RateLimit, ...] = ()
    context_from: Mapping[str, Reading] = field(default_factory=dict)
    fallback: Fallback | None = None

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
    signals: dict[str, ReadVerb] = {}
    rate_limits: list[RateLimit] = []
    files: dict[str, str] = {}
    builtins, fallback = Builtins(), None
    for path in paths:
        file = read_file(path, ToolFile)
        _merge(path, 'tools.', tools, file.tools, files)
        _merge(path, 'context_from.', context, file.context_from, files)
        _merge_signals(path, signals, file.signals)
        rate_limits += [file.rate_limit] if file.rate_limit is not None else []
        if len(tools) > _MOST:
            raise ConfigError(f'{path}: tools: the files have {len(tools)} tools together; '
                              f'{_MOST} are allowed.')
        if file.fallback is not None:
            fallback, files['fallback'] = file.fallback, path
        if 'builtins' in file.model_fields_set:
            builtins = file.builtins
            files['builtins'] = path
    if fallback is not None:
        _check_fallback(fallback, tools, files)
    files = {key.removeprefix('tools.'): path for key, path in files.items()}
    loaded = LoadedTools(tools, builtins, files, signals, tuple(rate_limits), context,
                         fallback)
    _check_conditions(loaded)
    return loaded


def _merge_signals(path: str, known: dict[str, ReadVerb], new: Mapping[str, ReadVerb]) -> None:
    """Add a file's signals; ConfigError if an earlier one has another of the same name."""
    for name, signal in new.items():
        if known.setdefault(name, signal) != signal:
            raise ConfigError(f'{path}: signals.{name}: an earlier tool file has another signal '
                              'of this name.')


def _check_fallback(fallback: Fallback, tools: Mapping[str, Tool], files: Mapping[str, str]
                    ) -> None:
    if fallback.tool not in tools:
        raise ConfigError(f'{files["fallback"]}: fallback.tool: there is no tool '
                          f'{fallback.tool!r}; tools: {", ".join(tools) or "none"}.')


def _check_conditions(loaded: LoadedTools) -> None:
    for name, tool in loaded.tools.items():
        for key, texts in (('requires', tool.requires), ('while', tool.watched)):
            for text in texts:
                signal = Condition.parse(text).signal
                if signal not in loaded.signals:
                    raise ConfigError(
                        f'{loaded.files[name]}: tools.{name}.{key}: {text!r}: there is no signal '
                        f'{signal!r}; signals: {", ".join(loaded.signals) or "none"}.')


def _merge(path: str, key: str, known: dict[str, Any], new: Mapping[str, Any],
           files: dict[str, str]) -> None:
    """Add what a file defines; ConfigError if an earlier one has it."""
    for name, value in new.items():
        if name in known:
            raise ConfigError(f'{path}: {key}{name}: {files[key + name]} has one of this name '
                              'already.')
        known[name] = value
        files[key + name] = path
