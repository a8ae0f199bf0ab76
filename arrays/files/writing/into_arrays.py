"""Writing arrays into existing chunked arrays: by the ranks if they can open them, else by the driver."""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import threading
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import FileError
from ....graph.kinds.mapping import BlockFunction, MapBlocks, Payload
from ....scheduler.session.cluster import session
from ....workers.config import config
from ....workers.sources.stores.handed import HandedWriter, slices_of, write
from ....workers.sources.stores.libraries import is_of
from ....workers.sources.stores.zarr import (
    arrives,
    can_travel,
    folder_of,
    name_of,
    objects_of,
    pickled_array,
    place_of,
)
from ...base import ArrayBase, make
from ...chunking.rechunk import regrid
from ...chunking.stored import grid_of_objects, stored_chunks
from ...creation.from_data import from_array
from ...execution.compute import compute, persist, release, wait
from ...execution.deferred import evaluate, hand_over
from .rereads import reads

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...array import Array

Region = tuple[slice, ...]
FORKED, FORKED_OBJECT = 1 << 14, 1 << 12
"""Bytes that icechunk may need to describe a task's changes, and each object in them."""


@dataclass(frozen=True)
class Target:
    """An array, and where in another one it goes: from `first` on; `whole`: into one that nobody reads yet."""

    source: Array
    array: Any
    first: tuple[int, ...]
    whole: bool = False

    @cached_property
    def place(self) -> object:
        """The location of the other one."""
        return place_of(self.array)

    @property
    def by_ranks(self) -> bool:
        """Whether ranks can write to it."""
        array = self.array
        return is_of(array, "zarr", "Array") and not array.read_only and can_travel(array.async_array.store)


def write_blocks(operation: str, targets: Sequence[Target]) -> None:
    """Write into zarr's arrays: together those that ranks can open, unless two share an object; others one by one."""
    rest = []
    for round_ in _rounds([t for t in targets if t.by_ranks]):
        attempts = [(t, _written(operation, t)) for t in round_]
        rest += [t for t, written in attempts if written is None]
        done = [(t, written) for t, written in attempts if written is not None]
        for (target, _), counts in zip(done, evaluate([w.expr for _, w in done]) if done else (), strict=True):
            _check(operation, target, int(counts.sum()))
    here: list[Job] = [
        (t.source, t.array, [range(f, f + n) for f, n in zip(t.first, t.source.shape, strict=True)])
        for t in (*rest, *(t for t in targets if not t.by_ranks))
    ]
    if here:
        write_here(here)


def _written(operation: str, target: Target) -> Array | None:
    """Return the array of the numbers of bytes that tasks write; None if the target doesn't pickle."""
    pickled = pickled_array(target.array)
    if pickled is None:
        return None
    x = target.source
    grid = grid_of_objects(x.expr.grid, objects_of(target.array), target.first, x.dtype.itemsize)
    params = (pickled, name_of(target.array), grid, target.first, target.whole, operation, os.urandom(8).hex())
    op = BlockFunction("files.stores:store", params, where=True)
    return make(op, (regrid(x, grid),), Grid([Axis.regular(n, 1) for n in grid.counts]), np.int64)


def can_fork(store: Any) -> bool:
    """Tell whether a store is that of an icechunk session without changes, whose forks can be sent to ranks."""
    session: Any = getattr(store, "session", None)
    if not is_of(store, "icechunk.store", "IcechunkStore") or is_of(session, "icechunk.session", "ForkSession"):
        return False
    return not session.read_only and not session.has_uncommitted_changes and arrives(session.fork().store)


def write_forked(operation: str, x: Array, target: object) -> list[Any]:
    """Write a whole array by the ranks, into an array of a fork; return the sessions of all tasks."""
    pickled = pickled_array(target)
    if pickled is None:
        raise FileError(
            f"{operation}: the session of {name_of(target)} doesn't pickle; expected one that ranks can open"
        )
    objects = objects_of(target)
    grid = grid_of_objects(x.expr.grid, objects, (0,) * x.ndim, x.dtype.itemsize)
    each = math.prod(-(-axis.largest // n) for axis, n in zip(grid.axes, objects, strict=True))
    size = len(pickled) + FORKED + each * FORKED_OBJECT
    params = (pickled, name_of(target), grid, size, operation, os.urandom(8).hex())
    op = BlockFunction("files.stores:store_forked", params, axes=(tuple(range(x.ndim)),), where=True)
    written = make(
        op, (regrid(x, grid),), Grid([*(Axis.regular(n, 1) for n in grid.counts), Axis.whole(size)]), np.uint8
    )
    (raw,) = evaluate([written.expr])
    rows = raw.reshape(-1, size)
    return [pickle.loads(row[8 : 8 + int(row[:8].view(np.int64)[0])].tobytes()) for row in rows]


def _check(operation: str, target: Target, count: int) -> None:
    if count != target.source.nbytes:
        raise FileError(
            f"{operation}: {count} bytes were written to {name_of(target.array)}; expected {target.source.nbytes}"
        )
    folder = folder_of(target.array)
    if folder is not None and not target.whole:
        remove_partial(folder)


def remove_partial(folder: str) -> None:
    """Remove partial files of a store that a dead rank was writing; complete ones are renamed."""
    from ....scheduler.session.cluster import cluster

    if not cluster().losses:
        return
    for root, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".partial"):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(root, name))


