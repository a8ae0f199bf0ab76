"""Arrays as arguments of tasks: persisted first, then read by the rank where their chunks lie.

A chunk of an array that is persisted already is read from that one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...workers.sources import source_reader
from ...workers.tasks.needs import Unread, protected
from ..session.chunk_locations import Columns, find_places, read, read_block
from ..shared.handles import when_gone

if TYPE_CHECKING:
    from ...graph.chunks.grid import Index
    from ...graph.expr.expr import Expr
    from ...graph.kinds.source import HostData
    from ...workers.rank.rank import Rank
    from ...workers.tasks.needs import MissingArgument
    from ..engine.engine import Engine
    from ..ledger.stage_record import StageRecord
    from ..session.pin import Pin
    from ..session.session import Session


class NotYet(Exception):
    """A block of a stage isn't stored; block None: not all blocks are."""

    def __init__(self, token: str, block: int | None) -> None:
        super().__init__(token, block)
        self.token, self.block = token, block


@dataclass(frozen=True, slots=True)
class ChunkPlaces:
    """Where an array's chunks lie: with ranks, or in files that each rank reads."""

    columns: Columns
    data: HostData | None

    def load(self, rank: Rank) -> Any:
        columns = self.columns
        out = np.empty(columns.grid.shape, columns.dtype)
        if self.data is not None:
            for block in range(columns.grid.nblocks):
                np.copyto(
                    columns.grid.view(out, block), source_reader.read(self.data, columns.grid.block_slices(block))
                )
        elif read(rank, columns, out):
            raise Unread
        return out


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """Where one chunk of an array lies: with a rank, or in files that each rank reads; see `ArrayArgument`."""

    columns: Columns
    data: HostData | None
    block: int
    in_place: bool

    def load(self, rank: Rank) -> Any:
        if self.data is not None:
            return np.array(source_reader.read(self.data, self.columns.grid.block_slices(self.block)))
        chunk = read_block(rank, self.columns, self.block)
        if chunk is None:
            raise Unread
        return protected(chunk) if self.in_place else chunk.copy()


@dataclass(frozen=True, slots=True)
class ComputedArray:
    """An array of a cluster that is this process alone."""

    session: Session
    expr: Expr

    def load(self, rank: Rank) -> Any:
        return self.session.run([self.expr])[0]


class ChunkViews:
    """A task's looks at a chunk of somebody else's array: until the task is over the chunk stays where it is."""

    def __init__(self, engine: Engine) -> None:
        self._seen: list[tuple[StageRecord, Index]] = []
        when_gone(self, engine, partial(_end_views, self._seen))

    def add(self, record: StageRecord, tasks: Index) -> None:
        """Note one more, which the ledger counts already."""
        self._seen.append((record, tasks))


def _end_views(seen: list[tuple[StageRecord, Index]], _: Engine) -> None:
    while seen:
        record, tasks = seen.pop()
        record.view(tasks, -1)


@dataclass(frozen=True, slots=True)
class ArrayArgument:
    """A persisted array that a task takes, or one chunk of it; see `PlacedArgument`.

    Of an array that the user has persisted `pin` keeps the chunks, should the user release it, and `views` ends with
    the task. The chunk is a copy, which the function may write into, or with `in_place` a view where there can be one.
    """

    session: Session
    expr: Expr
    views: ChunkViews
    block: int | None = None
    pin: Pin | None = None
    in_place: bool = False

    def find_holder(self, engine: Engine) -> tuple[int, int]:
        record = None if self.block is None else engine.ledger.records.get(self.expr.token)
        if record is None or self.block is None:
            return -1, 0
        task = self.block // record.stage.blocks_per_task
        return int(record.owner[task]), self.expr.grid.largest * self.expr.dtype.itemsize

    def place(self, engine: Engine) -> MissingArgument:
        """Return how a rank finds the chunks now; or raise NotYet."""
        if engine.shared and self.block is None:
            return ComputedArray(self.session, self.expr)
        kept: Any = self.pin or self.expr.pin
        if kept.job.error is not None:
            raise kept.job.error
        columns = find_places(engine, self.expr.token, block=self.block)
        if columns is None:
            raise NotYet(self.expr.token, self.block)
        self.views.add(engine.ledger.records[self.expr.token], columns.tasks)
        operation: Any = self.expr.op
        in_file = len(columns.tasks) and int(columns.owners[0]) < 0
        data = operation.data if in_file else None
        if self.block is None:
            return ChunkPlaces(columns, data)
        return ChunkPlace(columns, data, self.block, self.in_place)
