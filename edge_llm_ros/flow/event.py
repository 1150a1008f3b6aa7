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

"""What the agent tells while a goal runs."""

from __future__ import annotations

from dataclasses import dataclass
import enum

from edge_llm_ros.flow.metrics import Metrics
from edge_llm_ros.flow.result import Result
from edge_llm_ros.flow.step import Step


class EventKind(enum.IntEnum):
    """What happened; values equal the EVENT constants of the Plan feedback."""

    UNKNOWN = 0
    PREFILL = 1
    TEXT = 2
    CALL = 3
    PROGRESS = 4
    STEP_DONE = 5


@dataclass(frozen=True)
class Event:
    """
    Something that happened to the current step.

    :param text: what the model wrote of this call so far, what it wrote before the call that is
        made now, or the feedback of a running call
    :param metrics: of the goal so far
    """

    kind: EventKind
    step: Step
    text: str
    metrics: Metrics


@dataclass(frozen=True)
class Finished:
    """The last event of every goal."""

    result: Result
