"""Reductions of pairs of an element and whether it counts: other heads, over the elements of each tile that do.

A partial result has their number besides; where it is zero its value stands for nothing.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ShapeError
from .functions import EMPTY, UNFREE
from .reduction import Reduction, ReductionKernel, halving, keep

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...graph.expr.expr import DType
    from ...graph.kinds.reduction import Level

Array = np.ndarray[Any, Any]
SELECTED = "selected_"
"""Begins the names of reductions of pairs of an element and whether it counts."""


def of_selected(reduction: Reduction) -> Reduction:
    """Return the reduction of pairs that a reduction of elements gives."""
    inner, finish = reduction.kernel, reduction.selected
    assert finish is not None
    merge = _merge(inner.merge)
    tile, room, tiles = _tile(inner), inner.room + 2, inner.tiles + 1
    kernel = ReductionKernel(tile, merge, halving(merge), keep, finish, room=room, tiles=tiles)

    def partial(source: DType, target: DType) -> DType:
        value = reduction.partial_dtype(source["value"], target)
        return np.dtype([("n", "i8"), ("value", target if value is None else value)])

    return Reduction(SELECTED + reduction.name, kernel, partial=partial)


@lru_cache(maxsize=256)
def _inner(level: Level) -> Level:
    """Return the level of the reduction of what counts."""
    reduce = replace(level.reduce, partial=level.partial["value"])
    return replace(level, reduce=reduce, source=level.source["value"])


def _tile(kernel: ReductionKernel) -> Callable[[Array, tuple[int, ...], Level, Array], Array]:
    """Return the step that reduces a tile's elements that count, block by block."""

    def reduce(x: Array, axes: tuple[int, ...], level: Level, origin: Array) -> Array:
        ones = (1,) * (x.ndim - 1)
        out = np.zeros((len(x), *ones), level.partial)
        inner = _inner(level)
        for number, block in enumerate(x):
            some = block["value"][block["counts"]]
            if some.size:
                state = kernel.tile(some.reshape(1, *ones[1:], -1), axes, inner, origin)
                out["n"][number] = some.size
                out["value"][number] = kernel.close(state, ones)[0]
        return out

    return reduce


def _merge(merge: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """Return the step that merges two results: of none and some elements, that of some."""

    def both(a: Array, b: Array) -> Array:
        out = np.empty_like(a)
        out["n"] = a["n"] + b["n"]
        merged = merge(np.array(a["value"]), np.array(b["value"]))
        out["value"] = np.where(a["n"] == 0, b["value"], np.where(b["n"] == 0, a["value"], merged))
        return out

    return both


def mean_of_selected(partial: Array, level: Level) -> Array:
    """Divide sums by the numbers of elements: NaN where there are none."""
    if not partial["n"].all():
        warnings.warn(EMPTY, RuntimeWarning, stacklevel=2)
    with np.errstate(all="ignore"):
        return np.asarray(np.true_divide(partial["value"], partial["n"])).astype(level.target, copy=False)


def extreme_of_selected(partial: Array, level: Level) -> Array:
    """Return extremes, if there are elements."""
    if not partial["n"].all():
        name = level.reduce.head.removeprefix(SELECTED)
        raise ShapeError(f"{name}: the mask selects no elements; expected some, or initial=")
    return np.asarray(partial["value"])


def variance_of_selected(partial: Array, level: Level) -> Array:
    """Divide sums of squares by the numbers of elements, less ddof."""
    freedom = partial["n"] - level.reduce.ddof
    if not (freedom > 0).all():
        warnings.warn(UNFREE, RuntimeWarning, stacklevel=2)
    return np.asarray(np.true_divide(partial["value"]["m2"], np.maximum(freedom, 0)))
