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

from ...graph.kinds.reduction import Level, count_reduced
from ...graph.together import field_name
from .buffers import Buffers

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray[Any, Any]
LANES = 512
_scratch = Buffers(1 << 23)


@dataclass(frozen=True)
class ReductionKernel:
    """The steps of a reduction.

    tile(x, axes, level, origin) -> state; merge(a, b) -> state; close(state, shape) -> partial result;
    combine(stack) -> partial result; finish(partial, level) -> result. States and partial results have a first axis
    of blocks, and length one along reduced axes. `placed` heads want the positions at which a tile begins.
    """

    tile: Callable[[Array, tuple[int, ...], Level, Array], Any]
    merge: Callable[[Any, Any], Any]
    combine: Callable[[Array], Array]
    close: Callable[[Any, tuple[int, ...]], Array]
    finish: Callable[[Array, Level], Array]
    placed: bool = False


def lanes_of(x: Array) -> Array:
    """Add up (n, m) elements to (n, min(m, 512)) lanes."""
    n, m = x.shape
    rows = m // LANES
    if rows == 0:
        return x.copy()
    head = x[:, : rows * LANES].reshape(n, rows, LANES)
    lanes: Array = np.add.reduce(head, axis=1) if rows > 1 else head[:, 0].copy()
    tail = m - rows * LANES
    if tail:
        np.add(lanes[:, :tail], x[:, rows * LANES :], out=lanes[:, :tail])
    return lanes


def reduce_lanes(lanes: Array) -> Array:
    """Fold (n, w) lanes in halves to (n,)."""
    width = lanes.shape[1]
    if width == 0:
        return np.zeros(len(lanes), lanes.dtype)
    while width > 1:
        half = (width + 1) // 2
        np.add(lanes[:, : width - half], lanes[:, half:width], out=lanes[:, : width - half])
        width = half
    return lanes[:, 0]


def _whole(x: Array, axes: tuple[int, ...]) -> bool:
    return len(axes) == x.ndim - 1 and x.dtype.kind in "fc"


def _sum_tile(x: Array, axes: tuple[int, ...], level: Level, origin: Array) -> Array:
    if x.dtype != level.target and (x.dtype.kind in "fc" or level.target.kind in "fc"):
        x = x.astype(level.target)
    if _whole(x, axes):
        return lanes_of(x.reshape(len(x), -1))
    if x.dtype == level.target and x.dtype.kind in "fc":
        return _add_up(x, axes)
    return np.asarray(np.add.reduce(x, axis=axes, dtype=_loop(level), keepdims=True))


def _add_up(x: Array, axes: tuple[int, ...]) -> Array:
    """Add up along axes. Short rows are added several at once, as one long row: NumPy takes as long for each."""
    beside, rows = _long_rows(x.shape, axes)
    if not rows:
        return np.asarray(np.add.reduce(x, axis=axes, keepdims=True))
    cut, width = rows * beside, math.prod(x.shape[2:])
    long = np.add.reduce(x[:, :cut].reshape(len(x), rows, beside * width), axis=1)
    total: Array = np.add.reduce(long.reshape(len(x), beside, *x.shape[2:]), axis=1, keepdims=True)
    if cut < x.shape[1]:
        np.add(total, np.add.reduce(x[:, cut:], axis=1, keepdims=True), out=total)
    return total


def _long_rows(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, int]:
    """Return how many short rows are one long row, and how many such there are; 0 where rows are taken as they are."""
    width = math.prod(shape[2:])
    beside = LANES // max(1, width)
    rows = shape[1] // max(1, beside) if len(shape) > 2 else 0
    return (0, 0) if axes != (1,) or width == 0 or beside < 2 or rows < 2 else (beside, rows)


def _subtract(x: Array, row: Array, axes: tuple[int, ...]) -> Array:
    """Return elements less a value for each row or all, in memory that is valid until the next call."""
    out = _scratch.lend("deviation", x.shape, x.dtype)
    beside, rows = _long_rows(x.shape, axes)
    cut, width = rows * beside, math.prod(x.shape[2:])
    if cut:
        long, made = (a[:, :cut].reshape(len(x), rows, beside * width) for a in (x, out))
        np.subtract(long, np.tile(row.reshape(len(x), 1, width), beside), out=made)
    np.subtract(x[:, cut:], row, out=out[:, cut:])
    return out


def _loop(level: Level) -> np.dtype[Any] | None:
    """The dtype to name to a ufunc; dates and times, whose unit a ufunc doesn't take, are none."""
    return None if level.target.kind in "mM" else level.target


