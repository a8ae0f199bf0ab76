"""Differences, filters, interpolation and padding of blocks."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np

from .windows import medians, place_of_extreme, spread

Array = np.ndarray[Any, Any]
Where = tuple[slice, ...]

REACH = 2
"""Neighbours that a gradient sees on each side: three points for the edges of the second order."""


def gradient(x: Array, axis: int, step: Any, edge_order: int, *, where: Where) -> Array:
    """Return differences of a block that comes with its neighbours, at steps of one size."""
    return _inner(x, step, axis, edge_order, where)


def gradient_at(x: Array, at: Array, axis: int, edge_order: int, *, where: Where) -> Array:
    """Return differences of a block that comes with its neighbours, as do the coordinates."""
    return _inner(x, at, axis, edge_order, where)


def _inner(x: Array, spacing: Any, axis: int, edge_order: int, where: Where) -> Array:
    own = where[axis]
    skip = own.start - max(0, own.start - REACH)
    keep = (slice(None),) * axis + (slice(skip, skip + own.stop - own.start),)
    if own.start == own.stop:
        return np.gradient(np.zeros((REACH + 1,), x.dtype))[:0].reshape(x[keep].shape)
    function: Any = np.gradient
    return np.asarray(function(x, spacing, axis=axis, edge_order=edge_order))[keep]


def slide(window: Array, v: Array, function: str, offset: int, *, where: Where) -> Array:
    """Convolve or correlate: the result from `offset` on in NumPy's mode "full", of what a block's window reaches."""
    own, reach = where[0], len(v) - 1
    count = own.stop - own.start
    numpy_function: Any = getattr(np, function)
    if len(window) == count + reach:
        return np.asarray(numpy_function(window, v, "valid"))
    begin = own.start + offset - max(0, own.start + offset - reach)
    return np.asarray(numpy_function(window, v, "full"))[begin : begin + count]


def interp(x: Array, xp: Array, fp: Array, left: Any, right: Any, period: Any) -> Array:
    return np.asarray(np.interp(x, xp, fp, left, right, period))


def polyval(p: Array, x: Array) -> Array:
    return np.asarray(np.polyval(p, x))


def ramp(edge: Array, axis: int, width: int, end: Any, after: bool) -> Array:
    """Return a ramp from an edge to a value, which it ends with; in reading order before or after the array."""
    values = np.linspace(end, edge.squeeze(axis), width, endpoint=False, dtype=edge.dtype, axis=axis)
    return np.flip(values, axis) if after else values


def median(x: Array, axis: int) -> Array:
    """Return the median along an axis that is whole; it stays with length one."""
    return np.asarray(np.median(x, axis=axis, keepdims=True))


def windows(x: Array, lengths: tuple[int, ...], axes: tuple[int, ...]) -> Array:
    return np.lib.stride_tricks.sliding_window_view(x, lengths, axes)


_STEPS = {
    "sum": np.add, "mean": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum, "nanmin": np.fmin,
    "nanmax": np.fmax,
}  # fmt: skip


LONG = 64
"""Elements of a window from which on runs are gone through, and from which down windows are doubled."""


def reduced_windows(x: Array, lengths: tuple[int, ...], axes: tuple[int, ...], name: str, dtype: str) -> Array:
    """Return a reduction of each window along axes; only elements of the window take part in it."""
    target = np.dtype(dtype)
    with np.errstate(all="ignore"):
        if name == "nanmean" and len(axes) == 1:
            lines = np.moveaxis(x, axes[0], 0)
            reduced = _in_pieces(lines, lengths[0], "mean", np.asarray(lengths[0]), 1, target, 0)
            return np.moveaxis(reduced, 0, axes[0])
        if name == "nanmean":
            lost = np.isnan(x)
            count = _along(~lost, lengths, axes, np.add, np.dtype(np.int64))
            total = _along(np.where(lost, x.dtype.type(0), x), lengths, axes, np.add, target)
            return np.asarray(total / count.astype(target))
        reduced = _along(x, lengths, axes, _STEPS[name], target)
        return np.asarray(reduced / target.type(math.prod(lengths))) if name == "mean" else reduced


def _along(x: Array, lengths: tuple[int, ...], axes: tuple[int, ...], step: np.ufunc, target: np.dtype[Any]) -> Array:
    """Reduce windows along one axis after the other."""
    for length, axis in zip(lengths, axes, strict=True):
        reduce_lines = _by_runs if length > LONG else _by_doubling
        x = np.moveaxis(reduce_lines(np.moveaxis(x, axis, 0), length, step, target), 0, axis)
    return x


def _by_doubling(x: Array, length: int, step: np.ufunc, target: np.dtype[Any]) -> Array:
    """Reduce windows of two, of two of these, and so on; a window is put together from those of which it consists."""
    work = np.result_type(target, np.float32) if target.kind == "f" else target
    if step is np.add and x.dtype.kind == "b" and target.kind in "iu":
        work = np.dtype(np.uint8)  # which holds numbers of up to `LONG`
    part, size, at, parts = x.astype(work, copy=False), 1, 0, []
    count = x.shape[0] - length + 1
    while True:
        if length & size:
            parts.append(part[at : at + count])
            at += size
        if 2 * size > length:
            return functools.reduce(step, parts).astype(target)
        part, size = step(part[:-size], part[size:]), 2 * size


def _by_runs(x: Array, length: int, step: np.ufunc, target: np.dtype[Any]) -> Array:
    """Reduce long windows in a time that doesn't depend on their length.

    The axis is cut into runs as long as a window: a window is the end of a run and the beginning of the next one, and
    both are known for all windows when each run has been gone through forwards and backwards.
    """
    wide = np.float64 if target.kind == "f" and target.itemsize < 8 and step is np.add else target
    count = x.shape[0] - length + 1
    reduced = np.empty((count, *x.shape[1:]), target)
    for first in range(0, count, length):
        stop = min(first + length, count)
        ends = step.accumulate(x[first : first + length][::-1], axis=0, dtype=wide)[::-1]
        reduced[first] = ends[0]
        if stop > first + 1:
            begins = step.accumulate(x[first + length : stop + length - 1], axis=0, dtype=wide)
            reduced[first + 1 : stop] = step(ends[1 : stop - first], begins)
    return reduced


WIDE, TILE = 1 << 10, 1 << 15
"""Elements in a row, and of a part of a block, whose windows are weighted while they are in cache."""


def weighted_windows(x: Array, weights: Array, axis: int) -> Array:
    """Return the sum of the elements of each window along an axis, each by its weight; they are added up in order."""
    length, dtype = len(weights), np.result_type(x, weights)
    count = x.shape[axis] - length + 1
    work = np.result_type(dtype, np.float32) if dtype.kind == "f" else dtype
    lines = x.reshape(math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :]))
    sums = np.empty((lines.shape[0], count, lines.shape[2]), dtype)
    wide = max(1, min(lines.shape[2], WIDE))
    high = max(1, min(count, TILE // wide))
    deep = max(1, TILE // (wide * high))
    room = np.empty((2, deep, high, wide), work)
    with np.errstate(all="ignore"):
        for a, b, c in itertools.product(*map(range, (0, 0, 0), sums.shape, (deep, high, wide))):
            part = sums[a : a + deep, b : b + high, c : c + wide]
            total, term = (each[tuple(map(slice, part.shape))] for each in room)
            total.fill(0)
            for k, weight in enumerate(weights.astype(work)):
                np.multiply(lines[a : a + deep, b + k : b + k + part.shape[1], c : c + wide], weight, out=term)
                np.add(total, term, out=total)
            part[...] = total
    return sums.reshape(*x.shape[:axis], count, *x.shape[axis + 1 :])


PIECE = 1 << 18
"""Elements of a block that windows are reduced of at once."""


def rolled(
    x: Array,
    axis: int,
    length: int,
    reach: tuple[int, int],
    name: str,
    least: int,
    dtype: str,
    ddof: int = 0,
    *,
    where: Where,
) -> Array:
    """Return reductions of windows that reach before and after each element of a block; NaN where too little is there.

    The block comes with all that its windows reach. Beyond the ends of the axis, which has `length` elements, NaN is
    missing, and so are other numbers, which are zero.
    """
    window = sum(reach) + 1
    places = np.arange(where[axis].start, where[axis].stop)
    inside = np.minimum(places + reach[1] + 1, length) - np.maximum(places - reach[0], 0)
    lines = np.moveaxis(x, axis, 0)
    with np.errstate(all="ignore"):
        reduced = _in_pieces(lines, window, name, inside, least, np.dtype(dtype), ddof)
    return np.moveaxis(reduced, 0, axis)


def _in_pieces(
    lines: Array, window: int, name: str, inside: Array, least: int, dtype: np.dtype[Any], ddof: int
) -> Array:
    """Return reductions of windows along the first axis, of so many lines at once as a cache holds."""
    out = np.empty((lines.shape[0] - window + 1, *lines.shape[1:]), dtype)
    results = out
    if lines.ndim == 1:
        lines, results = lines[:, None], results[:, None]
    step = max(1, PIECE // max(1, lines.size // max(1, lines.shape[1])))
    inside = inside.reshape(-1, *(1,) * (lines.ndim - 1))
    for at in range(0, lines.shape[1], step):
        results[:, at : at + step] = _rolled(lines[:, at : at + step], window, inside, name, least, dtype, ddof)
    return out


def _rolled(x: Array, window: int, inside: Array, name: str, least: int, dtype: np.dtype[Any], ddof: int) -> Array:
    reduce_runs = _by_runs if window > LONG else _by_doubling
    lost = np.isnan(x) if x.dtype.kind == "f" else None
    few = np.dtype(np.int16 if window < np.iinfo(np.int16).max else np.int64)
    some = inside if lost is None else (window if not lost.any() else reduce_runs(~lost, window, np.add, few))
    if name == "count":
        return np.asarray(some)
    if name in STATISTICS:
        reduced = _statistic(x, None if some is window else lost, window, name, some, ddof)
        enough = np.greater_equal(some, max(least, 1))
        return reduced if enough.all() else np.where(enough, reduced, np.nan)
    step = _STEPS["sum" if name == "mean" else name]
    if lost is not None:
        nothing = {"prod": 1, "max": -np.inf, "min": np.inf}.get(name, 0)
        x = np.where(lost, x.dtype.type(nothing), x)
    target = np.dtype(np.int64 if x.dtype.kind == "b" else x.dtype) if dtype.kind != "f" or lost is None else dtype
    target = target if target.kind == "f" else np.add.reduce(np.empty(0, target)).dtype
    reduced = x if window == 1 else reduce_runs(x, window, step, target)
    if name == "mean":
        reduced = reduced / np.maximum(some, 1).astype(dtype)
    enough = np.greater_equal(some, max(least, 1))
    return reduced if enough.all() else np.where(enough, reduced, dtype.type(np.nan))


STATISTICS = ("std", "var", "median", "argmax", "argmin")
"""Reductions of windows, of floating-point numbers, in which more is known of a part than one number."""


def _statistic(x: Array, lost: Array | None, window: int, name: str, some: Any, ddof: int) -> Array:
    """Return a statistic of each window, `some` of whose elements are there; which of all `lost` tells."""
    if name == "median":
        return medians(x, lost, window)
    if name in ("argmax", "argmin"):
        worst = x.dtype.type(-np.inf if name == "argmax" else np.inf)
        return place_of_extreme(x if lost is None else np.where(lost, worst, x), window, name)
    free = np.subtract(some, ddof, dtype=np.float64)
    variance = spread(x, lost, window) / np.where(free > 0, free, np.nan)
    return np.sqrt(variance) if name == "std" else variance
