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

"""Which tools a planner has, for those who send it goals."""

from __future__ import annotations

from edge_llm_interfaces.msg import ToolInfo, ToolList
from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.tools.load_tools import LoadedTools


def tool_list(loaded: LoadedTools) -> ToolList:
    """Return the tools in the order of the prompt."""
    effects = {name: tool.effect for name, tool in loaded.tools.items()}
    return ToolList(tools=[ToolInfo(
        name=schema.name, description=schema.description,
        effect=effects.get(schema.name, ToolInfo.EFFECT_BUILTIN),
        parameters=canonical_json(dict(schema.parameters)),
        chosen_at_goal_start=list(schema.chosen)) for schema in loaded.schemas()])
