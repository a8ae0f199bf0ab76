"""The reductions, by name. The order in which each goes over tiles and blocks follows from shapes alone.

A sum of floating-point numbers over whole blocks runs on 512 lanes: row after row of 512 elements is added to them
within a tile, tile after tile is added up, and the lanes are folded in halves at the end of the block. Compiled
kernels do the same additions in the same order. Sums along some axes only are NumPy's own on one tile; where rows are
short, several are added at once.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.kinds.reduction import GROUP_BYTES, Level, count_reduced
from ...graph.passes.merge_reductions import field_name
from .compiled.fixed import combining
from .extremes import place_dtype, position_kernel
from .functions import EMPTY, UNFREE
from .moments import (
    finish_by,
    moments_dtype,
    moments_merge,
    moments_tile,
    some_moments_tile,
    variance,
    variance_of_some,
)
from .reduction import (
    NUMBERS,
    Reduction,
    ReductionKernel,
    as_is,
    boolean,
    dtype_by,
    halving,
    integer,
    keep,
    real_float,
)
from .selected import extreme_of_selected, mean_of_selected, of_selected, variance_of_selected
from .sums import add_along, is_whole, lanes_of, reduce_lanes

if TYPE_CHECKING:
    from ...graph.lowering.stage import Stage

Array = np.ndarray[Any, Any]
FOLDED = 1 << 12
"""Elements of a block from which on partial results are folded: NumPy adds few of them in another order."""


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


def _sum_combine(stack: Array) -> Array:
    return np.asarray(np.add.reduce(stack, axis=0))


def _mean_finish(partial: Array, level: Level) -> Array:
    count = count_reduced(level.shape, level.reduce.axes)
    if level.target.kind in "fc":
        return np.asarray(np.true_divide(partial, count, dtype=level.target))
    total = partial.astype(level.target, copy=False)  # of times, or of integers where dtype= says so
    return np.asarray(np.true_divide(total, count)).astype(level.target, copy=False)


def _ufunc_kernel(ufunc: np.ufunc) -> ReductionKernel:
    """Return the steps of a ufunc whose order doesn't matter; a logical one takes elements of any dtype to bool."""
    logical = ufunc in (np.logical_and, np.logical_or, np.logical_xor)

    def tile(x: Array, axes: tuple[int, ...], level: Level, origin: Array) -> Array:
        return np.asarray(ufunc.reduce(x, axis=axes, dtype=None if logical else _loop(level), keepdims=True))

    def merge(a: Array, b: Array) -> Array:
        return np.asarray(ufunc(a, b, out=a))

    def combine(stack: Array) -> Array:
        return np.asarray(ufunc.reduce(stack, axis=0))

    return ReductionKernel(tile, merge, combine, keep, as_is, fold=None if logical else merge, tiles=0)


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


_SUM = ReductionKernel(_sum_tile, _sum_merge, _sum_combine, _sum_close, as_is, fold=_add, tiles=0)
_MEAN = replace(_SUM, finish=_mean_finish)
_COUNT = ReductionKernel(_count_tile, _sum_merge, _sum_combine, keep, as_is, fold=_add)


def _by_ufunc(name: str, ufunc: np.ufunc, kinds: str = "", **more: Any) -> Reduction:
    """Return the reduction that is a ufunc's `reduce`."""
    usual: dict[str, Any] = {"kernel": _ufunc_kernel(ufunc), "result": dtype_by(ufunc), "neutral": ufunc.identity}
    return Reduction(name, kinds=kinds, empty=ufunc.identity is not None, ufunc=ufunc, **usual | more)


def _position(name: str, *, skips: bool = False) -> Reduction:
    """Return the reduction to the position of an extreme."""
    kernel = position_kernel(name.removeprefix("nan"), skips=skips)
    return Reduction(name, kernel, integer, place_dtype, kinds=NUMBERS + "mMSU", empty=False)


