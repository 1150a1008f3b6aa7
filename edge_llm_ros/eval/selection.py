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

"""Which cases run, and in which order: so that the first hundred are as good as any hundred."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
import random

from edge_llm_ros.eval.mission import Case, KINDS
from edge_llm_ros.flow.errors import ConfigError


@dataclass(frozen=True)
class Selection:
    """
    What is asked for; empty for all.

    :param missions: pattern of mission names, as of file names
    :param worlds: how many of each mission's worlds
    :param limit: cases at most, 0 for all
    """

    split: str = ''
    kinds: tuple[str, ...] = ()
    missions: str = '*'
    language: str = ''
    worlds: int = 3
    limit: int = 0

    def of(self, cases: Sequence[Case]) -> list[Case]:
        """
        Return the chosen cases: kinds by turns, in an order that is chance and always the same.

        :raises ConfigError: if there are none
        """
        unknown = sorted(set(self.kinds) - set(KINDS))
        if unknown:
            raise ConfigError(f'--kinds: no kind {unknown[0]!r}; kinds: {", ".join(KINDS)}.')
        chosen = [c for c in cases if self._wants(c)]
        if not chosen:
            raise ConfigError('no mission is like that.')
        random.Random(0).shuffle(chosen)
        turns: dict[str, int] = {}
        order = []
        for case in chosen:
            turns[case.kind] = turns.get(case.kind, 0) + 1
            order.append((turns[case.kind], KINDS.index(case.kind)))
        mixed = [case for _, case in sorted(zip(order, chosen), key=lambda pair: pair[0])]
        return mixed[:self.limit or None]

    def _wants(self, case: Case) -> bool:
        return (self.split in ('', case.split) and self.language in ('', case.language)
                and (not self.kinds or case.kind in self.kinds)
                and fnmatch(case.mission, self.missions) and case.world <= self.worlds)
