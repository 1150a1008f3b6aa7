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

"""Shows a model examples of goals that need those before them, where such a goal comes."""

from __future__ import annotations

from collections.abc import Sequence

from edge_llm_ros.flow.tool import ToolSchema
from edge_llm_ros.prompt.chat_format import PlainTurn
from edge_llm_ros.prompt.example_index import ExampleIndex
from edge_llm_ros.prompt.named_values import nameable
from edge_llm_ros.prompt.prompt_file import PromptFile


class FollowUps:
    """
    The follow-ups of a prompt file, found by their goals.

    There are too many kinds of them to be in the prefix, and few goals need any.

    :param judged: whether programs begin with a judgement
    """

    def __init__(self, prompt: PromptFile, tools: Sequence[ToolSchema], judged: bool) -> None:
        self._shown = prompt.follow_ups_shown
        self._turns = [example.turns(prompt.words, judged) for example in prompt.follow_ups]
        self._index = ExampleIndex([example.goal for example in prompt.follow_ups],
                                   nameable(tools))

    def like(self, goal: str) -> list[PlainTurn]:
        """Return those most like a goal, the nearest last."""
        return [turn for i in self._index.nearest(goal, self._shown) for turn in self._turns[i]]
