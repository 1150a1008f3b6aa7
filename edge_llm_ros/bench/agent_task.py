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

"""A fixed agent task: what of each prompt is evaluated again."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.metrics import TokenCounts
from edge_llm_ros.flow.model import CallMade, Model
from edge_llm_ros.flow.tool import FINISH, Observation, Status

_GOALS = ('Go through the building and tell what you find.', 'Now do the last thing once more.')
_READINGS = ('the corridor is clear', 'a door is open', 'two people are waiting', 'a box is here')


@dataclass(frozen=True)
class TaskTurn:
    """A call of the task."""

    goal: int
    tool: str
    counts: TokenCounts
    lost: str


def run_task(model: Model, tools: Collection[str]) -> Iterator[TaskTurn]:
    """
    Let a warm model work on two goals of a session; its calls are answered by a script.

    :param tools: names
    """
    names = set(tools)
    for number, goal in enumerate(_GOALS, 1):
        conversation = model.conversation('edge_llm cache')
        conversation.instruct(goal, '')
        for step, reading in enumerate(_READINGS):
            # The task has the same number of turns whatever the model thinks of it.
            allowed = {FINISH} if step == len(_READINGS) - 1 else names - {FINISH}
            for event in conversation.next_call(frozenset(allowed), Cancellation()):
                if isinstance(event, CallMade):
                    yield TaskTurn(number, event.call.name, event.counts, event.lost)
                    text = canonical_json({'report': f'{reading}, at {number}.{step} m'})
                    conversation.observe(event.call, Observation(Status.SUCCEEDED, text))
        conversation.end('')
