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

"""Finds the examples whose goals are most like a goal."""

from __future__ import annotations

from collections.abc import Sequence
import re

from edge_llm_ros.flow.text_index import TextIndex
from edge_llm_ros.prompt.named_values import Names


class ExampleIndex:
    """
    Goals by their words, in which all that values of arguments are called is one word.

    What is alike is what is to be done, not where.

    :param goals: in the order of the examples
    :param names: of places and the like
    """

    def __init__(self, goals: Sequence[str], names: Names) -> None:
        words = {word for value, called in names.items() for word in (value, *called)}
        self._named = re.compile('|'.join(
            re.escape(word) if not word.isascii() else rf'\b{re.escape(word)}\b'
            for word in sorted(words, key=len, reverse=True)) or r'(?!)', re.IGNORECASE)
        self._index = TextIndex([self._without_names(goal) for goal in goals])

    def nearest(self, goal: str, count: int) -> list[int]:
        """Return the examples most like a goal, the nearest last; none that has nothing of it."""
        return self._index.nearest(self._without_names(goal), count)

    def _without_names(self, goal: str) -> str:
        return self._named.sub(' @ ', goal.lower())
