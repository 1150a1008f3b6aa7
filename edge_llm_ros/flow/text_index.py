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

"""Texts by their words: which of them are most like another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
import math
import re

_WORD = re.compile(r'[a-z@]+|#|\d+(?:\.\d+)?|[\u3400-\u9fff]|[?!？！]')
_NUMBER = re.compile(r'\d+(\.\d+)?')


class TextIndex:
    """
    Texts by their words and pairs of words, weighted by how rare they are.

    TF-IDF with the cosine as likeness (Salton and Buckley 1988).

    :param texts: of any language whose words are Latin or Chinese
    :param alike: whether every number counts as the same word
    :param ignored: words that tell nothing
    """

    def __init__(self, texts: Sequence[str], alike: bool = True,
                 ignored: frozenset[str] = frozenset()) -> None:
        self._alike = alike
        self._ignored = ignored
        terms = [self._terms(text) for text in texts]
        counts = Counter(term for found in terms for term in found)
        self._weights = {term: math.log((1 + len(texts)) / count)
                         for term, count in counts.items()}
        self._vectors = [self._vector(found) for found in terms]

    def nearest(self, text: str, count: int, share: float = 0.0) -> list[int]:
        """
        Return the texts most like another, the nearest last; none that has nothing of it.

        Of equal ones the first is the nearest.

        :param share: of the best likeness that the others need
        """
        vector = self._vector(self._terms(text))
        scores = [(sum(weight * other.get(term, 0.0) for term, weight in vector.items()), -i)
                  for i, other in enumerate(self._vectors)]
        best = sorted(scores, reverse=True)[:count]
        return [-i for score, i in reversed(best) if score > 0 and score >= share * best[0][0]]

    def _vector(self, terms: set[str]) -> Mapping[str, float]:
        weights = {term: self._weights[term] for term in terms if term in self._weights}
        length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        return {term: weight / length for term, weight in weights.items()}

    def _terms(self, text: str) -> set[str]:
        text = _NUMBER.sub('#', text) if self._alike else text
        words = [word for word in _WORD.findall(text.lower()) if word not in self._ignored]
        return {*words, *(' '.join(pair) for pair in zip(words, words[1:]))}