def _spread(name: str, *, root: bool) -> Reduction:
    """Return the reduction to variances, or to their square roots."""
    finish, selected = (finish_by(of, root=root) for of in (variance, variance_of_selected))
    kernel = ReductionKernel(moments_tile, moments_merge, halving(moments_merge, "var"), keep, finish, room=8, tiles=3)
    return Reduction(name, kernel, real_float, moments_dtype, casts=True, widens=True, few=UNFREE, selected=selected)


def _spread_of_some(name: str, *, root: bool) -> Reduction:
    """Return the same of what is not NaN."""
    finish, combine = finish_by(variance_of_some, root=root), halving(moments_merge, "nanvar")
    kernel = ReductionKernel(some_moments_tile, moments_merge, combine, keep, finish, room=8, tiles=5)
    return Reduction(name, kernel, real_float, moments_dtype, casts=True)


_ALL = (
    _by_ufunc("sum", np.add, NUMBERS + "m", kernel=_SUM, casts=True, widens=True),
    _by_ufunc("prod", np.multiply, NUMBERS, casts=True),
    _by_ufunc("min", np.minimum, NUMBERS + "mM", selected=extreme_of_selected),
    _by_ufunc("max", np.maximum, NUMBERS + "mM", selected=extreme_of_selected),
    _by_ufunc("any", np.logical_or, result=boolean),
    _by_ufunc("all", np.logical_and, result=boolean),
    Reduction("count_nonzero", _COUNT, integer, kinds=""),
    Reduction("mean", _MEAN, kinds=NUMBERS + "m", casts=True, widens=True, few=EMPTY, selected=mean_of_selected),
    _spread("var", root=False),
    _spread("std", root=True),
    _position("argmin"),
    _position("argmax"),
    Reduction("sum_some", replace(_SUM, tile=_some_sum_tile, tiles=2)),
    Reduction("count_some", replace(_COUNT, tile=_some_count_tile), integer),
    _by_ufunc("nanmin", np.fmin, NUMBERS + "mM"),
    _by_ufunc("nanmax", np.fmax, NUMBERS + "mM"),
    _spread_of_some("nanvar", root=False),
    _spread_of_some("nanstd", root=True),
    _position("nanargmin", skips=True),
    _position("nanargmax", skips=True),
    _by_ufunc("bitwise_and", np.bitwise_and),
    _by_ufunc("bitwise_or", np.bitwise_or),
    _by_ufunc("bitwise_xor", np.bitwise_xor),
    _by_ufunc("gcd", np.gcd),
    _by_ufunc("hypot", np.hypot),
    _by_ufunc("lcm", np.lcm, neutral=1),
    _by_ufunc("logaddexp", np.logaddexp),
    _by_ufunc("logaddexp2", np.logaddexp2),
    _by_ufunc("logical_xor", np.logical_xor),
)
REDUCTIONS = {r.name: r for r in (*_ALL, *(of_selected(r) for r in _ALL if r.selected is not None))}
"""All reductions, and those of what a mask selects."""


def kernel_of(level: Level) -> ReductionKernel:
    """Return the steps of a level's reduction, or of the several that it does together."""
    return _several(level.parts) if level.parts else REDUCTIONS[level.reduce.head].kernel


@lru_cache(maxsize=256)
def _several(parts: tuple[Level, ...]) -> ReductionKernel:
    """Return the steps of several reductions of the same tiles: a state is a tuple, a partial result has fields."""
    heads = [REDUCTIONS[part.reduce.head].kernel for part in parts]
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
    return ReductionKernel(tile, merge, combine, close, as_is, placed, by_field, most + 2, tiles)


def is_folded(stage: Stage, level: Level) -> bool:
    """Whether a group's partial results are folded as they come: large ones, and at leaves those of large blocks."""
    if kernel_of(level).fold is None or stage.grid.largest < FOLDED:
        return False
    return not level.leaf or stage.domain.largest * level.source.itemsize > GROUP_BYTES
