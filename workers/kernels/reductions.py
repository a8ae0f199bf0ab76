"""Heads: how a reduction goes over tiles, merges them, and combines blocks. The order follows from shapes alone.

A sum of floating-point numbers over whole blocks runs on 512 lanes: row after row of 512 elements is added to them
within a tile, tile after tile is added up, and the lanes are folded in halves at the end of the block. Compiled
kernels do the same additions in the same order. Sums along some axes only are NumPy's own on one tile; where rows are
short, several are added at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.kinds.reduction import GROUP_BYTES, SELECTED, Level, count_reduced
from ...graph.passes.merge_reductions import field_name
from .blocks.elements.positions import coordinates
from .compiled.fixed import combining
from .moments import moments_finish, moments_merge, moments_tile, some_moments_finish, some_moments_tile
from .selected import extreme_of_selected, mean_of_selected, selected_merge, selected_tile, spread_of_selected
from .sums import add_along, is_whole, lanes_of, reduce_lanes

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...graph.lowering.stage import Stage

Array = np.ndarray[Any, Any]
FOLDED = 1 << 12
"""Elements of a block from which on partial results are folded: NumPy adds few of them in another order."""


@dataclass(frozen=True)
class ReductionKernel:
    """The steps of a reduction.

    tile(x, axes, level, origin) -> state; merge(a, b) -> state; close(state, shape) -> partial result;
    combine(stack) -> partial result; finish(partial, level) -> result. States and partial results have a first axis
    of blocks, and length one along reduced axes. `placed` heads want the positions at which a tile begins.
    fold(a, b) puts a large partial result into another, as combine does it, in place.
    """

    tile: Callable[[Array, tuple[int, ...], Level, Array], Any]
    merge: Callable[[Any, Any], Any]
    combine: Callable[[Array], Array]
    close: Callable[[Any, tuple[int, ...]], Array]
    finish: Callable[[Array, Level], Array]
    placed: bool = False
    fold: Callable[[Array, Array], object] | None = None
    room: int = 3
    """How many arrays of the size of a state it makes beside its arguments, at most; `tiles`: of the tile's size,
    beside one that is converted."""
    tiles: int = 2


def _sum_tile(x: Array, axes: tuple[int, ...], level: Level, origin: Array) -> Array:
    if x.dtype != level.target and (x.dtype.kind in "fc" or level.target.kind in "fc"):
        x = x.astype(level.target)
    if is_whole(x, axes):
        return lanes_of(x.reshape(len(x), -1))
    if x.dtype == level.target and x.dtype.kind in "fc":
        return add_along(x, axes)
    return np.asarray(np.add.reduce(x, axis=axes, dtype=_loop(level), keepdims=True))


def _loop(level: Level) -> np.dtype[Any] | None:
    """The dtype to name to a ufunc; dates and times, whose unit a ufunc doesn't take, are none."""
    return None if level.target.kind in "mM" else level.target


def _sum_merge(a: Array, b: Array) -> Array:
    if a.shape == b.shape:
        return np.asarray(np.add(a, b, out=a))
    np.add(a[:, : b.shape[1]], b, out=a[:, : b.shape[1]])
    return a


def _add(a: Array, b: Array) -> None:
    np.add(a, b, out=a)


def _sum_close(state: Array, shape: tuple[int, ...]) -> Array:
    if math.prod(shape) == math.prod(state.shape[1:]) and state.ndim == len(shape) + 1:
        return state.reshape(len(state), *shape)
    return reduce_lanes(state).reshape(len(state), *shape)


def _keep(state: Array, shape: tuple[int, ...]) -> Array:
    return state.reshape(len(state), *shape)


def _as_is(partial: Array, level: Level) -> Array:
    return partial


def _mean_finish(partial: Array, level: Level) -> Array:
    count = count_reduced(level.shape, level.reduce.axes)
    if level.target.kind in "fc":
        return np.asarray(np.true_divide(partial, count, dtype=level.target))
    total = partial.astype(level.target, copy=False)  # of times, or of integers where dtype= says so
    return np.asarray(np.true_divide(total, count)).astype(level.target, copy=False)


def _halving(merge: Callable[[Array, Array], Array], *heads: str) -> Callable[[Array], Array]:
    def combine(stack: Array) -> Array:
        combined = combining.combine(stack, heads) if heads else None
        if combined is not None:
            return combined
        while len(stack) > 1:
            half = len(stack) // 2
            merged = merge(stack[:half], stack[half : 2 * half])
            stack = np.concatenate([merged, stack[2 * half :]]) if len(stack) % 2 else merged
        return np.asarray(stack[0])

    return combine


