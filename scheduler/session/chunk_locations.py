"""Where chunks lie, as rank 0 tells it, and how a rank reads them: in place where it can."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ClusterError
from ...workers.rank.chunk_reader import SlabPlace
from ...workers.wire.transport import Region
from ..ledger.lineage import find_owners
from ..ledger.stage_record import ChunkState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ...graph.chunks.grid import Grid, Index
    from ...workers.rank.rank import Rank
    from ..engine.engine import Engine
    from ..ledger.stage_record import StageRecord

Array = np.ndarray[Any, Any]
AT_ONCE = 8
"""Slabs that are fetched at the same time."""
FETCH_LIMIT = 60.0
"""Seconds in which a slab comes from another host; the transport gives up before."""


@dataclass(frozen=True)
class Columns:
    """Where tasks' slabs lie: parallel columns."""

    token: str
    grid: Grid
    dtype: np.dtype[Any]
    blocks_per_task: int
    tasks: Index
    owners: Index
    offsets: Index
    sources: Index

    def only(self, tasks: Sequence[int]) -> Columns:
        chosen = np.flatnonzero(np.isin(self.tasks, tasks))
        columns = (self.tasks[chosen], self.owners[chosen], self.offsets[chosen], self.sources[chosen])
        return Columns(self.token, self.grid, self.dtype, self.blocks_per_task, *columns)

    def blocks(self, task: int) -> range:
        first = task * self.blocks_per_task
        return range(first, min(first + self.blocks_per_task, self.grid.nblocks))

    def ends(self, task: int) -> Index:
        """Return where the blocks of a task begin in its slab, and the slab's end."""
        sizes = self.grid.block_sizes(np.asarray(self.blocks(task))) * self.dtype.itemsize
        return np.concatenate([[0], np.cumsum(sizes)])

    def rows(self) -> list[tuple[int, SlabPlace]]:
        """Return each task with its place."""
        columns = (self.tasks, self.owners, self.offsets, self.sources)
        return [(task, SlabPlace(*rest)) for task, *rest in zip(*(c.tolist() for c in columns), strict=True)]


def find_places(engine: Engine, token: str, rank: int | None = None, block: int | None = None) -> Columns | None:
    """Return where the chunks of a stage lie, all, or a rank's or one block's; on the engine's thread.

    None: some aren't there now. From then on they stay where they are, until `StageRecord.view` takes that back.
    """
    record = engine.ledger.records.get(token)
    if record is None:
        return None
    chosen = np.arange(record.ntasks)
    if block is not None:
        chosen = np.array([block // record.stage.blocks_per_task])
    if not _there(record, chosen).all():
        return None
    owners = find_owners(record)
    if rank is not None:
        chosen = chosen[owners[chosen] == rank]
    record.view(chosen)
    stage = record.stage
    owner = np.full(len(chosen), -1, np.int64) if record.in_place else record.owner[chosen].astype(np.int64)
    places = (owner, record.offset[chosen].astype(np.int64), record.source[chosen].astype(np.int64))
    return Columns(token, stage.grid, stage.dtype, stage.blocks_per_task, chosen, *places)


def _there(record: StageRecord, tasks: Index) -> NDArray[np.bool]:
    return np.ones(len(tasks), bool) if record.in_place else record.state[tasks] == ChunkState.STORED


def read(rank: Rank, columns: Columns, out: Array) -> list[int]:
    """Copy chunks into the array that they make up; return the tasks whose chunks couldn't be read."""
    left: list[int] = []
    far: list[tuple[int, SlabPlace]] = []
    for task, place in columns.rows():
        memory = rank.memory(place)
        if memory is None:
            far.append((task, place))
        else:
            _copy(columns, task, memory[place.offset : place.offset + int(columns.ends(task)[-1])], out)
    for begin in range(0, len(far), AT_ONCE):
        for task, slab in _fetch(rank, columns, far[begin : begin + AT_ONCE]):
            if slab is None:
                left.append(task)
            else:
                _copy(columns, task, slab, out)
    return left


def read_block(rank: Rank, columns: Columns, block: int) -> Array | None:
    """Return a block, in place or a copy; None where it couldn't be read."""
    ((task, place),) = columns.rows()
    memory = rank.memory(place)
    if memory is None:
        ((_, slab),) = _fetch(rank, columns, [(task, place)])
    else:
        slab = memory[place.offset : place.offset + int(columns.ends(task)[-1])]
    return None if slab is None else dict(cut(columns, task, slab))[block]


def _fetch(rank: Rank, columns: Columns, some: Sequence[tuple[int, SlabPlace]]) -> list[tuple[int, Array | None]]:
    """Return tasks with copies of their slabs from other hosts; None where one couldn't be read."""
    slabs: list[tuple[int, Array, threading.Event, list[bool]]] = []
    for task, place in some:
        into, ended, arrived = np.empty(int(columns.ends(task)[-1]), np.uint8), threading.Event(), list[bool]()
        region = Region(place.offset, (into.nbytes,), (1,), 1, place.source)
        rank.fetch(place.owner, region, into, _note(ended, arrived))
        slabs.append((task, into, ended, arrived))
    copies: list[tuple[int, Array | None]] = []
    for task, into, ended, arrived in slabs:
        if not ended.wait(FETCH_LIMIT):
            raise ClusterError(f"compute: a chunk of {into.nbytes:,} bytes didn't come within {FETCH_LIMIT:g} s")
        copies.append((task, into if arrived[0] else None))
    return copies


def _note(ended: threading.Event, arrived: list[bool]) -> Any:
    def done(ok: bool) -> None:
        arrived.append(ok)
        ended.set()

    return done


def _copy(columns: Columns, task: int, slab: Array, out: Array) -> None:
    for (_, content), block in zip(cut(columns, task, slab), columns.blocks(task), strict=True):
        np.copyto(columns.grid.view(out, block), content)


def cut(columns: Columns, task: int, slab: Array) -> list[tuple[int, Array]]:
    """Return a slab's blocks with their numbers."""
    ends = columns.ends(task).tolist()
    return [
        (block, slab[ends[k] : ends[k + 1]].view(columns.dtype).reshape(columns.grid.block_shape(block)))
        for k, block in enumerate(columns.blocks(task))
    ]
