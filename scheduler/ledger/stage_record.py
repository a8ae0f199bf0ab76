"""One stage in the ledger: a few columns, a row for each task."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...graph.few import add_each, distinct
from ...workers.memory.footprint import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from ...graph.chunks.block_reads import Rows
    from ...graph.chunks.grid import Index
    from ...graph.lowering.stage import Stage
    from ..admission.admission import Admission


class ChunkState:
    """What is true of the chunks that a task makes. Plain numbers, as columns hold them: an enumeration is slower."""

    RELEASED = 0
    WAITING = 1
    READY = 2
    RUNNING = 3
    STORED = 4
    LOST = 5


AWAITED, BESIDE = 2, 1
WORDS = ("released", "waiting", "ready", "running", "stored", "lost")
"""The states' words for people."""


@dataclass(eq=False)
class Input:
    """An edge: which tasks of `record` each of our tasks reads."""

    record: StageRecord
    reads: Rows

    @cached_property
    def readers(self) -> Rows:
        """The relation read backwards, found when it is first needed: tasks run by then."""
        return self.reads.inverse(self.record.ntasks)


@dataclass(eq=False)
class StageRecord:
    """A stage's tasks.

    state, owner, offset, source (-1: the owner's arena, else a spill file) say what is known of a task;
    `readers_left` counts gathers that are owed and readers that aren't done, `inputs_missing` inputs that aren't
    stored, `gathers` gathers to the user that are owed, `gathers_owed` those of all tasks. `views` says how many look
    at chunks where they lie; None: none does. `hold` keeps all chunks (persisted arrays). `seconds` is what a task
    takes lately; `ran` tasks have taken `spent` seconds in all. Inputs have smaller numbers than their readers.
    `slow`: tasks read a source that I/O threads read first. `leading`, `few` and `listed` belong to
    `ready_queue.ReadyRecords`. `watched`: somebody waits for what is held. `pressing` says how much its tasks are
    waited for: `AWAITED`, `BESIDE` (they share stages with what is), or 0 for what is only held; `turn` is the
    number of the computation that is awaited, see `turns`. `admission` says how far tasks may run ahead in an order
    in which `places` has their places (-1: none), where memory matters.
    """

    stage: Stage
    number: int = 0
    inputs: list[Input] = field(default_factory=lambda: [])
    users: dict[StageRecord, Input] = field(default_factory=lambda: {})
    hold: int = 0
    nstored: int = 0
    nwaiting: int = 0
    nrunning: int = 0
    seconds: float = 0.0
    spent: float = 0.0
    ran: int = 0
    in_place: bool = False
    cached: bool = False
    slow: bool = False
    deaths: dict[int, int] = field(default_factory=lambda: {})
    queues: dict[int, deque[Index]] = field(default_factory=lambda: {})
    lengths: dict[int, int] = field(default_factory=lambda: {})
    nready: int = 0
    leading: int = 0
    few: bool = False
    listed: set[int] = field(default_factory=lambda: set())
    watched: bool = False
    pressing: int = 0
    turn: int = 0
    admission: Admission | None = None
    places: Index | None = None

    def __post_init__(self) -> None:
        n = self.stage.ntasks
        self.state: NDArray[np.uint8] = np.zeros(n, np.uint8)
        self.owner: NDArray[np.int16] = np.full(n, -1, np.int16)
        self.offset: Index = np.zeros(n, np.int64)
        self.source: NDArray[np.int32] = np.full(n, -1, np.int32)
        self.readers_left: NDArray[np.int32] = np.zeros(n, np.int32)
        self.inputs_missing: NDArray[np.int32] = np.zeros(n, np.int32)
        self.gathers: NDArray[np.int16] = np.zeros(n, np.int16)
        self.gathers_owed = 0
        self.views: NDArray[np.int32] | None = None
        self.bytes = self.stage.all_slab_bytes if not self.in_place else np.zeros(n, np.int64)

    @property
    def ntasks(self) -> int:
        return self.stage.ntasks

    @cached_property
    def bytes_read(self) -> int:
        """Bytes that are decoded for a task, of slow sources."""
        if self.stage.data is not None:  # the driver reads it
            return int(self.bytes[0]) if self.slow else 0
        data = {edge.record.stage.token: edge.record.stage.data for edge in self.inputs if edge.record.slow}
        return read_bytes(self.stage, {token: each for token, each in data.items() if each is not None})

    @property
    def complete(self) -> bool:
        """Whether every task is stored."""
        return self.nstored == self.ntasks

    @property
    def is_dealt(self) -> bool:
        """Whether each rank runs the tasks that it was dealt, even if others are free before it."""
        return self.stage.spread > 0 and not self.stage.foreign  # a function that may end rank 0 runs elsewhere first

    @property
    def busy(self) -> int:
        """Number of tasks that wait, are ready, or run."""
        return self.nwaiting + self.nrunning

    @property
    def awaited(self) -> bool:
        """Whether somebody waits for what it makes."""
        return self.watched or self.gathers_owed > 0

    def view(self, tasks: Index, more: int = 1) -> None:
        """Count those who look at chunks where they lie: these stay there."""
        if self.views is None:
            self.views = np.zeros(self.ntasks, np.int32)
        self.views[tasks] += more

    @property
    def is_unviewed(self) -> NDArray[np.bool_]:
        """Which chunks may be moved: nobody gathers them, or looks at them where they lie."""
        unviewed: NDArray[np.bool_] = self.gathers == 0
        return unviewed if self.views is None else unviewed & (self.views == 0)

    @property
    def is_waiting(self) -> NDArray[np.bool_]:
        """Which tasks wait or are ready."""
        mask: NDArray[np.bool_] = (self.state == ChunkState.WAITING) | (self.state == ChunkState.READY)
        return mask

    def waiting_of(self, tasks: Index) -> Index:
        """Return those of some tasks that wait or are ready."""
        if not self.nwaiting:
            return tasks[:0]
        state = self.state[tasks]
        waiting: Index = tasks[(state == ChunkState.WAITING) | (state == ChunkState.READY)]
        return waiting

    @property
    def in_arena(self) -> NDArray[np.bool_]:
        """Which chunks are stored, and not in a spill file."""
        mask: NDArray[np.bool_] = (self.state == ChunkState.STORED) & (self.source < 0)
        return mask

    @property
    def kept(self) -> bool:
        """Whether chunks stay when nobody is to read them."""
        return self.hold > 0 or self.in_place or self.cached

    @property
    def idle(self) -> bool:
        """Whether nothing depends on the record: it may be forgotten."""
        return not (self.hold or self.cached or self.gathers_owed or self.nwaiting or self.nrunning or self.users)

    def count_blocks(self, tasks: Index) -> int:
        each = self.stage.blocks_per_task
        beyond = self.ntasks * each - self.stage.grid.nblocks if len(tasks) and tasks.max() == self.ntasks - 1 else 0
        return len(tasks) * each - beyond

    def stored_on(self, rank: int) -> Index:
        """Return the tasks whose slabs a rank holds."""
        return np.flatnonzero((self.owner == rank) & (self.state == ChunkState.STORED))

    def places_of(self, tasks: Index) -> Index:
        """Return the places in the order of those tasks that have one."""
        if self.places is None:
            return tasks[:0]
        places = self.places[tasks]
        return places[places >= 0]

    def connect(self, others: Iterable[StageRecord], reads: Iterable[Rows]) -> None:
        """Note what it reads of which others, and that it reads these."""
        for other, rows in zip(others, reads, strict=True):
            edge = Input(other, rows)
            self.slow |= other.slow and other.in_place and self.stage.gang is None
            self.inputs.append(edge)
            other.users[self] = edge

    def is_read(self, tasks: Index) -> NDArray[np.bool_]:
        """Return whether somebody is to read what tasks make; a gang's are read together."""
        if self.stage.gang is not None:
            return np.full(len(tasks), (self.readers_left > 0).any())
        is_read: NDArray[np.bool_] = self.readers_left[tasks] > 0
        return is_read

    def unread(self, tasks: Index) -> Index:
        """Return those of some tasks that nobody is to read; of a gang all that it has, or none."""
        if self.stage.gang is not None:
            tasks = np.arange(self.ntasks)
        return tasks[~self.is_read(tasks)]

    def unread_inputs(self, tasks: Index) -> None:
        """Note that tasks don't read their inputs; these stay where they are for now."""
        for edge in self.inputs:
            add_each(edge.record.readers_left, edge.reads.of(tasks), -1)

    def prefer_ranks(self, tasks: Index, alive: Sequence[bool]) -> NDArray[np.int64]:
        """Return the rank each task should run on: where its first input lies, else one of equal runs.

        It doesn't tell where more of its chunks are read than there are ranks, and the first and the last are apart: an
        exchange of all with all would run on one rank.
        """
        ranks = np.array([r for r, ok in enumerate(alive) if ok][: 1 if self.stage.at_driver else None])
        dealt: NDArray[np.int64] = ranks[tasks * len(ranks) // max(1, self.ntasks)]
        if self.inputs and not self.is_dealt and len(ranks) > 1 and len(self.inputs[0].reads.items):
            edge = self.inputs[0]
            begin, count = edge.reads.start[tasks], edge.reads.lengths[tasks]
            ends = np.minimum([begin, begin + np.maximum(count, 1) - 1], len(edge.reads.items) - 1)
            owner, other = edge.record.owner[edge.reads.items[ends]].astype(np.int64)
            living = np.array([*alive, False, False])[owner]
            tells = (count > 0) & ((owner == other) | (count <= len(ranks)))
            return np.where(tells & living & (owner >= 0), owner, dealt)
        return dealt

    @property
    def first_place(self) -> int:
        """The least place of the tasks that come next in the queues."""
        assert self.places is not None
        return min((int(self.places[queue[0][0]]) for queue in self.queues.values() if queue), default=0)

    def enqueue(self, tasks: Index, preferred: NDArray[np.int64]) -> None:
        """Put tasks that became ready into the queues of the ranks they should run on."""
        self.state[tasks] = ChunkState.READY
        self.nready += len(tasks)
        if self.places is not None and len(tasks) > 1:
            order = np.argsort(self.places[tasks], kind="stable")
            tasks, preferred = tasks[order], preferred[order]
        for rank in distinct(preferred).tolist():
            mine = tasks[preferred == rank]
            self._put(self.queues.setdefault(rank, deque()), mine)
            self.lengths[rank] = self.lengths.get(rank, 0) + len(mine)

    def _put(self, queue: deque[Index], tasks: Index) -> None:
        """Put a run into a queue: at the end, or by the place of its first task."""
        places = self.places
        if places is None or not queue or places[queue[-1][0]] <= places[tasks[0]]:
            queue.append(tasks)
        else:
            at = bisect_right(queue, int(places[tasks[0]]), key=lambda run: int(places[run[0]]))
            queue.insert(at, tasks)

    def dequeue(self, rank: int, limit: int, spare: int) -> tuple[Index, int]:
        """Take up to `limit` ready tasks: the rank's own first, else from the longest queue, but for `spare`.

        Where tasks have places, and the rank's own next one would run too far ahead, the first of all queues is taken.
        Return them and the queue they were in.
        """
        own = self.queues[rank] if self.lengths.get(rank) else None
        if self.admission is not None and not spare and not (own and self.admission.admit(self.places_of(own[0][:1]))):
            rank = min((int(self.places[q[0][0]]), r) for r, q in self.queues.items() if q)[1]  # type: ignore[index]
        elif not own:
            length, rank = max(((n, r) for r, n in self.lengths.items()), default=(0, rank))
            if length <= spare:
                return np.zeros(0, np.int64), rank
            limit = min(limit, length - spare)
        queue = self.queues[rank]
        run = queue.popleft()
        tasks, rest = run[:limit], run[limit:]
        if len(rest):
            self._put(queue, rest) if self.places is not None else queue.appendleft(rest)
        self.nready -= len(tasks)
        self.lengths[rank] -= len(tasks)
        return tasks, rank

    def put_back(self, rank: int, tasks: Index) -> None:
        """Return tasks that were taken from a rank's queue and could not be placed."""
        self.nready += len(tasks)
        self.lengths[rank] += len(tasks)
        if self.places is None:
            self.queues[rank].appendleft(tasks)
        else:  # what comes before the later of them may stand in the queue by now
            self._put(self.queues[rank], tasks)

    def withdraw(self, tasks: Index) -> None:
        """Let tasks wait or be ready no longer."""
        self.state[tasks] = ChunkState.RELEASED
        self.nwaiting -= len(tasks)
        if self.nready:
            self.nready = 0
            for rank, queue in self.queues.items():
                left = [run[self.state[run] == ChunkState.READY] for run in queue]
                self.queues[rank] = deque(run for run in left if len(run))
                self.lengths[rank] = sum(map(len, left))
                self.nready += self.lengths[rank]


@dataclass(frozen=True, slots=True)
class Batch:
    """Tasks of one stage given to one rank: where their slabs go, and the attempt's number."""

    number: int
    rank: int
    record: StageRecord
    tasks: Index
    offsets: Index

    def slabs_read(self) -> list[tuple[int, int]]:
        """Return the ranks and offsets of the slabs in arenas that it reads."""
        slabs: dict[tuple[int, int], None] = {}
        for edge in self.record.inputs:
            other, items = edge.record, edge.reads.of(self.tasks)
            items = items[other.in_arena[items] & (other.owner[items] >= 0)]
            slabs |= dict.fromkeys(zip(other.owner[items].tolist(), other.offset[items].tolist(), strict=True))
        return list(slabs)

    def slabs_written(self) -> list[tuple[int, int, int]]:
        """Return the rank, offsets and bytes of what it writes."""
        sizes = self.record.bytes[self.tasks].tolist()
        return [(self.rank, *each) for each in zip(self.offsets.tolist(), sizes, strict=True)]


@dataclass(frozen=True, slots=True)
class Claim:
    """Chunks of a stage that one job is still to gather: `open` says which."""

    record: StageRecord
    open: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Loss:
    """What a rank's death cost, in chunks."""

    rank: int
    lost: int
    recomputed: int