def _ufunc_head(name: str, *, logical: bool = False) -> ReductionKernel:
    """Return the head of a ufunc's reduction; a logical one takes elements of any dtype to bool."""
    ufunc: np.ufunc = getattr(np, name)

    def tile(x: Array, axes: tuple[int, ...], level: Level, origin: Array) -> Array:
        return np.asarray(ufunc.reduce(x, axis=axes, dtype=None if logical else _loop(level), keepdims=True))

    def merge(a: Array, b: Array) -> Array:
        return np.asarray(ufunc(a, b, out=a))

    def combine(stack: Array) -> Array:
        return np.asarray(ufunc.reduce(stack, axis=0))

    return ReductionKernel(tile, merge, combine, _keep, _as_is, fold=None if logical else merge, tiles=0)


def _count_tile(x: Array, axes: tuple[int, ...], level: Level, origin: Array) -> Array:
    some = x != (0 if x.dtype.kind in "biufc" else np.zeros((), x.dtype))
    return np.asarray(np.add.reduce(some, axis=axes, dtype=level.target, keepdims=True))


def _some_sum_tile(x: Array, axes: tuple[int, ...], level: Level, origin: Array) -> Array:
    return _sum_tile(np.where(np.isnan(x), x.dtype.type(0), x), axes, level, origin)


def _some_count_tile(x: Array, axes: tuple[int, ...], level: Level, origin: Array) -> Array:
    some = ~np.isnan(x)
    few = math.prod(x.shape[a] for a in axes) <= np.iinfo(np.uint8).max  # bytes are added several at a time
    return np.asarray(np.add.reduce(some, axis=axes, dtype=np.uint8 if few else level.target, keepdims=True)).astype(
        level.target, copy=False
    )


def _extreme_head(name: str, *, skips: bool = False) -> ReductionKernel:
    """Return the head of a position of an extreme; with `skips` NaN is passed over, and a line of NaN alone has -1."""
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


SIDE_BY_SIDE = 64
"""Elements beside each other in each line across the axis, from which on lines are gone through one after the other."""
MOST_LINES = np.iinfo(np.uint16).max


def _first(x: Array, value: Array, axis: int, worst: float | None) -> Array:
    """Return the first places along an axis that have a value; where it is NaN, or the worst, of NaN as well."""
    same, odd = x == value, value != value
    if worst is not None:
        odd |= value == worst
    if odd.any():
        same |= (x != x) & odd
    lines = np.arange(x.shape[axis], dtype=np.uint16).reshape(-1, *(1,) * (x.ndim - axis - 1))
    return np.asarray(np.minimum.reduce(np.where(same, lines, np.uint16(MOST_LINES)), axis=axis, keepdims=True))


def _moments_head(tile: Callable[..., Array], finish: Callable[[Array, Level], Array]) -> ReductionKernel:
    return ReductionKernel(tile, moments_merge, _halving(moments_merge, "var"), _keep, finish, room=8, tiles=3)


def _sum_combine(stack: Array) -> Array:
    return np.asarray(np.add.reduce(stack, axis=0))


REDUCTION_KERNELS: dict[str, ReductionKernel] = {
    "sum": ReductionKernel(_sum_tile, _sum_merge, _sum_combine, _sum_close, _as_is, fold=_add, tiles=0),
    "mean": ReductionKernel(_sum_tile, _sum_merge, _sum_combine, _sum_close, _mean_finish, fold=_add, tiles=0),
    "prod": _ufunc_head("multiply"),
    "min": _ufunc_head("minimum"),
    "max": _ufunc_head("maximum"),
    "any": _ufunc_head("logical_or", logical=True),
    "all": _ufunc_head("logical_and", logical=True),
    "count_nonzero": ReductionKernel(_count_tile, _sum_merge, _sum_combine, _keep, _as_is, fold=_add),
    "sum_some": ReductionKernel(_some_sum_tile, _sum_merge, _sum_combine, _sum_close, _as_is, fold=_add),
    "count_some": ReductionKernel(_some_count_tile, _sum_merge, _sum_combine, _keep, _as_is, fold=_add),
    "var": _moments_head(moments_tile, moments_finish),
    "std": _moments_head(moments_tile, moments_finish),
    "nanmin": _ufunc_head("fmin"),
    "nanmax": _ufunc_head("fmax"),
    "nanvar": ReductionKernel(
        some_moments_tile, moments_merge, _halving(moments_merge, "nanvar"), _keep, some_moments_finish, room=8, tiles=5
    ),
    "nanstd": ReductionKernel(
        some_moments_tile, moments_merge, _halving(moments_merge, "nanvar"), _keep, some_moments_finish, room=8, tiles=5
    ),
    "logical_xor": _ufunc_head("logical_xor", logical=True),
    "argmin": _extreme_head("argmin"),
    "argmax": _extreme_head("argmax"),
    "nanargmin": _extreme_head("argmin", skips=True),
    "nanargmax": _extreme_head("argmax", skips=True),
}
REDUCTION_KERNELS |= {
    name: _ufunc_head(name)
    for name in (
        "bitwise_and", "bitwise_or", "bitwise_xor", "fmax", "fmin", "gcd", "hypot", "lcm", "logaddexp", "logaddexp2",
    )
}  # fmt: skip


