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

"""Notices that the model repeats itself."""

from __future__ import annotations

from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.tool import Observation, ToolCall, WAIT


class LoopGuard:
    """
    Counts equal calls with equal observations, one after the other.

    Waiting does not count, and neither breaks nor starts a row: a model may wait for something.

    :param limit: how many make a loop
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._last = ('', '', '')
        self._count = 0

    def is_loop(self, call: ToolCall, observation: Observation) -> bool:
        """Take note of a step, and say whether the model goes round in circles."""
        if call.name == WAIT:
            return False
        this = (call.name, canonical_json(dict(call.arguments)), observation.text)
        self._count = self._count + 1 if this == self._last else 1
        self._last = this
        return self._count >= self._limit
