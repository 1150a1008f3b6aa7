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

"""What a model writes before a call, and when."""

from __future__ import annotations

from dataclasses import dataclass
import enum


class Occasion(enum.IntEnum):
    """Which call of a goal is due."""

    FIRST = 1
    NEXT = 2
    AFTER_FAILURE = 3


class Reasoning(str, enum.Enum):
    """How much the model thinks before each call: not at all, a line, or several."""

    OFF = 'off'
    SHORT = 'short'
    FREE = 'free'


class Judgement(str, enum.Enum):
    """What a model thinks of a goal before it acts."""

    CAN_DO = 'can_do'
    NO_CALL_NEEDED = 'no_call_needed'
    MISSING_INFORMATION = 'missing_information'
    IMPOSSIBLE = 'impossible'
    UNSAFE = 'unsafe'


@dataclass(frozen=True)
class ForethoughtSettings:
    """
    What a model writes before a call, in the same turn.

    :param triage: its judgement of the goal, before the first call, which narrows that call
    :param plan: 1 to 6 sub-goals, before the first call and after one that failed
    :param reasoning: a thought, before each call
    :param route: the group of tools that the goal needs, before the first call, which narrows all
        calls until one fails
    """

    triage: bool = False
    plan: bool = False
    reasoning: Reasoning = Reasoning.OFF
    route: bool = False

    @property
    def thinks(self) -> bool:
        """Say whether there are thoughts."""
        return self.reasoning is not Reasoning.OFF
