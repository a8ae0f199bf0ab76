"""What is measured of elements that share a label: parts of each block, and how parts are put together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..elements.positions import coordinates

if TYPE_CHECKING:
    from .....graph.chunks.grid import Grid

Array = np.ndarray[Any, Any]
Where = tuple[slice, ...]


@dataclass(frozen=True)
class LabelGroups:
    """Which elements are measured together.

    `kind`: "all", "positive" (whose label is above 0), "one" (those of the only label), or "each" of the labels, which
    ascend. `grid` is that of the elements.
    """

    kind: str
    labels: Array
    grid: Grid

    @property
    def count(self) -> int:
        return len(self.labels) if self.kind == "each" else 1

    def split(self, x: Array, labels: Array | None) -> tuple[Array, Array, Array | None]:
        """Return the elements that are measured, the group of each, and where they are in the block (None: all)."""
        values = x.reshape(-1)
        if self.kind == "all" or labels is None:
            return values, np.zeros(values.size, np.intp), None
        flat = labels.reshape(-1)
        if self.kind == "each":
            group = np.minimum(np.searchsorted(self.labels, flat), len(self.labels) - 1)
            chosen = self.labels[group] == flat if len(self.labels) else np.zeros(flat.shape, bool)
        else:
            chosen = flat > 0 if self.kind == "positive" else flat == self.labels[0]
            group = np.zeros(flat.size, np.intp)
        at = np.flatnonzero(chosen)
        return values[at], group[at], at

    def places(self, at: Array | None, block: tuple[int, ...], where: Where) -> list[Array]:
        """Return coordinates in the whole array of elements of a block."""
        inside = np.unravel_index(np.arange(np.prod(block, dtype=int)) if at is None else at, block)
        starts = [axis.start(own.start) for axis, own in zip(self.grid.axes, where, strict=False)]
        return [np.asarray(c) + s for c, s in zip(inside, starts, strict=True)]


def _given(args: tuple[Any, ...]) -> tuple[Array, Array | None, LabelGroups, tuple[Any, ...]]:
    """Tell apart what came: the elements, their labels or none, the groups, the rest."""
    number = next(i for i, a in enumerate(args) if isinstance(a, LabelGroups))
    return args[0], args[1] if number > 1 else None, args[number], args[number + 1 :]


def sums(*args: Any) -> Array:
    """Return the number and the sum of each group's elements."""
    x, labels, groups, (dtype,) = _given(args)
    values, group, _ = groups.split(x, labels)
    records = np.zeros(groups.count, np.dtype([("n", np.int64), ("sum", dtype)]))
    if groups.count:
        records["n"] = np.bincount(group, minlength=groups.count)
        records["sum"] = _add(values, group, groups, dtype)
    return records.reshape((1,) * x.ndim + (-1,))


def _add(values: Array, group: Array, groups: LabelGroups, dtype: str) -> Array:
    if groups.kind != "each":
        return np.asarray(values.sum(dtype=dtype)).reshape(1)
    return np.bincount(group, weights=values, minlength=groups.count)


def squares(means: Array, *args: Any) -> Array:
    """Return the sum of squares of the differences from each group's mean."""
    x, labels, groups, (dtype,) = _given(args)
    values, group, _ = groups.split(x, labels)
    off: Any = values - means.reshape(-1)[group] if groups.count else values[:0]
    sums = _add((off * off.conjugate()).real.astype(dtype), group, groups, dtype) if groups.count else np.zeros(0)
    return sums.astype(dtype).reshape((1,) * x.ndim + (-1,))


def moments(*args: Any, where: Where) -> Array:
    """Return the sum of each group's elements, and of their products with their places along each axis."""
    x, labels, groups, () = _given(args)
    values, group, at = groups.split(x, labels)
    sums = np.zeros((groups.count, x.ndim + 1))
    if groups.count:
        factors = [np.ones(values.size), *groups.places(at, x.shape, where)]
        for i, factor in enumerate(factors):
            sums[:, i] = np.bincount(group, weights=values * factor.astype(float), minlength=groups.count)
    return sums.reshape((1,) * x.ndim + sums.shape)


def extremes(*args: Any, where: Where) -> Array:
    """Return the least and the greatest of each group's elements, and where these are."""
    x, labels, groups, () = _given(args)
    values, group, at = groups.split(x, labels)
    records = np.zeros(groups.count, record(x.dtype))
    if values.size:
        where_all = groups.places(at, x.shape, where)
        flat = np.ravel_multi_index(where_all, groups.grid.shape) if x.ndim else np.zeros(1, int)
        records["n"] = np.bincount(group, minlength=groups.count)
        _fill(records, values, group, flat, groups.kind != "each")
    return records.reshape((1,) * x.ndim + (-1,))


