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

"""Tells the model what it can do after a call that failed or led nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import json

from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.tool import Choices, Observation, ToolCall, ToolSchema, WAIT
from edge_llm_ros.prompt.words import Words

_MOST_VALUES = 24  # of an argument that are told


class RecoveryHints:
    """
    Adds a line to the results of one goal where it helps.

    :param tools: as the model sees them
    :param choices: values of the arguments that were read at the goal's start
    """

    def __init__(self, tools: Sequence[ToolSchema], choices: Choices, words: Words) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._choices = choices
        self._words = words
        self._failures: dict[str, int] = {}
        self._last = ('', '')

    def hinted(self, call: ToolCall, observation: Observation) -> Observation:
        """Return an observation as the model is told it."""
        key = canonical_json([call.name, dict(call.arguments)])
        this, before = (key, observation.text), self._last
        self._last = this
        if observation.went_wrong:
            count = self._failures[key] = self._failures.get(key, 0) + 1
            words = self._words.once_more if count == 1 else self._words.another_way
            return _with_hint(observation, ' '.join([*self._allowed(call, observation), words]))
        if this == before and call.name != WAIT:
            return _with_hint(observation, self._words.repeated)
        return observation

    def _allowed(self, call: ToolCall, observation: Observation) -> list[str]:
        """Return what the arguments can be that the error speaks of, unless it says so itself."""
        tool = self._tools.get(call.name)
        if tool is None:
            return []
        told = []
        for name, schema in tool.parameters['properties'].items():
            values = self._choices.get(call.name, {}).get(name) or schema.get('enum') or ()
            value = str(call.arguments.get(name, ''))
            others = [str(other) for other in values if str(other) != value]
            if value and value in observation.error and 0 < len(others) <= _MOST_VALUES and (
                    not all(other in observation.error for other in others)):
                told.append(f'{name} can be {", ".join(others)}.')
        return told


def _with_hint(observation: Observation, hint: str) -> Observation:
    """Return an observation with a hint, after its error: what comes last may be cut off."""
    try:
        result = json.loads(observation.text)
    except ValueError:
        result = observation.text
    fields = result if isinstance(result, dict) else {'result': result}
    first = {name: value for name, value in fields.items() if name == 'error'}
    return replace(observation, text=canonical_json({**first, 'hint': hint, **{
        name: value for name, value in fields.items() if name != 'error'}}))
