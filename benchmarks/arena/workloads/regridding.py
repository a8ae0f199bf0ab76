"""A large operand for each chunk, and memory's own speed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..registry import workload

if TYPE_CHECKING:
    from ..systems.base import System


def weights(before: tuple[int, int], after: tuple[int, int], each: int) -> Any:
    """Return a sparse matrix that takes a grid to another one: so many neighbours for each point."""
    from scipy.sparse import csr_matrix

    rows, columns = after[0] * after[1], before[0] * before[1]
    y = np.linspace(0, before[0] - 1, after[0])[:, None, None].astype(int)
    x = np.linspace(0, before[1] - 1, after[1])[None, :, None].astype(int)
    near = y * before[1] + (x + np.arange(each) // 2) % before[1] + np.arange(each) % 2 * before[1]
    near = np.minimum(near, columns - 1).reshape(rows, each)
    data = np.full(rows * each, 1 / each)
    return csr_matrix((data, near.ravel(), np.arange(rows + 1) * each), shape=(rows, columns))


def regridded(block: Any, matrix: Any, after: tuple[int, int]) -> Any:
    """Return a chunk of steps on the other grid."""
    return np.stack([(matrix @ step.ravel()).reshape(after) for step in block])


def _regrid(at: System, each: int) -> Any:
    steps, before, after = at.size((48, (721, 1440), (181, 360)), (4, (19, 36), (7, 12)))
    x = at.rng(1).random((steps, *before), chunks=(1, *before))
    function = partial(regridded, matrix=weights(before, after, each), after=after)
    grid = (1,) * steps, *((n,) for n in after)
    return x, function, at.compute(at.xp.map_blocks(function, x, dtype=x.dtype, chunks=grid))


def _regrid_checked(at: System, found: Any) -> None:
    x, function, got = found
    for step in {0, x.shape[0] - 1}:
        np.testing.assert_allclose(got[step : step + 1], function(at.part(x, slice(step, step + 1))), rtol=1e-12)


@workload("regrid-4MiB")
def regrid(at: System) -> Any:
    """ERA5 to one degree: 48 steps through a sparse matrix of 4 MiB."""
    return _regrid(at, 4)


@workload("regrid-100MiB")
def regrid_large(at: System) -> Any:
    """The same with a matrix of 100 MiB."""
    return _regrid(at, 128)


regrid.checked(_regrid_checked)
regrid_large.checked(_regrid_checked)


@workload("stream-triad", without={"cubed": "it keeps nothing in memory"})
def triad(at: System) -> Any:
    """STREAM's triad over arrays in memory: 3 x 800 MB, of which the last two are made first."""
    n = at.size(100_000_000, 100_000)
    b, c = at.persist(*(at.rng(i).random((n,), chunks=n // 16) for i in (1, 2)))
    (a,) = at.persist(b + 3.0 * c)
    return a, b, c


@triad.checked
def _(at: System, found: Any) -> None:
    a, b, c = found
    step = a.shape[0] // 8
    for begin in range(0, a.shape[0], step):
        part, more, most = (at.part(x, slice(begin, begin + step)) for x in (a, b, c))
        np.testing.assert_array_equal(part, more + 3.0 * most)


FEED, KILL, STEPS = 0.03, 0.062, 34


def reaction(np: Any, u: Any, v: Any) -> tuple[Any, Any]:
    """Return Gray and Scott's two substances a step later, on a torus."""

    def spread(x: Any) -> Any:
        return np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1) - 4 * x

    product = u * v * v
    du = 0.16 * spread(u) - product + FEED * (1 - u)
    dv = 0.08 * spread(v) + product - (FEED + KILL) * v
    return (u + du).astype("float32"), (v + dv).astype("float32")


@workload("gray-scott", without={"cubed": "it keeps nothing in memory", "distributed": "dask's threads stand for it"})
def gray_scott(at: System) -> Any:
    """Images of a reaction on 1080 x 1920 in float32, 34 steps between them, into HDF5."""
    import h5py

    rows, columns, images = at.size((1080, 1920, 10), (30, 40, 2))
    u, v = (at.rng(i).random((rows, columns), dtype="float32", chunks=(rows // 2, columns)) for i in (1, 2))
    u, v = first = at.persist(u, v)
    with h5py.File(at.path("images.h5"), "w") as file:
        stored = file.create_dataset("v", (images, rows, columns), "float32")
        for image in range(images):
            for _ in range(STEPS):
                u, v = reaction(at.xp, u, v)
            u, v = at.persist(u, v)
            stored[image] = at.compute(v)
    return first, at.path("images.h5")


@gray_scott.checked
def _(at: System, found: Any) -> None:
    import h5py

    (u, v), path = found
    u, v = (at.part(x, slice(None)) for x in (u, v))
    with h5py.File(path) as file:
        for _ in range(STEPS):
            u, v = reaction(np, u, v)
        np.testing.assert_allclose(file["v"][0], v, atol=1e-4)
        assert np.isfinite(file["v"][-1]).all()
