"""The ledger: what is known of every task and chunk, and the rules by which it changes. No I/O, no clock.

Events come in as method calls, what follows is returned. One rule, `plan`, serves the first run and every
recovery: walk back from what is wanted to what is needed, forward to what is missing. A slab is freed only
when no task that runs or is to run reads it; a completion counts only for the batch it was given out as.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..graph.access import distinct
from .arena import Arena
from .record import Input, Record, State

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from ..graph.grid import Index
    from ..graph.stage import Stage

FEW = 4
"""A stage has few tasks when there are no more than so many for each thread that computes."""
SPARE = 4
"""Tasks in a rank's queue that are left to it while others have something to do."""
BATCH_SECONDS = 0.02
FIRST_BYTES = 1 << 25
BATCH_BYTES = 1 << 24
PLENTY = 3 << 26
"""Bytes that an arena may hold beside what it held before, while what only frees its inputs is put off."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Tasks of one stage given to one rank: where their slabs go, and the attempt's number."""

    number: int
    rank: int
    record: Record
    tasks: Index
    offsets: Index


@dataclass(frozen=True, slots=True)
class Claim:
    """Chunks of a stage that one job is still to gather: `open` says which."""

    record: Record
    open: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Loss:
    """What a rank's death cost."""

    rank: int
    lost: int
    recomputed: int


