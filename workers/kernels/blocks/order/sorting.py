"""Sorting blocks: always stable, NaN last, and the same bits whichever instructions NumPy's sort has found."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import sorts
from ...buffers import ARGUMENTS
from ...compiled.fixed import dealing
from ...compiled.fixed.copying import RowParts
from .. import filling, piecewise

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray[Any, Any]

PART = 1 << 14
"""What goes along with runs is merged in parts of about so many elements."""

BUCKET = -2
"""The number of the scratch memory in which a bucket of two chunks is sorted."""

LONG = 512
"""Rows of at least so many elements are put in order by NumPy's fastest sort, and ties by position afterwards."""


@filling
def sort(x: Array, axis: int = -1, descending: bool = False, *, out: Array | None = None) -> Array:
    """Return the elements in order along an axis; equal ones keep theirs."""
    if descending:
        return np.flip(sort(np.flip(x, axis), axis), axis)
    if x.dtype.kind in "mM":
        ordered = (sort(_nat_last(x), axis) + 1).view(x.dtype.newbyteorder("="))
        return np.asarray(ordered.astype(x.dtype, copy=False))
    if x.dtype.kind not in "biufSU" or (x.dtype.itemsize > 8 and x.dtype.kind == "f"):
        return np.sort(x, axis, kind="stable")
    if x.ndim == 1 and x.dtype.kind in "iuf":
        ordered = np.empty_like(x) if out is None else out
        sorts.sort_pieces([x], ordered)
        return ordered
    if x.dtype.kind in "iuf" and sorts.pays(x, axis):
        return _sort_lines(x, axis)
    if x.dtype.kind == "f":
        return _sort_rows(x, axis, out)
    return _unstable(x, axis, out)  # what is equal has equal bits


def _unstable(x: Array, axis: int = -1, out: Array | None = None) -> Array:
    """Return the elements in order along an axis; zeros of both signs, and NaN, in any."""
    ordered = np.empty_like(x) if out is None else out
    np.copyto(ordered, x)
    sorts.put_in_order(ordered, axis)
    return ordered


def _sort_lines(x: Array, axis: int) -> Array:
    """Sort lines one by one."""
    rows = np.moveaxis(x, axis, -1)
    ordered = np.empty(rows.shape, x.dtype)
    for index in np.ndindex(rows.shape[:-1]):
        sorts.sort_pieces([rows[index]], ordered[index])
    return np.moveaxis(ordered, -1, axis)


def _sort_rows(x: Array, axis: int, out: Array | None) -> Array:
    """Sort several rows of floating-point numbers: fast where zeros have one sign, and NaN has the same bits."""
    zeros, lost = np.signbit(x[x == 0]), x[np.isnan(x)]
    if (zeros.any() and not zeros.all()) or (len(lost) and (_bits(lost) != _bits(lost)[0]).any()):
        return np.sort(x, axis, kind="stable")
    ordered = _unstable(x, axis, out)
    if len(lost):  # vectorised sorts write a NaN of their own
        ordered[np.isnan(ordered)] = lost[0]
    return ordered


def argsort(x: Array, axis: int = -1, descending: bool = False) -> Array:
    """Return the positions that put an axis in order; equal elements keep theirs."""
    if descending:
        return np.asarray(x.shape[axis] - 1 - np.flip(argsort(np.flip(x, axis), axis), axis))
    if (
        x.shape[axis] < LONG
        or x.shape[axis] >= 1 << 31
        or x.dtype.kind not in "iufmM"
        or x.dtype.itemsize not in (4, 8)
    ):
        return np.argsort(x, axis, kind="stable")
    if x.dtype.kind in "mM":
        x = _nat_last(x)
    rows = np.moveaxis(x, axis, -1)
    positions = np.empty(rows.shape, np.int64)
    for index in np.ndindex(rows.shape[:-1]):
        positions[index] = sorts.order_row(np.ascontiguousarray(rows[index]))
    return np.moveaxis(positions, -1, axis)


def _nat_last(x: Array) -> Array:
    """Return dates or times as integers of the same order; NaT, the least integer, becomes the greatest."""
    return np.asarray(x.astype(x.dtype.newbyteorder("="), copy=False).view(np.int64) - 1)


def _bits(x: Array) -> Array:
    return x.view(f"u{x.dtype.itemsize}")


def pick(x: Array, order: Array) -> Array:
    """Return a block's elements at positions in the block."""
    return x[order]


def merge_runs(x: Array, others: Array) -> Array:
    """Return elements in the order of those of `x` that came with them; `x` is a block of sorted runs."""
    cuts = _cut(x)
    if cuts is None:
        return others[argsort(x)]
    merged, at = np.empty_like(others), 0
    keys, along = (_joiner(each, cuts) for each in (x, others))
    for number in range(len(cuts) - 1):
        order = argsort(keys(number))
        np.take(along(number), order, out=merged[at : at + len(order)], mode="clip")
        at += len(order)
    return merged


def _joiner(x: Array, cuts: Array) -> Callable[[int], Array]:
    """Return what puts together the pieces of a part: of each run what is between two cuts."""
    rows = [x] * cuts.shape[1]
    parts = RowParts.of(rows, cuts[:-1], cuts[1:])
    if parts is None:
        return lambda number: np.concatenate([x[a:b] for a, b in zip(*cuts[number : number + 2].tolist(), strict=True)])
    sizes = (cuts[1:] - cuts[:-1]).sum(1).tolist()

    def join(number: int) -> Array:
        piece = np.empty(sizes[number], x.dtype)
        parts.put(number, piece)
        return piece

    return join


