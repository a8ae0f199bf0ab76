"""Searching tables, whole or a chunk of them at a time; what is new in sorted blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import room

Array = np.ndarray[Any, Any]


def positions(table: Array, x: Array, side: Any) -> Array:
    """Return where elements go in a sorted table."""
    return np.asarray(np.searchsorted(table, x, side))


def more_positions(table: Array, x: Array, before: Array, side: Any) -> Array:
    """Return where elements go in a part of a table, added to where they go in the parts before."""
    return np.asarray(before + np.searchsorted(table, x, side))


@room(8.0)
def is_in(table: Array, x: Array) -> Array:
    return np.asarray(np.isin(x, table))


@room(8.0)
def more_is_in(table: Array, x: Array, before: Array) -> Array:
    """Tell which elements a part of a table has, or the parts before had."""
    return np.asarray(before | np.isin(x, table))


@room(5.0)
def is_in_sorted(table: Array, x: Array) -> Array:
    """Tell which elements a sorted table has."""
    among = np.zeros(x.shape, bool)
    if not table.size:
        return among
    near = ~((x < table[0]) | (x > table[-1]))  # NaN, which may come last, tells nothing
    some = x[near]
    at = np.searchsorted(table, some)
    among[near] = table[np.minimum(at, len(table) - 1)] == some
    return among


@room(5.0)
def more_is_in_sorted(table: Array, x: Array, before: Array) -> Array:
    """Tell which elements a part of a sorted table has, or the parts before had."""
    return np.asarray(before | is_in_sorted(table, x))


def bins(table: Array, x: Array, right: bool) -> Array:
    """Return the number of the bin that each element is in."""
    return np.asarray(np.digitize(x, table, right))


def begins(x: Array, equal_nan: bool, where: tuple[slice, ...]) -> Array:
    """Tell which elements of a sorted block differ from the one before.

    The block has the one before in front, but at the start of the array.
    """
    return np.concatenate([np.ones(where[0].stop - where[0].start - max(0, len(x) - 1), bool), _differ(x, equal_nan)])


def mark_first(x: Array, equal_nan: bool) -> Array:
    """Tell which elements of a sorted block differ from the one before in the block."""
    return np.concatenate([np.ones(min(1, len(x)), bool), _differ(x, equal_nan)])


def ends(x: Array, equal_nan: bool, where: tuple[slice, ...]) -> Array:
    """Tell which elements of a sorted block differ from the one after, which the block has, but at the array's end."""
    return np.concatenate([_differ(x, equal_nan), np.ones(where[0].stop - where[0].start - max(0, len(x) - 1), bool)])


def _differ(x: Array, equal_nan: bool) -> Array:
    before, after = x[:-1], x[1:]
    differ = np.asarray(before != after)
    if equal_nan and x.dtype.kind in "fcmM":
        differ &= ~(np.isnan(before) & np.isnan(after))
    return differ


def number_runs(new: Array, before: Array) -> Array:
    """Return for each element how many are new up to it, less one; `before` counts those of the blocks before."""
    return np.asarray(np.cumsum(new) + (before[0] - 1))


def pack_rows(x: Array, record: np.dtype[Any]) -> Array:
    return np.ascontiguousarray(x).view(record)[:, 0]


def unpack_rows(x: Array) -> Array:
    fields = x.dtype.names or ()
    return np.asarray(np.ascontiguousarray(x).view(x.dtype[0]).reshape(len(x), len(fields)))
