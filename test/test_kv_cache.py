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

"""The cache's bookkeeping against a simple model of llama.cpp's memory, with random operations."""

from edge_llm_ros.engine.kv_cache import KvCache, PREFIX
from edge_llm_ros.flow.errors import ContextFull
from hypothesis import settings, strategies as st
from hypothesis.stateful import invariant, rule, RuleBasedStateMachine
import numpy as np
import pytest

SEQUENCES, CELLS, PREFIX_TOKENS = 4, 48, [7, 7, 1, 2, 3, 4]


class Memory:
    """Tokens by sequence, and cells that are shared as llama.cpp shares them."""

    def __init__(self) -> None:
        self.cells: list[list[object]] = [[] for _ in range(SEQUENCES)]

    def copy_sequence(self, source: int, target: int, length: int) -> None:
        assert not self.cells[target], 'a fork goes into an empty sequence'
        self.cells[target] = self.cells[source][:length]

    def cut_sequence(self, sequence: int, length: int) -> None:
        del self.cells[sequence][length:]

    def extend(self, sequence: int, count: int) -> None:
        self.cells[sequence] += [object() for _ in range(count)]

    @property
    def used(self) -> int:
        return len({id(cell) for cells in self.cells for cell in cells})


tokens = st.lists(st.integers(1, 3), min_size=1, max_size=20)


class CacheMachine(RuleBasedStateMachine):
    """Sessions come, grow, go back and are forgotten."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = Memory()
        self.cache = KvCache(self.memory, SEQUENCES, CELLS)
        self._evaluate(PREFIX, PREFIX_TOKENS)

    def _evaluate(self, sequence: int, new: list[int]) -> None:
        self.cache.reserve(len(new))
        self.memory.extend(sequence, len(new))
        self.cache.extend(sequence, new)

    @rule(session=st.sampled_from('abcde'), tail=tokens, whole=st.booleans())
    def request(self, session: str, tail: list[int], whole: bool) -> None:
        """Lease a sequence for a conversation, evaluate its rest, give it back."""
        wanted = PREFIX_TOKENS + tail
        resident = max(len(self._common(n, wanted)) for n in range(SEQUENCES))
        sequence, length = self.cache.lease(session, wanted, keep=len(wanted) - 1)
        assert sequence != PREFIX
        assert length == min(resident, len(wanted) - 1), 'the longest resident prefix is used'
        assert list(self.cache.tokens(sequence)) == wanted[:length]
        rest = wanted[length:] if whole else wanted[length:length + 1]
        self._evaluate(sequence, rest)
        self.cache.release(sequence)

    def _common(self, sequence: int, wanted: list[int]) -> list[int]:
        have = list(self.cache.tokens(sequence))
        n = 0
        while n < min(len(have), len(wanted)) and have[n] == wanted[n]:
            n += 1
        return have[:n]

    @rule(session=st.sampled_from('abcde'))
    def forget(self, session: str) -> None:
        self.cache.forget(session)

    @rule()
    def evict(self) -> None:
        self.cache.evict_one()

    @invariant()
    def accounts(self) -> None:
        """Our cells are the memory's cells, in number and by sequence; the prefix is untouched."""
        self.cache.check_integrity()
        assert self.cache.free_cells == CELLS - self.memory.used
        for sequence in range(SEQUENCES):
            assert len(self.cache.tokens(sequence)) == len(self.memory.cells[sequence])
        assert list(self.cache.tokens(PREFIX)) == PREFIX_TOKENS


CacheMachine.TestCase.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)
TestCache = CacheMachine.TestCase


def test_a_fork_takes_no_cells() -> None:
    memory = Memory()
    cache = KvCache(memory, SEQUENCES, CELLS)
    memory.extend(PREFIX, 20)
    cache.extend(PREFIX, list(range(20)))
    for session in 'abc':
        cache.release(cache.lease(session, [*range(20), 99], keep=20)[0])
    assert cache.free_cells == CELLS - 20


def test_what_is_leased_is_never_evicted() -> None:
    cache = KvCache(Memory(), 3, CELLS)
    first, _ = cache.lease('a', [1, 2], keep=1)
    cache.lease('b', [1, 2], keep=1)
    with pytest.raises(ContextFull, match='max_sessions'):
        cache.lease('c', [1, 2], keep=1)
    cache.release(first)
    assert cache.lease('c', [1, 2], keep=1)[0] == first


def test_room_that_cannot_be_made_is_refused_before_the_decode() -> None:
    memory = Memory()
    cache = KvCache(memory, SEQUENCES, CELLS)
    sequence, _ = cache.lease('a', [1], keep=0)
    memory.extend(sequence, 40)
    cache.extend(sequence, [1] * 40)
    with pytest.raises(ContextFull, match='8 free'):
        cache.reserve(9)
    cache.release(sequence)
    cache.reserve(9)
    assert cache.free_cells == CELLS and not len(cache.tokens(sequence))


def test_least_recent_use_goes_first() -> None:
    cache = KvCache(Memory(), SEQUENCES, CELLS)
    numbers = {}
    for session in ('a', 'b', 'c', 'a'):
        numbers[session], _ = cache.lease(session, [ord(session), 2], keep=1)
        if not len(cache.tokens(numbers[session])):
            cache._memory.extend(numbers[session], 1)
            cache.extend(numbers[session], [ord(session)])
        cache.release(numbers[session])
    assert cache.evict_one()
    assert not len(cache.tokens(numbers['b'])) and len(cache.tokens(numbers['a']))


def test_tokens_are_compared_not_trusted() -> None:
    cache = KvCache(Memory(), SEQUENCES, CELLS)
    cache._memory.extend(PREFIX, 3)
    cache.extend(PREFIX, [5, 6, 7])
    assert cache.match(None, np.array([5, 6, 8], np.int32)).length == 2


def test_a_single_session_makes_way_for_the_next() -> None:
    """They share more than the prefix, so the only sequence is both the source and the target."""
    memory = Memory()
    cache = KvCache(memory, 2, CELLS)
    for session in ('a', 'b', 'b', 'c'):
        sequence, length = cache.lease(session, [1, 2, ord(session)], keep=2)
        memory.extend(sequence, 3 - length)
        cache.extend(sequence, [1, 2, ord(session)][length:])
        cache.release(sequence)
        cache.check_integrity()
        assert list(cache.tokens(sequence)) == [1, 2, ord(session)]
