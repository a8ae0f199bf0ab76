"""Selecting by a lazy mask, chunk by chunk; how many elements there are is found when something asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph.grid import Axis, Grid
from ..graph.kinds.mapping import BlockFunction
from .align import regrid
from .core import make
from .deferred import unsized
from .ops.reshaping import ravel
from .verbs import persist

if TYPE_CHECKING:
    from collections.abc import Generator

    from .array import Array


def select(x: Array, mask: Array) -> Array:
    """Return the elements where the mask over the first axes holds, in C order."""
    return unsized("getitem", _selected, (x, mask), (), (None, *x.shape[mask.ndim :]), x.dtype)


def _selected(x: Array, mask: Array) -> Generator[Any, Any, Array]:
    """Count what each chunk has of it; the mask is kept meanwhile, and as long as the result lives."""
    if mask.ndim > 1:
        x = x.reshape(mask.size, *x.shape[mask.ndim :])
        mask = ravel(mask)
    mask = persist(regrid(mask, Grid(x.expr.grid.axes[:1])))
    each = make(BlockFunction("masks:count"), (mask,), Grid([Axis.regular(mask.npartitions, 1)]), "i8")
    counts = yield each
    axes = [Axis.of_sizes(counts), *x.expr.grid.axes[1:]]
    ways = (tuple(range(x.ndim)), (0,))
    return make(BlockFunction("masks:select", axes=ways), (x, mask), Grid(axes), x.dtype)
