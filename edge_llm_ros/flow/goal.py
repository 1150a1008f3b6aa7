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

"""What a mission planner asks for."""

from __future__ import annotations

from dataclasses import dataclass
import enum


class FinishCheckMode(str, enum.Enum):
    """When the model is asked whether a goal that it calls reached really is."""

    OFF = 'off'
    FAILED = 'failed'
    NAMED = 'named'
    INSIST = 'insist'
    ALL = 'all'


@dataclass(frozen=True)
class Goal:
    """
    A goal in plain language.

    :param instruction: what the robot should do
    :param context: live facts for this goal only; they go into the new block, never into the
        prefix
    :param session_id: the conversation that goes on; empty for a session of its own
    :param allowed_tools: names of the tools that may be called; None for all
    :param max_steps: tool calls at most, finish included
    :param time_budget: seconds at most
    :param step_budget: seconds of inference of one step at most; 0 for no limit
    :param loop_limit: equal calls with equal observations in a row that end the goal
    :param check_finish: whether finish with success true is questioned once: always, or only
        where a call failed and was not made good (failed), or also where the goal names a value
        that no call used (named), after which there must be a call (insist)
    :param recovery_hints: whether results say what can be done after a failure
    :param dry_run: reads run; acts pass every check and are not sent
    """

    instruction: str
    context: str = ''
    session_id: str = ''
    allowed_tools: frozenset[str] | None = None
    max_steps: int = 16
    time_budget: float = 300.0
    step_budget: float = 0.0
    loop_limit: int = 3
    check_finish: FinishCheckMode = FinishCheckMode.OFF
    recovery_hints: bool = False
    dry_run: bool = False
