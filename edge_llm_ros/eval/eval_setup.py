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

"""What missions run with, and the digest by which rows of another setup are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import hashlib
from pathlib import Path
from typing import Any

from edge_llm_ros.eval.peers.configuration import Peer
from edge_llm_ros.eval.tool_sets import FILE, tool_sets, ToolSets
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.tools.strict_yaml import read_yaml
import yaml

# No limits that a loaded machine meets: budgets are steps.
GOAL_SECONDS = 300.0
STEP_SECONDS = 120.0
# Of the package's own files, those with which missions are planned best, and by calls.
PROGRAMS = ('planner_programs.yaml', 'prompt_programs.yaml')
CALLS = ('planner.yaml', 'prompt_many_examples.yaml')
_ANSWERS = ('act_by', 'candidates', 'temperature', 'check_finish', 'recovery_hints',
            'goal_reminder', 'triage', 'route', 'plan', 'reasoning')
CONTEXT_TOKENS = 16384  # of the prompt, forty tools and a session


@dataclass(frozen=True)
class EvalSetup:
    """
    What missions run with.

    :param robot_tools: the robot's own tool file
    :param parameters: of the planner, beside its files
    :param asked: those of them that may change answers, as a report shows them
    :param setting: digest of all that
    :param peer: what plans instead of this package's own model
    """

    sets: ToolSets
    robot_tools: Path
    prompt: Path
    parameters: Mapping[str, Any]
    asked: str
    setting: str
    peer: Peer | None = None


def model_digest(model: str, *more: Any) -> Any:
    """Return the begin of a digest: of a model file's name and size, and of what else is given."""
    if not model or not Path(model).is_file():
        raise ConfigError(f'--model: there is no file {model!r}.')
    name, size = Path(model).name, Path(model).stat().st_size
    return hashlib.sha256(repr((name, size, *more)).encode())


def parameters_of(texts: Sequence[str]) -> dict[str, Any]:
    """Return parameters from NAME=VALUE; raises ConfigError if one is not like that."""
    parameters: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition('=')
        if not equals:
            raise ConfigError(f'--set {text}: NAME=VALUE is needed.')
        parameters[name] = yaml.safe_load(value)
    return parameters


def launched(path: Path) -> dict[str, Any]:
    """
    Return the parameters with which a planner is launched, as far as answers depend on them.

    :param path: a parameter file of the package
    :raises ConfigError: if it is not there or not like that
    """
    try:
        parameters = read_yaml(str(path))['/**']['ros__parameters']
        return {name: parameters[name] for name in _ANSWERS if name in parameters}
    except (KeyError, TypeError):
        raise ConfigError(f'{path}: /** and ros__parameters are needed.') from None


def eval_setup(model: str, prompt: Path, robot_tools: Path, own: Mapping[str, Any],
               parameters: Mapping[str, Any], way: str) -> EvalSetup:
    """
    Return a setup.

    :param own: parameters that change no answer, such as the number of threads
    :param parameters: those that may
    :param way: how it runs; rows of another way are not mixed with these
    :raises ConfigError: if a file cannot be read
    """
    read_yaml(str(prompt))
    digest = model_digest(model, sorted(parameters.items()), way)
    for path in (prompt, robot_tools, FILE):
        try:
            digest.update(path.read_bytes())
        except OSError as error:
            raise ConfigError(f'{path}: cannot be read: {error.strerror}.') from None
    values = {'model_path': model, 'step_budget': STEP_SECONDS, 'context_tokens': CONTEXT_TOKENS,
              **own, **parameters}
    asked = ', '.join(f'{name}={value}' for name, value in parameters.items()) or 'as they are'
    return EvalSetup(tool_sets(), robot_tools, prompt, values, asked, digest.hexdigest()[:12])
