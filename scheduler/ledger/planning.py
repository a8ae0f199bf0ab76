"""What has to run: the walks back from what is wanted, and from what isn't any more, to what is stored already."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from ...graph.few import add_each, distinct
from ..admission.admission import arrange
from .ready_queue import ReadyRecords, set_leading
from .slabs import Slabs
from .stage_record import AWAITED, ChunkState, StageRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from ...graph.chunks.grid import Index

    Mask = NDArray[np.bool_]


class Stopped(Exception):
    """Nobody waits any more for what was about to be planned."""


def never() -> bool:
    """Say that planning goes on."""
    return False


class Planner:
    """The plan: which tasks of which records wait, what is ready, what is read by whom.

    No walk goes further than to what is stored, or waits already: what it takes follows from what changes.
    """

    def __init__(self, arenas: Sequence[int], threads: Sequence[int]) -> None:
        self.slabs = Slabs(arenas)
        self.threads = list(threads)
        self.alive = [True] * len(arenas)
        self.holding: dict[StageRecord, None] = {}
        """Records that have slabs."""
        self.active: dict[StageRecord, None] = {}
        """Records whose tasks wait or run."""
        self.ready = ReadyRecords(len(arenas))
        self._wanted: dict[StageRecord, None] = {}
        self._awaited: list[StageRecord] = []
        """What somebody waits for since the last plan."""
        self._pending: dict[StageRecord, Mask] = {}
        self._refused: list[tuple[StageRecord, Index]] = []
        self._loose: dict[StageRecord, None] = {}

    @property
    def room(self) -> int:
        """Bytes that are free in all arenas."""
        return sum(arena.free for arena, ok in zip(self.slabs.arenas, self.alive, strict=True) if ok)

    @property
    def _slots(self) -> int:
        return sum(t for t, ok in zip(self.threads, self.alive, strict=True) if ok)

    def plan(self, stop: Callable[[], bool] = never) -> int:
        """Find what has to run so that what is newly wanted is stored; return how many tasks that are.

        Raises
        ------
        Stopped
            When `stop` says so. What was wanted must be taken back at once then.
        """
        for record, tasks in self._refused:
            wanted = np.ones(len(tasks), bool) if record.hold else self._is_read(record, tasks)
            self._note_unread(record, tasks[wanted])
            mask = self._pending.setdefault(record, np.zeros(record.ntasks, bool))
            mask[tasks[wanted]] = True
            self._read(record, tasks[~wanted])
        self._refused.clear()
        need, self._pending = self._pending, {}
        for record, mask in need.items():
            if not record.hold:
                mask &= self._is_read(record, np.arange(record.ntasks))
        fresh: dict[StageRecord, Index] = {}
        begun: list[StageRecord] = []
        order = [(-record.number, record) for record in need]
        heapify(order)
        while order:
            _, record = heappop(order)
            mask = need.pop(record)
            if record.stage.gang is not None:
                mask |= mask.any()
            tasks = np.flatnonzero(mask & (record.state != ChunkState.STORED))
            tasks = tasks[(record.state[tasks] == ChunkState.RELEASED) | (record.state[tasks] == ChunkState.LOST)]
            if not len(tasks):
                continue
            if stop():
                raise Stopped
            fresh[record] = tasks
            if not record.busy:
                begun.append(record)
            self.active[record] = None
            record.nwaiting += len(tasks)
            record.state[tasks] = ChunkState.WAITING
            record.inputs_missing[tasks] = 0
            for edge in record.inputs:
                other, items = edge.record, edge.reads.of(tasks)
                add_each(other.readers_left, items, 1)
                absent = other.state[items] != ChunkState.STORED
                if absent.any():
                    row = np.repeat(np.arange(len(tasks)), edge.reads.lengths[tasks])
                    add_each(record.inputs_missing, tasks[row[absent]], 1)
                    if other not in need:
                        need[other] = np.zeros(other.ntasks, bool)
                        heappush(order, (-other.number, other))
                    need[other][items[absent]] = True
        set_leading(begun, self._slots)
        if len(fresh) > 1:
            arrange(fresh, self.room, self._slots, sum(self.alive))
        self._press(fresh)
        for record, tasks in fresh.items():
            self._enqueue(record, tasks[record.inputs_missing[tasks] == 0])
        return sum(map(len, fresh.values()))

    def _press(self, fresh: Mapping[StageRecord, Index]) -> None:
        """Find what of the records that are planned somebody waits for; readers come before their inputs."""
        awaited, self._awaited = self._awaited, []
        self.ready.turns.begin()
        self.ready.press(awaited)
        for record in fresh:
            if record.awaited or any(user.pressing == AWAITED for user in record.users):
                self.ready.press((record,))
        for record in fresh if self.ready.pressing else ():
            if any(edge.record.pressing for edge in record.inputs):
                self.ready.spread([edge.record for edge in record.inputs if edge.record.pressing])

    def _plan_again(self) -> None:
        """Plan all that is wanted anew: stored chunks have been lost."""
        touched: dict[StageRecord, None] = {}
        for record, tasks in self._refused:
            touched.update(dict.fromkeys(edge.record for edge in record.inputs))
            self._note_unread(record, tasks)
        self._refused.clear()
        for record in list(self.active):
            touched.update(dict.fromkeys(edge.record for edge in record.inputs))
            self._withdraw(record, np.flatnonzero(record.is_waiting))
        for record in self._wanted:
            self._pending[record] = np.ones(record.ntasks, bool) if record.hold else record.gathers > 0
        self.plan()
        for record in touched:
            self._give_up(record, np.arange(record.ntasks))

    def put_off(self, record: StageRecord, tasks: Index) -> None:
        """Note that tasks run no longer, and aren't stored; the next `plan` finds whether they are to run again."""
        record.state[tasks] = ChunkState.LOST
        self._refused.append((record, tasks))
        self._rest(record)

    def _withdraw(self, record: StageRecord, tasks: Index) -> None:
        """Let tasks wait or be ready no longer: they read nothing."""
        record.withdraw(tasks)
        if record.admission is not None:
            record.admission.end(record.places_of(tasks))
        self.ready.update(record)
        self._note_unread(record, tasks)
        self._rest(record)

    @staticmethod
    def _note_unread(record: StageRecord, tasks: Index) -> None:
        """Note that tasks don't read their inputs; these stay where they are for now."""
        for edge in record.inputs:
            add_each(edge.record.readers_left, edge.reads.of(tasks), -1)

    def _rest(self, record: StageRecord) -> None:
        if not record.busy:
            self.active.pop(record, None)
            self.ready.rest(record)
            self._loose[record] = None

    def _give_up(self, record: StageRecord, tasks: Index) -> None:
        """Let go of tasks that nobody is to read: free those that are stored, don't run those that wait."""
        pending = {record: tasks}
        order = [(-record.number, record)]
        while order:
            _, record = heappop(order)
            tasks = pending.pop(record)
            if record.hold:
                continue
            tasks = self._unread(record, tasks)
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

    def dependents(self, record: StageRecord, tasks: Index) -> dict[StageRecord, Index]:
        """Return the tasks that wait for some tasks, these among them."""
        dependents: dict[StageRecord, Index] = {}
        next_ = {record: tasks}
        order = [(record.number, record)]
        while order:
            _, record = heappop(order)
            dependents[record] = tasks = next_.pop(record)
            for user, edge in record.users.items():
                if user.nwaiting:
                    readers = user.waiting_of(distinct(edge.readers.of(tasks)))
                    if len(readers):
                        if user in next_:
                            readers = distinct(np.concatenate([next_[user], readers]))
                        else:
                            heappush(order, (user.number, user))
                        next_[user] = readers
        return dependents

    @staticmethod
    def _is_read(record: StageRecord, tasks: Index) -> NDArray[np.bool_]:
        """Return whether somebody is to read what tasks make; a gang's are read together."""
        if record.stage.gang is not None:
            return np.full(len(tasks), (record.readers_left > 0).any())
        is_read: NDArray[np.bool_] = record.readers_left[tasks] > 0
        return is_read

    def _unread(self, record: StageRecord, tasks: Index) -> Index:
        """Return those of some tasks that nobody is to read; of a gang all that it has, or none."""
        if record.stage.gang is not None:
            tasks = np.arange(record.ntasks)
        return tasks[~self._is_read(record, tasks)]

    def _enqueue(self, record: StageRecord, tasks: Index) -> None:
        if record.stage.gang is not None:
            record.state[tasks] = ChunkState.READY
            record.nready += len(tasks)
        elif len(tasks):
            record.enqueue(tasks, self.prefer_ranks(record, tasks))
            self.ready.update(record)

    def prefer_ranks(self, record: StageRecord, tasks: Index) -> NDArray[np.int64]:
        """Return the rank each task should run on: where its first input lies, else one of equal runs.

        It doesn't tell where more of its chunks are read than there are ranks, and the first and the last are apart: an
        exchange of all with all would run on one rank.
        """
        ranks = np.array([r for r, ok in enumerate(self.alive) if ok][: 1 if record.stage.at_driver else None])
        dealt: NDArray[np.int64] = ranks[tasks * len(ranks) // max(1, record.ntasks)]
        if record.inputs and not record.is_dealt and len(ranks) > 1 and len(record.inputs[0].reads.items):
            edge = record.inputs[0]
            begin, count = edge.reads.start[tasks], edge.reads.lengths[tasks]
            ends = np.minimum([begin, begin + np.maximum(count, 1) - 1], len(edge.reads.items) - 1)
            owner, other = edge.record.owner[edge.reads.items[ends]].astype(np.int64)
            alive = np.array([*self.alive, False, False])[owner]
            tells = (count > 0) & ((owner == other) | (count <= len(ranks)))
            return np.where(tells & alive & (owner >= 0), owner, dealt)
        return dealt

    # ---------------------------------------------------------------- releasing

    def _read(self, record: StageRecord, tasks: Index) -> None:
        """Note that tasks read their inputs no longer."""
        for edge in record.inputs:
            other, items = edge.record, edge.reads.of(tasks)
            add_each(other.readers_left, items, -1)
            if other.nwaiting:  # lost while it was read
                self._give_up(other, distinct(items))
            elif not other.kept:
                self._release(other, distinct(items) if len(tasks) > 1 else items)

    def _release(self, record: StageRecord, tasks: Index) -> None:
        if not record.kept:
            tasks = self._unread(record, tasks)
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
