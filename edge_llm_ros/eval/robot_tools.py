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

"""A set of tools as a planner without ROS has it, with the prompt that fits it."""

from __future__ import annotations

from dataclasses import dataclass

from edge_llm_ros.eval.eval_setup import EvalSetup
from edge_llm_ros.eval.tool_sets import fitting_prompt, parsed
from edge_llm_ros.flow.tool import ToolSchema
from edge_llm_ros.prompt.chat_format import Example
from edge_llm_ros.prompt.prompt_file import PromptFile
from edge_llm_ros.tools.load_tools import LoadedTools
from edge_llm_ros.tools.tool_file import ToolFile


@dataclass(frozen=True)
class RobotTools:
    """
    A set of tools.

    :param file: as a tool file
    :param prompt: without the examples that call other tools
    """

    file: ToolFile
    loaded: LoadedTools
    schemas: tuple[ToolSchema, ...]
    prompt: PromptFile
    examples: tuple[Example, ...]


def robot_tools(setup: EvalSetup, name: str) -> RobotTools:
    """
    Return a set by name.

    :raises ConfigError: if there is none, or its files cannot be used
    """
    tools = parsed(setup.sets.tool_file(name, setup.robot_tools))
    file = str(setup.robot_tools)
    loaded = LoadedTools(
        tools.tools, tools.builtins,
        {**dict.fromkeys(tools.tools, file), 'builtins': file, 'fallback': file},
        tools.signals, () if tools.rate_limit is None else (tools.rate_limit,),
        tools.context_from, tools.fallback)
    loaded.check_bounds()
    schemas, prompt = loaded.schemas(), fitting_prompt(setup.prompt, tools)
    return RobotTools(tools, loaded, schemas, prompt,
                      tuple(prompt.for_tools(str(setup.prompt), schemas)))
