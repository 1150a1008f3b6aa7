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

from collections.abc import Sequence
import itertools

from edge_llm_ros.engine.kv_cache import KvCache, NoCache, sequences_for
from edge_llm_ros.engine.prefix_index import BLOCK, PrefixIndex
from edge_llm_ros.engine.sequences import PREFIX
from edge_llm_ros.flow.engine import MemoryKind
from edge_llm_ros.flow.errors import ContextFull
from hypothesis import settings, strategies as st
from hypothesis.stateful import invariant, rule, RuleBasedStateMachine
import numpy as np
import pytest

SESSIONS, CELLS = 3, 160
PREFIX_TOKENS = [7, 7, 1, 2, 3, 4] * 6  # longer than a block
BYTES = 10  # of a token's state


class Memory:
    """Cells by sequence and position, shared and cut as llama.cpp does it."""

    def __init__(self, kind: MemoryKind = MemoryKind.FULL) -> None:
        self.kind = kind
        self.ids = sequences_for(kind, SESSIONS)
        self.cells: list[dict[int, object]] = [{} for _ in range(self.ids)]
        self.copies = 0

    def can_cut(self, sequence: int, length: int) -> bool:
        now = self.sequence_length(sequence)
        return length <= now and (self.kind is MemoryKind.FULL or length in (0, now))

    def sequence_length(self, sequence: int) -> int:
        return max(self.cells[sequence], default=-1) + 1

    def copy_sequence(self, source: int, target: int, length: int, start: int = 0) -> None:
        assert start or self.can_cut(source, length)
        self.copies += 1
        for position in range(start, length):
            assert position not in self.cells[target], 'a copy goes where nothing is'
            self.cells[target][position] = self.cells[source][position]

    def cut_sequence(self, sequence: int, length: int) -> None:
        assert self.can_cut(sequence, length)
        self.cells[sequence] = {p: c for p, c in self.cells[sequence].items() if p < length}

    def extend(self, sequence: int, count: int) -> None:
        start = self.sequence_length(sequence)
        self.cells[sequence].update({start + i: object() for i in range(count)})

    def state_bytes(self, sequence: int) -> int:
        return BYTES * len(self.cells[sequence])

    def sequence_state(self, sequence: int) -> np.ndarray:
        positions = sorted(self.cells[sequence])
        return np.frombuffer(bytes(p % 251 for p in positions for _ in range(BYTES)), np.uint8)

    def restore_sequence(self, sequence: int, state: np.ndarray, length: int) -> bool:
        assert not self.cells[sequence]
        count = len(state) // BYTES
        self.cells[sequence] = {length - count + i: object() for i in range(count)}
        return True

    @property
    def used(self) -> int:
        return len({id(cell) for cells in self.cells for cell in cells.values()})


tokens = st.lists(st.integers(1, 2), min_size=1, max_size=90)