def _sum_merge(a: Array, b: Array) -> Array:
    if a.shape == b.shape:
        return np.asarray(np.add(a, b, out=a))
    np.add(a[:, : b.shape[1]], b, out=a[:, : b.shape[1]])
    return a


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


def _ufunc_head(name: str, *, logical: bool = False) -> ReductionKernel:
    """Return the head of a ufunc's reduction; a logical one takes elements of any dtype to bool."""
    ufunc: np.ufunc = getattr(np, name)

    def tile(x: Array, axes: tuple[int, ...], level: Level, origin: Array) -> Array:
        return np.asarray(ufunc.reduce(x, axis=axes, dtype=None if logical else _loop(level), keepdims=True))

    def merge(a: Array, b: Array) -> Array:
        return np.asarray(ufunc(a, b, out=a))

    def combine(stack: Array) -> Array:
        return np.asarray(ufunc.reduce(stack, axis=0))

    return ReductionKernel(tile, merge, combine, _keep, _as_is)


def _count_tile(x: Array, axes: tuple[int, ...], level: Level, origin: Array) -> Array:
    some = x != (0 if x.dtype.kind in "biufc" else np.zeros((), x.dtype))
    return np.asarray(np.add.reduce(some, axis=axes, dtype=level.target, keepdims=True))


def _moments_tile(x: Array, axes: tuple[int, ...], level: Level, origin: Array) -> Array:
    """Count, mean and sum of squared deviations of a tile."""
    dtype = np.dtype([("n", "f8"), ("mean", np.result_type(level.source, level.target)), ("m2", level.target)])
    x = x.astype(dtype["mean"], copy=False)
    shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    out = np.empty(shape, dtype)
    count = math.prod(x.shape[a] for a in axes)
    out["n"] = count
    out["mean"] = mean = _plain_sum(x, axes, shape) / max(count, 1)
    deviation = _subtract(x, mean.astype(dtype["mean"], copy=False), axes)
    squares = _modulus(deviation) if x.dtype.kind == "c" else np.square(deviation, out=deviation)
    out["m2"] = _plain_sum(squares, axes, shape)
    return out


def _some_moments_tile(x: Array, axes: tuple[int, ...], level: Level, origin: Array) -> Array:
    """The moments of what is not NaN."""
    dtype = np.dtype([("n", "f8"), ("mean", np.result_type(level.source, level.target)), ("m2", level.target)])
    lost = np.isnan(x)
    x = np.where(lost, 0, x).astype(dtype["mean"], copy=False)
    shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    out = np.empty(shape, dtype)
    out["n"] = np.add.reduce(~lost, axis=axes, dtype="f8", keepdims=True)
    out["mean"] = _plain_sum(x, axes, shape) / np.maximum(out["n"], 1).astype(level.target)
    deviation = np.subtract(x, out["mean"])
    deviation[lost] = 0
    squares = _modulus(deviation) if x.dtype.kind == "c" else np.square(deviation, out=deviation)
    out["m2"] = _plain_sum(squares, axes, shape)
    return out


def _some_moments_finish(partial: Array, level: Level) -> Array:
    freedom = partial["n"] - level.reduce.ddof
    with np.errstate(all="ignore"):
        variance = np.true_divide(partial["m2"], np.where(freedom > 0, freedom, np.nan))
        return np.asarray(np.sqrt(variance) if level.reduce.head == "nanstd" else variance).astype(level.target)


def _plain_sum(x: Array, axes: tuple[int, ...], shape: tuple[int, ...]) -> Array:
    if _whole(x, axes):
        return reduce_lanes(lanes_of(x.reshape(len(x), -1))).reshape(shape)
    return _add_up(x, axes)


def _moments_merge(a: Array, b: Array) -> Array:
    """Chan, Golub and LeVeque's update of the moments of two sets, elementwise."""
    out = np.empty_like(a)
    n = a["n"] + b["n"]
    share = b["n"] / np.maximum(n, 1)
    delta = b["mean"] - a["mean"]
    out["n"] = n
    out["mean"] = a["mean"] + delta * share
    square = _modulus(delta) if delta.dtype.kind == "c" else delta * delta
    out["m2"] = a["m2"] + b["m2"] + square * (a["n"] * share)
    return out


def _modulus(x: Array) -> Array:
    """Squares of absolute values."""
    real, imag = np.real(x), np.imag(x)
    return np.asarray(real * real + imag * imag)


