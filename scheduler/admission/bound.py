"""A bound on the memory that a computation takes: what lives between stages, and what tasks take while they run.

What lives in arenas is never more than what one thread would hold and what may run ahead of it (`admission`), nor more
than all that is made. To that come, for each thread, what its task takes at work (`workers.memory.footprint`), what I/O
threads have read ahead, and what is handed to the user.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...graph.lowering.stage import relations
from ...workers.memory.footprint import LEAST, Work, read_bytes, task_work
from ..session.result_collector import writes_results
from .admission import PLENTY, find_allowance
from .batch_size import BATCH_BYTES
from .io_slots import most_read
from .sequence import SequenceStep, best_order, padded

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ...graph.chunks.grid import Index
    from ...graph.kinds.source import HostData
    from ...graph.lowering.stage import Stage

OBJECTS = 1 << 16
"""Bytes of a computation's messages and other objects, however small it is."""
MOST_TASKS = 1 << 20
"""Tasks from which on what is made counts as if all of it lived at once."""
BLOCK, READ, PLANNING = 64, 32, 1 << 20
"""Bytes of what the ledger notes of each block, and of each that it reads; and of lists while it does so."""


@dataclass(frozen=True)
class Room:
    """Where it runs: bytes of each rank's arena that are free, and each rank's threads."""

    arenas: tuple[int, ...]
    threads: tuple[int, ...]

    @property
    def embedded(self) -> bool:
        """Whether one process does it all, and hands its own memory to the user."""
        return len(self.arenas) == 1


@dataclass(frozen=True)
class MemoryBound:
    """What a computation takes above what is held before, at most, in bytes.

    `peak` is that of one rank, arena and process; `held` are results, which stay. `stage` is the token of the stage
    that causes most of it, "" where nothing is made; `work` has what a task of each stage takes at work, with its slab.
    """

    peak: int
    held: int
    stage: str
    work: dict[str, int]


def find_bound(
    stages: Sequence[Stage],
    results: Mapping[str, int],
    room: Room,
    unknown: Collection[str] = (),
    stored: Collection[str] = (),
) -> MemoryBound:
    """Return the bound of stages, inputs before their readers.

    `results` has the bytes of what is handed to the user, by the token of the stage that makes it. Stages whose tokens
    are `unknown` stand for what isn't known: each counts by what it reads and makes. Chunks of `stored` ones stay in
    arenas, as `persist` has them.
    """
    sources = {s.token: s.data for s in stages if s.data is not None}
    computed = [s for s in stages if s.data is None or not (room.embedded or s.data.file is not None)]
    read = {token for s in stages for token in s.inputs}
    held = sum(results.values())
    if not computed:
        return MemoryBound(held + LEAST, held, "", {})
    slabs = [_slabs(s, s.token in results and s.token not in read and room.embedded) for s in computed]
    each = [int(sizes.max(initial=0)) for sizes in slabs]
    work = [Work(_unknown_bytes(s)) if s.token in unknown else task_work(s, sources) for s in computed]
    threads, ahead = max(room.threads), max(_read_ahead(s, sources, room) for s in computed)
    live = sum(int(padded(sizes).sum()) for sizes in slabs)
    if live > min(PLENTY, sum(room.arenas) // 2) and not unknown and sum(map(len, slabs)) <= MOST_TASKS:
        kept = {s.token for s in computed if s.data is not None or (s.token in results and s.token in read)}
        kept |= set(stored)
        order = best_order(_steps(computed, slabs, kept))
        slots = sum(room.threads)
        allowance = max(find_allowance(order, sum(room.arenas), slots, len(room.arenas)), slots * max(each))
        live = min(live, order.peak + allowance + 2 * max(each))
    peak = (
        min(live, max(room.arenas))
        + _at_work(computed, work, {*results, *stored}, threads)
        + ahead
        + held
        + _books(computed)
    )
    cause = max(range(len(computed)), key=lambda k: min(threads, computed[k].ntasks) * (work[k].total + each[k]))
    return MemoryBound(
        peak, held, computed[cause].token, {s.token: work[k].total + each[k] for k, s in enumerate(computed)}
    )


def _at_work(made: Sequence[Stage], work: Sequence[Work], results: Collection[str], threads: int) -> int:
    """Return what tasks take while they run, as many at once as there are threads, and what these keep of it."""
    counts = [stage.ntasks for stage in made]
    kinds = {kind for each in work for kind in each.kept}
    kept = sum(_most([each.kept[kind] for each in work], counts, threads) for kind in kinds)
    passing = [each.passing for each in work]
    lone = _alone(made, results)
    return kept + max(_most(passing[:lone], counts[:lone], threads), *passing[lone:], 0)


def _books(made: Sequence[Stage]) -> int:
    """Return what the driver takes to know of all tasks, and of what they read."""
    entries = sum(stage.ntasks + stage.domain.nblocks for stage in made)
    noted = sum(s.domain.nblocks * (BLOCK + READ * len(s.inputs)) for s in made)
    return OBJECTS + noted + min(PLANNING, 256 * entries)


def _most(sizes: Sequence[int], counts: Sequence[int], threads: int) -> int:
    """Return what the largest take, as many as there are threads, of so many of each size."""
    total = 0
    for size, count in sorted(zip(sizes, counts, strict=True), reverse=True):
        total += size * min(count, threads)
        threads -= min(count, threads)
    return total


def _alone(made: Sequence[Stage], results: Collection[str]) -> int:
    """Return from which stage on each is one task that waits for all stages before it."""
    for number in range(len(made) - 1, 0, -1):
        read = {token for stage in made[: number + 1] for token in stage.inputs}
        if made[number].ntasks > 1 or not all(s.token in read and s.token not in results for s in made[:number]):
            return number + 1
    return 1


def _steps(made: Sequence[Stage], slabs: Sequence[Index], kept: Collection[str]) -> list[SequenceStep]:
    numbers = {stage.token: number for number, stage in enumerate(made)}
    reads = relations(made, {token: 1 for stage in made for token in stage.inputs})
    steps: list[SequenceStep] = []
    for stage, sizes in zip(made, slabs, strict=True):
        edges = zip(stage.inputs, reads[stage.token][1], strict=True)
        inputs = tuple((numbers[token], rows) for token, rows in edges if token in numbers)
        steps.append(SequenceStep(sizes, inputs, stage.token in kept))
    return steps


def _slabs(stage: Stage, handed: bool) -> Index:
    """Return the bytes of a stage's slabs; what kernels write where the user has it takes none."""
    if handed and writes_results(stage):
        return np.zeros(stage.ntasks, np.int64)
    return stage.all_slab_bytes


def _unknown_bytes(stage: Stage) -> int:
    """Return what counts for an operation that is planned when it runs: copies of all that it reads and makes."""
    read = sum(grid.size for grid in stage.input_grids) * stage.dtype.itemsize
    return 2 * (read + stage.grid.size * stage.dtype.itemsize)


def _read_ahead(stage: Stage, sources: Mapping[str, HostData], room: Room) -> int:
    """Return the bytes of what I/O threads of a rank have read for tasks that haven't begun; see `Readings`."""
    one = read_bytes(stage, sources)
    if not one:
        return 0
    near = all(sources[token].near for token in stage.inputs if token in sources)
    few, most = most_read(max(room.arenas), max(room.threads), near)
    batch = max(one, min(one * stage.ntasks, BATCH_BYTES))
    return 2 * min(max(few * batch, most + batch), one * stage.ntasks)
