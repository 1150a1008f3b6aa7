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

from collections import Counter
from collections.abc import Mapping, Sequence
import math
import re

from edge_llm_ros.prompt.named_values import Names

_WORD = re.compile(r'[a-z@]+|#|[\u3400-\u9fff]|[?!？！]')
_NUMBER = re.compile(r'\d+(\.\d+)?')


class ExampleIndex:
    """
    Goals by their words, weighted by how rare they are (TF-IDF, Salton and Buckley 1988).

    What values of arguments are called counts as one word, and so does every number: what is
    alike is what is to be done, not where.

    :param goals: in the order of the examples
    :param names: of places and the like
    """

    def __init__(self, goals: Sequence[str], names: Names) -> None:
        words = {word for value, called in names.items() for word in (value, *called)}
        self._named = re.compile('|'.join(
            re.escape(word) if not word.isascii() else rf'\b{re.escape(word)}\b'
            for word in sorted(words, key=len, reverse=True)) or r'(?!)', re.IGNORECASE)
        terms = [self._terms(goal) for goal in goals]
        counts = Counter(term for found in terms for term in found)
        self._weights = {term: math.log((1 + len(goals)) / count)
                         for term, count in counts.items()}
        self._vectors = [self._vector(found) for found in terms]

    def nearest(self, goal: str, count: int) -> list[int]:
        """Return the examples most like a goal, the nearest last; none that has nothing of it."""
        vector = self._vector(self._terms(goal))
        scores = [(sum(weight * other.get(term, 0.0) for term, weight in vector.items()), -i)
                  for i, other in enumerate(self._vectors)]
        best = sorted(scores, reverse=True)[:count]
        return [-i for score, i in reversed(best) if score > 0]

    def _terms(self, goal: str) -> set[str]:
        text = _NUMBER.sub('#', self._named.sub(' @ ', goal.lower()))
        words = _WORD.findall(text)
        return {*words, *(' '.join(pair) for pair in zip(words, words[1:]))}

    def _vector(self, terms: set[str]) -> Mapping[str, float]:
        weights = {term: self._weights[term] for term in terms if term in self._weights}
        length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        return {term: weight / length for term, weight in weights.items()}