def _moments_finish(partial: Array, level: Level) -> Array:
    freedom = np.maximum(count_reduced(level.shape, level.reduce.axes) - level.reduce.ddof, 0)
    with np.errstate(all="ignore"):
        variance = np.true_divide(partial["m2"], freedom)
        return np.asarray(np.sqrt(variance) if level.reduce.head == "std" else variance).astype(level.target)


def _halving(merge: Callable[[Array, Array], Array]) -> Callable[[Array], Array]:
    def combine(stack: Array) -> Array:
        while len(stack) > 1:
            half = len(stack) // 2
            merged = merge(stack[:half], stack[half : 2 * half])
            stack = np.concatenate([merged, stack[2 * half :]]) if len(stack) % 2 else merged
        return np.asarray(stack[0])

    return combine


def _extreme_head(name: str) -> ReductionKernel:
    find: Callable[..., Array] = getattr(np, name)
    better: np.ufunc = np.less if name == "argmin" else np.greater

    def tile(x: Array, axes: tuple[int, ...], level: Level, origin: Array) -> Array:
        kept = [i for i in range(x.ndim) if i not in axes]
        extents = tuple(x.shape[a] for a in axes)
        flat = x.transpose(*kept, *axes).reshape(*(x.shape[i] for i in kept), math.prod(extents))
        local = find(flat, axis=-1)
        inner = np.unravel_index(local, extents) if axes else ()
        index: Any = np.zeros(local.shape, np.int64)
        for a, i in zip(axes, inner, strict=True):
            begin = origin[:, a - 1].reshape(-1, *(1,) * (len(kept) - 1))
            index = index * level.shape[a - 1] + i + begin
        shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
        out = np.empty(shape, [("value", x.dtype), ("index", "i8")])
        out["value"] = np.take_along_axis(flat, local[..., None], -1).reshape(shape)
        out["index"] = np.asarray(index).reshape(shape)
        return out

    def merge(a: Array, b: Array) -> Array:
        x, y = a["value"], b["value"]
        lost_x, lost_y = x != x, y != y
        first = b["index"] < a["index"]
        take = np.where(lost_x | lost_y, lost_y & (~lost_x | first), better(y, x) | ((x == y) & first))
        return np.where(take, b, a)

    def finish(partial: Array, level: Level) -> Array:
        return np.asarray(partial["index"])

    return ReductionKernel(tile, merge, _halving(merge), _keep, finish, placed=True)


def _sum_combine(stack: Array) -> Array:
    return np.asarray(np.add.reduce(stack, axis=0))


REDUCTION_KERNELS: dict[str, ReductionKernel] = {
    "sum": ReductionKernel(_sum_tile, _sum_merge, _sum_combine, _sum_close, _as_is),
    "mean": ReductionKernel(_sum_tile, _sum_merge, _sum_combine, _sum_close, _mean_finish),
    "prod": _ufunc_head("multiply"),
    "min": _ufunc_head("minimum"),
    "max": _ufunc_head("maximum"),
    "any": _ufunc_head("logical_or", logical=True),
    "all": _ufunc_head("logical_and", logical=True),
    "count_nonzero": ReductionKernel(_count_tile, _sum_merge, _sum_combine, _keep, _as_is),
    "var": ReductionKernel(_moments_tile, _moments_merge, _halving(_moments_merge), _keep, _moments_finish),
    "std": ReductionKernel(_moments_tile, _moments_merge, _halving(_moments_merge), _keep, _moments_finish),
    "nanmin": _ufunc_head("fmin"),
    "nanmax": _ufunc_head("fmax"),
    "nanvar": ReductionKernel(
        _some_moments_tile, _moments_merge, _halving(_moments_merge), _keep, _some_moments_finish
    ),
    "nanstd": ReductionKernel(
        _some_moments_tile, _moments_merge, _halving(_moments_merge), _keep, _some_moments_finish
    ),
    "logical_xor": _ufunc_head("logical_xor", logical=True),
    "argmin": _extreme_head("argmin"),
    "argmax": _extreme_head("argmax"),
}
REDUCTION_KERNELS |= {
    name: _ufunc_head(name)
    for name in (
        "bitwise_and", "bitwise_or", "bitwise_xor", "fmax", "fmin", "gcd", "hypot", "lcm", "logaddexp", "logaddexp2",
    )
}  # fmt: skip


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
        fields = [np.ascontiguousarray(stack[name]) for name in names]
        return gather([head.combine(field) for head, field in zip(heads, fields, strict=True)])

    return ReductionKernel(tile, merge, combine, close, _as_is, any(head.placed for head in heads))
