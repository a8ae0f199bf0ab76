"""Selecting by a mask, chunk by chunk; the number of elements is computed when something asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.grid import Axis, Grid
from ...graph.kinds.mapping import BlockFunction
from ..base import alias, as_array, make
from ..chunking.rechunk import regrid
from ..execution.compute import persist
from ..execution.deferred import Chosen, defer_unsized
from ..ops.moves.reshaping import ravel

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..array import Array

LARGE_MASK = 1 << 14
"""NumPy's masks of at least this many elements are applied by block; smaller ones as arrays of positions."""


def select(x: Array, mask: Array) -> Array:
    """Return the elements where the mask over the first axes holds, in C order."""
    chosen = Chosen(alias(x), alias(mask))
    return defer_unsized("getitem", _select, (x, mask), (), chosen.shape, x.dtype, chosen)


def select_known(x: Array, mask: np.ndarray[Any, Any]) -> Array:
    """Return the elements where one of NumPy's masks holds: it is counted at once."""
    x, lazy = flatten_masked(x, as_array("indexing", "key", mask))
    axis = x.expr.grid.axes[0]
    chunks = np.arange(axis.count)
    flat = mask.reshape(-1)
    lo, hi = axis.start(chunks).tolist(), axis.stop(chunks).tolist()
    counts = np.array([np.count_nonzero(flat[a:b]) for a, b in zip(lo, hi, strict=True)])
    return _by_counts(x, regrid(lazy, Grid([axis])), counts)


def flatten_masked(x: Array, mask: Array) -> tuple[Array, Array]:
    """Merge the axes of a mask into one, in the mask and in the array."""
    if mask.ndim <= 1:
        return x, mask
    return x.reshape(mask.size, *x.shape[mask.ndim :]), ravel(mask)


def count_by_chunk(mask: Array) -> Array:
    """Return how many elements are true in each chunk of a mask along one axis."""
    return make(BlockFunction("elements.masks:count"), (mask,), Grid([Axis.regular(mask.npartitions, 1)]), "i8")


def _select(x: Array, mask: Array) -> Generator[Any, Any, Array]:
    """Count what a mask selects of each chunk; the mask is kept meanwhile, and as long as the result lives.

    The result of a user's function is kept, too: a second call might give another one.
    """
    x, mask = flatten_masked(x, mask)
    mask = regrid(mask, Grid(x.expr.grid.axes[:1]))
    if x.expr.foreign:
        x, mask = persist(x, mask)
    else:
        mask = mask.persist()
    counts = yield count_by_chunk(mask)
    return _by_counts(x, mask, counts)


def _by_counts(x: Array, mask: Array, counts: np.ndarray[Any, Any]) -> Array:
    axes = [Axis.of_sizes(counts), *x.expr.grid.axes[1:]]
    operand_axes = (tuple(range(x.ndim)), (0,))
    return make(BlockFunction("elements.masks:select", axes=operand_axes), (x, mask), Grid(axes), x.dtype)