class CacheMachine(RuleBasedStateMachine):
    """Sessions come, grow, go back, are pinned, time out and are forgotten."""

    kind = MemoryKind.FULL
    spill = 0

    def __init__(self) -> None:
        super().__init__()
        self.memory = Memory(self.kind)
        self.now = 0.0
        self.cache = KvCache(
            self.memory, self.memory.ids, CELLS, self.spill, 50.0, lambda: self.now)
        self._evaluate(PREFIX, PREFIX_TOKENS)
        self.pinned: str | None = None
        self.conversations: dict[str, list[int]] = {}

    def _evaluate(self, sequence: int, new: Sequence[int]) -> None:
        self.cache.reserve(len(new))
        self.memory.extend(sequence, len(new))
        self.cache.extend(sequence, new)

    @rule(session=st.sampled_from('abcde'), tail=tokens, back=st.integers(0, 100),
          whole=st.booleans())
    def request(self, session: str, tail: list[int], back: int, whole: bool) -> None:
        """Lease a sequence for a conversation, evaluate its rest, give it back."""
        before = self.conversations.get(session, [])
        wanted = PREFIX_TOKENS + (before[:len(before) - back] + tail)[:90]
        keep = len(wanted) - 1
        held = [self._common(n, wanted) for n in range(self.cache.sequences)]
        usable = max(min(length, keep) for n, length in enumerate(held)
                     if self.memory.can_cut(n, min(length, keep)))
        assert self.cache.match(session, np.asarray(wanted, np.int32), keep).length == usable
        lease = self.cache.lease(session, wanted, keep)
        assert lease.sequence not in (PREFIX, self.cache._ready)
        if self.spill:
            assert lease.length >= usable, 'what is resident is used'
        else:
            assert lease.length == usable, 'the longest resident prefix is used'
        assert list(self.cache.tokens(lease.sequence)) == wanted[:lease.length]
        rest = wanted[lease.length:] if whole else wanted[lease.length:lease.length + 1]
        self._evaluate(lease.sequence, rest)
        self.cache.release(lease.sequence)
        if self.kind is not MemoryKind.FULL and lease.length > len(PREFIX_TOKENS):
            # The turn can be given up: its start is still there.
            again = np.asarray(wanted[:lease.length] + [9], np.int32)
            assert self.cache.match(session, again, lease.length).length == lease.length
        self.conversations[session] = wanted[len(PREFIX_TOKENS):]

    def _common(self, sequence: int, wanted: list[int]) -> int:
        have = list(self.cache.tokens(sequence))
        n = 0
        while n < min(len(have), len(wanted)) and have[n] == wanted[n]:
            n += 1
        return n

    @rule(session=st.sampled_from('abcde'))
    def pin(self, session: str) -> None:
        """Another goal runs; its session is not evicted from now on."""
        if self.pinned:
            self.cache.pin(self.pinned, False)
        self.pinned = session
        self.cache.pin(session, True)

    @rule(session=st.sampled_from('abcde'))
    def forget(self, session: str) -> None:
        self.cache.forget(session)
        self.pinned = None if session == self.pinned else self.pinned

    @rule(cells=st.none() | st.integers(1, 100))
    def evict(self, cells: int | None) -> None:
        own = self._of(self.pinned)
        self.cache.evict(cells)
        assert self._of(self.pinned) == own, 'the running goal keeps what it has'

    def _of(self, session: str | None) -> tuple[int, ...]:
        own = self.cache._own(session) if session else None
        return () if own is None else tuple(self.cache.tokens(own).tolist())

    @rule(seconds=st.sampled_from([1.0, 20.0, 60.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.cache.expire()

    @invariant()
    def accounts(self) -> None:
        """Our cells are the memory's cells, in number and by sequence; the prefix is untouched."""
        self.cache.check_integrity()
        assert self.cache.free_cells == CELLS - self.memory.used
        for sequence in range(self.cache.sequences):
            count = len(self.cache.tokens(sequence))
            assert sorted(self.memory.cells[sequence]) == list(range(count))
        if self.kind is MemoryKind.FULL:
            assert not self.memory.cells[-1], 'the spare sequence is empty between calls'
        assert list(self.cache.tokens(PREFIX)) == PREFIX_TOKENS
        assert self.cache.spilled_bytes <= self.spill


class SpillMachine(CacheMachine):
    spill = 60 * BYTES


class SnapshotMachine(CacheMachine):
    kind = MemoryKind.RECURRENT


_SETTINGS = settings(max_examples=60, stateful_step_count=30, deadline=None)
CacheMachine.TestCase.settings = _SETTINGS
SpillMachine.TestCase.settings = _SETTINGS
SnapshotMachine.TestCase.settings = _SETTINGS
TestCache = CacheMachine.TestCase
TestSpill = SpillMachine.TestCase
TestSnapshots = SnapshotMachine.TestCase


class IndexMachine(RuleBasedStateMachine):
    """Owners grow, are cut and forgotten; what they share is always found, and counted right."""

    # The second hash takes most blocks for equal.
    hashes = st.sampled_from([None, lambda parent, block: block[0] % 2])

    def __init__(self) -> None:
        super().__init__()
        self.index: PrefixIndex | None = None
        self.runs: dict[int, list[int]] = {}

    @rule(hash_block=hashes)
    def start(self, hash_block: object) -> None:
        if self.index is None:
            self.index = PrefixIndex(hash_block) if hash_block else PrefixIndex()

    @rule(owner=st.integers(0, 5), like=st.integers(0, 5), more=tokens, at=st.integers(0, 200))
    def put(self, owner: int, like: int, more: list[int], at: int) -> None:
        if self.index is None:
            return
        if owner not in self.runs and self.runs.get(like, [])[:at]:
            self.runs[owner] = self.runs[like][:at]
            self.index.fork(like, owner, len(self.runs[owner]))
        self.runs.setdefault(owner, [])
        self.runs[owner] = (self.runs[owner] + more)[:200]
        self.index.put(owner, np.asarray(self.runs[owner], np.int32))

    @rule(owner=st.integers(0, 5), length=st.integers(1, 150))
    def cut(self, owner: int, length: int) -> None:
        if self.index is not None and owner in self.runs:
            self.runs[owner] = self.runs[owner][:length]
            self.index.put(owner, np.asarray(self.runs[owner], np.int32))

    @rule(owner=st.integers(0, 5))
    def remove(self, owner: int) -> None:
        if self.index is not None:
            self.runs.pop(owner, None)
            self.index.remove(owner)

    @rule(like=st.integers(0, 5), at=st.integers(0, 200), more=tokens)
    def find(self, like: int, at: int, more: list[int]) -> None:
        if self.index is None:
            return
        wanted = self.runs.get(like, [])[:at] + more
        found = list(self.index.candidates(np.asarray(wanted, np.int32)))
        right = {}
        for owner, run in self.runs.items():
            pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(run, wanted))
            right[owner] = len(list(pairs))
        assert dict(found) == {owner: n for owner, n in right.items() if n}
        assert [n for _, n in found] == sorted((n for _, n in found), reverse=True)

    @invariant()
    def agrees(self) -> None:
        if self.index is not None:
            self.index.check({o: np.asarray(r, np.int32) for o, r in self.runs.items()})


IndexMachine.TestCase.settings = _SETTINGS
TestIndex = IndexMachine.TestCase


def _cache(sessions: int = SESSIONS, cells: int = CELLS, **fields: object
           ) -> tuple[Memory, KvCache]:
    memory = Memory()
    return memory, KvCache(memory, sequences_for(memory.kind, sessions), cells, **fields)


def _say(memory: Memory, cache: KvCache, session: str, wanted: list[int]) -> int:
    """Evaluate a conversation and return how many of its tokens were there."""
    lease = cache.lease(session, wanted, keep=len(wanted) - 1)
    rest = wanted[lease.length:]
    cache.reserve(len(rest))
    memory.extend(lease.sequence, len(rest))
    cache.extend(lease.sequence, rest)
    cache.release(lease.sequence)
    cache.check_integrity()
    return lease.length


def test_a_fork_takes_no_cells() -> None:
    memory, cache = _cache()
    memory.extend(PREFIX, 20)
    cache.extend(PREFIX, list(range(20)))
    for session in 'abc':
        cache.release(cache.lease(session, [*range(20), 99], keep=20).sequence)
    assert cache.free_cells == CELLS - 20


def test_a_new_session_finds_its_fork_made() -> None:
    memory, cache = _cache()
    memory.extend(PREFIX, 40)
    cache.extend(PREFIX, [5] * 40)
    cache.prepare()
    before = memory.copies
    lease = cache.lease('a', [*[5] * 40, 6], keep=40)
    assert lease.length == 40 and memory.copies == before
    cache.release(lease.sequence)
    assert memory.copies == before + 1, 'the next one is made while nobody waits'
    cache.check_integrity()
    # It is in nobody's way: every id can be had.
    for session in 'bcd':
        _say(memory, cache, session, [ord(session)] * 10)
    assert len({s.session for _, s in cache._sequences.of_sessions()}) == SESSIONS


def test_what_is_leased_is_never_evicted() -> None:
    _, cache = _cache(sessions=2)
    first = cache.lease('a', [1, 2], keep=1).sequence
    cache.lease('b', [1, 2], keep=1)
    with pytest.raises(ContextFull, match='max_sessions'):
        cache.lease('c', [1, 2], keep=1)
    cache.release(first)
    assert cache.lease('c', [1, 2], keep=1).sequence == first


def test_room_that_cannot_be_made_is_refused_before_the_decode() -> None:
    memory, cache = _cache(cells=48)
    sequence = cache.lease('a', [1], keep=0).sequence
    memory.extend(sequence, 40)
    cache.extend(sequence, [1] * 40)
    with pytest.raises(ContextFull, match='8 free'):
        cache.reserve(9)
    cache.release(sequence)
    cache.reserve(9)
    assert cache.free_cells >= 9


def test_least_recent_use_goes_first() -> None:
    memory, cache = _cache()
    for session in 'abca':
        _say(memory, cache, session, [ord(session), 2])
    assert cache.evict()
    assert cache.match('b', np.array([ord('b'), 2], np.int32), 2).length == 0
    assert cache.match('a', np.array([ord('a'), 2], np.int32), 2).length == 2


def test_the_end_of_a_session_goes_before_its_start() -> None:
    memory, cache = _cache()
    old, new = [1] * 100, [2] * 50
    _say(memory, cache, 'old', old)
    _say(memory, cache, 'new', new)
    cache.reserve(CELLS - 150 + 10)
    assert cache.match('old', np.array(old, np.int32), 100).length == 36
    lease = cache.lease('old', old, keep=99)
    assert lease.length == 36 and 'evicted' in lease.lost


def test_what_a_running_goal_has_is_never_evicted() -> None:
    memory, cache = _cache()
    _say(memory, cache, 'running', [1] * 60)
    cache.pin('running', True)
    for i in range(20):
        _say(memory, cache, f's{i}', [2, i] * 40)
    assert cache.match('running', np.array([1] * 60, np.int32), 60).length == 60
    cache.pin('running', False)
    for i in range(20):
        _say(memory, cache, f's{i}', [2, i] * 40)
    assert cache.match('running', np.array([1] * 60, np.int32), 60).length == 0


def test_an_idle_session_is_dropped_after_its_time() -> None:
    now = 0.0
    memory, cache = _cache(session_ttl=10.0, clock=lambda: now)
    _say(memory, cache, 'a', [1] * 20)
    now = 9.0
    _say(memory, cache, 'b', [2] * 20)
    now = 11.0
    assert _say(memory, cache, 'b', [2] * 21) == 20
    assert cache.free_cells == CELLS - 21


def test_a_spilled_session_comes_back_without_its_prefix() -> None:
    memory, cache = _cache(sessions=2, spill_bytes=1000)
    memory.extend(PREFIX, 40)
    cache.extend(PREFIX, [5] * 40)
    wanted = [5] * 40 + [1] * 50
    _say(memory, cache, 'a', wanted)
    for session in 'bcd':
        _say(memory, cache, session, [5] * 40 + [ord(session)] * 10)
    assert cache.spilled_bytes == 50 * BYTES + 10 * BYTES
    assert _say(memory, cache, 'a', [*wanted, 6]) == 90
    assert cache.spilled_bytes == 2 * 10 * BYTES, 'a came back, b and c are out'


def test_a_session_that_is_forgotten_leaves_nothing_behind() -> None:
    memory, cache = _cache(sessions=1, spill_bytes=1000)
    _say(memory, cache, 'a', [1] * 50)
    _say(memory, cache, 'b', [2] * 20)
    assert cache.spilled_bytes == 50 * BYTES
    cache.forget('a')
    assert cache.spilled_bytes == 0


def test_what_another_session_spilled_is_left_to_it() -> None:
    memory, cache = _cache(sessions=2, spill_bytes=1000)
    _say(memory, cache, 'a', [1] * 50)
    for session in 'bc':
        _say(memory, cache, session, [2, ord(session)] * 10)
    assert cache.spilled_bytes == 50 * BYTES
    # A few common tokens are not worth another's whole conversation.
    assert _say(memory, cache, 'd', [1] * 5 + [3] * 5) == 0
    assert _say(memory, cache, 'a', [1] * 50 + [4]) == 50


def test_a_running_goal_keeps_its_snapshot_before_idle_sessions_keep_theirs() -> None:
    memory = Memory(MemoryKind.RECURRENT)
    cache = KvCache(memory, memory.ids, CELLS)
    _say(memory, cache, 'idle', [1] * 40)
    _say(memory, cache, 'running', [2] * 30)
    _say(memory, cache, 'running', [2] * 40)
    cache.pin('running', True)
    cache.reserve(CELLS - 80 + 1)
    wanted = np.asarray([2] * 30 + [3], np.int32)
    assert cache.match('running', wanted, 30).length == 30
    assert cache.match('idle', np.asarray([1] * 40, np.int32), 39).length == 0


def test_what_does_not_fit_the_budget_is_not_spilled() -> None:
    memory, cache = _cache(sessions=1, spill_bytes=49 * BYTES)
    _say(memory, cache, 'a', [1] * 50)
    _say(memory, cache, 'b', [2] * 49)
    assert cache.spilled_bytes == 0
    _say(memory, cache, 'c', [3] * 10)
    assert cache.spilled_bytes == 49 * BYTES


def test_the_baseline_keeps_nothing() -> None:
    memory = Memory()
    cache = NoCache(memory, memory.ids, CELLS)
    for _ in range(2):
        assert _say(memory, cache, 'a', [1] * 20) == 0
        assert cache.free_cells == CELLS


def test_equal_hashes_of_other_tokens_are_no_match() -> None:
    index = PrefixIndex(lambda parent, block: 0)
    index.put(1, np.full(4 * BLOCK, 1, np.int32))
    index.put(2, np.full(4 * BLOCK, 2, np.int32))
    wanted = np.full(4 * BLOCK, 2, np.int32)
    assert list(index.candidates(wanted)) == [(2, 4 * BLOCK)]
    wanted[BLOCK] = 1
    assert list(index.candidates(wanted)) == [(2, BLOCK)]


def test_a_single_session_makes_way_for_the_next() -> None:
    """They share more than the prefix, so the only sequence is both the source and the target."""
    memory, cache = _cache(sessions=1)
    for session, length in (('a', 0), ('b', 2), ('b', 2), ('c', 2)):
        assert _say(memory, cache, session, [1, 2, ord(session)]) == length
