"""Selecting by a lazy mask, chunk by chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph.grid import Axis, Grid
from ..graph.kinds.mapping import BlockFunction
from .align import regrid
from .core import make
from .ops.reshaping import ravel
from .verbs import compute

if TYPE_CHECKING:
    from .array import Array


def select(x: Array, mask: Array) -> Array:
    """Return the elements where the mask over the first axes holds, in C order.

    How many each chunk has is counted now: this computes the mask, and once more when the result is
    computed, unless it is persisted.
    """
    if mask.ndim > 1:
        x = x.reshape(mask.size, *x.shape[mask.ndim :])
        mask = ravel(mask)
    mask = regrid(mask, Grid(x.expr.grid.axes[:1]))
    each = make(BlockFunction("count"), (mask,), Grid([Axis.regular(mask.npartitions, 1)]), "i8")
    axes = [Axis.of_sizes(compute(each)), *x.expr.grid.axes[1:]]
    return make(BlockFunction("select"), (x, mask), Grid(axes), x.dtype)
