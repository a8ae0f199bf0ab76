"""The ledger: what is known of every task and chunk, and the rules by which it changes. No I/O, no clock.

Events come in as method calls, what follows is returned. One rule, `plan`, serves the first run and every
recovery: walk back from what is newly wanted to what is stored, or planned already, and no further. What isn't wanted
any more is given up by the same walk. A slab is freed only when no task that runs or is to run reads it; a completion
counts only for the batch it was given out as.

A persisted array keeps the records that it was made from, so that a lost chunk can be computed again, however long
its history is. Nothing but a rank's death looks at all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...graph.few import add_each, distinct
from ..admission.poison_detector import Deadly
from ..engine.abandoned_batches import Strays
from .dealing import Dealer
from .planning import Stopped, never
from .stage_record import Batch, ChunkState, Claim, Input, Loss, StageRecord
from .timings import Timings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from ...graph.chunks.grid import Index
    from ...graph.lowering.stage import Reads, Stage

    Mask = NDArray[np.bool_]


class Ledger(Dealer):
    """All stages, in an order in which inputs come before their readers."""

    def __init__(self, arenas: Sequence[int], threads: Sequence[int]) -> None:
        super().__init__(arenas, threads)
        self.records: dict[str, StageRecord] = {}
        self.ended: list[tuple[int, bool]] = []
        """Batches that have ended, and whether what they made counts; taken by who undoes what the others did."""
        self.void: set[int] = set()
        """Batches that run, and don't count: what they did to arrays that all ranks write has been undone."""
        self.anchors: dict[StageRecord, Stage] = {}
        """Copies that aren't there yet, or were just made, and what makes the arrays from them; see
        `lineage_checkpoint`."""
        self.timings = Timings()
        self.strays = Strays()
        self._stages = 0

    @property
    def astir(self) -> bool:
        """Whether something waits or runs, or is to be told."""
        return bool(self.active or self.slabs.dropped or self.suspicion)

    # ---------------------------------------------------------------- stages

    def add(
        self,
        stages: Iterable[Stage],
        in_place: bool,
        reads: Mapping[str, Reads] | None = None,
        stop: Callable[[], bool] = never,
    ) -> list[Stage]:
        """Enter stages that aren't known yet, and return them.

        `in_place` says whether data in the driver's memory can be read where it lies (else ranks are fed). `reads` may
        have what stages read, found beforehand for inputs of the sizes that it names.

        Raises
        ------
        Stopped
            When `stop` says so.
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
            known, known_rows = (reads or {}).get(stage.token, (None, []))
            for other, rows in zip(others, known_rows if known == sizes else stage.all_reads(sizes), strict=True):
                edge = Input(other, rows)
                record.slow |= other.slow and other.in_place and stage.gang is None
                record.inputs.append(edge)
                other.users[record] = edge
            if here:
                record.state[:] = ChunkState.STORED
                record.owner[:] = -2
                record.nstored = record.ntasks
            self.records[stage.token] = record
            self._loose[record] = None
            if stage.gang is not None:
                self.gangs.records[record] = None
            new.append(stage)
        return new

    def loosen(self, record: StageRecord) -> None:
        """Look at the next chance whether a record may be forgotten."""
        self._loose[record] = None

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
        self._give_up(record, tasks)
        self._loose[record] = None

    def is_unwanted(self, batch: Batch) -> bool:
        """Whether nobody is to read what a batch makes."""
        return not batch.record.kept and not self._is_read(batch.record, batch.tasks).any()

    def forget(self) -> list[str]:
        """Drop stages that nothing held, owed or running depends on; return their tokens."""
        gone = []
        candidates = list(self._loose)
        self._loose.clear()
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

    # ---------------------------------------------------------------- running

    def end_batch(self, number: int) -> Batch | None:
        """Take a batch off the list of those that run; None where it isn't there."""
        batch = self.batches.pop(number, None)
        if batch is not None:
            del self.given[batch.rank][number]
            self.readings.counts[batch.rank] -= batch.record.slow
            self.gangs.counts[batch.rank] -= batch.record.stage.gang is not None
            batch.record.nrunning -= len(batch.tasks)
        return batch

    def done(self, number: int, seconds: float) -> tuple[StageRecord, Index] | None:
        """Note that a batch is stored; return what is stored now, None for a batch that doesn't count (yet)."""
        if number in self.void:
            self.void.discard(number)
            self.note_refused(number)
            self.plan()
            return None
        run = self.gangs.of(number)
        return self.note_stored(number, seconds) if run is None else self.gangs.done(self, run, number, seconds)

    def note_stored(self, number: int, seconds: float) -> tuple[StageRecord, Index] | None:
        """Note that what a batch makes is there, and counts."""
        batch = self.end_batch(number)
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
        self._read(record, tasks)
        self._release(record, tasks)
        self._rest(record)
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
            self.gangs.break_up(self, run)
        self.refuse(number)
        self.gangs.rest(self)

    def refuse(self, number: int) -> None:
        """Note that what a batch was to make isn't there."""
        batch = self.end_batch(number)
        if batch is None:
            return
        self.ended.append((number, False))
        self.slabs.give(batch.rank, batch.offsets, batch.record.bytes[batch.tasks])
        if batch.record.admission is not None:
            batch.record.admission.free(batch.record.places_of(batch.tasks))
        self.put_off(batch.record, batch.tasks)
        self.slabs.bury(self.batches, number)

    # ---------------------------------------------------------------- loss and spill

    def lose(self, rank: int) -> Loss:
        """Note a rank's death: what it held is lost, what it ran will be run again; plans anew."""
        self.alive[rank] = False
        before = self.waiting()
        self.gangs.lose(self, rank)
        lost = again = 0
        suspects = self._suspects(rank)
        called = {function: batch.number for batch in suspects for function in batch.record.stage.functions}
        for function, number in called.items():
            self.suspicion.note_death(function, number, self._number)
        for batch in suspects:
            for task in batch.tasks.tolist():
                batch.record.deaths[task] = batch.record.deaths.get(task, 0) + 1
        for batch in self.given[rank].values():
            record, tasks = batch.record, batch.tasks
            del self.batches[batch.number]
            self.ended.append((batch.number, False))
            record.state[tasks] = ChunkState.LOST
            record.nrunning -= len(tasks)
            again += record.count_blocks(tasks)
            self._refused.append((record, tasks))
            self._rest(record)
        self.given[rank], self.readings.counts[rank], self.gangs.counts[rank] = {}, 0, 0
        for record in list(self.holding):
            stored = record.stored_on(rank)
            lost += record.count_blocks(stored)
            record.nstored -= len(stored)
            record.state[stored] = ChunkState.LOST
            if len(stored) and record.stage.gang is not None:
                lost += self.gangs.expel(self, record)
            if not record.nstored:
                del self.holding[record]
        self.strays.lose(self, rank)
        self.slabs.lose(rank, self.batches)
        self.gangs.rest(self)
        for record in [*self.active, *self.holding]:
            record.admission = record.places = None  # what is left is put in order anew
        self._plan_again()
        return Loss(rank, lost, max(0, self.waiting() - before - again))

    def _suspects(self, rank: int) -> list[Batch]:
        """Return the batches that may have ended a rank: of those that call users' functions, as many as it can run.

        What was given ahead hadn't begun. It may be another user's, and mustn't answer for what it stood behind.
        """
        foreign = [batch for batch in self.given[rank].values() if batch.record.stage.functions]
        gangs = [batch for batch in foreign if batch.record.stage.gang is not None]
        return gangs + [batch for batch in foreign if batch.record.stage.gang is None][: self.threads[rank]]

    def deadly(self) -> list[tuple[StageRecord, Deadly]]:
        """Return what is to be given up, since what it calls ends the processes of ranks, as far as deaths tell.

        That is a task at which two or three ranks have died; a stage whose functions were tried so often, on whatever
        blocks, while none of their tasks ended well; and, when only rank 0 is left, one that it had better not try.
        """
        known, doomed = self.suspicion, []
        limit = max(2, min(3, len(self.alive) - 1))
        alone = not any(self.alive[1:])
        running = {f for batch in self.batches.values() for f in batch.record.stage.functions}
        for record in self.active:
            if not record.stage.functions:
                continue
            functions, at = record.stage.functions, tuple(sorted(record.deaths))
            task = max(at, key=record.deaths.__getitem__, default=-1)
            verdict = known.given_up.get(record.stage.token)
            if at and record.deaths[task] >= limit:
                doomed.append((record, Deadly(np.array([task]), record.deaths[task], (task,))))
            elif at and known.rounds(functions) >= limit:
                doomed.append((record, Deadly(np.flatnonzero(record.is_waiting), known.ranks(functions), at)))
            elif alone and verdict is not None and record.nwaiting and record.is_waiting[verdict.tasks].any():
                doomed.append((record, verdict))
            elif alone and record.nwaiting and not functions & running and known.ends_rank_0(functions):
                doomed.append(
                    (record, Deadly(np.flatnonzero(record.is_waiting), known.ranks(functions), at, alone=True))
                )
        return doomed

    def give_up(self, record: StageRecord, deadly: Deadly) -> None:
        """Note that tasks are given up: their deaths count no longer."""
        self.suspicion.give_up(record.stage, deadly)
        record.deaths.clear()

    def count_chunks(self, rank: int) -> int:
        """Return how many chunks a rank holds."""
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
        batches = self.batches | self.strays.batches
        return {n for n, batch in batches.items() if any(edge.record is record for edge in batch.record.inputs)}
