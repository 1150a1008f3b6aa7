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

"""Who owns which sequence and which KV cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from edge_llm_ros.flow.errors import ContextFull
import numpy as np
import numpy.typing as npt

PREFIX = 0  # the sequence of the pinned prefix

Ids = npt.NDArray[np.int32]


class SequenceMemory(Protocol):
    """What the cache asks of the model's memory."""

    def copy_sequence(self, source: int, target: int, length: int) -> None:
        """Let ``target`` share the first ``length`` cells of ``source``."""

    def cut_sequence(self, sequence: int, length: int) -> None:
        """Drop all tokens of a sequence from ``length`` on."""


@dataclass
class _Sequence:
    """
    One sequence id.

    :param tokens: what is evaluated, in order; int32 of shape (n,)
    :param cells: the cell of each token; cells are named by us and mirror llama.cpp's in number
    :param used: when it was last leased, by a counter
    """

    tokens: Ids = field(default_factory=lambda: np.empty(0, np.int32))
    cells: Ids = field(default_factory=lambda: np.empty(0, np.int32))
    session: str | None = None
    used: int = 0
    leased: bool = False


@dataclass(frozen=True)
class Match:
    """Where the longest resident prefix of some tokens lies."""

    sequence: int
    length: int


def common_prefix(a: Ids, b: Ids) -> int:
    """Return how many first elements of two arrays are equal."""
    n = min(len(a), len(b))
    different = np.flatnonzero(a[:n] != b[:n])
    return int(different[0]) if len(different) else n


class KvCache:
    """
    The sequences of a context with unified cells, sharing prefixes without copies.

    Sequence 0 is the pinned prefix. Each other one belongs to a session, and is evicted in order
    of least recent use unless leased.

    :param memory: the model's memory, which is told of every change
    :param sequences: sequence ids, the prefix included
    :param cells: KV cells of the context
    """

    def __init__(self, memory: SequenceMemory, sequences: int, cells: int) -> None:
        self._memory = memory
        self._sequences = [_Sequence() for _ in range(sequences)]
        self._owners = np.zeros(cells, np.int32)
        self._clock = 0

    @property
    def free_cells(self) -> int:
        """Return the cells that no sequence holds."""
        return int(np.count_nonzero(self._owners == 0))

    def tokens(self, sequence: int) -> Ids:
        """Return the evaluated tokens of a sequence."""
        return self._sequences[sequence].tokens

    def match(self, session: str | None, tokens: Ids) -> Match:
        """
        Find the longest resident prefix of some tokens; changes nothing.

        The session's own sequence wins a tie, then the prefix.
        """
        best = Match(PREFIX, common_prefix(self._sequences[PREFIX].tokens, tokens))
        for number, sequence in enumerate(self._sequences):
            length = common_prefix(sequence.tokens, tokens)
            own = session is not None and sequence.session == session
            if length > best.length or (own and length == best.length):
                best = Match(number, length)
        return best

    def lease(self, session: str, tokens: Sequence[int], keep: int) -> tuple[int, int]:
        """
        Give a session a sequence that starts with as many resident tokens as possible.

        :param keep: resident tokens to use at most
        :returns: sequence id, and how many of the tokens are in it
        :raises ContextFull: if every sequence is leased
        """
        match = self.match(session, np.asarray(tokens, np.int32))
        length = min(match.length, keep)
        own = next((n for n, s in enumerate(self._sequences) if s.session == session), None)
        if own is not None and own == match.sequence:
            self.cut(own, length)
            number = own
        else:
            if own is not None:
                self._drop(own)
            number = self._fork_or_take(match.sequence, length)
        sequence = self._sequences[number]
        self._clock += 1
        sequence.session, sequence.used, sequence.leased = session, self._clock, True
        return number, length

    def release(self, number: int) -> None:
        """End a lease; the sequence stays until its room is needed."""
        self._sequences[number].leased = False

    def forget(self, session: str) -> None:
        """Drop a session's sequence, if it has one."""
        for number, sequence in enumerate(self._sequences):
            if sequence.session == session and not sequence.leased:
                self._drop(number)

    def reserve(self, count: int) -> None:
        """
        Make sure that some cells are free, evicting what is not leased, least recent use first.

        :raises ContextFull: if that does not free enough
        """
        while self.free_cells < count:
            if not self.evict_one():
                raise ContextFull(
                    f'{count} more tokens do not fit into {len(self._owners)} KV cells '
                    f'({self.free_cells} free, nothing left to evict).')

    def evict_one(self) -> bool:
        """Drop the least recently used session that is not leased; False where there is none."""
        idle = [(s.used, n) for n, s in enumerate(self._sequences)
                if n != PREFIX and s.session is not None and not s.leased]
        if not idle:
            return False
        self._drop(min(idle)[1])
        return True

    def extend(self, number: int, tokens: Sequence[int]) -> None:
        """Record that tokens were evaluated at the end of a sequence."""
        sequence = self._sequences[number]
        cells = np.flatnonzero(self._owners == 0)[:len(tokens)].astype(np.int32)
        assert len(cells) == len(tokens), 'more tokens were evaluated than there are cells'
        self._owners[cells] += 1
        sequence.cells = np.concatenate([sequence.cells, cells])
        sequence.tokens = np.concatenate([sequence.tokens, np.asarray(tokens, np.int32)])

    def cut(self, number: int, length: int) -> None:
        """Drop the tokens of a sequence from ``length`` on."""
        sequence = self._sequences[number]
        if length < len(sequence.tokens):
            self._memory.cut_sequence(number, length)
            np.subtract.at(self._owners, sequence.cells[length:], 1)
            sequence.cells, sequence.tokens = sequence.cells[:length], sequence.tokens[:length]

    def clear(self) -> None:
        """Drop everything, the prefix included."""
        for number in range(len(self._sequences)):
            self._drop(number)

    def _drop(self, number: int) -> None:
        self.cut(number, 0)
        self._sequences[number] = _Sequence()

    def _fork_or_take(self, source: int, length: int) -> int:
        """Return a copy of a sequence's start, or itself where no id is left."""
        origin = self._sequences[source]
        leased = origin.leased
        origin.leased = True  # must not be evicted to make room for its own copy
        try:
            number = self._vacate()
        except ContextFull:
            if leased or source == PREFIX:
                raise
            self.cut(source, length)
            return source
        finally:
            origin.leased = leased
        self._fork(source, number, length)
        return number

    def _vacate(self) -> int:
        """Return an unused sequence id, evicting a session where there is none."""
        while True:
            for number, sequence in enumerate(self._sequences):
                if number != PREFIX and sequence.session is None and not sequence.leased:
                    return number
            if not self.evict_one():
                raise ContextFull('every session of the KV cache is in use; raise max_sessions.')

    def _fork(self, source: int, target: int, length: int) -> None:
        if length:
            self._memory.copy_sequence(source, target, length)
        origin = self._sequences[source]
        self._sequences[target] = _Sequence(
            tokens=origin.tokens[:length].copy(), cells=origin.cells[:length].copy())
        np.add.at(self._owners, origin.cells[:length], 1)

    def check_integrity(self) -> None:
        """
        Account for every cell.

        :raises AssertionError: if the owners of a cell are not the sequences that list it
        """
        owners = np.zeros_like(self._owners)
        for sequence in self._sequences:
            assert len(sequence.tokens) == len(sequence.cells)
            assert len(np.unique(sequence.cells)) == len(sequence.cells)
            np.add.at(owners, sequence.cells, 1)
        assert np.array_equal(owners, self._owners), 'cells are counted wrongly'
