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

"""How a goal ends."""

from __future__ import annotations

from dataclasses import dataclass
import enum

from edge_llm_ros.flow.metrics import Metrics
from edge_llm_ros.flow.step import Step


class Outcome(enum.IntEnum):
    """Why a goal ended; values equal the constants of the Plan result."""

    UNKNOWN = 0
    SUCCEEDED = 1
    FAILED = 2
    MAX_STEPS = 3
    TIMEOUT = 4
    CANCELED = 5
    PREEMPTED = 6
    STOPPED = 7
    DEACTIVATED = 8
    LOOP = 9
    CONTEXT_FULL = 10
    ENGINE_ERROR = 11


@dataclass(frozen=True)
class Result:
    """
    The end of a goal.

    :param message: one sentence for a person
    """

    outcome: Outcome
    message: str
    steps: tuple[Step, ...]
    metrics: Metrics
