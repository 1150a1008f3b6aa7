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

"""Arms of an experiment: prompts, tool files and parameters that are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.tools.strict_yaml import read_yaml

_PROMPT, _TOOLS, _PARAMETERS = 'prompt.yaml', 'tools.yaml', 'parameters.yaml'


@dataclass(frozen=True)
class Arm:
    """
    One of them; what it leaves out is as without it.

    :param parameters: of the planner, by name
    """

    name: str
    prompt: Path | None = None
    tools: Path | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


def read_arms(folder: Path) -> list[Arm]:
    """
    Return the arms of a folder, by name.

    ``NAME.yaml`` is an arm with this prompt file; a folder ``NAME`` is one with the files
    prompt.yaml, tools.yaml and parameters.yaml that it holds.

    :raises ConfigError: if there are none, or one of them is not like that
    """
    arms = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.suffix == '.yaml':
            arms.append(Arm(path.stem, prompt=path))
        elif path.is_dir() and not path.name.startswith(('.', '_')):
            arms.append(_folder(path))
    if not arms:
        raise ConfigError(f'{folder}: there is no arm: no NAME.yaml and no folder NAME.')
    names = [arm.name for arm in arms]
    if len(set(names)) != len(names):
        raise ConfigError(f'{folder}: two arms have one name.')
    return arms


def _folder(path: Path) -> Arm:
    names = {_PROMPT, _TOOLS, _PARAMETERS}
    found = {file.name: file for file in path.iterdir()}
    if not found or set(found) - names:
        raise ConfigError(f'{path}: an arm is made of {", ".join(sorted(names))}, not of '
                          f'{", ".join(sorted(set(found) - names)) or "nothing"}.')
    parameters = read_yaml(str(found[_PARAMETERS])) if _PARAMETERS in found else {}
    if not isinstance(parameters, dict):
        raise ConfigError(f'{found[_PARAMETERS]}: parameters by name are needed.')
    return Arm(path.name, found.get(_PROMPT), found.get(_TOOLS), parameters)
