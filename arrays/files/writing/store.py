"""Writing arrays into the user's objects: anything that takes `target[slices] = values`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError, DTypeError, FileError, ShapeError, bad
from ....graph.kinds.source import Host
from ....scheduler.session.cluster import session
from ....workers.sources.stores.libraries import is_of
from ....workers.sources.stores.zarr import name_of
from ...base import ArrayBase, LazyWrites, as_array
from ...creation.from_data import from_array
from .atomic_write import write_once
from .into_arrays import Target, hold_lock, slices, write_blocks, write_here
from .rereads import ZarrReads, is_same, reader, reads

if TYPE_CHECKING:
    from ...array import Array

__all__ = [
    "store",
]


def store(
    sources: Any,
    targets: Any,
    lock: object = True,
    regions: Any = None,
    compute: bool = True,
    return_stored: bool = False,
    load_stored: bool | None = None,
) -> Any:
    """Compute arrays and write them into other arrays: zarr's, h5py's, NumPy's.

    The ranks write into targets that all of them can open, zarr's arrays in folders and at URLs; each object of the
    store (a chunk, or a whole shard) is written by one task, whatever the chunks are. This process writes into others,
    chunk by chunk: the embedded engine's threads write chunks as they compute them, in any order; with ranks the driver
    writes chunks as they arrive, in any order too, while further ones are computed as far as memory allows.

    Parameters
    ----------
    sources : Array or sequence of Array
        What to write.
    targets : array or sequence of arrays
        For each source an object with a shape that takes `target[slices] = values`. A variable of netCDF4's grows along
        its unlimited dimensions. Where several sources go to the same elements, the last one's stay.
    lock : lock or bool
        What is held while something is written. True or None: a lock for each target, so that no two chunks are written
        into it at once; False: none.
    regions : tuple of slice, or sequence of such, optional
        Where in the targets; None: all of them. Of an unlimited dimension `slice(6, None)` takes what comes.
    compute : bool
        Whether to write now; False: return an object whose `compute()` writes.
    return_stored : bool
        Whether to return arrays of what the targets then hold.
    load_stored : bool, optional
        Accepted for dask and ignored: they are read from the targets when they are needed.

    Returns
    -------
    None, Array, tuple of Array or Stored
        None; with `return_stored` a lazy array for each source; with `compute=False` what writes when asked.

    Raises
    ------
    ArgumentError
        `sources` are no Windrow arrays, `targets` or `regions` don't match them in number, a target doesn't take
        slices, or a source reads what ranks would write meanwhile, at other places than those that it is written to.
    ShapeError
        A source doesn't have the shape of its region.
    DTypeError
        A source is complex, and its target holds real numbers.
    FileError
        A target can't be written, or a rank was lost while one was written over what it is made from.

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
        regions = regions if regions is None or isinstance(regions, list) else [regions]
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
    for array, target in zip(arrays, targets, strict=True):
        kind = getattr(getattr(target, "dtype", None), "kind", "c")
        if array.dtype.kind == "c" and kind in "biuf":
            how = f"values that a target of {target.dtype} can hold; take .real or abs()"
            raise DTypeError(bad("store", "sources", array.dtype, how))
    jobs = tuple(_Job(a, t, _region(a, t, r)) for a, t, r in zip(arrays, targets, regions, strict=True))
    work = Stored(partial(_store, jobs, lock, return_stored, single))
    return work.compute() if compute else work


@dataclass(frozen=True)
class _Job:
    """A source, its target, and the region in it."""

    source: Array
    target: Any
    region: tuple[range, ...]

    @property
    def by_ranks(self) -> Target | None:
        """The ranks' part; None if the driver writes."""
        if any(r.step != 1 for r in self.region):
            return None
        target = Target(self.source, self.target, tuple(r.start for r in self.region))
        return target if target.by_ranks else None

    def meets(self, other: _Job) -> bool:
        """Whether another one writes to some of the same elements; the later one's stay then."""
        pairs = [(_box(a), _box(b)) for a, b in zip(self.region, other.region, strict=False)]
        comparable = self.target is other.target or not isinstance(self.target, np.ndarray)  # of views by their memory
        apart = comparable and any(a[1] <= b[0] or b[1] <= a[0] for a, b in pairs)
        return not apart and is_same(self.target, other.target)

    def needs(self, other: _Job, reader: ZarrReads) -> bool:
        """Whether its source, as it reads, needs what another job, or this one, writes over."""
        return reader.needs(other.target, [(r.start, r.stop) for r in other.region], own=other is self)


@dataclass(frozen=True)
class Stored(LazyWrites):
    """What a call writes when it is asked to."""

    act: Callable[[], Any]

    def compute(self) -> Any:
        """Write; return what the call returns."""
        return self.act()