class Ledger:
    """All stages, in an order in which inputs come before their readers."""

    def __init__(self, arenas: Sequence[int], threads: Sequence[int]) -> None:
        self.arenas = [Arena(size) for size in arenas]
        self.threads = list(threads)
        self.alive = [True] * len(arenas)
        self._before = [0] * len(arenas)
        self.records: dict[str, Record] = {}
        self.active: list[Record] = []
        self._leading: list[Record] = []
        self._touched: list[Record] = []
        self.batches: dict[int, Batch] = {}
        self.dropped: list[tuple[int, int]] = []
        self._number = 0
        self._files: dict[tuple[int, int], int] = {}
        self._doomed: list[tuple[set[int], int, int, int]] = []

    # ---------------------------------------------------------------- stages

    def add(self, stages: Iterable[Stage], in_place: bool) -> list[Stage]:
        """Enter stages that aren't known yet, and return them.

        `in_place` says whether data in the driver's memory can be read where it lies (else ranks are fed).
        """
        new = []
        for stage in stages:
            if stage.token in self.records:
                continue
            here = stage.data is not None and (in_place or stage.data.file is not None)
            record = Record(stage, in_place=here, cached=stage.data is not None and not here)
            others = [self.records[token] for token in stage.inputs]
            relations = stage.all_reads([other.stage.fold for other in others])
            for other, reads in zip(others, relations, strict=True):
                edge = Input(other, reads)
                record.inputs.append(edge)
                other.users.append((record, edge))
            if here:
                record.state[:] = State.STORED
                record.owner[:] = -2
                record.nstored = record.ntasks
            self.records[stage.token] = record
            new.append(stage)
        return new

    def hold(self, token: str) -> None:
        """Keep all chunks of a stage; they are wanted from the next `plan` on."""
        self.records[token].hold += 1

    def unhold(self, token: str) -> None:
        """Take a hold back; chunks that nobody reads any more are freed."""
        record = self.records.get(token)
        if record is not None and record.hold:
            record.hold -= 1
            if not record.hold and not record.complete:
                self.plan()
            self._sweep(record)

    def uncache(self, token: str) -> None:
        """Keep a stage's chunks no longer than they are read."""
        record = self.records.get(token)
        if record is not None:
            record.cached = False
            self._sweep(record)

    def evict(self) -> bool:
        """Free the cached chunks that nobody is to read now; return whether there were any."""
        before = sum(arena.used for arena in self.arenas)
        for record in self.records.values():
            if record.cached and not record.hold:
                self._free(record, np.flatnonzero((record.state == State.STORED) & (record.left <= 0)))
        return sum(arena.used for arena in self.arenas) < before

    def owe(self, token: str) -> Claim:
        """Note that all chunks of a stage are to be gathered to the user once."""
        record = self.records[token]
        record.gather += 1
        record.owed += record.ntasks
        return Claim(record, np.ones(record.ntasks, bool))

    def gathered(self, claim: Claim, tasks: Index | None = None) -> None:
        """Note that chunks (None: all that are left) have been gathered, or are not wanted any more."""
        record = claim.record
        tasks = np.flatnonzero(claim.open) if tasks is None else tasks[claim.open[tasks]]
        claim.open[tasks] = False
        record.gather[tasks] -= 1
        record.owed -= len(tasks)
        record.left[tasks] -= 1
        self._release(record, tasks)

    def forget(self) -> list[str]:
        """Drop stages that nothing held, owed or running depends on; return their tokens."""
        keep: set[str] = set()
        for token in reversed(self.records):
            record = self.records[token]
            if record.hold or record.cached or record.owed or record.nrunning or token in keep:
                keep.add(token)
                keep.update(edge.record.stage.token for edge in record.inputs)
        gone = [token for token in self.records if token not in keep]
        if gone:
            self._touched = [r for r in self._touched if r.stage.token in keep]
        for token in gone:
            record = self.records.pop(token)
            self._free(record, np.flatnonzero(record.state == State.STORED))
            for edge in record.inputs:
                edge.record.users = [u for u in edge.record.users if u[0] is not record]
        return gone

    # ---------------------------------------------------------------- planning

    def plan(self) -> int:
        """Find what has to run so that all that is held or owed is stored; return how many tasks wait."""
        if not self.batches:
            self._before = [arena.used for arena in self.arenas]
        need: dict[str, NDArray[np.bool_]] = {}
        fresh: dict[str, Index] = {}
        touched: dict[Record, None] = {}

        def touch(record: Record) -> None:
            if record not in touched:
                record.left[:] = record.gather
                touched[record] = None

        for record in self._touched:
            touch(record)
        for token in reversed(self.records):
            record = self.records[token]
            wanted = need.get(token)
            if (record.hold and not record.complete) or record.owed:
                owed = np.ones(record.ntasks, bool) if record.hold else record.gather > 0
                wanted = owed if wanted is None else wanted | owed
            if wanted is None and not record.nrunning:
                if record in touched:
                    self._idle(record)
                continue
            touch(record)
            running = record.state == State.RUNNING
            todo = running if wanted is None else (wanted & (record.state != State.STORED)) | running
            fresh[token] = np.flatnonzero(todo & ~running)
            tasks = np.flatnonzero(todo)
            for edge in record.inputs:
                other = edge.record
                touch(other)
                other.left += np.bincount(edge.reads.of(tasks), minlength=other.ntasks).astype(np.int32)
                if len(fresh[token]):
                    mask = need.setdefault(other.stage.token, np.zeros(other.ntasks, bool))
                    mask[edge.reads.of(fresh[token])] = True
        self.active = [self.records[token] for token in fresh]
        self._leading = self._leading_first()
        waiting = sum(self._wait(record.stage.token, fresh[record.stage.token]) for record in reversed(self.active))
        for record in touched:
            self._sweep(record)
        self._touched = list(touched)
        return waiting

    def _leading_first(self) -> list[Record]:
        """Return the active stages, but last those that lead to no other, and share an input with one that does.

        Where stages have few tasks, the longest chain tells how long it takes: among these, its begin goes first.
        """
        active = set(self.active)
        leading = {r for r in self.active if any(user in active for user, _ in r.users)}
        last = {
            r for r in active - leading if any(user in leading for edge in r.inputs for user, _ in edge.record.users)
        }
        height: dict[Record, int] = {}
        for r in self.active:
            height[r] = 1 + max((height[user] for user, _ in r.users if user in active), default=0)
        few = [r for r in self.active if r not in last and r.ntasks <= FEW * self._slots]
        longest = iter(sorted(few, key=height.__getitem__, reverse=True))
        among = set(few)
        return [next(longest) if r in among else r for r in self.active if r not in last] + [
            r for r in self.active if r in last
        ]

    def _idle(self, record: Record) -> None:
        record.state[record.is_waiting] = State.RELEASED
        record.clear_queues()

    def _wait(self, token: str, fresh: Index) -> int:
        record = self.records[token]
        self._idle(record)
        record.missing[fresh] = 0
        for edge in record.inputs:
            rows = edge.reads
            absent = edge.record.state[rows.of(fresh)] != State.STORED
            row = np.repeat(np.arange(len(fresh)), rows.lengths[fresh])
            record.missing[fresh] += np.bincount(row[absent], minlength=len(fresh)).astype(np.int32)
        record.state[fresh] = State.WAITING
        self._enqueue(record, fresh[record.missing[fresh] == 0])
        return len(fresh)

    def _enqueue(self, record: Record, tasks: Index) -> None:
        if len(tasks):
            record.enqueue(tasks, self._preferred(record, tasks))

    def _preferred(self, record: Record, tasks: Index) -> NDArray[np.int64]:
        """Return the rank each task should run on: where its first input lies, else one of equal runs.

        It doesn't tell where more of its chunks are read than there are ranks, and the first and the last are apart: an
        exchange of all with all would run on one rank.
        """
        ranks = np.array([r for r, ok in enumerate(self.alive) if ok])
        dealt: NDArray[np.int64] = ranks[tasks * len(ranks) // max(1, record.ntasks)]
        if record.inputs and len(ranks) > 1 and len(record.inputs[0].reads.items):
            edge = record.inputs[0]
            begin, count = edge.reads.start[tasks], edge.reads.lengths[tasks]
            ends = np.minimum([begin, begin + np.maximum(count, 1) - 1], len(edge.reads.items) - 1)
            owner, other = edge.record.owner[edge.reads.items[ends]].astype(np.int64)
            alive = np.array([*self.alive, False, False])[owner]
            tells = (count > 0) & ((owner == other) | (count <= len(ranks)))
            return np.where(tells & alive & (owner >= 0), owner, dealt)
        return dealt

    # ---------------------------------------------------------------- running

    def take(self, rank: int, ahead: bool = False) -> Batch | None:
        """Give out ready tasks to a rank, the latest stages first; None when none is ready or none fits.

        While little memory is used, what others wait for goes before what only frees its inputs. Tasks to be run
        `ahead`, after what the rank has, aren't taken from other ranks' short queues, since these may well be quicker,
        but from an earlier stage if need be.
        """
        arena, before = self.arenas[rank], self._before[rank]
        little = arena.used - before < min((arena.size - before) // 2, PLENTY)
        for record in self._leading if little else self.active:
            if record.nready and not (rank == 0 and record.deaths and any(self.alive[1:])):  # the driver dies last
                tasks = record.dequeue(rank, self._share(record), SPARE if ahead else 0)
                if not len(tasks):
                    continue
                offsets = self._place(rank, record, tasks)
                if len(offsets) < len(tasks):
                    record.put_back(rank, tasks[len(offsets) :])
                if len(offsets):
                    return self._give(rank, record, tasks[: len(offsets)], offsets)
        return None

    @property
    def _slots(self) -> int:
        return sum(t for t, ok in zip(self.threads, self.alive, strict=True) if ok)

    def _share(self, record: Record) -> int:
        fair = min(-(-record.nready // (2 * self._slots)), max(1, BATCH_BYTES // max(1, int(record.bytes[0]))))
        if record.seconds:
            return max(1, min(fair, int(BATCH_SECONDS / record.seconds)))
        stage = record.stage
        if stage.costly:
            return 1
        work = stage.domain.largest * stage.dtype.itemsize * int(np.prod(stage.groups)) * stage.fold
        return max(1, min(fair, FIRST_BYTES // max(1, work)))

    def _place(self, rank: int, record: Record, tasks: Index) -> Index:
        sizes = record.bytes[tasks]
        if (
            len(tasks) > 1
            and not np.ptp(sizes)
            and (base := self.arenas[rank].take_run(int(sizes[0]), len(tasks))) is not None
        ):
            return base + np.arange(len(tasks)) * Arena.padded(int(sizes[0]))
        offsets = []
        for nbytes in sizes.tolist():
            offset = self.arenas[rank].take(nbytes)
            if offset is None:
                break
            offsets.append(offset)
        return np.array(offsets, np.int64)

    def _give(self, rank: int, record: Record, tasks: Index, offsets: Index) -> Batch:
        self._number += 1
        batch = Batch(self._number, rank, record, tasks, offsets)
        self.batches[batch.number] = batch
        record.state[tasks] = State.RUNNING
        record.owner[tasks] = rank
        record.offset[tasks] = offsets
        record.source[tasks] = -1
        record.nrunning += len(tasks)
        return batch

    def done(self, number: int, seconds: float) -> tuple[Record, Index] | None:
        """Note that a batch is stored; return what is stored now, None for a batch that doesn't count."""
        batch = self.batches.pop(number, None)
        if batch is None:
            return None
        record, tasks = batch.record, batch.tasks
        each = seconds / len(tasks)
        record.seconds = each if not record.seconds else (record.seconds + each) / 2
        record.state[tasks] = State.STORED
        record.nrunning -= len(tasks)
        record.nstored += len(tasks)
        for user, edge in record.users:
            self._arrived(user, edge.readers.of(tasks))
        for edge in record.inputs:
            self._read(edge, tasks)
        self._release(record, tasks)
        self._bury(number)
        return record, tasks

    def _arrived(self, user: Record, readers: Index) -> None:
        np.subtract.at(user.missing, readers, 1)
        readers = distinct(readers)
        ready = readers[(user.missing[readers] == 0) & (user.state[readers] == State.WAITING)]
        self._enqueue(user, ready)

    def _read(self, edge: Input, tasks: Index) -> None:
        items = edge.reads.of(tasks)
        np.subtract.at(edge.record.left, items, 1)
        if not edge.record.kept:
            self._release(edge.record, distinct(items) if len(tasks) > 1 else items)

    def refused(self, number: int) -> None:
        """Note that a batch came to nothing (its inputs could not be read, or it failed); `plan` next."""
        batch = self.batches.pop(number, None)
        if batch is None:
            return
        record = batch.record
        record.state[batch.tasks] = State.LOST
        record.nrunning -= len(batch.tasks)
        for offset, nbytes in zip(batch.offsets.tolist(), record.bytes[batch.tasks].tolist(), strict=True):
            self.arenas[batch.rank].give(offset, nbytes)
        self._bury(number)

    # ---------------------------------------------------------------- releasing

    def _sweep(self, record: Record) -> None:
        if record.nstored and not record.kept:
            self._free(record, np.flatnonzero((record.state == State.STORED) & (record.left <= 0)))

    def _release(self, record: Record, tasks: Index) -> None:
        if not record.kept:
            self._free(record, tasks[(record.left[tasks] <= 0) & (record.state[tasks] == State.STORED)])

    def _free(self, record: Record, tasks: Index) -> None:
        if not len(tasks) or record.in_place:
            return
        record.state[tasks] = State.RELEASED
        record.nstored -= len(tasks)
        columns = (record.owner[tasks], record.offset[tasks], record.source[tasks], record.bytes[tasks])
        for rank, offset, source, nbytes in zip(*(c.tolist() for c in columns), strict=True):
            if source < 0:
                self.arenas[rank].give(offset, nbytes)
            else:
                self._leave_file(rank, source)

    def _leave_file(self, rank: int, source: int) -> None:
        self._files[rank, source] -= 1
        if not self._files[rank, source]:
            del self._files[rank, source]
            self.dropped.append((rank, source))

    # ---------------------------------------------------------------- loss and spill

    def lose(self, rank: int) -> Loss:
        """Note a rank's death: what it held is lost, what it ran will be run again; plans anew."""
        self.alive[rank] = False
        before = self.waiting()
        lost = again = 0
        for record in self.records.values():
            mine = record.owner == rank
            stored = mine & (record.state == State.STORED)
            running = mine & (record.state == State.RUNNING)
            lost += int(stored.sum())
            again += int(running.sum())
            record.nstored -= int(stored.sum())
            record.nrunning -= int(running.sum())
            record.state[stored | running] = State.LOST
        for batch in self.batches.values():
            if batch.rank == rank and batch.record.stage.foreign:
                for task in batch.tasks.tolist():
                    batch.record.deaths[task] = batch.record.deaths.get(task, 0) + 1
        self.batches = {n: b for n, b in self.batches.items() if b.rank != rank}
        self._doomed = [d for d in self._doomed if d[1] != rank]
        self._files = {k: n for k, n in self._files.items() if k[0] != rank}
        self._bury(-1)
        self.plan()
        return Loss(rank, lost, max(0, self.waiting() - before - again))

    def waiting(self) -> int:
        """Number of tasks that wait or are ready."""
        return sum(int(r.is_waiting.sum()) for r in self.records.values())

    def victims(self, rank: int, nbytes: int) -> list[tuple[Record, Index]]:
        """Return about `nbytes` of stored slabs of a rank that could go to disk: held ones, oldest first.

        What is being gathered stays where it is: the user's thread copies it, and then it goes.
        """
        found = []
        for record in sorted(self.records.values(), key=lambda r: r.hold == 0):
            mine = np.flatnonzero((record.owner == rank) & record.in_arena & (record.gather == 0) & (not record.viewed))
            if not len(mine) or nbytes <= 0:
                continue
            total = np.cumsum(record.bytes[mine])
            some = mine[: int(np.searchsorted(total, nbytes)) + 1]
            found.append((record, some))
            nbytes -= int(record.bytes[some].sum())
        return found

    def gathering(self) -> bool:
        """Whether some chunk is about to be gathered: memory may come free without more ado."""
        return any(r.owed and bool(r.gather[r.state == State.STORED].any()) for r in self.records.values())

    def spilled(self, rank: int, record: Record, tasks: Index, offsets: Index, source: int, places: Index) -> None:
        """Note that slabs are in a spill file now; their arena ranges go when all that runs now has ended."""
        current = record.in_arena[tasks] & (record.owner[tasks] == rank) & (record.offset[tasks] == offsets)
        current &= record.gather[tasks] == 0
        tasks, offsets, places = tasks[current], offsets[current], places[current]
        record.source[tasks] = source
        record.offset[tasks] = places
        if len(tasks):
            self._files[rank, source] = len(tasks)
        else:
            self.dropped.append((rank, source))
        for offset, nbytes in zip(offsets.tolist(), record.bytes[tasks].tolist(), strict=True):
            self._doomed.append((set(self.batches), rank, offset, nbytes))
        self._bury(-1)

    def _bury(self, number: int) -> None:
        rest = []
        for readers, rank, offset, nbytes in self._doomed:
            readers.discard(number)
            readers &= self.batches.keys()
            if readers:
                rest.append((readers, rank, offset, nbytes))
            else:
                self.arenas[rank].give(offset, nbytes)
        self._doomed = rest