def _rounds(targets: Sequence[Target]) -> list[list[Target]]:
    """Return targets in rounds; no two in a round write to the same object of a store."""
    rounds: list[list[Target]] = []
    for target in targets:
        number = max((i + 1 for i, r in enumerate(rounds) if any(_meet(target, t) for t in r)), default=0)
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(target)
    return rounds


def _meet(one: Target, other: Target) -> bool:
    if one.place != other.place:
        return False
    sizes = objects_of(one.array)
    for a, m, b, n, size in zip(one.first, one.source.shape, other.first, other.source.shape, sizes, strict=True):
        if (a + m - 1) // size < b // size or (b + n - 1) // size < a // size:
            return False
    return True


# -------------------------------------------------------------------- by the driver


Job = tuple["Array", Any, "Sequence[range]"]
"""A source, its target, and the region in it."""


def write_here(jobs: Sequence[Job], lock: object = None) -> None:
    """Write into objects of this process, chunk by chunk as they are computed, in whatever order.

    Sources are computed together, so that what they share is computed once, and before targets that they read change.
    """
    sources = [source for source, _, _ in jobs]
    kept: list[Array] = []
    if any(reads(source, target) for source in sources for _, target, _ in jobs):
        sources = kept = list(persist(*sources))
        wait(*kept)
    known = [(source, target, spans) for source, (_, target, spans) in zip(sources, jobs, strict=True)]
    try:
        if any(isinstance(target, ArrayBase) for _, target, _ in known) or session().place[1] > 1:
            write_in_order(known, lock)
        elif session().embedded:
            _write_where_computed(known, lock)
        else:
            _write_as_it_comes(known, lock)
    finally:
        for held in kept:
            release(held)


def _write_where_computed(jobs: Sequence[Job], lock: object) -> None:
    """Let each thread write the blocks that it computes, which aren't kept."""
    locks: dict[int, Any] = {}
    writes: list[Array] = []
    with contextlib.ExitStack() as stack:
        for source, target, spans in jobs:
            grid = _grid_here(source, target, spans)
            own = lock if lock not in (True, None) else locks.setdefault(id(target), threading.Lock())
            writer = stack.enter_context(HandedWriter(target, grid, spans, None if lock is False else own))
            pickled = pickle.dumps((write, (writer.number,), {}))
            op = MapBlocks(Payload("store", pickled, str(writer.number)), (tuple(range(grid.ndim)),), ("block_id",))
            counted = Grid([Axis.regular(n, 1) for n in grid.counts])
            writes.append(make(op, (regrid(source, grid),), counted, np.int64))
        evaluate([each.expr for each in writes])


def _write_as_it_comes(jobs: Sequence[Job], lock: object) -> None:
    """Write blocks from the calling thread while ranks compute further ones, as far as their memory allows."""
    grids = [_grid_here(*job) for job in jobs]
    own = None if isinstance(lock, bool) else lock
    writers = [HandedWriter(target, grid, spans, own) for grid, (_, target, spans) in zip(grids, jobs, strict=True)]
    roots = [regrid(source, grid).expr for grid, (source, _, _) in zip(grids, jobs, strict=True)]
    hand_over(roots, lambda number, grid, block, values: writers[number].write_at(grid.block_slices(block), values))


def write_in_order(jobs: Sequence[Job], lock: object = None) -> None:
    """Write chunk by chunk from the calling thread, in order; chunks that don't fit its memory stay on the ranks."""
    sources = [source for source, _, _ in jobs]
    large = sum(s.nbytes for s in sources) > 4 * config.chunk_bytes
    kept = list(persist(*sources)) if large else [from_array(np.asarray(value)) for value in compute(sources)]
    try:
        for (source, target, spans), held in zip(jobs, kept, strict=True):
            for where, values in _chunks(_grid_here(source, target, spans), held):
                with hold_lock(lock):
                    target[slices(r[w] for r, w in zip(spans, where, strict=True))] = values
    finally:
        for held in kept if large else ():
            release(held)


def _grid_here(source: Array, target: Any, spans: Sequence[range]) -> Grid:
    stored = stored_chunks(target, config.chunk_bytes)
    if stored is None or any(s.step != 1 for s in spans):
        return source.expr.grid
    return grid_of_objects(source.expr.grid, stored, [s.start for s in spans], source.dtype.itemsize)


def _chunks(grid: Grid, held: Array) -> Iterator[tuple[Region, Any]]:
    """Yield the chunks of an array; as many are computed at once as fit some bytes."""
    each = max(1, grid.largest * held.itemsize)
    step = max(1, 4 * config.chunk_bytes // each)
    for first in range(0, grid.nblocks, step):
        places = [grid.block_slices(k) for k in range(first, min(first + step, grid.nblocks))]
        yield from zip(places, compute([held[where] for where in places]), strict=True)


def slices(spans: Any) -> Region:
    """Return the slices of the positions in ranges."""
    return tuple(map(slices_of, spans))


@contextlib.contextmanager
def hold_lock(lock: Any) -> Iterator[None]:
    """Hold a lock, if there is one."""
    if lock is None or isinstance(lock, bool):
        yield
        return
    lock.acquire()
    try:
        yield
    finally:
        lock.release()