def _cut(x: Array) -> Array | None:
    """Cut sorted runs, (cuts, runs), so that what is of all of them between two cuts is a part that fits a cache.

    None where there is little to cut, where runs are short, and where NaN hides their ends.
    """
    n = len(x)
    if n < 4 * PART or x.dtype.kind not in "iuf" or x.dtype.itemsize > 8:
        return None
    ends = np.flatnonzero(x[1:] < x[:-1]) + 1
    if len(ends) * PART > 4 * n or (x.dtype.kind == "f" and np.isnan(np.max(x))):
        return None
    count = n // PART
    some = sort(x[:: max(1, PART // 64)])
    borders = some[np.arange(1, count) * len(some) // count]
    runs = itertools.pairwise([0, *ends.tolist(), n])
    return np.array([[a, *(np.searchsorted(x[a:b], borders) + a).tolist(), b] for a, b in runs]).T


@filling
def deal_into_buckets(x: Array, splitters: Array, total: int, *, out: Array | None = None) -> Array:
    """Return the elements, those of each bucket between splitters together, and at the end how many these are.

    Buckets hold their elements in any order but for equal ones: these keep theirs. The whole array has `total`.
    """
    n = len(x)
    buckets = np.empty(n + len(splitters) + 1, x.dtype) if out is None else out
    counts = dealing.deal_numbers(x, splitters, total, buckets[:n])
    if counts is None:
        sort(x, out=buckets[:n])
        counts = np.diff(np.searchsorted(buckets[:n], splitters, "left"), prepend=0, append=n)
    buckets[n:].view(f"i{x.dtype.itemsize}")[:] = counts
    return buckets


@piecewise
@filling
def in_order(
    runs: list[Array],
    starts: Array,
    skipped: Array,
    counts: tuple[Array, ...],
    *,
    where: tuple[slice, ...],
    out: Array,
) -> Array:
    """Fill a chunk with buckets in order; they came in runs that have some of each.

    For each block of the result params tell where it starts, how many elements of its first bucket come before it, and
    what each run has of each bucket. What the last bucket has too many goes after it.
    """
    n = len(out)
    if not n:
        return out
    block = int(np.searchsorted(starts, where[0].start, "right")) - 1
    lengths = counts[block][counts[block].any(1)]  # nothing comes of a run without elements
    ends = np.cumsum(lengths, 1)
    at, ahead = -int(skipped[block]), sum(int(each.sum()) for each in counts[block + 1 :])
    joins = (
        RowParts.of(runs, (ends - lengths).T, ends.T) if runs[0].dtype == out.dtype and out.flags.c_contiguous else None
    )
    for number, (begin, end) in enumerate(zip((ends - lengths).T.tolist(), ends.T.tolist(), strict=True)):
        stop = at + sum(end) - sum(begin)
        inside = at >= 0 and stop <= n
        bucket = out[at:stop] if inside else ARGUMENTS.lend(BUCKET, (stop - at,), out.dtype)
        parts = [run[a:b] for run, a, b in zip(runs, begin, end, strict=True)]
        if joins is not None:
            joins.put(number, bucket)
        sorts.sort_pieces(parts, bucket, ahead, joined=joins is not None)
        if not inside:
            out[max(at, 0) : stop] = bucket[max(-at, 0) : n - at]
        at = stop
    return out


def sample(x: Array, step: int) -> Array:
    """Return every step-th element of a sorted block."""
    return x[step - 1 :: step]


def ranks(x: Array, values: Array) -> Array:
    """Return how many elements of a sorted block are less than each value, and how many are not greater."""
    return np.stack([np.searchsorted(x, values, "left"), np.searchsorted(x, values, "right")])[None]


def starts(x: Array, values: Array) -> Array:
    """Return how many elements of a sorted block are less than each value."""
    return np.searchsorted(x, values, "left")[None]


def place_sorted(order: Array, x: Array, where: tuple[slice, ...]) -> Array:
    """Return the elements at the positions, in the whole array, that came with them."""
    elements = np.empty_like(x)
    elements[order - where[0].start] = x
    return elements


def first_of(x: Array, k: int, axis: int) -> Array:
    """Return the k greatest elements along an axis, the greatest first; for -k the k least."""
    return _leading(sort(x, axis, k > 0), k, axis)


def first_order(x: Array, k: int, axis: int) -> Array:
    """Return the positions in the block of the k greatest elements along an axis."""
    return _leading(argsort(x, axis, k > 0), k, axis)


def first_places(x: Array, places: Array, k: int, axis: int) -> Array:
    """Return the positions that came with the k greatest elements along an axis."""
    return np.take_along_axis(places, first_order(x, k, axis), axis)


def _leading(x: Array, k: int, axis: int) -> Array:
    return x[(slice(None),) * axis + (slice(abs(k)),)]


def lexsort(*given: Any) -> Array:
    """Return the order along an axis, the last argument, by several keys: the last one first of all."""
    return np.lexsort(given[:-1], given[-1])
