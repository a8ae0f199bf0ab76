"""Elements at other places: vorticity, a sample of an overlap, Coiled's rechunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..registry import workload

if TYPE_CHECKING:
    from ..systems.base import System

Rechunk = tuple[tuple[int, ...], Any, Any]
"""A shape, chunks before, chunks after."""


@workload("vorticity")
def vorticity(at: System) -> Any:
    """dist#6571: a curl of layers, each a chunk."""
    xp = at.xp
    n, layers = at.size((5000, 36), (60, 4))
    u, v = (at.rng(i).random((n, n, layers), chunks=(n, n, 1)) for i in (1, 2))
    dx, dy = (at.rng(i).random((n + 1, n), chunks=(n + 1, n)) for i in (3, 4))
    border = ((0, 1), (0, 0), (0, 0))
    wide_u = at.rechunk(xp.pad(u, border, mode="wrap"), {0: n + 1})
    wide_v = at.rechunk(xp.pad(v, border, mode="wrap"), {0: n + 1})
    return u, v, dx, dy, at.null(dx[..., None] * wide_u - dy[..., None] * wide_v)


@vorticity.checked
def _(at: System, found: Any) -> None:
    u, v, dx, dy, sink = found
    n = u.shape[0]
    sink.check(
        lambda i, j, k: (
            at.points(dx, i, j)[..., None] * at.points(u, i % n, j, k)
            - at.points(dy, i, j)[..., None] * at.points(v, i % n, j, k)
        )
    )


def identity(block: Any) -> Any:
    """Stand for a function of a chunk and its border."""
    return block


@workload("overlap-sample", without={"numpy": "it has no chunks"})
def overlap_sample(at: System) -> Any:
    """napari: a hundred numbers of 40,000 chunks with borders, from nothing."""
    n, step, first = at.size((10_000, 50, 5000), (400, 20, 200))
    x = at.rng(1).random((n, n), chunks=(step, step))
    wide = at.xp.map_overlap(identity, x, depth=1, dtype=x.dtype)
    return x, at.compute(wide[first : first + 10, first : first + 10])


@overlap_sample.checked
def _(at: System, found: Any) -> None:
    x, sample = found
    first = at.size(5000, 200)
    np.testing.assert_array_equal(sample, at.part(x, slice(first, first + 10), slice(first, first + 10)))


def total(block: Any) -> Any:
    """Return the sum of a block, as a block."""
    return block.sum(keepdims=True)


def _rechunked(name: str, full: Rechunk, small: Rechunk) -> None:
    """Enter a rechunk of random numbers, summed after."""

    def run(at: System) -> Any:
        shape, before, after = at.size(full, small)
        x = at.rng(1).random(shape, chunks=before)
        return x, at.compute(at.xp.sum(at.rechunk(x, after)))

    def check(at: System, found: Any) -> None:
        x, value = found
        ones = tuple((1,) * len(axis) for axis in x.chunks)
        blocks = at.compute(at.xp.map_blocks(total, x, dtype=x.dtype, chunks=ones))
        np.testing.assert_allclose(float(value), np.sum(blocks), rtol=1e-9)

    workload(name, without={"numpy": "it has no chunks"})(run).checked(check)


# Chunks of some 8.5 MiB become what each system's "auto" is.
SMALL = (400, 400), (400, 10), (20, 400)
_rechunked("tiles-to-rows", ((40_132, 40_132), (1044, 1044), (-1, "auto")), ((400, 400), (40, 40), (400, 40)))
_rechunked("swap-axes", ((23_170, 23_170), (-1, 48), ("auto", -1)), SMALL)
_rechunked("swap-axes-large", ((40_132, 40_132), (-1, 27), ("auto", -1)), SMALL)
_rechunked(
    "adjacent-groups",
    ((16_106, 10, 10_000), (111, 2, 5000), ("auto", 5, 10_000)),
    ((161, 10, 100), (11, 2, 50), (20, 5, 100)),
)
_rechunked("heal-oversplit", ((40_132, 40_132), (1044, 1044), (4096, 4096)), ((400, 400), (40, 40), (200, 200)))
