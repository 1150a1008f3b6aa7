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

"""The goal and what was done for it, told again with each result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edge_llm_ros.flow.tool import ToolCall
from edge_llm_ros.prompt.chat_format import Example

_LONGEST = 240  # characters of a goal that is told again
_NOTHING = '-'


class GoalReminder:
    """
    Adds the goal to each result, where a small model looks first.

    Texts of the world stand in results, too: what a person asked for comes after them.

    :param words: with {goal} and {done}
    """

    def __init__(self, words: str) -> None:
        self._words = words

    def after(self, observation: str, instruction: str, done: Sequence[ToolCall]) -> str:
        """
        Return a result with the reminder.

        :param done: the goal's calls that worked
        """
        goal = instruction.strip()
        goal = goal if len(goal) <= _LONGEST else f'{goal[:_LONGEST]} ...'
        calls = ', '.join(call.in_words() for call in done)
        # Replaced at once: either text may hold what looks like the other's place.
        before, _, after = self._words.partition('{goal}')
        text = goal.join(part.replace('{done}', calls or _NOTHING) for part in (before, after))
        return f'{observation}\n{text}'

    def shown(self, example: Example) -> Example:
        """Return an example with reminders."""
        steps: list[tuple[ToolCall, str]] = []
        done: list[ToolCall] = []
        for call, observation in example.steps:
            if observation and '"error"' not in observation:
                done.append(call)
            steps.append((call, observation and self.after(
                observation, example.instruction, done)))
        return replace(example, steps=tuple(steps))
