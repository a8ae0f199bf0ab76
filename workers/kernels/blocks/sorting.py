"""Sorting blocks: always stable, NaN last, and the same bits whichever instructions NumPy's sort has found."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import filling

Array = np.ndarray[Any, Any]

LONG = 512
"""Rows of at least so many elements are put in order by NumPy's fastest sort, and ties by position afterwards."""


@filling
def sort(x: Array, axis: int = -1, descending: bool = False, *, out: Array | None = None) -> Array:
    """Return the elements in order along an axis; equal ones keep theirs."""
    if descending:
        return np.flip(sort(np.flip(x, axis), axis), axis)
    if x.dtype.kind in "biuSU":
        return _unstable(x, axis, out)  # equal elements have equal bits
    if x.dtype.kind in "mM":
        found = (np.sort(_nat_last(x), axis) + 1).view(x.dtype.newbyteorder("="))
        return np.asarray(found.astype(x.dtype, copy=False))
    if x.dtype.kind != "f" or x.dtype.itemsize > 8:
        return np.sort(x, axis, kind="stable")
    if x.ndim > 1:
        return _sorted_rows(x, axis, out)
    found = _unstable(x, axis, out)
    zero, after = np.searchsorted(found, 0, "left"), np.searchsorted(found, 0, "right")
    lost = np.searchsorted(found, np.nan)
    if after > zero:
        found[zero:after] = x[x == 0]
    if lost < len(x):
        found[lost:] = x[np.isnan(x)]
    return found


def _unstable(x: Array, axis: int, out: Array | None) -> Array:
    found = np.empty_like(x) if out is None else out
    np.copyto(found, x)
    found.sort(axis)
    return found


def _sorted_rows(x: Array, axis: int, out: Array | None) -> Array:
    """Sort several rows of floating-point numbers: fast where zeros have one sign, and NaN has the same bits."""
    zeros, lost = np.signbit(x[x == 0]), x[np.isnan(x)]
    if (zeros.any() and not zeros.all()) or (len(lost) and (_bits(lost) != _bits(lost)[0]).any()):
        return np.sort(x, axis, kind="stable")
    found = _unstable(x, axis, out)
    if len(lost):  # vectorised sorts write a NaN of their own
        found[np.isnan(found)] = lost[0]
    return found


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
    found = np.empty(rows.shape, np.int64)
    for index in np.ndindex(rows.shape[:-1]):
        found[index] = _order(np.ascontiguousarray(rows[index]))
    return np.moveaxis(found, -1, axis)


def _order(x: Array) -> Array:
    """Return the stable order of a row: a fast one, then sorted positions within each run of equal elements."""
    order = np.argsort(x)
    ordered = x[order]
    changes = ordered[1:] != ordered[:-1]
    if x.dtype.kind == "f":
        changes[np.searchsorted(ordered, np.nan) :] = False
    if changes.all():
        return order
    run = np.zeros(len(x), np.int64)
    np.cumsum(changes, out=run[1:])
    run <<= 32
    run |= order
    run.sort()
    run &= 0xFFFFFFFF
    return run


def _nat_last(x: Array) -> Array:
    """Return dates or times as integers of the same order; NaT, the least integer, becomes the greatest."""
    return np.asarray(x.astype(x.dtype.newbyteorder("="), copy=False).view(np.int64) - 1)


def _bits(x: Array) -> Array:
    return x.view(f"u{x.dtype.itemsize}")


def picked(x: Array, order: Array) -> Array:
    """Return a block's elements at positions in the block."""
    return x[order]


def merged(x: Array, others: Array) -> Array:
    """Return elements in the order of those of `x` that came with them."""
    return others[argsort(x)]


def sample(x: Array, step: int) -> Array:
    """Return every step-th element of a sorted block."""
    return x[step - 1 :: step]


def ranks(x: Array, values: Array) -> Array:
    """Return how many elements of a sorted block are less than each value, and how many are not greater."""
    return np.stack([np.searchsorted(x, values, "left"), np.searchsorted(x, values, "right")])[None]


def starts(x: Array, values: Array) -> Array:
    """Return how many elements of a sorted block are less than each value."""
    return np.searchsorted(x, values, "left")[None]


def placed(order: Array, x: Array, where: tuple[slice, ...]) -> Array:
    """Return the elements at the positions, in the whole array, that came with them."""
    found = np.empty_like(x)
    found[order - where[0].start] = x
    return found


def first_of(x: Array, k: int, axis: int) -> Array:
    """Return the k greatest elements along an axis, the greatest first."""
    return _leading(sort(x, axis, True), k, axis)


def first_order(x: Array, k: int, axis: int) -> Array:
    """Return the positions in the block of the k greatest elements along an axis."""
    return _leading(argsort(x, axis, True), k, axis)


def first_places(x: Array, places: Array, k: int, axis: int) -> Array:
    """Return the positions that came with the k greatest elements along an axis."""
    return np.take_along_axis(places, first_order(x, k, axis), axis)


def _leading(x: Array, k: int, axis: int) -> Array:
    return x[(slice(None),) * axis + (slice(k),)]


def lexsort(*given: Any) -> Array:
    """Return the order along an axis, the last argument, by several keys: the last one first of all."""
    return np.lexsort(given[:-1], given[-1])