def _selected_head(name: str, finish: Callable[[Array, Level], Array]) -> ReductionKernel:
    """Return the head of a reduction of what a mask selects."""
    inner = REDUCTION_KERNELS[name]
    merge = selected_merge(inner.merge)
    tile, room, tiles = selected_tile(inner.tile, inner.close), inner.room + 2, inner.tiles + 1
    return ReductionKernel(tile, merge, _halving(merge), _keep, finish, room=room, tiles=tiles)


REDUCTION_KERNELS |= {
    SELECTED + name: _selected_head(name, finish)
    for name, finish in {
        "mean": mean_of_selected,
        "min": extreme_of_selected,
        "max": extreme_of_selected,
        "var": spread_of_selected,
        "std": spread_of_selected,
    }.items()
}


def kernel_of(level: Level) -> ReductionKernel:
    """Return the steps of a level's reduction, or of the several that it does together."""
    return _several(level.parts) if level.parts else REDUCTION_KERNELS[level.reduce.head]


@lru_cache(maxsize=256)
def _several(parts: tuple[Level, ...]) -> ReductionKernel:
    """Return the steps of several reductions of the same tiles: a state is a tuple, a partial result has fields."""
    heads = [REDUCTION_KERNELS[part.reduce.head] for part in parts]
    names = [field_name(k) for k in range(len(parts))]

    def tile(x: Array, axes: tuple[int, ...], level: Level, origin: Array) -> tuple[Array, ...]:
        return tuple([head.tile(x, axes, part, origin) for head, part in zip(heads, parts, strict=True)])

    def merge(a: tuple[Array, ...], b: tuple[Array, ...]) -> tuple[Array, ...]:
        return tuple([head.merge(x, y) for head, x, y in zip(heads, a, b, strict=True)])

    def gather(found: list[Array]) -> Array:
        out = np.empty(found[0].shape, [(name, each.dtype) for name, each in zip(names, found, strict=True)])
        for name, each in zip(names, found, strict=True):
            out[name] = each
        return out

    def close(state: tuple[Array, ...], shape: tuple[int, ...]) -> Array:
        return gather([head.close(each, shape) for head, each in zip(heads, state, strict=True)])

    def combine(stack: Array) -> Array:
        combined = combining.combine(stack, tuple([part.reduce.head for part in parts]))
        if combined is not None:
            return combined
        fields = [np.ascontiguousarray(stack[name]) for name in names]
        return gather([head.combine(field) for head, field in zip(heads, fields, strict=True)])

    folds = [head.fold for head in heads if head.fold is not None]

    def fold(a: Array, b: Array) -> None:
        for name, each in zip(names, folds, strict=True):
            each(a[name], b[name])

    placed, most, tiles = any(h.placed for h in heads), max(h.room for h in heads), max(h.tiles for h in heads)
    by_field = fold if len(folds) == len(heads) else None
    return ReductionKernel(tile, merge, combine, close, _as_is, placed, by_field, most + 2, tiles)


def is_folded(stage: Stage, level: Level) -> bool:
    """Whether a group's partial results are folded as they come: large ones, and at leaves those of large blocks."""
    if kernel_of(level).fold is None or stage.grid.largest < FOLDED:
        return False
    return not level.leaf or stage.domain.largest * level.source.itemsize > GROUP_BYTES
