"""Reductions of pairs of an element and whether it counts: other heads, over the elements of each tile that do.

A partial result has their number besides; where it is zero its value stands for nothing.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...graph.errors import ShapeError
from ...graph.kinds.reduction import SELECTED, partial_dtype
from .functions import EMPTY, UNFREE

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...graph.kinds.reduction import Level

Array = np.ndarray[Any, Any]
Tile: TypeAlias = "Callable[[Array, tuple[int, ...], Level, Array], Any]"
Close: TypeAlias = "Callable[[Any, tuple[int, ...]], Array]"
Merge: TypeAlias = "Callable[[Array, Array], Array]"


@lru_cache(maxsize=256)
def _inner(level: Level) -> Level:
    """Return the level of the reduction of what counts."""
    reduce = replace(level.reduce, head=level.reduce.head.removeprefix(SELECTED))
    return replace(level, reduce=reduce, source=level.source["value"])


def selected_tile(tile: Tile, close: Close) -> Tile:
    """Return the step that reduces a tile's elements that count, block by block."""

    def reduce(x: Array, axes: tuple[int, ...], level: Level, origin: Array) -> Array:
        ones = (1,) * (x.ndim - 1)
        out = np.zeros((len(x), *ones), partial_dtype(level.reduce, level.source, level.target))
        inner = _inner(level)
        for number, block in enumerate(x):
            some = block["value"][block["counts"]]
            if some.size:
                state = tile(some.reshape(1, *ones[1:], -1), axes, inner, origin)
                out["n"][number] = some.size
                out["value"][number] = close(state, ones)[0]
        return out

    return reduce


def selected_merge(merge: Merge) -> Merge:
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


def spread_of_selected(partial: Array, level: Level) -> Array:
    """Divide sums of squares by the numbers of elements, less ddof."""
    freedom = partial["n"] - level.reduce.ddof
    if not (freedom > 0).all():
        warnings.warn(UNFREE, RuntimeWarning, stacklevel=2)
    with np.errstate(all="ignore"):
        variance = np.true_divide(partial["value"]["m2"], np.maximum(freedom, 0))
        return np.asarray(np.sqrt(variance) if level.reduce.head.endswith("std") else variance).astype(level.target)
