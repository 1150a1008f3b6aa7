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

"""One tool call of a plan."""

from __future__ import annotations

from dataclasses import dataclass

from edge_llm_ros.flow.metrics import Metrics


@dataclass(frozen=True)
class Step:
    """
    One tool call and what came of it.

    :param index: from 0
    :param arguments: JSON object
    :param status: a value of Status
    :param observation: JSON, what the model is told
    """

    index: int
    tool: str = ''
    arguments: str = ''
    status: int = 0
    observation: str = ''
    error: str = ''
    metrics: Metrics = Metrics()
