"""Writing arrays into what the user has: anything that takes `target[slices] = values`."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, ShapeError, bad
from ...workers.config import config
from ..base import ArrayBase, as_array
from ..creation.from_data import from_array
from ..execution.compute import compute as computed
from ..execution.compute import persist, release

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..array import Array

__all__ = [
    "store",
]

Region = tuple[slice, ...]


def store(
    sources: Any,
    targets: Any,
    lock: Any = True,
    regions: Any = None,
    compute: bool = True,
    return_stored: bool = False,
) -> Any:
    """Compute arrays and write them chunk by chunk into other arrays: zarr's, h5py's, NumPy's.

    The driver writes, one chunk after another; what doesn't fit its memory stays on the ranks until then. With `save`,
    `to_npy` and `to_parquet` the ranks write.

    Parameters
    ----------
    sources : Array or sequence of Array
        What to write.
    targets : array or sequence of arrays
        For each source an object with a shape that takes `target[slices] = values`.
    lock : lock or bool
        A lock that is held during each write. A bool or None: none is needed, since nothing else writes.
    regions : tuple of slice, or sequence of such, optional
        Where in the targets; None: all of them.
    compute : bool
        Whether to write now; False: return an object whose `compute()` writes.
    return_stored : bool
        Whether to return arrays of what the targets then hold.

    Returns
    -------
    None, Array, tuple of Array or Stored
        None; with `return_stored` a lazy array for each source; with `compute=False` what writes when asked.

    Raises
    ------
    ArgumentError
        `sources` are no Windrow arrays, `targets` or `regions` don't match them in number, or a target doesn't take
        slices.
    ShapeError
        A source doesn't have the shape of its region.

    Examples
    --------
    >>> import numpy as np
    >>> import windrow as wr
    >>> target = np.zeros(6)
    >>> wr.store(wr.arange(3, chunks=2), target, regions=(slice(2, 5),))
    >>> target
    array([0., 0., 0., 1., 2., 0.])
    """
    single = isinstance(sources, ArrayBase)
    if single:
        sources, targets = [sources], [targets]
        regions = None if regions is None else [regions]
    elif not isinstance(sources, Sequence) or not all(isinstance(s, ArrayBase) for s in sources):
        raise ArgumentError(bad("store", "sources", sources, "a Windrow array, or a sequence of them"))
    if isinstance(regions, tuple) and regions and all(isinstance(r, slice) for r in regions):
        regions = [regions] * len(sources)
    if not isinstance(targets, Sequence) or len(targets) != len(sources):
        raise ArgumentError(bad("store", "targets", targets, f"a target for each of {len(sources)} sources"))
    regions = [None] * len(sources) if regions is None else regions
    if len(regions) != len(sources):
        raise ArgumentError(bad("store", "regions", regions, f"a tuple of slices for each of {len(sources)} sources"))
    arrays = [as_array("store", "sources", s) for s in sources]
    jobs = tuple(_Job(a, t, _region(a, t, r)) for a, t, r in zip(arrays, targets, regions, strict=True))
    work = Stored(jobs, lock, return_stored, single)
    return work.compute() if compute else work


@dataclass(frozen=True)
class _Job:
    """A source, its target, and where in it."""

    source: Array
    target: Any
    region: tuple[range, ...]


@dataclass(frozen=True)
class Stored:
    """What `store` writes when it is asked to."""

    jobs: tuple[_Job, ...]
    lock: Any
    return_stored: bool
    single: bool

    def compute(self) -> Any:
        """Write; return what `store` returns."""
        sources = [job.source for job in self.jobs]
        large = sum(s.nbytes for s in sources) > 4 * config.chunk_bytes
        if large:
            made = persist(*sources)
            kept = list(made) if isinstance(made, tuple) else [made]
        else:
            kept = [from_array(np.asarray(value)) for value in computed(sources)]
        try:
            for job, held in zip(self.jobs, kept, strict=True):
                for where, values in _chunks(job.source, held):
                    with _hold_lock(self.lock):
                        job.target[_slices(r[w] for r, w in zip(job.region, where, strict=True))] = values
        finally:
            for held in kept if large else ():
                release(held)
        if not self.return_stored:
            return None
        found = tuple(from_array(j.target)[_slices(j.region)].rechunk(j.source.chunks) for j in self.jobs)
        return found[0] if self.single else found


def _chunks(source: Array, held: Array) -> Iterator[tuple[Region, Any]]:
    """Yield the chunks of a source, as many computed at once as fit some bytes."""
    grid = source.expr.grid
    each = max(1, grid.largest * source.itemsize)
    step = max(1, 4 * config.chunk_bytes // each)
    for first in range(0, grid.nblocks, step):
        places = [grid.block_slices(k) for k in range(first, min(first + step, grid.nblocks))]
        yield from zip(places, computed([held[where] for where in places]), strict=True)


@contextlib.contextmanager
def _hold_lock(lock: Any) -> Iterator[None]:
    if lock is None or isinstance(lock, bool):
        yield
        return
    lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _region(source: Array, target: Any, region: Any) -> tuple[range, ...]:
    """Return the positions of its target that a source goes to."""
    shape = getattr(target, "shape", None)
    if shape is None or not hasattr(target, "__setitem__"):
        raise ArgumentError(bad("store", "targets", type(target).__name__, "something with a shape that takes slices"))
    given = (slice(None),) * len(shape) if region is None else region
    if not isinstance(given, tuple) or len(given) != len(shape) or not all(isinstance(s, slice) for s in given):
        raise ArgumentError(bad("store", "regions", region, f"a slice for each of the target's {len(shape)} axes"))
    spans = tuple(range(*s.indices(n)) for s, n in zip(given, shape, strict=True))
    if tuple(map(len, spans)) != source.shape:
        where = "its target" if region is None else "the region of its target"
        raise ShapeError(bad("store", "sources", source.shape, f"{tuple(map(len, spans))}, the shape of {where}"))
    return spans


def _slices(spans: Iterable[range]) -> Region:
    return tuple(slice(r.start, None if r.stop < 0 else r.stop, r.step) for r in spans)
