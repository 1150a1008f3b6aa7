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

"""What is measured side by side: each arm makes the same calls in its own way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from edge_llm_ros.bench.script import Script, ScriptStep
from edge_llm_ros.bench.workload import Workload


@dataclass(frozen=True)
class StepResult:
    """
    What a step took.

    :param first_token: seconds to the first token of the call
    :param seconds: to the end of the call
    :param text: what was generated
    :param counts: by the names of architecture.md, as far as the arm knows them
    """

    first_token: float
    seconds: float
    text: str
    counts: dict[str, int] = field(default_factory=dict)


class Arm(Protocol):
    """One way to make calls with a model."""

    name: str

    def begin(self, workload: Workload, script: Script, repeat: int) -> None:
        """Get ready: a warm prefix where the arm has one; not measured."""

    def run(self, step: ScriptStep) -> StepResult:
        """Make one call."""

    def facts(self) -> dict[str, Any]:
        """Return what is said of the arm in the report."""

    def peak_memory_bytes(self) -> int:
        """Return the most memory that it took so far; 0 where unknown."""

    def close(self) -> None:
        """Free everything."""
