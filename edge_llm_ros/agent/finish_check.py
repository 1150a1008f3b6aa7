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

"""Asks the model once whether a goal is really reached, with what is on record."""

from __future__ import annotations

from dataclasses import dataclass

from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.goal import FinishCheckMode
from edge_llm_ros.flow.tool import Observation, Status, ToolCall
from edge_llm_ros.prompt.words import Words

# What is told is short, so that its end is not cut off.
_MOST_CALLS = 12
_MOST_FAILURES = 4
_RESULT_LENGTH = 60  # characters
_GOAL_LENGTH = 400  # characters
_BAD = (Status.FAILED, Status.REFUSED)


@dataclass(frozen=True)
class _Made:
    """A call, in words, and what came of it."""

    tool: str
    text: str
    failed: bool


class FinishCheck:
    """
    Keeps what a goal's calls came to, and puts it against the goal when the model says it is done.

    :param mode: whether it asks at all, or only where a failed call was not made good
    :param instruction: the goal
    """

    def __init__(self, mode: FinishCheckMode, instruction: str, words: Words) -> None:
        self._mode = mode
        self._instruction = instruction
        self._words = words
        self._record: list[_Made] = []
        self._asked = False

    def note(self, call: ToolCall, observation: Observation) -> None:
        """Take note of a call."""
        failed = observation.status in _BAD
        result = observation.error if failed else observation.text
        arguments = ', '.join(str(value) for value in call.arguments.values())
        text = f'{call.name}({arguments}): {result[:_RESULT_LENGTH]}'
        self._record.append(_Made(call.name, text, failed))

    def question(self, call: ToolCall) -> Observation | None:
        """
        Return what the model is told instead of ending the goal; None where it may end.

        :param call: finish
        """
        if self._asked or call.arguments.get('success') is not True:
            return None
        failed = self._not_made_good()
        if self._mode is FinishCheckMode.OFF or (
                self._mode is FinishCheckMode.FAILED and not failed):
            return None
        self._asked = True
        told = {
            'ended': False,
            'goal': self._instruction[:_GOAL_LENGTH],
            'done': [made.text for made in self._record if not made.failed][-_MOST_CALLS:],
            **({'failed': failed[-_MOST_FAILURES:]} if failed else {}),
            'check': self._words.check_failed if failed else self._words.check}
        return Observation(Status.REFUSED, canonical_json(told), 'not ended yet')

    def _not_made_good(self) -> list[str]:
        """Return the last call of each tool that failed at its last attempt."""
        last = {made.tool: made for made in self._record}
        return [made.text for made in last.values() if made.failed]