def record(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of a group's extremes."""
    return np.dtype([("n", "i8"), ("least", dtype), ("greatest", dtype), ("least_at", "i8"), ("greatest_at", "i8")])


def _fill(found: Array, values: Array, group: Array, flat: Array, spreads: bool) -> None:
    """Fill in extremes; of equals the first counts. A NaN is the greatest; where it `spreads`, the least, too."""
    order = np.lexsort((flat, values, group))
    values, group, flat = values[order], group[order], flat[order]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    last = np.append(first[1:], len(group)) - 1
    own = group[first]
    found["least"][own], found["least_at"][own] = values[first], flat[first]
    # lexsort has the first place of the greatest element first among its equals
    greatest = values[last]
    same = (values == np.repeat(greatest, last - first + 1)) | _missing(values)
    same &= _missing(values) | ~np.repeat(_missing(greatest), last - first + 1)
    at = np.where(same, np.arange(len(values)), len(values))
    found["greatest"][own], found["greatest_at"][own] = greatest, flat[np.minimum.reduceat(at, first)]
    if spreads and _missing(greatest).any():
        found["least"][own], found["least_at"][own] = found["greatest"][own], found["greatest_at"][own]


def _missing(values: Array) -> Array:
    missing: Array = np.isnan(values) if values.dtype.kind in "fc" else np.zeros(values.shape, bool)
    return missing


def boxes(*args: Any, where: Where) -> Array:
    """Return the first and the last place of each group along each axis; the last is -1 where it has no element."""
    x, labels, groups, () = _given(args)
    _, group, at = groups.split(x, labels)
    bounds = np.empty((groups.count, x.ndim, 2), np.int64)
    bounds[..., 0], bounds[..., 1] = np.iinfo(np.int64).max, -1
    for i, place in enumerate(groups.places(at, x.shape, where)):
        np.minimum.at(bounds[:, i, 0], group, place)
        np.maximum.at(bounds[:, i, 1], group, place)
    return bounds.reshape((1,) * x.ndim + bounds.shape)


def histogram(*args: Any) -> Array:
    """Return how many of each group's elements fall in each bin."""
    x, labels, groups, (edges,) = _given(args)
    values, group, _ = groups.split(x, labels)
    counts = np.zeros((groups.count, len(edges) - 1), np.int64)
    order = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[order], np.arange(groups.count + 1))
    for k, (start, stop) in enumerate(pairwise(ends)):
        if stop > start:
            counts[k] = np.histogram(values[order[start:stop]], edges)[0]
    return counts.reshape((1,) * x.ndim + counts.shape)


def put_together(parts: Array, ndim: int, how: str) -> Array:
    """Put together what blocks, along the first axes, have measured."""
    parts = parts.reshape((-1, *parts.shape[ndim:]))
    merged: Any
    if how == "sum":
        return np.asarray(parts.sum(0, dtype=parts.dtype))
    if how == "boxes":
        return np.stack([parts[..., 0].min(0), parts[..., 1].max(0)], -1)
    if how == "sums":
        merged = np.empty(parts.shape[1:], parts.dtype)
        for name in ("n", "sum"):
            merged[name] = parts[name].sum(0, dtype=parts.dtype[name])
        return np.asarray(merged)
    merged = np.zeros(parts.shape[1:], parts.dtype)
    merged["n"] = parts["n"].sum(0)
    least: Any = np.zeros(merged.shape, parts.dtype)
    most: Any = np.zeros(merged.shape, parts.dtype)
    for part in parts:
        some = part["n"] > 0
        less = some & ((least["n"] == 0) | _before(part, least, "least", how == "spread"))
        more = some & ((most["n"] == 0) | _before(part, most, "greatest", True))
        least[less], most[more] = part[less], part[more]
    for name in ("least", "least_at"):
        merged[name] = least[name]
    for name in ("greatest", "greatest_at"):
        merged[name] = most[name]
    return np.asarray(merged)


def _before(a: Array, b: Array, name: str, spreads: bool) -> Array:
    """Tell whether the extremes of one part come before those of another: a smaller place counts among equals."""
    x, y = a[name], b[name]
    better = x < y if name == "least" else x > y
    nan_a, nan_b = _missing(x), _missing(y)
    if spreads:
        better = np.where(nan_a | nan_b, nan_a & ~nan_b, better)
    else:
        better = np.where(nan_a | nan_b, ~nan_a & nan_b, better)
    same = (x == y) | (nan_a & nan_b)
    return np.asarray(better | (same & (a[f"{name}_at"] < b[f"{name}_at"])))


def check(found: Array, name: str, field: str) -> Array:
    """Return a field of the extremes of one group, of which there must be elements."""
    if not found["n"].all():
        raise ValueError(f"{name}: no element has the label; expected at least one, or several labels in a sequence")
    return np.asarray(found[field])


def field(found: Array, name: str) -> Array:
    return np.ascontiguousarray(found[name])


def unravel(at: Array, shape: tuple[int, ...]) -> Array:
    """Return coordinates along a last axis."""
    return np.stack(coordinates(at, shape), -1) if shape else np.zeros((*at.shape, 0), np.int64)
