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
"""What a tool file says is done when a goal ends because the planner itself could not go on."""

from __future__ import annotations

from typing import Any

from edge_llm_ros.tools.names import ToolName
from edge_llm_ros.tools.strict_model import StrictModel
from pydantic import Field


class Fallback(StrictModel):
    """
    One call, made through the gate when a goal ends TIMEOUT, ENGINE_ERROR, LOOP or CONTEXT_FULL.

    :param tool: its name
    :param arguments: as the model would give them
    :param message: a sentence that is added to the result's message
    """

    tool: ToolName
    arguments: dict[str, Any] = Field(default_factory=dict, max_length=32)
    message: str = Field(min_length=1, max_length=160)