def _store(jobs: tuple[_Job, ...], lock: object, return_stored: bool, single: bool) -> Any:
    for round_ in _rounds(jobs):
        _store_round(round_, lock)
    if not return_stored:
        return None
    arrays = tuple(from_array(j.target)[slices(j.region)].rechunk(j.source.chunks) for j in jobs)
    return arrays[0] if single else arrays


def _rounds(jobs: Sequence[_Job]) -> list[list[_Job]]:
    """Return groups that are written together, in order: first those that read elements that ranks then write.

    Of several that write to the same elements, each is in a later group than the one before, as in a loop over them.
    """
    numbers = range(len(jobs))
    by_ranks = [i for i in numbers if jobs[i].by_ranks is not None]
    known = [reader(job.source, [r.start for r in job.region]) for job in jobs] if by_ranks else []
    earlier = {i: {j for j in range(i) if jobs[i].meets(jobs[j])} for i in numbers}
    readers = {i: {j for j in numbers if jobs[j].needs(jobs[i], known[j])} for i in by_ranks}
    rounds: list[list[_Job]] = []
    waiting = set(numbers)
    while waiting:
        late = {i for i in waiting if (readers.get(i, set()) | earlier[i]) & waiting}
        if late == waiting:
            name = name_of(jobs[min(late)].target)
            raise ArgumentError(
                f"store: a source reads {name}, into which ranks would write meanwhile, elsewhere than it is written "
                "to; expected another target, or a source that was computed or saved before"
            )
        rounds.append([jobs[i] for i in sorted(waiting - late)])
        waiting = late
    return rounds


def _box(region: range) -> tuple[int, int]:
    """Return the first of some positions, and one past the last."""
    return (min(region[0], region[-1]), max(region[0], region[-1]) + 1) if region else (0, 0)


def _store_round(jobs: Sequence[_Job], lock: object) -> None:
    by_ranks = [target for job in jobs if (target := job.by_ranks) is not None]
    if by_ranks:
        changing = [t for t in by_ranks if not isinstance(t.source.expr.op, Host) and reads(t.source, t.array)]
        lost = len(session().losses) if changing else 0
        with hold_lock(lock):
            names = "; ".join(name_of(t.array) for t in by_ranks)
            rewrite = [t.source for t in by_ranks]
            write_once("store", names, True, rewrite, lambda *known: _write(by_ranks, known))
        if changing and len(session().losses) > lost:
            raise FileError(
                f"store: a rank was lost while {name_of(changing[0].array)} was written over what it was made from; "
                "some of its blocks may have been made from what was written already"
            )
    here = [(job.source, job.target, job.region) for job in jobs if job.by_ranks is None]
    if here:
        write_here(here, lock)


def _write(targets: list[Target], known: Sequence[Array]) -> None:
    write_blocks("store", [replace(t, source=x) for t, x in zip(targets, known, strict=True)])


def _region(source: Array, target: object, region: Any) -> tuple[range, ...]:
    """Return the positions of its target that a source goes to."""
    shape, grows = _extent(target)
    if shape is None or not hasattr(target, "__setitem__"):
        raise ArgumentError(bad("store", "targets", type(target).__name__, "something with a shape that takes slices"))
    slices = (slice(None),) * len(shape) if region is None else region
    if not isinstance(slices, tuple) or len(slices) != len(shape) or not all(isinstance(s, slice) for s in slices):
        raise ArgumentError(bad("store", "regions", region, f"a slice for each of the target's {len(shape)} axes"))
    if len(shape) != source.ndim:
        raise ShapeError(bad("store", "sources", source.shape, f"an array of {len(shape)} axes, as its target has"))
    spans = tuple(map(_span, slices, shape, source.shape, grows))
    if tuple(map(len, spans)) != source.shape:
        where = "its target" if region is None else "the region of its target"
        raise ShapeError(bad("store", "sources", source.shape, f"{tuple(map(len, spans))}, the shape of {where}"))
    return spans


def _extent(target: Any) -> tuple[Any, tuple[bool, ...]]:
    """Return the shape of a target, None where it has none, and along which axes it grows when more is written.

    Those are unlimited dimensions of netCDF4's variables, which xarray wraps.
    """
    if is_of(target, "xarray.backends.netCDF4_", "NetCDF4ArrayWrapper"):
        target = target.get_array()
    shape = getattr(target, "shape", None)
    if is_of(target, "netCDF4", "Variable"):
        return shape, tuple(each.isunlimited() for each in target.get_dims())
    return shape, (False,) * len(shape or ())


def _span(given: slice, length: int, size: int, grows: bool) -> range:
    """Return the positions along an axis that a slice means where so many are written."""
    first, step = given.start or 0, given.step or 1
    if grows and first >= 0 and step > 0 and (given.stop is None or given.stop > length):
        end = first + (size - 1) * step + 1 if given.stop is None and size else given.stop
        length = max(length, end or 0)
    return range(*given.indices(length))
