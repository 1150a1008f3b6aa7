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

"""The tools that a mission's robot has: those of its file, fewer, or more that only distract."""

from __future__ import annotations

from collections.abc import Mapping
import json
from pathlib import Path
from typing import Any, Literal

from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.program.stubs import called_tools, told_tools
from edge_llm_ros.prompt.prompt_file import PromptFile
from edge_llm_ros.tools.builtins import builtin_schemas, Builtins
from edge_llm_ros.tools.read_file import read_file
from edge_llm_ros.tools.strict_yaml import read_yaml
from edge_llm_ros.tools.tool_file import Tool, ToolFile
from pydantic import BaseModel, ConfigDict, Field
import yaml

FILE = Path(__file__).resolve().parent / 'tool_sets.yaml'
_MOVE = 'move_to'


class _Strict(BaseModel):
    model_config = ConfigDict(extra='forbid', frozen=True)


class ToolSet(_Strict):
    """
    A set of tools.

    :param count: of all tools that the model sees, built-in ones included
    :param only: of the robot's own tools; all of them where it is left out
    :param more: of the distracting tools
    """

    count: int
    only: tuple[str, ...] | None = None
    more: tuple[str, ...] = ()
    builtins: Builtins | None = None


class ToolSets(_Strict):
    """
    All sets.

    :param places: of the missions' map, beside the robot's own, with positions [m]
    :param names: how people call these places; told where the robot's file tells it of its own
    :param more: tools that only distract; what they do changes nothing, and the robot tells of it
    """

    version: Literal[1]
    places: dict[str, tuple[float, float]]
    names: dict[str, str]
    more: dict[str, Any]
    sets: dict[str, ToolSet] = Field(min_length=1)

    def tool_file(self, name: str, robot_file: Path) -> dict[str, Any]:
        """
        Return the content of the tool file of a set.

        :param robot_file: the robot's own tools
        :raises ConfigError: if there is no such set, or it has not as many tools as it says
        """
        if name not in self.sets:
            raise ConfigError(f'no set of tools {name!r}; sets: {", ".join(self.sets)}.')
        chosen = self.sets[name]
        content = read_yaml(str(robot_file))
        own = content['tools']
        self._add_places(own[_MOVE]['arguments']['place'])
        tools = {key: own[key] for key in (own if chosen.only is None else chosen.only)}
        tools.update((key, self.more[key]) for key in chosen.more)
        builtins = chosen.builtins or Builtins(**content.get('builtins', {}))
        count = len(tools) + len(builtin_schemas(builtins))
        if count != chosen.count:
            raise ConfigError(f'{FILE}: sets.{name}: has {count} tools, not {chosen.count}.')
        return {**content, 'builtins': builtins.model_dump(), 'tools': tools}

    def _add_places(self, argument: dict[str, Any]) -> None:
        if all(f'{place} (' in argument['description'] for place in argument['enum']):
            argument['description'] += ''.join(
                f', {place} ({name})' for place, name in self.names.items())
        argument['enum'] += list(self.places)


def tool_sets() -> ToolSets:
    """Return the sets of the data file."""
    return read_file(str(FILE), ToolSets)


def parsed(content: Mapping[str, Any]) -> ToolFile:
    """Return a tool file's content, checked."""
    return ToolFile.model_validate(dict(content))


def write_tools(content: Mapping[str, Any], path: Path) -> None:
    """Write a tool file."""
    path.write_text(yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True))


def fitting_prompt(prompt_file: Path, tools: ToolFile) -> PromptFile:
    """Return a prompt file without the examples that call tools which are not there."""
    prompt = read_file(str(prompt_file), PromptFile)
    known = {*tools.tools, *(schema.name for schema in builtin_schemas(tools.builtins))}
    return prompt.model_copy(update={
        'examples': [e for e in prompt.examples if all(step.call in known for step in e.steps)],
        'programs': [p for p in prompt.programs
                     if all(called_tools(text) <= known for text in p.texts())],
        'follow_ups': [p for p in prompt.follow_ups
                       if all(called_tools(text) <= known for text in p.texts())
                       and all(told_tools(earlier.did) <= known for earlier in p.before)]})


def write_prompt(prompt_file: Path, tools: ToolFile, path: Path) -> None:
    """Write the prompt file that fits tools."""
    content = fitting_prompt(prompt_file, tools).model_dump(exclude_unset=True)
    path.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def more_parameter(tools: Mapping[str, Tool], own: Mapping[str, Any]) -> str:
    """
    Return the parameter ``more`` of the simulated robot.

    :param own: the tools that it has by itself
    """
    more: dict[str, list[str]] = {}
    for name, tool in tools.items():
        if name in own:
            continue
        if tool.publish is not None:
            more[tool.publish.topic] = ['text']
        elif tool.service is not None and tool.service.type.endswith('/SetBool'):
            more[tool.service.name] = ['switch', *switch_words(tool)]
        elif tool.service is not None:
            kind = 'tell' if tool.effect == 'read' else 'trigger'
            more[tool.service.name] = [kind, answer_of(tool)]
    return json.dumps(more)


def answer_of(tool: Tool) -> str:
    """Return what a service that changes nothing answers."""
    return str(tool.dry_run_result.get('message', 'done'))


def switch_words(tool: Tool) -> tuple[str, str]:
    """Return the words for false and true of a tool that switches something."""
    values = tool.arguments['state'].values or {}
    words = {fields['data']: word for word, fields in values.items()}
    return words[False], words[True]
