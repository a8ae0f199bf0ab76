"""Groups of elements reduced: what a block has of each group.

Labels are numbers of groups, below nought for elements of none. Where elements of a group follow each other, as the
days of a month do, each such run is reduced as it lies: nothing is put in order, and nothing copied.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Where = tuple[slice, ...]
WIDE = 256
"""Elements of a run and of what lies beside it, on average, from which on runs are reduced one by one."""
LONG = 1 << 13
"""The same from which on runs aren't first brought together to one of each group."""
PIECE = 1 << 16
"""Elements that are gone through several times, in cache, where some are missing."""


@dataclass(frozen=True)
class Grouped:
    """A reduction of groups, and what comes of groups that have too few elements.

    `kind` is found of each chunk's part of a group: "sum", "prod", "min", "max", "any", "all", "count" or "moments";
    the result is made of these by `how`: "value", "mean", "var" or "std". `skips`: NaN is passed over. `counts`:
    elements are counted, `with_missing` those that are passed over, too, since what has fewer than `least` becomes
    `fill`.
    """

    kind: str
    how: str
    skips: bool
    dtype: str
    counts: bool
    least: int
    fill: Any
    ddof: int = 0
    with_missing: bool = False

    def record(self, own: Any) -> np.dtype[Any]:
        """Return the dtype of what is found of a chunk's part of a group."""
        own, dtype = np.dtype(own), np.dtype(self.dtype)
        if self.kind == "moments":
            return np.dtype([("value", "f8"), ("spread", "f8"), ("count", "i4")])
        value = own if self.kind in ("min", "max") else dtype
        if self.kind in ("sum", "prod") and dtype.kind == "f":
            value = np.dtype(np.float64)
        if self.kind == "count":
            value = np.dtype(np.int64)
        return np.dtype([("value", value), *([("count", "i4")] if self.counts else [])])

    def finish(self, parts: Any, sizes: Any, xp: Any = np) -> Any:
        """Return the results of what was found of whole groups; `sizes` are for where none are counted."""
        value, count = parts["value"], parts.get("count", sizes)
        if self.how == "mean":
            value = value / xp.maximum(count, 1)
        elif self.how != "value":
            value = xp.where(count > self.ddof, parts["spread"] / xp.maximum(count - self.ddof, 1), np.nan)
            value = xp.sqrt(value) if self.how == "std" else value
        if self.counts:
            value = xp.where(count >= self.least, value, self.fill)
        return value.astype(self.dtype)


def partials(block: Array, codes: Array, first: int, grouped: Grouped, record: str, *, where: Where) -> Array:
    """Return records of what a block has of each group; what changes nothing of one that it hasn't.

    Labels run along axes of the block from `first` on, the groups along the last of these in the result.
    """
    shape = tuple(s.stop - s.start for s in where)
    parts = _parts(block, codes, first, shape, grouped)
    dtype = grouped.record(record)
    records = np.empty(next(iter(parts.values())).shape, dtype)
    for name in dtype.names or ():
        records[name] = parts[name]
    return records.reshape(shape)


def finished(block: Array, codes: Array, sizes: Array, first: int, grouped: Grouped, *, where: Where) -> Array:
    """Return the results of groups all of whose elements are in the block."""
    shape = tuple(s.stop - s.start for s in where)
    with np.errstate(all="ignore"):
        results = grouped.finish(_parts(block, codes, first, shape, grouped), sizes[:, None])
    return np.asarray(results).reshape(shape)


def _parts(block: Array, codes: Array, first: int, shape: tuple[int, ...], grouped: Grouped) -> dict[str, Array]:
    """Return what the block has of each group: fields of three axes, of which that of the groups is the second."""
    after = first + codes.ndim
    groups = shape[after - 1 + len(shape) - block.ndim]
    x = block.reshape(math.prod(block.shape[:first]), codes.size, math.prod(block.shape[after:]))
    codes, value = codes.ravel(), grouped.record(block.dtype)["value"]
    runs = _runs(codes)
    wide = len(runs) * WIDE <= x.size
    if not wide or (len(runs) > 2 * groups and len(runs) * LONG > x.size):
        order = np.argsort(codes, kind="stable")
        x, runs = x[:, order], _runs(codes[order])
    with np.errstate(all="ignore"):
        if grouped.kind == "moments":
            return _moments(x, runs, groups, grouped.skips, wide)
        return _reduced(x, runs, groups, grouped, value, wide)


def _runs(codes: Array) -> list[tuple[int, int, int]]:
    """Return where elements of one group follow each other: from, to, and which group."""
    if not codes.size:
        return []
    begin = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
    runs = zip(begin.tolist(), [*begin[1:].tolist(), codes.size], codes[begin].tolist(), strict=True)
    return [run for run in runs if run[2] >= 0]


