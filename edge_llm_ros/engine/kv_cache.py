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

"""Which session has which sequence: finds, forks, pins, evicts and brings back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import time

from edge_llm_ros.engine.prefix_index import as_ids, common_prefix, Ids
from edge_llm_ros.engine.sequences import PREFIX, SequenceMemory, Sequences
from edge_llm_ros.engine.spill import Spill, Spilled
from edge_llm_ros.flow.engine import MemoryKind
from edge_llm_ros.flow.errors import ContextFull

_EVICTIONS_KEPT = 256
_EVICTED = 'this session was evicted from the KV cache'
_SMALLEST_CUT = 64  # cells that are freed at once at least, so that not every decode evicts


@dataclass(frozen=True)
class Match:
    """Where the longest resident prefix of some tokens lies, as far as it can be used."""

    sequence: int
    length: int


@dataclass(frozen=True)
class Lease:
    """
    A sequence held for one request.

    :param length: how many of the request's tokens are in it
    :param lost: why it is fewer than were there once; empty where it is not
    """

    sequence: int
    length: int
    lost: str = ''


def sequences_for(kind: MemoryKind, sessions: int) -> int:
    """
    Return how many sequence ids a context needs.

    Beside the prefix and the sessions: a spare one to read a part of a sequence through, or, where
    memory cannot be cut, a snapshot for each session.
    """
    return 2 + sessions if kind is MemoryKind.FULL else 1 + 2 * sessions


class KvCache:
    """
    The sequences of a context with unified cells, sharing prefixes without copies.

    Sequence 0 is the pinned prefix. Each other one belongs to a session. Idle ones are evicted in
    order of least recent use, from their end, so that what sessions share goes last. Where memory
    cannot be cut, the state at the start of a session's turn is kept as a sequence of its own, so
    a turn that is given up goes back to it.

    :param memory: the model's memory, which is told of every change
    :param sequences: sequence ids; see sequences_for()
    :param cells: KV cells of the context
    :param spill_bytes: host memory for evicted sessions; 0 for none
    :param session_ttl: seconds after which an idle session is dropped; 0 for never
    :param clock: in seconds
    """

    def __init__(self, memory: SequenceMemory, sequences: int, cells: int, spill_bytes: int = 0,
                 session_ttl: float = 0.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._memory = memory
        full = memory.kind is MemoryKind.FULL
        self._spare = sequences - 1 if full else None
        self._sequences = Sequences(memory, sequences - full, cells)
        self._spill = Spill(spill_bytes if full else 0)
        self._ttl = session_ttl
        self._clock = clock
        self._turn = 0
        self._ready: int | None = None  # a fork of the whole prefix that no session has yet
        self._pinned: set[str] = set()
        # What sessions had when they were evicted, and why they were.
        self._evicted: dict[str, tuple[Ids, str]] = {}

    @property
    def sequences(self) -> int:
        """Return the number of sequence ids, the spare one excluded."""
        return len(self._sequences)

    @property
    def free_cells(self) -> int:
        """Return the cells that no sequence holds."""
        return self._sequences.free_cells

    @property
    def spilled_bytes(self) -> int:
        """Return the host memory that evicted sessions take."""
        return self._spill.bytes

    def tokens(self, sequence: int) -> Ids:
        """Return the evaluated tokens of a sequence."""
        return self._sequences[sequence].tokens

    def match(self, session: str | None, tokens: Ids, keep: int) -> Match:
        """
        Find the longest resident prefix of some tokens that can be used; changes nothing.

        The session's own sequence wins a tie, then the prefix.

        :param keep: resident tokens to use at most
        """
        best, rank = Match(PREFIX, 0), (0, 0)
        for number, shared in self._sequences.index.candidates(tokens, PREFIX):
            length = min(shared, keep)
            if length < best.length:
                break
            own = 2 * (session is not None and self._is_own(number, session))
            if ((length, own + (number == PREFIX)) > rank
                    and self._memory.can_cut(number, length)):
                best, rank = Match(number, length), (length, own + (number == PREFIX))
        return best

    def lease(self, session: str, tokens: Sequence[int] | Ids, keep: int) -> Lease:
        """
        Give a session a sequence that starts with as many resident tokens as possible.

        :param keep: resident tokens to use at most
        :raises ContextFull: if every sequence is leased
        """
        self.expire()
        ids = as_ids(tokens)
        self._bring_back(session, ids, keep)
        match = self.match(session, ids, keep)
        lost = self._lost(session, ids, match)
        own = self._own(session)
        if own is not None and own == match.sequence:
            number = own
            self.cut(own, match.length)
        else:
            if own is not None:
                self._sequences.drop(own)
            number = self._fork_or_take(match.sequence, match.length)
        sequence = self._sequences[number]
        self._turn += 1
        sequence.session, sequence.snapshot, sequence.leased = session, False, True
        sequence.turn, sequence.time = self._turn, self._clock()
        self._evicted.pop(session, None)
        if self._memory.kind is not MemoryKind.FULL:
            self._keep_snapshot(number, match.sequence)
        return Lease(number, match.length, lost)

    def release(self, number: int) -> None:
        """End a lease; the sequence stays until its room is needed."""
        self._sequences[number].leased = False
        self._sequences[number].time = self._clock()
        self.prepare()

    def prepare(self) -> None:
        """
        Have a fork of the prefix ready for the next new session, where an id is unused.

        llama.cpp goes over all cells for a fork, so it is made while nobody waits.
        """
        length = len(self._sequences[PREFIX].tokens)
        if self._ready is None and length:
            unused = self._unused()
            if unused is not None:
                self.fork(PREFIX, unused, length)
                self._ready = unused

    def pin(self, session: str, pinned: bool) -> None:
        """Say whether a goal of this session is running: what is pinned is never evicted."""
        (self._pinned.add if pinned else self._pinned.discard)(session)
        for _, sequence in self._sequences.of_sessions():
            if sequence.session == session:
                sequence.time = self._clock()  # idle only from now on

    def forget(self, session: str) -> None:
        """Drop a session's sequences, if it has any."""
        self._evicted.pop(session, None)
        self._pinned.discard(session)
        self._spill.forget(session)
        for number, sequence in list(self._sequences.of_sessions()):
            if sequence.session == session and not sequence.leased:
                self._sequences.drop(number)

    def reserve(self, count: int) -> None:
        """
        Make sure that some cells are free, evicting what is not in use.

        :raises ContextFull: if that does not free enough
        """
        while (missing := count - self.free_cells) > 0:
            if not self.evict(missing):
                raise ContextFull(
                    f'{count} more tokens do not fit into {self._sequences.cells} KV cells '
                    f'({self.free_cells} free, nothing left to evict).')

    def evict(self, cells: int | None = None) -> bool:
        """
        Free cells of what was used longest ago and is neither leased nor pinned.

        Snapshots of idle sessions go first, if that frees anything: they go on without. Those of
        running ones go last.

        :param cells: how many are needed; without, the whole sequence goes
        :returns: False where there is nothing to evict
        """
        order = sorted((rank, s.turn, n) for n, s in self._sequences.of_sessions()
                       if (rank := self._eviction_rank(n, cells)) is not None)
        if not order:
            return False
        number = order[0][-1]
        sequence = self._sequences[number]
        if not sequence.snapshot:
            self._note_eviction(str(sequence.session), sequence.tokens)
        length = self._spilled_or_cut(number, cells)
        if length > self._sequences.shared(number):
            self.cut(number, length)
        else:
            self._sequences.drop(number)
        return True

    def _eviction_rank(self, number: int, cells: int | None) -> int | None:
        """Return how soon a sequence is to be evicted; None for never."""
        sequence = self._sequences[number]
        if not sequence.snapshot:
            in_use = sequence.leased or sequence.session in self._pinned
            return None if in_use else 1
        if sequence.leased or cells is not None and not len(self._sequences.private(number)):
            return None
        own = self._own(str(sequence.session))
        running = sequence.session in self._pinned or (
            own is not None and self._sequences[own].leased)
        return 2 if running else 0

    def expire(self) -> None:
        """Drop sessions that were idle for longer than session_ttl."""
        if self._ttl:
            oldest = self._clock() - self._ttl
            for number, sequence in list(self._sequences.of_sessions()):
                if (not sequence.leased and sequence.session not in self._pinned
                        and sequence.time < oldest):
                    self._note_eviction(str(sequence.session), sequence.tokens)
                    self._sequences.drop(number)

    def extend(self, number: int, tokens: Sequence[int]) -> None:
        """Record that tokens were evaluated at the end of a sequence."""
        self._sequences.extend(number, tokens)

    def cut(self, number: int, length: int) -> None:
        """Drop the tokens of a sequence from ``length`` on."""
        self._sequences.cut(number, length)

    def fork(self, source: int, target: int, length: int) -> None:
        """Let an unused sequence share the first cells of another; none is copied."""
        self._sequences.fork(source, target, length)

    def drop(self, number: int) -> None:
        """Empty a sequence; its id is free."""
        self._sequences.drop(number)

    def lose(self, number: int, reason: str) -> None:
        """Empty a leased sequence whose memory is of no use any more."""
        sequence = self._sequences[number]
        if sequence.session is not None:
            self._note_eviction(sequence.session, sequence.tokens, reason)
        self.cut(number, 0)

    def clear_sessions(self) -> None:
        """Drop everything but the prefix."""
        for number in range(1, len(self._sequences)):
            self._sequences.drop(number)
        self._ready = None
        self._spill.clear()
        self._evicted.clear()

    def clear(self) -> None:
        """Drop everything, the prefix and what was spilled included."""
        self.clear_sessions()
        self._sequences.drop(PREFIX)

    def _is_own(self, number: int, session: str) -> bool:
        sequence = self._sequences[number]
        return sequence.session == session and not sequence.snapshot

    def _own(self, session: str) -> int | None:
        return next((n for n in range(1, len(self._sequences)) if self._is_own(n, session)), None)

    def _note_eviction(self, session: str, tokens: Ids, reason: str = _EVICTED) -> None:
        if session not in self._evicted or len(self._evicted[session][0]) < len(tokens):
            self._evicted[session] = tokens, reason
        while len(self._evicted) > _EVICTIONS_KEPT:
            del self._evicted[next(iter(self._evicted))]

    def _lost(self, session: str, tokens: Ids, match: Match) -> str:
        """Return why more is evaluated again than an ideal cache would; empty if it is not."""
        had, reason = self._evicted.get(session, (None, ''))
        if had is not None and common_prefix(had, tokens) > match.length:
            return reason
        own = self._own(session)
        have = self._sequences[PREFIX if own is None else own].tokens
        shared = min(common_prefix(have, tokens), len(tokens) - 1)
        if shared > match.length:
            kind = self._memory.kind.name.lower()
            return (f'the {kind} memory of this model cannot be cut back from {len(have)} to '
                    f'{shared} tokens')
        return ''

    def _fork_or_take(self, source: int, length: int) -> int:
        """Return a copy of a sequence's start, or itself where no id is left."""
        origin = self._sequences[source]
        if source == PREFIX and self._ready is not None and length == len(origin.tokens):
            number, self._ready = self._ready, None
            return number
        leased = origin.leased
        origin.leased = True  # must not be evicted to make room for its own copy
        try:
            number = self._vacate()
        except ContextFull:
            if leased or source == PREFIX or origin.session in self._pinned:
                raise
            self._note_eviction(str(origin.session), origin.tokens)
            self._spill_out(source)
            self.cut(source, length)
            return source
        finally:
            origin.leased = leased
        self.fork(source, number, length)
        return number

    def _vacate(self) -> int:
        """Return an unused sequence id, evicting a session where there is none."""
        while (number := self._unused()) is None:
            if self._ready is not None:
                self._sequences.drop(self._ready)
                self._ready = None
            elif not self.evict():
                raise ContextFull('every session of the KV cache is in use; raise max_sessions.')
        return number

    def _unused(self) -> int | None:
        """Return a sequence id that holds nothing; None where there is none."""
        return next((n for n in range(1, len(self._sequences)) if n != self._ready
                     and self._sequences[n].session is None
                     and not self._sequences[n].leased), None)

    def _keep_snapshot(self, number: int, source: int) -> None:
        """Keep the start of a turn, unless it is kept already."""
        sequence = self._sequences[number]
        kept = self._sequences[source]
        if source == PREFIX or kept.snapshot and kept.session == sequence.session:
            return
        for other, candidate in list(self._sequences.of_sessions()):
            if candidate.snapshot and candidate.session == sequence.session:
                self._sequences.drop(other)
        try:
            target = self._vacate()
        except ContextFull:
            return  # no id is left: a turn that is given up is evaluated again
        self.fork(number, target, len(sequence.tokens))
        snapshot = self._sequences[target]
        snapshot.session, snapshot.snapshot = sequence.session, True
        snapshot.turn, snapshot.time = sequence.turn, sequence.time

    def _spilled_or_cut(self, number: int, cells: int | None) -> int:
        """Return to what length a sequence is cut to free cells, after spilling it if it may."""
        sequence = self._sequences[number]
        if sequence.snapshot or self._memory.kind is not MemoryKind.FULL:
            return 0
        if self._spill_out(number) or cells is None:
            return 0
        private = self._sequences.private(number)
        needed = max(cells, _SMALLEST_CUT)
        return int(private[-needed]) if len(private) > needed else 0

    def _spill_out(self, number: int) -> bool:
        """Copy the private part of a sequence to host memory, if that has room for it."""
        sequence, start = self._sequences[number], self._sequences.shared(number)
        length = len(sequence.tokens)
        if self._spare is None or start == length or not self._spill.limit:
            return False
        self._memory.copy_sequence(number, self._spare, length, start)
        try:
            if not self._spill.make_room(self._memory.state_bytes(self._spare)):
                return False
            self._spill.put(Spilled(str(sequence.session), sequence.tokens, start,
                                    self._memory.sequence_state(self._spare)))
            return True
        finally:
            self._memory.cut_sequence(self._spare, 0)

    def _bring_back(self, session: str, tokens: Ids, keep: int) -> None:
        """Restore a spilled sequence where that saves evaluating tokens."""
        if not self._spill.bytes:
            return
        name, shared = self._spill.match(tokens)
        gain = min(shared, keep) - self.match(session, tokens, keep).length
        if gain <= 0:
            return
        spilled = self._spill.entry(name)
        # Another's is worth it only where most of it is used: it is gone for the other then.
        if spilled.session != session and 2 * gain < len(spilled.tokens) - spilled.start:
            return
        own = self._own(session)
        if own is not None:
            self._sequences.drop(own)
        with self._spill.held(name):
            number = self._vacate()
            self._sequences[number].leased = True
            try:
                self.reserve(len(spilled.tokens) - spilled.start)
                self._restore(number, session, spilled)
            except ContextFull:
                self._sequences.drop(number)
            self._sequences[number].leased = False
        self._spill.take(name)

    def _restore(self, number: int, session: str, spilled: Spilled) -> None:
        """Fill an unused sequence with the prefix and what was spilled."""
        start = spilled.start
        if self._memory.restore_sequence(number, spilled.state, len(spilled.tokens)):
            if start:
                self._memory.copy_sequence(PREFIX, number, start)
            self._sequences.restored(number, spilled.tokens, start)
            self._sequences[number].session = session
            self._evicted.pop(session, None)

    def check_integrity(self) -> None:
        """
        Account for every sequence id and every cell.

        :raises AssertionError: if something is counted wrongly or belongs to nobody
        """
        self._sequences.check_integrity()
        owners = [(h.session, h.snapshot) for _, h in self._sequences.of_sessions()]
        assert len(set(owners)) == len(owners), 'two sequences of one session'
        for number in range(1, len(self._sequences)):
            holding = self._sequences[number]
            assert (holding.session is not None or not len(holding.tokens)
                    or number == self._ready), 'nobody owns a sequence'


class NoCache(KvCache):
    """The baseline: every request evaluates all of its tokens, and nothing stays."""

    def match(self, session: str | None, tokens: Ids, keep: int) -> Match:
        """Find nothing."""
        return Match(PREFIX, 0)

    def release(self, number: int) -> None:
        """End a lease and drop the sequence."""
        super().release(number)
        self._sequences.drop(number)
