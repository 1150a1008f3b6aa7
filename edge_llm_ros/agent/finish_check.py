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

from collections.abc import Sequence
from dataclasses import dataclass

from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.goal import FinishCheckMode
from edge_llm_ros.flow.tool import COMPARE, Observation, Status, ToolCall, ToolSchema
from edge_llm_ros.prompt.named_values import NamedValues
from edge_llm_ros.prompt.words import Words

# What is told is short, so that its end is not cut off.
_MOST_CALLS = 12
_MOST_FAILURES = 4
_RESULT_LENGTH = 60  # characters
_GOAL_LENGTH = 400  # characters


@dataclass(frozen=True)
class _Made:
    """A call, in words, and what came of it."""

    tool: str
    text: str
    failed: bool


class FinishCheck:
    """
    Keeps what a goal's calls came to, and puts it against the goal when the model says it is done.

    ``insists`` says whether another call has to follow the question.

    :param mode: whether it asks at all, or only where the record gives a reason
    :param instruction: the goal
    :param tools: as the model sees them
    """

    def __init__(self, mode: FinishCheckMode, instruction: str, words: Words,
                 tools: Sequence[ToolSchema]) -> None:
        self._mode = mode
        self._named = NamedValues(instruction, tools, words.conditional)
        self._instruction = instruction
        self._words = words
        self._record: list[_Made] = []
        self._asked = False
        self._descriptions = {tool.name: tool.description for tool in tools}
        self.insists = False

    def note(self, call: ToolCall, observation: Observation) -> None:
        """Take note of a call."""
        failed = observation.went_wrong
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
        failed, forgotten = self._not_made_good(), self._forgotten()
        if self._mode is FinishCheckMode.OFF or not (
                failed or forgotten or self._mode is FinishCheckMode.ALL):
            return None
        self._asked = True
        self.insists = bool(forgotten) and not failed and self._mode is FinishCheckMode.INSIST
        words = self._words
        told = {
            'ended': False,
            'goal': self._instruction[:_GOAL_LENGTH],
            'done': [made.text for made in self._record if not made.failed][-_MOST_CALLS:],
            **({'failed': failed[-_MOST_FAILURES:]} if failed else {}),
            **({'forgotten': forgotten} if forgotten else {}),
            'check': words.check_failed if failed else (
                words.check_forgotten if forgotten else words.check)}
        return Observation(Status.REFUSED, canonical_json(told), 'not ended yet')

    def _forgotten(self) -> list[str]:
        """Return what the goal names and no call used; nothing where nothing was done."""
        compared = any(made.tool == COMPARE for made in self._record)
        if self._mode in (FinishCheckMode.OFF, FinishCheckMode.FAILED) or compared or (
                not self._record):
            return []
        # What a tool is for need not be said by its arguments.
        told = [f'{made.text} {self._descriptions.get(made.tool, "")}' for made in self._record]
        return self._named.unused(told)

    def _not_made_good(self) -> list[str]:
        """Return the last call of each tool that failed at its last attempt."""
        last = {made.tool: made for made in self._record}
        return [made.text for made in last.values() if made.failed]