def _reduced(
    x: Array, runs: list[tuple[int, int, int]], groups: int, grouped: Grouped, dtype: np.dtype[Any], wide: bool
) -> dict[str, Array]:
    """Reduce each run, and what runs of one group have; `wide`: one by one, else all of them at once."""
    shape = (x.shape[0], groups, x.shape[2])
    skips = grouped.skips and x.dtype.kind == "f"
    ufunc, nothing = _ufunc(grouped.kind, dtype, skips)
    value = np.full(shape, nothing, dtype)
    count = np.zeros(shape, np.int32) if grouped.counts or grouped.kind == "count" else None
    fills, typed = skips and ufunc in (np.add, np.multiply), dtype if ufunc in (np.add, np.multiply) else None
    counts_some = count is not None and skips and not grouped.with_missing
    own = x.dtype.type
    if not wide:
        lost = np.isnan(x) if fills or counts_some else np.zeros(x.shape, bool)
        _at_once(ufunc, np.where(lost, own(nothing), x) if fills else x, runs, value, typed)
        if count is not None:
            _at_once(np.add, ~lost if counts_some else np.ones(x.shape, np.int32), runs, count, np.int32)
        return _named(value, count, grouped)
    some_lost = False
    for begin, end, group in runs:
        part = x[:, begin:end]
        if grouped.kind != "count" and not some_lost:
            reduced = ufunc.reduce(part, axis=1, dtype=typed)
            some_lost = fills and bool(np.isnan(reduced).any())
            if not some_lost:
                ufunc(value[:, group], reduced, out=value[:, group])
                if count is not None:
                    count[:, group] += end - begin - (_number(np.isnan(part)) if counts_some and not fills else 0)
                continue
        step = max(1, PIECE // max(1, x.shape[0] * x.shape[2]))
        for at in range(0, end - begin, step):
            piece = part[:, at : at + step]
            lost = np.isnan(piece) if fills or counts_some else np.zeros((), bool)
            if grouped.kind != "count":
                reduced = ufunc.reduce(np.where(lost, own(nothing), piece), 1, typed)
                ufunc(value[:, group], reduced, out=value[:, group])
            if count is not None:
                count[:, group] += piece.shape[1] - (_number(lost) if counts_some else 0)
    return _named(value, count, grouped)


def _named(value: Array, count: Array | None, grouped: Grouped) -> dict[str, Array]:
    if count is None:
        return {"value": value}
    return {"value": count if grouped.kind == "count" else value, "count": count}


def _number(some: Array) -> Array:
    """Return how many are true along the axis of elements."""
    few = np.uint8 if some.shape[1] <= np.iinfo(np.uint8).max else np.int32  # bytes are added several at a time
    return np.asarray(np.add.reduce(some, axis=1, dtype=few)).astype(np.int32, copy=False)


def _at_once(ufunc: np.ufunc, x: Array, runs: list[tuple[int, int, int]], out: Array, dtype: Any) -> None:
    """Reduce runs that are each all that there is of a group."""
    if runs:
        out[:, [run[2] for run in runs]] = ufunc.reduceat(x, [run[0] for run in runs], axis=1, dtype=dtype)


def _moments(x: Array, runs: list[tuple[int, int, int]], groups: int, skips: bool, wide: bool) -> dict[str, Array]:
    """Return the mean of each group, the sum of squares of what its elements are from it, and how many they are."""
    plain = Grouped("sum", "mean", skips, "f8", True, 0, np.nan)
    total = _reduced(x, runs, groups, plain, np.dtype(np.float64), wide)
    mean = total["value"] / np.maximum(total["count"], 1)
    spread = np.zeros_like(mean)
    for begin, end, group in runs:
        away = x[:, begin:end] - mean[:, group][:, None]
        np.multiply(away, away, out=away)
        squares = np.add.reduce(away, axis=1)
        if skips and np.isnan(squares).any():
            squares = np.add.reduce(np.where(np.isnan(away), 0, away), axis=1)
        spread[:, group] += squares
    return {"value": mean, "spread": spread, "count": total["count"]}


def _ufunc(kind: str, dtype: np.dtype[Any], skips: bool) -> tuple[np.ufunc, Any]:
    """Return what reduces the elements of a group, and what a block has of a group that it has none of."""
    if kind in ("any", "all"):
        return (np.logical_or, False) if kind == "any" else (np.logical_and, True)
    if kind in ("max", "min"):
        least, most = (False, True) if dtype.kind == "b" else (-np.inf, np.inf)
        if dtype.kind in "iu":
            least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        if skips:
            return (np.fmax if kind == "max" else np.fmin), np.nan
        return (np.maximum, least) if kind == "max" else (np.minimum, most)
    return (np.multiply, 1) if kind == "prod" else (np.add, 0)
