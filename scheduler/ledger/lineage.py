"""What the ledger knows of stages, for people to look at: what they were made from, where, and how long that took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .stage_record import ChunkState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ...graph.chunks.block_reads import Rows
    from ...graph.chunks.grid import Index
    from ...graph.lowering.stage import Stage
    from ..engine.engine import Engine
    from .stage_record import StageRecord

REMEMBERED = 4096
"""Of so many stages it is remembered how long their tasks took, the latest ones."""


@dataclass(frozen=True)
class Known:
    """A stage in the ledger; the columns have a row for each task.

    `reads` has the token of each input, and which of its tasks each task reads. `owner` is the rank that stores a
    task's chunks, or runs the task, else -1. `on_disk` tells which chunks are in a spill file.
    """

    stage: Stage
    reads: tuple[tuple[str, Rows], ...]
    state: NDArray[np.uint8]
    owner: Index
    on_disk: NDArray[np.bool_]


def find_history(engine: Engine, tokens: Iterable[str]) -> dict[str, Known]:
    """Return those of some stages that the ledger has, and all that these were made from; on the engine's thread."""
    history: dict[str, Known] = {}
    left = list(tokens)
    while left:
        token = left.pop()
        record = engine.ledger.records.get(token)
        if token not in history and record is not None:
            reads = tuple((edge.record.stage.token, edge.reads) for edge in record.inputs)
            owner, on_disk = find_owners(record), (record.state == ChunkState.STORED) & (record.source >= 0)
            history[token] = Known(record.stage, reads, record.state.copy(), owner, on_disk)
            left += [each for each, _ in reads]
    return history


def find_owners(record: StageRecord) -> Index:
    """Return the rank that stores each task's chunks, or runs the task; -1 where none does.

    A user's array that is read where it lies is rank 0's; a file is nobody's.
    """
    data = record.stage.data
    if record.in_place:
        return np.full(record.ntasks, -1 if data is None or data.file is not None else 0, np.int64)
    there = (record.state == ChunkState.STORED) | (record.state == ChunkState.RUNNING)
    return np.where(there, record.owner, -1).astype(np.int64)


def locate_chunks(engine: Engine, token: str) -> Index | None:
    """Return the rank that stores each chunk of a stage, in C order, -1 where none does; on the engine's thread."""
    record = engine.ledger.records.get(token)
    if record is None:
        return None
    owner = np.where(record.state == ChunkState.STORED, find_owners(record), -1)
    return owner.repeat(record.stage.blocks_per_task)[: record.stage.grid.nblocks]


class Timings:
    """Seconds that a task took on average, by the token of a stage that is forgotten, for when it comes again."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def note(self, record: StageRecord) -> None:
        """Remember what the tasks of a record have taken."""
        if record.ran:
            name = record.stage.token.partition("/")[0]  # without what told apart stages that wrote a user's result
            self.seconds.pop(name, None)
            self.seconds[name] = record.spent / record.ran
            if len(self.seconds) > REMEMBERED:
                del self.seconds[next(iter(self.seconds))]


def find_seconds(engine: Engine, tokens: Iterable[str]) -> dict[str, float]:
    """Return the seconds that a task of each stage took, of those that are known; on the engine's thread."""
    seconds: dict[str, float] = {}
    for token in tokens:
        record = engine.ledger.records.get(token)
        if record is not None and record.ran:
            seconds[token] = record.spent / record.ran
        elif token in engine.ledger.timings.seconds:
            seconds[token] = engine.ledger.timings.seconds[token]
    return seconds
