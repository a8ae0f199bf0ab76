"""From zarr, to zarr."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..registry import workload

if TYPE_CHECKING:
    from ..systems.base import System

ABOVE = 280.0


@workload("zarr-selection", stores=("field",))
def selection(at: System) -> Any:
    """The mean of what lies above a value, of an array on disk in cubes."""
    a = at.load(at.stored("field") + "/a")
    return at.compute(at.xp.mean(a[a > ABOVE]))


@selection.checked
def _(at: System, found: Any) -> None:
    import zarr

    stored = zarr.open_array(at.stored("field") + "/a", mode="r")
    total, count, step = 0.0, 0, stored.chunks[0]
    for begin in range(0, stored.shape[0], step):
        part = stored[begin : begin + step]
        total, count = total + part[part > ABOVE].sum(), count + (part > ABOVE).sum()
    np.testing.assert_allclose(float(found), total / count, rtol=1e-10)


@workload("space-to-time", stores=("maps",), without={"numpy": "it has no chunks"})
def space_to_time(at: System) -> Any:
    """rechunker's: maps to series, zarr to zarr, some 250,000 pieces."""
    chunks = at.size((-1, 20, 40), (-1, 6, 6))
    return at.save(at.load(at.stored("maps") + "/a").rechunk(chunks), "series.zarr")


@space_to_time.checked
def _(at: System, found: Any) -> None:
    import zarr

    before, after = (zarr.open_array(path, mode="r") for path in (at.stored("maps") + "/a", found))
    assert after.shape == before.shape
    assert after.chunks[0] == before.shape[0], after.chunks
    for step in (0, before.shape[0] // 2, before.shape[0] - 1):
        np.testing.assert_array_equal(after[step], before[step])


@workload("months-to-zarr", stores=("hourly",))
def months(at: System) -> Any:
    """Means by month of a store with a chunk for each step, written."""
    return at.to_zarr(at.open("hourly").groupby("time.month").mean(**at.grouping), "months.zarr")


@months.checked
def _(at: System, found: Any) -> None:
    written, data = at.open_plain(found).a, at.open_plain(at.stored("hourly")).a
    month = data.time.to_index().month
    some = data[:, ::10].values.astype(np.float64)
    for m in range(1, 13):
        got = written.sel(month=m)[::10]
        np.testing.assert_allclose(got, np.nanmean(some[month == m], axis=0), rtol=1e-5)


def function(block: Any) -> Any:
    """Stand for a function of the user's on a chunk."""
    return block + 1


@workload("swap-axes-function", without={"numpy": "it has no chunks"})
def swap_after_function(at: System) -> Any:
    """Columns through a function of the user's, to rows, summed along both."""
    n, step = at.size((12_000, 90), (360, 30))
    x = at.rng(1).random((n, n), chunks=(n, step))
    done = at.rechunk(at.xp.map_blocks(function, x, dtype=x.dtype), (step, n))
    return x, at.compute(at.xp.sum(done, axis=1))


@swap_after_function.checked
def _(at: System, found: Any) -> None:
    x, sums = found
    rows = slice(0, x.shape[0] // 8)
    np.testing.assert_allclose(sums[rows], (at.part(x, rows) + 1).sum(axis=1), rtol=1e-10)
