"""What can't run even one task at a time is refused before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...graph.errors import OutOfMemory
from ...graph.kinds.mapping import BlockFunction
from ...graph.lowering.program import Call
from ...workers.memory.footprint import least_bytes
from ...workers.memory.memory_limit import memory_limit, read_status
from ..engine.failure import created, out_of_memory, whole_needed
from ..ledger.arena import ArenaAllocator
from ..session.html import size_text
from ..session.result_collector import writes_results

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ...graph.lowering.stage import Stage

MUCH = 1 << 30
"""Bytes of a block, or of results, from which on it is asked how much memory there is."""


def check_room(stages: Iterable[Stage], handed: Collection[str], results: int, arenas: Sequence[int]) -> None:
    """Raise where a task's chunks, or what it takes beside them for sure, or all results, can't be held.

    Kernels may write blocks of the stages `handed` where the user has them. `results` are the bytes of all that is
    handed to the user, `arenas` those of each rank's.
    """
    largest, every = max(arenas), list(stages)
    for stage in every:
        if stage.heft * 4 >= min(largest, MUCH):
            direct = stage.token in handed and writes_results(stage)
            hosted = stage.data is not None and (stage.data.file is not None or len(arenas) == 1)
            slab = 0 if direct or hosted else int(stage.all_slab_bytes.max(initial=0))
            if slab > largest and (reader := _needs_whole(stage, every)) is not None:
                raise whole_needed(reader, stage, slab, largest)
            _check_stage(stage, slab, largest)
    if results >= MUCH and results > (limit := memory_limit()).nbytes:
        raise OutOfMemory(
            f"compute: the results take {size_text(results)}, and there are {size_text(limit.nbytes)} of memory "
            f"({limit.who}). Reduce them, or write them to a file in place of computing them (to_zarr, save)"
        )


def _check_stage(stage: Stage, slab: int, arena: int) -> None:
    if ArenaAllocator.pad_size(slab) > arena:
        rounded = "" if slab > arena else f", rounded up to {ArenaAllocator.pad_size(slab):,} bytes,"
        raise out_of_memory(stage, slab, arena, arena, f"that{rounded} is more than the whole")
    least = least_bytes(stage) + slab
    if least < MUCH or least <= (limit := memory_limit()).nbytes:
        return
    raise OutOfMemory(
        f"{stage.name}: one task needs {size_text(least)}, and there are {size_text(limit.nbytes)} of memory "
        f"({limit.who}). Use smaller chunks{created(stage)}"
    )


def _needs_whole(stage: Stage, stages: Sequence[Stage]) -> Stage | None:
    """Return a built-in operation that reads all that a stage makes in one block, whatever chunks the user chose."""
    if stage.grid.nblocks > 1:
        return None
    for reader in stages:
        if stage.token in reader.inputs and any(
            isinstance(value, Call) and isinstance(value.op, BlockFunction) for value in reader.program.values
        ):
            return reader
    return None


def rank_limit(ranks: int) -> int:
    """Return the bytes that a rank may take beside what this process has."""
    return max(0, memory_limit().nbytes - read_status("RssAnon")) // ranks
