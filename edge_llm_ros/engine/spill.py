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

"""Evicted parts of sessions, in host memory, within a budget of bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
import itertools

from edge_llm_ros.engine.prefix_index import Ids, PrefixIndex
import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Spilled:
    """
    The private part of a sequence.

    :param session: that it belongs to
    :param tokens: of the whole sequence
    :param start: tokens that belong to the pinned prefix and are not in the state
    :param state: what llama.cpp holds for the rest
    """

    session: str
    tokens: Ids
    start: int
    state: npt.NDArray[np.uint8]


class Spill:
    """
    Spilled sequences, the last used of them.

    :param limit_bytes: of all states together; never more, not even for a moment
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit = limit_bytes
        self._entries: OrderedDict[int, Spilled] = OrderedDict()
        self._index = PrefixIndex()
        self._names = itertools.count()
        self._held: int | None = None
        self.bytes = 0

    def make_room(self, size: int) -> bool:
        """Drop what was used longest ago until a state fits; False where it never will."""
        held = 0 if self._held is None else self._entries[self._held].state.nbytes
        if held + size > self.limit:
            return False
        while self.bytes + size > self.limit:
            self.take(next(name for name in self._entries if name != self._held))
        return True

    @contextmanager
    def held(self, name: int) -> Iterator[None]:
        """Keep a spilled sequence whatever room is asked for meanwhile."""
        self._held = name
        try:
            yield
        finally:
            self._held = None

    def put(self, spilled: Spilled) -> None:
        """Keep a state that make_room() was asked for."""
        name = next(self._names)
        self._entries[name] = spilled
        self._index.put(name, spilled.tokens)
        self.bytes += spilled.state.nbytes
        assert self.bytes <= self.limit

    def match(self, tokens: Ids) -> tuple[int, int]:
        """Return the name of the spilled sequence that shares most tokens, and how many."""
        return next(self._index.candidates(tokens), (-1, 0))

    def entry(self, name: int) -> Spilled:
        """Return a spilled sequence."""
        return self._entries[name]

    def take(self, name: int) -> Spilled:
        """Return a spilled sequence and forget it."""
        spilled = self._entries.pop(name)
        self._index.remove(name)
        self.bytes -= spilled.state.nbytes
        return spilled

    def forget(self, session: str) -> None:
        """Forget what belongs to a session."""
        for name in [n for n, entry in self._entries.items() if entry.session == session]:
            self.take(name)

    def clear(self) -> None:
        """Forget everything."""
        for name in list(self._entries):
            self.take(name)
