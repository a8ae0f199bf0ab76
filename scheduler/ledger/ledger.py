"""The ledger: what is known of every task and chunk, and the rules by which it changes. No I/O, no clock.

Events come in as method calls, what follows is returned. One rule, `plan`, serves the first run and every
recovery: walk back from what is newly wanted to what is stored, or planned already, and no further. What isn't wanted
any more is given up by the same walk. A slab is freed only when no task that runs or is to run reads it; a completion
counts only for the batch it was given out as.

A persisted array keeps the records that it was made from, so that a lost chunk can be computed again, however long
its history is. Planning doesn't look at them. A rank's death looks at the records that have slabs, whose tasks wait or
run, or that are wanted, and walks back from there only as far as chunks are missing.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from ...graph.few import add_each, distinct
from ..admission.admission import PLENTY, arrange
from ..admission.batch_size import batch_size
from ..admission.io_slots import Readings
from ..admission.poison_detector import Suspicion
from ..admission.promises import Promises
from .gangs import Gangs, place_members
from .lineage import Timings
from .planning import Stopped, demand, never
from .ready_queue import SPARE, ReadyRecords, set_leading
from .slabs import Slabs
from .stage_record import Batch, ChunkState, Claim, Loss, StageRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ...graph.chunks.grid import Index
    from ...graph.lowering.stage import Reads, Stage
    from ..admission.poison_detector import Deadly
    from .gangs import GangRun
    from .planning import Mask


class Ledger:
    """All stages, in an order in which inputs come before their readers; `arenas` are the bytes of each rank's."""

    def __init__(self, arenas: Sequence[int], threads: Sequence[int]) -> None:
        self.threads = list(threads)
        self.alive = [True] * len(arenas)
        self.records: dict[str, StageRecord] = {}
        self.holding: dict[StageRecord, None] = {}
        """Records that have slabs."""
        self.active: dict[StageRecord, None] = {}
        """Records whose tasks wait or run."""
        self.forgettable: dict[StageRecord, None] = {}
        """Records to look at, when there is a chance, whether they may be forgotten."""
        self.ready = ReadyRecords(len(arenas))
        self.slabs = Slabs(arenas)
        self.arenas = self.slabs.arenas
        self.batches: dict[int, Batch] = {}
        self.given: list[dict[int, Batch]] = [{} for _ in arenas]
        """Each rank's batches, the oldest first."""
        self.strays: dict[int, Batch] = {}
        """Batches that nobody wants any more, and that can't be interrupted: each is left to its thread."""
        self.void: set[int] = set()
        """Batches that run, and don't count: what they did to arrays that all ranks write has been undone."""
        self.ended: list[tuple[int, bool]] = []
        """Batches that have ended, and whether what they made counts; taken by who undoes what the others did."""
        self.gangs = Gangs(len(arenas))
        self.readings = Readings(self.arenas, threads)
        self.suspicion, self.promises = Suspicion(), Promises()
        self.anchors: dict[StageRecord, Stage] = {}
        """Copies that aren't there yet, or were just made, and what makes the arrays from them; see
        `lineage_checkpoint`."""
        self.timings = Timings()
        self._wanted: dict[StageRecord, None] = {}
        self._awaited: list[StageRecord] = []
        """What somebody waits for since the last plan."""
        self._pending: dict[StageRecord, Mask] = {}
        self._refused: list[tuple[StageRecord, Index]] = []
        self._before = [0] * len(arenas)
        """Bytes in use before anything ran."""
        self._stages = self._number = 0

    @property
    def has_work(self) -> bool:
        """Whether something waits or runs, or is to be told."""
        return bool(self.active or self.slabs.dropped or self.suspicion)

    @property
    def only_gangs(self) -> bool:
        """Whether nothing runs, but for gangs, which may take long."""
        return len(self.batches) == sum(self.gangs.counts)

    @property
    def _slots(self) -> int:
        return sum(t for t, ok in zip(self.threads, self.alive, strict=True) if ok)

    # ---------------------------------------------------------------- stages

    def add(
        self,
        stages: Iterable[Stage],
        in_place: bool,
        reads: Mapping[str, Reads] | None = None,
        stop: Callable[[], bool] = never,
    ) -> list[Stage]:
        """Enter stages that aren't known yet, and return them; Stopped is raised when `stop` says so.

        `in_place` says whether data in the driver's memory can be read where it lies (else ranks are fed). `reads` may
        have what stages read, found beforehand for inputs of the sizes that it names.
        """
        new: list[Stage] = []
        for stage in stages:
            if stage.token in self.records:
                continue
            if stop():
                raise Stopped
            here = stage.data is not None and (in_place or stage.data.file is not None)
            self._stages += 2  # what an array is copied to goes between, in the end
            record = StageRecord(stage, self._stages, in_place=here, cached=stage.data is not None and not here)
            record.slow = stage.data is not None and stage.data.slow
            others = [self.records[token] for token in stage.inputs]
            sizes = tuple(other.stage.blocks_per_task for other in others)
            known = (reads or {}).get(stage.token)
            record.connect(others, known[1] if known is not None and known[0] == sizes else stage.all_reads(sizes))
            if here:
                record.state[:] = ChunkState.STORED
                record.owner[:] = -2
                record.nstored = record.ntasks
            self.records[stage.token] = record
            self.forgettable[record] = None
            if stage.gang is not None:
                self.gangs.records[record] = None
            new.append(stage)
        return new

    def forget(self) -> list[str]:
        """Drop stages that nothing held, owed or running depends on; return their tokens."""
        gone: list[str] = []
        candidates = list(self.forgettable)
        self.forgettable.clear()
        while candidates:
            record = candidates.pop()
            token = record.stage.token
            if not record.idle or self.records.get(token) is not record:
                continue
            del self.records[token]
            self.gangs.records.pop(record, None)
            gone.append(token)
            self.timings.note(record)
            self._free(record, np.flatnonzero(record.state == ChunkState.STORED))
            for edge in record.inputs:
                del edge.record.users[record]
                candidates.append(edge.record)
        return gone

    # ---------------------------------------------------------------- what is wanted

    def hold(self, token: str, restore: Stage | None = None) -> None:
        """Keep all chunks of a stage, wanted from the next `plan` on; `restore` makes what they are copies of."""
        record = self.records[token]
        if restore is not None:
            self.anchors[record] = restore
        record.hold += 1
        self._want(record, np.ones(record.ntasks, bool))

    def unhold(self, token: str) -> None:
        """Take a hold back; chunks that nobody reads any more are freed."""
        record = self.records.get(token)
        if record is not None and record.hold:
            record.hold -= 1
            self._unwant(record, np.arange(record.ntasks))

    def uncache(self, token: str) -> None:
        """Keep a stage's chunks no longer than they are read."""
        record = self.records.get(token)
        if record is not None:
            record.cached = False
            self._unwant(record, np.arange(record.ntasks))

    def evict(self) -> bool:
        """Free the cached chunks that nobody is to read now; return whether there were any."""
        before = sum(arena.used for arena in self.arenas)
        for record in list(self.holding):
            if record.cached and not record.hold:
                self._free(record, np.flatnonzero((record.state == ChunkState.STORED) & (record.readers_left <= 0)))
        return sum(arena.used for arena in self.arenas) < before

    def owe(self, token: str) -> Claim:
        """Note that all chunks of a stage are to be gathered to the user once; wanted from the next `plan` on."""
        record = self.records[token]
        record.gathers += 1
        record.readers_left += 1
        record.gathers_owed += record.ntasks
        claim = Claim(record, np.ones(record.ntasks, bool))
        self._want(record, claim.open.copy())
        self._awaited.append(record)
        return claim

    def watch(self, tokens: Iterable[str]) -> None:
        """Note that somebody waits for stages that are held."""
        self.ready.turns.begin()
        for record in filter(None, map(self.records.get, tokens)):
            record.watched = True
            self.ready.press((record,))

    def note_gathered(self, claim: Claim, tasks: Index | None = None) -> None:
        """Note that chunks (None: all that are left) have been gathered, or are not wanted any more."""
        record = claim.record
        tasks = np.flatnonzero(claim.open) if tasks is None else tasks[claim.open[tasks]]
        claim.open[tasks] = False
        record.gathers[tasks] -= 1
        record.gathers_owed -= len(tasks)
        record.readers_left[tasks] -= 1
        self._unwant(record, tasks)

    def _want(self, record: StageRecord, tasks: Mask) -> None:
        self._wanted[record] = None
        if record in self._pending:
            tasks |= self._pending[record]
        self._pending[record] = tasks

    def _unwant(self, record: StageRecord, tasks: Index) -> None:
        if not record.hold and not record.gathers_owed:
            self._wanted.pop(record, None)
        self._prune(record, tasks)
        self.forgettable[record] = None

    def is_unwanted(self, batch: Batch) -> bool:
        """Whether nobody is to read what a batch makes."""
        return not batch.record.kept and not batch.record.is_read(batch.tasks).any()

    # ---------------------------------------------------------------- planning

    def plan(self, stop: Callable[[], bool] = never) -> int:
        """Find what has to run so that what is newly wanted is stored; return how many tasks that are.

        Stopped is raised when `stop` says so: what was wanted must be taken back at once then.
        """
        if self.only_gangs:
            self._before = [arena.used for arena in self.arenas]
        for record, tasks in self._refused:
            wanted = np.ones(len(tasks), bool) if record.hold else record.is_read(tasks)
            record.unread_inputs(tasks[wanted])
            mask = self._pending.setdefault(record, np.zeros(record.ntasks, bool))
            mask[tasks[wanted]] = True
            self._end_reads(record, tasks[~wanted])
        self._refused.clear()
        need, self._pending = self._pending, {}
        for record, mask in need.items():
            if not record.hold:
                mask &= record.is_read(np.arange(record.ntasks))
        fresh, begun = demand(need, self.active, stop)
        set_leading(begun, self._slots)
        if len(fresh) > 1:
            room = sum(arena.free for arena, ok in zip(self.arenas, self.alive, strict=True) if ok)
            arrange(fresh, room, self._slots, sum(self.alive))
        awaited, self._awaited = self._awaited, []
        self.ready.press_planned(fresh, awaited)
        for record, tasks in fresh.items():
            self._enqueue(record, tasks[record.inputs_missing[tasks] == 0])
        return sum(map(len, fresh.values()))

    def _plan_again(self) -> None:
        """Plan all that is wanted anew: stored chunks have been lost."""
        touched: dict[StageRecord, None] = {}
        for record, tasks in self._refused:
            touched.update(dict.fromkeys(edge.record for edge in record.inputs))
            record.unread_inputs(tasks)
        self._refused.clear()
        for record in list(self.active):
            touched.update(dict.fromkeys(edge.record for edge in record.inputs))
            self._withdraw(record, np.flatnonzero(record.is_waiting))
        for record in self._wanted:
            self._pending[record] = np.ones(record.ntasks, bool) if record.hold else record.gathers > 0
        self.plan()
        for record in touched:
            self._prune(record, np.arange(record.ntasks))

    def _put_off(self, record: StageRecord, tasks: Index) -> None:
        """Note that tasks run no longer, and aren't stored; the next `plan` finds whether they are to run again."""
        record.state[tasks] = ChunkState.LOST
        self._refused.append((record, tasks))
        self._deactivate(record)

    def _withdraw(self, record: StageRecord, tasks: Index) -> None:
        """Let tasks wait or be ready no longer: they read nothing."""
        record.withdraw(tasks)
        if record.admission is not None:
            record.admission.end(record.places_of(tasks))
        self.ready.update(record)
        record.unread_inputs(tasks)
        self._deactivate(record)

    def _deactivate(self, record: StageRecord) -> None:
        if not record.busy:
            self.active.pop(record, None)
            self.ready.deactivate(record)
            self.forgettable[record] = None

    def _prune(self, record: StageRecord, tasks: Index) -> None:
        """Let go of tasks that nobody is to read: free those that are stored, don't run those that wait."""
        pending = {record: tasks}
        order = [(-record.number, record)]
        while order:
            _, record = heappop(order)
            tasks = pending.pop(record)
            if record.hold:
                continue
            tasks = record.unread(tasks)
            if not record.kept:
                self._free(record, tasks[record.state[tasks] == ChunkState.STORED])
            waiting = record.waiting_of(tasks)
            if len(waiting):
                self._withdraw(record, waiting)
                for edge in record.inputs:
                    if edge.record not in pending:
                        heappush(order, (-edge.record.number, edge.record))
                        pending[edge.record] = edge.reads.of(waiting)
                    else:
                        pending[edge.record] = np.concatenate([pending[edge.record], edge.reads.of(waiting)])
                    pending[edge.record] = distinct(pending[edge.record])

    def _enqueue(self, record: StageRecord, tasks: Index) -> None:
        if record.stage.gang is not None:
            record.state[tasks] = ChunkState.READY
            record.nready += len(tasks)
        elif len(tasks):
            record.enqueue(tasks, record.prefer_ranks(tasks, self.alive))
            self.ready.update(record)

    # ---------------------------------------------------------------- releasing

    def _end_reads(self, record: StageRecord, tasks: Index) -> None:
        """Note that tasks read their inputs no longer."""
        for edge in record.inputs:
            other, items = edge.record, edge.reads.of(tasks)
            add_each(other.readers_left, items, -1)
            if other.nwaiting:  # lost while it was read
                self._prune(other, distinct(items))
            elif not other.kept:
                self._release(other, distinct(items) if len(tasks) > 1 else items)

    def _release(self, record: StageRecord, tasks: Index) -> None:
        if not record.kept:
            tasks = record.unread(tasks)
            self._free(record, tasks[record.state[tasks] == ChunkState.STORED])

    def _free(self, record: StageRecord, tasks: Index) -> None:
        if not len(tasks) or record.in_place:
            return
        record.state[tasks] = ChunkState.RELEASED
        record.nstored -= len(tasks)
        if not record.nstored:
            self.holding.pop(record, None)
        if record.admission is not None:
            record.admission.free(record.places_of(tasks))
        self.slabs.free(record, tasks)

    # ---------------------------------------------------------------- giving out

    def _dangerous(self, record: StageRecord, alone: bool) -> bool:
        """Whether rank 0 leaves a record's tasks to others: it dies last, and is the last to call what is unknown.

        What a user's function does to the process that calls it is found out on a rank that can be spared, if one is
        at leisure.
        """
        stage = record.stage
        if not stage.functions:
            return False
        if not any(self.alive[1:]):
            return self.suspicion.ends_rank_0(stage.functions)
        if record.deaths:
            return True
        if alone or self.suspicion.trusts(stage.functions):
            return False
        return bool(record.nrunning) or any(
            self.alive[rank] and self.load(rank) < self.threads[rank] for rank in range(1, len(self.threads))
        )

    def load(self, rank: int) -> int:
        """Return how many batches a rank has that need its compute threads alone."""
        return self.busy(rank) - self.readings.counts[rank]

    def busy(self, rank: int) -> int:
        """Return how many batches a rank has that end soon: gangs, which have threads of their own, may not."""
        return len(self.given[rank]) - self.gangs.counts[rank]

    def take(self, rank: int, ahead: bool = False, alone: bool = False) -> Batch | None:
        """Give out ready tasks to a rank; None when none is ready or none fits.

        What somebody waits for goes before what is only held, and the latest stages before others; but whom somebody
        has waited longest for has every second turn, see `turns`.

        While little memory is used, what others wait for goes before what only frees its inputs. Tasks to be run
        `ahead`, after what the rank has, aren't taken from other ranks' short queues, since these may well be quicker,
        but from an earlier stage if need be. Rank 0 is not given what may end it, unless it is the one that can go on
        `alone`.
        """
        arena, before = self.arenas[rank], self._before[rank]
        little = arena.used - before < min((arena.size - before) // 2, PLENTY)
        batch = self._take(rank, ahead, alone, little)
        if batch is None and self.only_gangs:  # nothing may be held up for good
            batch = self._take(rank, ahead, alone, little, bounded=False)
        return batch

    def _take(self, rank: int, ahead: bool, alone: bool, little: bool, bounded: bool = True) -> Batch | None:
        """Give out tasks, where `bounded` only such as don't run too far ahead of others."""
        turns = self.ready.turns
        for candidate in turns.arrange(self.ready.candidates(rank, ahead, little)):
            record = self.readings.pick_sibling(rank, candidate)
            if rank and record.stage.at_driver:
                continue
            if (rank == 0 and self._dangerous(record, alone)) or not self.readings.allows(rank, record):
                continue
            if not self.promises.allow(record, self.given[rank].values(), self.threads[rank]):
                continue
            if turns.holds_up(record):
                return None
            spare = record.ntasks if record.is_dealt else SPARE if ahead else 0
            tasks, queue = record.dequeue(rank, batch_size(record, self._slots, self.threads[rank]), spare)
            if not len(tasks):
                continue
            admitted = len(tasks)
            if bounded and record.admission is not None and record.places is not None:
                admitted = record.admission.admit(record.places[tasks])
            offsets = self.slabs.place(rank, record.bytes[tasks[:admitted]])
            if len(offsets) < len(tasks):
                record.put_back(queue, tasks[len(offsets) :])
            if len(offsets):
                turns.note(record)
                self.ready.update(record)
                return self._give(rank, record, tasks[: len(offsets)], offsets)
            if admitted:
                turns.lack(record)
        return None

    def _give(self, rank: int, record: StageRecord, tasks: Index, offsets: Index) -> Batch:
        """Note that tasks are given to a rank, with these places for their slabs."""
        self._number += 1
        batch = Batch(self._number, rank, record, tasks, offsets)
        self.batches[batch.number] = self.given[rank][batch.number] = batch
        self.readings.begin(batch)
        self.gangs.counts[rank] += record.stage.gang is not None
        record.state[tasks] = ChunkState.RUNNING
        record.owner[tasks] = rank
        record.offset[tasks] = offsets
        record.source[tasks] = -1
        if record.admission is not None:
            record.admission.begin(record.places_of(tasks))
        record.nwaiting -= len(tasks)
        record.nrunning += len(tasks)
        return batch

    def take_gang(self) -> GangRun | None:
        """Give out all of a gang; None where none is ready and has its seats, or its results don't fit."""
        for record, ranks, seats in self._startable_gangs():
            if (members := place_members(self.slabs, record, ranks)) is not None:
                record.nready = 0
                batches = tuple(self._give(rank, record, tasks, offsets) for rank, tasks, offsets in members)
                return self.gangs.begin(record, batches, seats)
        return None

    def find_stuck_gang(self) -> StageRecord | None:
        """Return a gang that waits for nothing but memory."""
        return next((record for record, _, _ in self._startable_gangs()), None)

    def _startable_gangs(self) -> Iterator[tuple[StageRecord, list[int], Sequence[int]]]:
        members_left = any(batch.record.stage.gang is not None for batch in self.strays.values())
        return self.gangs.startable(self.alive, self.threads, members_left)

    # ---------------------------------------------------------------- running

    def _end_batch(self, number: int) -> Batch | None:
        """Take a batch off the list of those that run; None where it isn't there."""
        batch = self.batches.pop(number, None)
        if batch is not None:
            del self.given[batch.rank][number]
            self.readings.end(batch)
            self.gangs.counts[batch.rank] -= batch.record.stage.gang is not None
            batch.record.nrunning -= len(batch.tasks)
        return batch

    def done(self, number: int, seconds: float) -> tuple[StageRecord, Index] | None:
        """Note that a batch is stored; return what is stored now, None for a batch that doesn't count (yet)."""
        run = self.gangs.of(number)
        if number in self.void or (run is not None and run.broken):
            self.void.discard(number)
            self.note_refused(number)
            self.plan()
            return None
        if run is None:
            return self._note_stored(number, seconds)
        run.arrived[number] = seconds
        if len(run.arrived) < len(run.batches):
            return None
        for each, taken in run.arrived.items():
            self._note_stored(each, taken)
        self.gangs.free_seats(self.batches)
        return run.record, np.arange(run.record.ntasks)

    def _note_stored(self, number: int, seconds: float) -> tuple[StageRecord, Index] | None:
        """Note that what a batch makes is there, and counts."""
        batch = self._end_batch(number)
        if batch is None:
            return None
        self.ended.append((number, True))
        record, tasks = batch.record, batch.tasks
        each = seconds / len(tasks)
        record.spent += seconds
        record.ran += len(tasks)
        record.seconds = each if not record.seconds else (record.seconds + each) / 2
        record.state[tasks] = ChunkState.STORED
        record.nstored += len(tasks)
        self.holding[record] = None
        if record.admission is not None:
            record.admission.end(record.places_of(tasks))
        if record.stage.foreign:
            self.suspicion.trust(record.stage.functions, len(tasks))
            for task in tasks.tolist() if record.deaths else ():
                record.deaths.pop(task, None)
        for user, edge in record.users.items():
            if user.nwaiting:
                self._note_arrival(user, edge.readers.of(tasks))
        self._end_reads(record, tasks)
        self._release(record, tasks)
        self._deactivate(record)
        self.slabs.bury(self.batches, number)
        return record, tasks

    def _note_arrival(self, user: StageRecord, readers: Index) -> None:
        add_each(user.inputs_missing, readers, -1)
        readers = distinct(readers)
        ready = readers[(user.inputs_missing[readers] == 0) & (user.state[readers] == ChunkState.WAITING)]
        self._enqueue(user, ready)

    def note_refused(self, number: int) -> None:
        """Note that a batch came to nothing (its inputs could not be read, it failed, it was recalled); `plan` next."""
        if (run := self.gangs.of(number)) is not None:
            self.break_up(run)
        self._refuse(number)
        self.gangs.free_seats(self.batches)

    def break_up(self, run: GangRun, dead: int = -1) -> None:
        """Note that a gang comes to nothing, with what was made so far, but for the dead's, which is lost anyway."""
        for number in run.break_up():
            if self.batches[number].rank != dead:
                self._refuse(number)

    def note_unmet(self, run: GangRun) -> None:
        """Note that a rank has found no communicator for a gang: that of all ranks may be harmed."""
        if run.base == self.gangs.base:
            self.gangs.base += 1
            for each in self.gangs.runs:
                self.break_up(each)

    def _refuse(self, number: int) -> None:
        """Note that what a batch was to make isn't there."""
        batch = self._end_batch(number)
        if batch is None:
            return
        self.ended.append((number, False))
        self.slabs.give(batch.rank, batch.offsets, batch.record.bytes[batch.tasks])
        if batch.record.admission is not None:
            batch.record.admission.free(batch.record.places_of(batch.tasks))
        self._put_off(batch.record, batch.tasks)
        self.slabs.bury(self.batches, number)

    def leave(self, number: int) -> None:
        """Leave a batch to its thread: nobody wants it, and it can't be interrupted.

        It counts as running no longer. But the call still reads and writes: its memory stays as it is. A gang that is
        to run again waits for its members.
        """
        batch = self.batches.get(number)
        if batch is None or (batch.record.stage.gang is not None and not self.is_unwanted(batch)):
            return
        if (run := self.gangs.of(number)) is not None:
            self.break_up(run)
        self._end_batch(number)
        self.strays[number] = batch
        self.slabs.lend(number, batch.slabs_read(), batch.slabs_written())
        self._put_off(batch.record, batch.tasks)
        self.gangs.free_seats(self.batches)
        self.plan()

    def end_stray(self, number: int) -> bool:
        """Note that a batch that was left has ended, however it did; tell whether it is one."""
        if self.strays.pop(number, None) is None:
            return False
        self.ended.append((number, False))
        self.slabs.restore(number, self.batches)
        return True

    # ---------------------------------------------------------------- loss and spill

    def lose(self, rank: int) -> Loss:
        """Note a rank's death: what it held is lost, what it ran will be run again; plans anew."""
        self.alive[rank] = False
        before = self.waiting()
        for run in self.gangs.runs:
            self.break_up(run, rank)
        self.gangs.lose()
        lost = again = 0
        self.suspicion.note_loss(self.given[rank].values(), self.threads[rank], self._number)
        for batch in self.given[rank].values():
            record, tasks = batch.record, batch.tasks
            del self.batches[batch.number]
            self.ended.append((batch.number, False))
            record.state[tasks] = ChunkState.LOST
            record.nrunning -= len(tasks)
            again += record.count_blocks(tasks)
            self._refused.append((record, tasks))
            self._deactivate(record)
        self.given[rank], self.gangs.counts[rank] = {}, 0
        self.readings.lose(rank)
        for record in list(self.holding):
            stored = record.stored_on(rank)
            lost += record.count_blocks(stored)
            record.nstored -= len(stored)
            record.state[stored] = ChunkState.LOST
            if len(stored) and record.stage.gang is not None:
                lost += self._expel(record)
            if not record.nstored:
                del self.holding[record]
        for number in [number for number, batch in self.strays.items() if batch.rank == rank]:
            self.end_stray(number)
        self.slabs.lose(rank, self.batches)
        self.gangs.free_seats(self.batches)
        for record in [*self.active, *self.holding]:
            record.admission = record.places = None  # what is left is put in order anew
        self._plan_again()
        return Loss(rank, lost, max(0, self.waiting() - before - again))

    def _expel(self, record: StageRecord) -> int:
        """Let go of what is left of a gang's result: what runs now may read it to its end; return how many chunks."""
        rest = np.flatnonzero(record.state == ChunkState.STORED)
        self.slabs.expel(record, rest, self.readers(record))
        self.slabs.bury(self.batches)
        record.state[rest] = ChunkState.LOST
        record.nstored = 0
        return record.count_blocks(rest)

    def poisoned_stages(self) -> list[tuple[StageRecord, Deadly]]:
        """Return what is to be given up, since what it calls ends the processes of ranks; see `Suspicion`."""
        running = {function for batch in self.batches.values() for function in batch.record.stage.functions}
        return self.suspicion.poisoned_stages(self.active, self.alive, running)

    def count_chunks(self, rank: int) -> int:
        return sum(record.count_blocks(record.stored_on(rank)) for record in self.holding)

    def waiting(self) -> int:
        """Return how many chunks wait to be made."""
        return sum(record.count_blocks(np.flatnonzero(record.is_waiting)) for record in self.active)

    def gathering(self) -> bool:
        """Whether some chunk is about to be gathered: memory may come free without more ado."""
        return any(r.gathers_owed and bool(r.gathers[r.state == ChunkState.STORED].any()) for r in self.holding)

    def note_spilled(
        self, rank: int, record: StageRecord, tasks: Index, offsets: Index, source: int, places: Index
    ) -> None:
        """Note that slabs are in a spill file now; their arena ranges go when all that runs now has ended."""
        current = record.in_arena[tasks] & (record.owner[tasks] == rank) & (record.offset[tasks] == offsets)
        current &= record.is_unviewed[tasks]
        tasks, offsets, places = tasks[current], offsets[current], places[current]
        record.source[tasks] = source
        record.offset[tasks] = places
        self.slabs.move(rank, offsets, record.bytes[tasks], source, self.readers(record))
        self.slabs.bury(self.batches)

    def readers(self, record: StageRecord) -> set[int]:
        """Return the batches under way that may read what a record has stored."""
        batches = self.batches | self.strays
        return {n for n, batch in batches.items() if any(edge.record is record for edge in batch.record.inputs)}
