"""Positions of extremes: the first of several, in C order over the axes; NaN is the extreme, or is passed over."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .blocks.elements.positions import coordinates
from .compiled.fixed import combining
from .reduction import ReductionKernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...graph.expr.expr import DType
    from ...graph.kinds.reduction import Level

Array = np.ndarray[Any, Any]
SIDE_BY_SIDE = 64
"""Elements beside each other in each line across the axis, from which on lines are gone through one after the other."""
MOST_LINES = np.iinfo(np.uint16).max


def place_dtype(source: DType, target: DType) -> DType:
    """Return the dtype of an extreme and its position."""
    return np.dtype([("value", source), ("index", target)])


def position_kernel(name: str, *, skips: bool = False) -> ReductionKernel:
    """Return the steps of `argmin` or `argmax`; with `skips` NaN is passed over, and a line of NaN alone has -1."""
    find: Callable[..., Array] = getattr(np, name)
    better: np.ufunc = np.less if name == "argmin" else np.greater
    worst = np.inf if name == "argmin" else -np.inf
    plain, passing = (np.minimum, np.fmin) if name == "argmin" else (np.maximum, np.fmax)

    def tile(x: Array, axes: tuple[int, ...], level: Level, origin: Array) -> tuple[Array, Array]:
        if len(axes) == 1 and x.shape[axes[0]] <= MOST_LINES and x.dtype.kind != "c":
            inner = math.prod(x.shape[axes[0] + 1 :])
            if inner >= SIDE_BY_SIDE:
                value = (passing if skips else plain).reduce(x, axis=axes[0], keepdims=True)
                at = _first(x, value, axes[0], worst if skips else None)
                begin = origin[:, axes[0] - 1].reshape(-1, *(1,) * (x.ndim - 1))
                return value, at.astype(np.int64) + begin
        kept = [i for i in range(x.ndim) if i not in axes]
        extents = tuple(x.shape[a] for a in axes)
        flat = x.transpose(*kept, *axes).reshape(*(x.shape[i] for i in kept), math.prod(extents))
        lost = np.isnan(flat) if skips else None
        local = find(flat if lost is None else np.where(lost, flat.dtype.type(worst), flat), axis=-1)
        inside = coordinates(local, extents) if axes else ()
        index: Any = np.zeros(local.shape, np.int64)
        for a, i in zip(axes, inside, strict=True):
            begin = origin[:, a - 1].reshape(-1, *(1,) * (len(kept) - 1))
            index = index * level.shape[a - 1] + i + begin
        shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
        value = np.take_along_axis(flat, local[..., None], -1)[..., 0]
        if lost is not None:
            value = np.where(lost.all(-1), flat.dtype.type(np.nan), np.where(np.isnan(value), worst, value))
            value = value.astype(flat.dtype, copy=False)
        return value.reshape(shape), np.asarray(index).reshape(shape)

    def merge(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
        (x, i), (y, j) = a, b
        lost_x, lost_y = x != x, y != y
        first, lost = j < i, bool(lost_x.any() or lost_y.any())
        if skips and lost:
            x, y = np.where(lost_x, x.dtype.type(worst), x), np.where(lost_y, y.dtype.type(worst), y)
        take = better(y, x) | ((x == y) & first)
        if lost and not skips:
            take = np.where(lost_x | lost_y, lost_y & (~lost_x | first), take)
        value = np.where(take, y, x)
        return np.where(lost_x & lost_y, value.dtype.type(np.nan), value) if skips and lost else value, np.where(
            take, j, i
        )

    def close(state: tuple[Array, Array], shape: tuple[int, ...]) -> Array:
        value, index = state
        out = np.empty((len(value), *shape), [("value", value.dtype), ("index", "i8")])
        out["value"], out["index"] = value.reshape(out.shape), index.reshape(out.shape)
        return out

    def combine(stack: Array) -> Array:
        combined = None if skips else combining.combine(stack, (name,))
        if combined is not None:
            return combined
        value, index = np.ascontiguousarray(stack["value"]), np.ascontiguousarray(stack["index"])
        while half := len(value) // 2:
            left, right, rest = slice(half), slice(half, 2 * half), slice(2 * half, None)
            x, i = merge((value[left], index[left]), (value[right], index[right]))
            value, index = np.concatenate([x, value[rest]]), np.concatenate([i, index[rest]])
        return np.asarray(close((value, index), value.shape[1:])[0])

    def finish(partial: Array, level: Level) -> Array:
        index = partial["index"]
        return np.where(np.isnan(partial["value"]), -1, index) if skips else np.asarray(index)

    return ReductionKernel(tile, merge, combine, close, finish, placed=True, room=6, tiles=6)


def _first(x: Array, value: Array, axis: int, worst: float | None) -> Array:
    """Return the first places along an axis that have a value; where it is NaN, or the worst, of NaN as well."""
    same, odd = x == value, value != value
    if worst is not None:
        odd |= value == worst
    if odd.any():
        same |= (x != x) & odd
    lines = np.arange(x.shape[axis], dtype=np.uint16).reshape(-1, *(1,) * (x.ndim - axis - 1))
    return np.asarray(np.minimum.reduce(np.where(same, lines, np.uint16(MOST_LINES)), axis=axis, keepdims=True))
