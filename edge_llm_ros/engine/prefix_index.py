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

"""
Finds which runs of tokens begin like a given one.

Runs are found by a hash that is chained over blocks of fixed size, as paged caches do it (vLLM's
automatic prefix caching, nano-vllm's block manager); but a hash only names candidates: how much
two runs share is always counted on their tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import numpy.typing as npt
import xxhash

Ids = npt.NDArray[np.int32]
BLOCK = 32  # tokens


def as_ids(tokens: Sequence[int] | Ids) -> Ids:
    """Return tokens as an array; quicker than numpy.asarray."""
    if isinstance(tokens, np.ndarray):
        return tokens.astype(np.int32)
    return np.fromiter(tokens, np.int32, len(tokens))


def common_prefix(a: npt.NDArray[np.integer], b: npt.NDArray[np.integer]) -> int:
    """Return how many first elements of two arrays are equal."""
    n = min(len(a), len(b))
    different = np.flatnonzero(a[:n] != b[:n])
    return int(different[0]) if len(different) else n


def chained_hash(parent: int, block: bytes) -> int:
    """Return the hash of a block that follows what another hash stands for."""
    return int(xxhash.xxh3_64_intdigest(block, parent))


@dataclass
class _Run:
    tokens: Ids
    hashes: list[int] = field(default_factory=list)


class PrefixIndex:
    """
    Runs of tokens by owner.

    :param hash_block: of a parent's hash and the bytes of a block; tests give a bad one
    """

    def __init__(self, hash_block: Callable[[int, bytes], int] = chained_hash) -> None:
        self._hash = hash_block
        self._runs: dict[int, _Run] = {}
        self._holders: dict[tuple[int, int], set[int]] = {}

    def put(self, owner: int, tokens: Ids) -> None:
        """
        Say what an owner holds now.

        :param tokens: int32 of shape (n,), which grew from what the owner held before or was cut
            from it; never changed in place
        """
        run = self._runs.setdefault(owner, _Run(tokens))
        run.tokens = tokens
        blocks = len(tokens) // BLOCK
        while len(run.hashes) > blocks:
            self._leave(owner, len(run.hashes) - 1, run.hashes.pop())
        for value in list(self._hashes(tokens, run.hashes)):
            self._holders.setdefault((len(run.hashes), value), set()).add(owner)
            run.hashes.append(value)

    def fork(self, source: int, owner: int, length: int) -> None:
        """Say that an owner that held nothing holds the start of what another holds."""
        origin = self._runs[source]
        hashes = origin.hashes[:length // BLOCK]
        self._runs[owner] = _Run(origin.tokens[:length], hashes)
        for depth, value in enumerate(hashes):
            self._holders[depth, value].add(owner)

    def remove(self, owner: int) -> None:
        """Forget an owner."""
        run = self._runs.pop(owner, None)
        for depth, value in enumerate(run.hashes if run else ()):
            self._leave(owner, depth, value)

    def _leave(self, owner: int, depth: int, value: int) -> None:
        holders = self._holders[depth, value]
        holders.discard(owner)
        if not holders:
            del self._holders[depth, value]

    def _hashes(self, tokens: Ids, known: list[int]) -> Iterator[int]:
        """Yield the hashes of the blocks after the known ones."""
        parent = known[-1] if known else 0
        data = tokens.tobytes()
        size = BLOCK * tokens.itemsize
        for start in range(len(known) * size, len(data) - size + 1, size):
            parent = self._hash(parent, data[start:start + size])
            yield parent

    def candidates(self, tokens: Ids, like: int | None = None
                   ) -> Iterator[tuple[int, int]]:
        """
        Yield owners and how many first tokens they share with some tokens, longest first.

        Owners that share none are left out.

        :param like: an owner that probably begins alike, whose hashes need not be made again
        """
        run = None if like is None else self._runs.get(like)
        known = run.hashes[:common_prefix(run.tokens, tokens) // BLOCK] if run else []
        levels: list[set[int]] = [set(self._runs)]
        for depth, value in enumerate(chain(known, self._hashes(tokens, known))):
            holders = self._holders.get((depth, value))
            if not holders:
                break
            levels.append(holders)
        seen: set[int] = set()
        late: list[tuple[int, int]] = []  # promised more by a hash than their tokens hold
        for depth in range(len(levels) - 1, -1, -1):
            found = [(common_prefix(self._runs[owner].tokens, tokens), owner)
                     for owner in levels[depth] - seen]
            seen |= levels[depth]
            late += found
            ready = [entry for entry in late if entry[0] >= depth * BLOCK]
            late = [entry for entry in late if entry[0] < depth * BLOCK]
            yield from ((owner, shared) for shared, owner in sorted(ready, reverse=True) if shared)
            if len(seen) == len(self._runs) and not late:
                return

    def check(self, owned: dict[int, Ids]) -> None:
        """
        Compare with what the owners really hold.

        :raises AssertionError: if the index says something else
        """
        held = {owner: run for owner, run in self._runs.items() if len(run.tokens)}
        assert set(held) == {owner for owner, tokens in owned.items() if len(tokens)}
        holders: dict[tuple[int, int], set[int]] = {}
        for owner, run in held.items():
            assert np.array_equal(run.tokens, owned[owner])
            assert run.hashes == list(self._hashes(run.tokens, []))
            for depth, value in enumerate(run.hashes):
                holders.setdefault((depth, value), set()).add(owner)
        assert holders == self._holders, 'the index lists blocks that nobody holds'
