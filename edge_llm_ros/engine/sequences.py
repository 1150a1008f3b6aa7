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

"""Sequences of tokens in KV cells: who holds which cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from edge_llm_ros.engine.prefix_index import common_prefix, Ids, PrefixIndex
from edge_llm_ros.flow.engine import MemoryKind
import numpy as np
import numpy.typing as npt

Cells = npt.NDArray[np.intp]  # numpy's own kind of index: half the time of int32
PREFIX = 0  # the sequence of the pinned prefix


class SequenceMemory(Protocol):
    """What the cache asks of the model's memory."""

    @property
    def kind(self) -> MemoryKind:
        """Return how the memory of this model can be cut."""

    def can_cut(self, sequence: int, length: int) -> bool:
        """Say whether a sequence cut to a length goes on exactly."""

    def copy_sequence(self, source: int, target: int, length: int, start: int = 0) -> None:
        """Let ``target`` share the cells of ``source`` from ``start`` to ``length``."""

    def cut_sequence(self, sequence: int, length: int) -> None:
        """Drop all tokens of a sequence from ``length`` on."""

    def state_bytes(self, sequence: int) -> int:
        """Return the bytes of a sequence's state."""

    def sequence_state(self, sequence: int) -> npt.NDArray[np.uint8]:
        """Return the state of a sequence."""

    def restore_sequence(self, sequence: int, state: npt.NDArray[np.uint8], length: int) -> bool:
        """Fill an empty sequence from a state."""


@dataclass
class Holding:
    """
    What one sequence id holds.

    :param tokens: what is evaluated, in order; int32 of shape (n,)
    :param cells: the cell of each token; cells are named by us and mirror llama.cpp's in number
    :param session: that goes on here, or that this is a snapshot of
    :param snapshot: whether it is kept as it is, to go back to
    :param turn: when it was last leased, by a counter
    :param time: the same in seconds
    """

    tokens: Ids = field(default_factory=lambda: np.empty(0, np.int32))
    cells: Cells = field(default_factory=lambda: np.empty(0, np.intp))
    session: str | None = None
    snapshot: bool = False
    turn: int = 0
    time: float = 0.0
    leased: bool = False


class Sequences:
    """
    The sequence ids of a context with unified cells.

    :param memory: the model's memory, which is told of every change
    :param count: sequence ids
    :param cells: KV cells of the context
    """

    def __init__(self, memory: SequenceMemory, count: int, cells: int) -> None:
        self._memory = memory
        self._holdings = [Holding() for _ in range(count)]
        self._owners = np.zeros(cells, np.int32)
        self.index = PrefixIndex()

    def __len__(self) -> int:
        return len(self._holdings)

    def __getitem__(self, number: int) -> Holding:
        return self._holdings[number]

    def of_sessions(self) -> Iterator[tuple[int, Holding]]:
        """Yield the ids that belong to sessions, and what they hold."""
        yield from ((n, h) for n, h in enumerate(self._holdings) if h.session is not None)

    @property
    def cells(self) -> int:
        """Return the cells of the context."""
        return len(self._owners)

    @property
    def free_cells(self) -> int:
        """Return the cells that no sequence holds."""
        return int(np.count_nonzero(self._owners == 0))

    def shared(self, number: int) -> int:
        """Return how many first cells of a sequence are the pinned prefix's."""
        return common_prefix(self[number].cells, self[PREFIX].cells)

    def private(self, number: int) -> Cells:
        """Return the positions of a sequence whose cells nobody else holds."""
        return np.flatnonzero(self._owners[self[number].cells] == 1)

    def extend(self, number: int, tokens: Sequence[int]) -> None:
        """Record that tokens were evaluated at the end of a sequence."""
        holding, cells = self[number], self._take(len(tokens))
        self._set(number, np.concatenate([holding.tokens, np.asarray(tokens, np.int32)]),
                  np.concatenate([holding.cells, cells]))

    def restored(self, number: int, tokens: Ids, start: int) -> None:
        """Record that a sequence has the prefix's first cells, and new ones for the rest."""
        prefix = self[PREFIX].cells[:start]
        self._owners[prefix] += 1
        self._set(number, tokens, np.concatenate([prefix, self._take(len(tokens) - start)]))

    def cut(self, number: int, length: int) -> None:
        """Drop the tokens of a sequence from ``length`` on."""
        holding = self[number]
        if length < len(holding.tokens):
            self._memory.cut_sequence(number, length)
            self._owners[holding.cells[length:]] -= 1
            self._set(number, holding.tokens[:length], holding.cells[:length])

    def fork(self, source: int, target: int, length: int) -> None:
        """Let an unused sequence share the first cells of another; none is copied."""
        origin = self[source]
        tokens, cells = origin.tokens[:length], origin.cells[:length]
        self._holdings[target] = Holding(tokens, cells)
        if length:
            self._memory.copy_sequence(source, target, length)
            self._owners[cells] += 1
            self.index.fork(source, target, length)

    def drop(self, number: int) -> None:
        """Empty a sequence; its id is free."""
        self.cut(number, 0)
        self._holdings[number] = Holding()

    def _take(self, count: int) -> Cells:
        cells = np.flatnonzero(self._owners == 0)[:count]
        assert len(cells) == count, 'more tokens were evaluated than there are cells'
        self._owners[cells] = 1
        return cells

    def _set(self, number: int, tokens: Ids, cells: Cells) -> None:
        holding = self[number]
        holding.tokens, holding.cells = tokens, cells
        if len(tokens):
            self.index.put(number, tokens)
        else:
            self.index.remove(number)

    def check_integrity(self) -> None:
        """
        Account for every sequence id and every cell.

        :raises AssertionError: if the owners of a cell are not the sequences that list it, or the
            index says something else
        """
        owners = np.zeros_like(self._owners)
        for holding in self._holdings:
            assert len(holding.tokens) == len(holding.cells)
            assert len(np.unique(holding.cells)) == len(holding.cells)
            owners[holding.cells] += 1
        assert np.array_equal(owners, self._owners), 'cells are counted wrongly'
        self.index.check({n: h.tokens for n, h in enumerate(self._holdings)})
