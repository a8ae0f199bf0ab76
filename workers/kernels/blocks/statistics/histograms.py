"""Counting elements in bins.

The edges decide where an element belongs, never the place that a formula finds. For bins of one width the formula
is right for all elements but those so near an edge that rounding may have moved them; these are compared with edges.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiled.fixed.counting import count_even_bins
from ..order.sorting import sort

Array = np.ndarray[Any, Any]

STEP = 1 << 14
"""So many elements at once: temporaries stay in cache."""


def edges(low: Array, high: Array, bins: int) -> Array:
    """Return the edges of bins of one width from the least to the greatest element."""
    return np.histogram_bin_edges(np.array([low, high]), bins)


def even_edges(low: Array, high: Array, bins: int) -> Array:
    """Return such edges as NumPy's `histogramdd` finds them."""
    first, last = np.histogram_bin_edges(np.array([low, high]), 1)
    return np.linspace(first, last, bins + 1)


def counts(x: Array, edges: Array, even: bool) -> Array:
    """Return how many elements each bin has, as a block with an axis for each of `x` and one for the bins."""
    n = len(edges) - 1
    total = np.zeros(n, np.int64)
    flat = x.reshape(-1)
    step = min(max(STEP, 8 * n), flat.size)
    bins = _Even(edges, step) if even else None
    if bins is not None:
        bin_counts = bins.count(flat)
        if bin_counts is not None:
            return bin_counts.reshape((1,) * x.ndim + (n,))
    for begin in range(0, flat.size, max(1, step)):
        part = flat[begin : begin + step]
        if bins is not None:
            part = part.astype(edges.dtype, copy=False)
            inside = _inside(part, edges)
            part = part if inside is None else part[inside]
            total += np.bincount(bins.places(part), minlength=n)
        else:
            part = sort(part)
            below = np.concatenate([part.searchsorted(edges[:-1], "left"), part.searchsorted(edges[-1:], "right")])
            total += below[1:] - below[:-1]
    return total.reshape((1,) * x.ndim + (n,))


def sum_weights(x: Array, weights: Array, edges: Array, even: bool) -> Array:
    """Return the sum of the weights of each bin's elements, shaped as `counts`."""
    n = len(edges) - 1
    return _sum_by_bin((x,), (edges,), (even,), weights, n).reshape((1,) * x.ndim + (n,))


def joint(*blocks: Array | tuple[bool, ...] | bool) -> Array:
    """Return counts in bins of several dimensions: columns, edges of each, perhaps weights; then two params.

    The params: for each dimension whether its bins have one width, and whether there are weights.
    """
    evens, heavy = blocks[-2:]
    arrays: list[Any] = list(blocks[:-2])
    weights = arrays.pop() if heavy else None
    columns, borders = arrays[: len(arrays) // 2], arrays[len(arrays) // 2 :]
    assert isinstance(evens, tuple)
    shape = tuple(len(e) - 1 for e in borders)
    return _sum_by_bin(tuple(columns), tuple(borders), evens, weights, int(np.prod(shape))).reshape(1, *shape)


def _sum_by_bin(
    columns: tuple[Array, ...], borders: tuple[Array, ...], evens: tuple[bool, ...], weights: Array | None, n: int
) -> Array:
    """Add up weights, or ones, by bins; integers are added as such."""
    total = np.zeros(n, np.float64 if weights is None else weights.dtype)
    flat = [c.reshape(-1) for c in columns]
    heavy = None if weights is None else weights.reshape(-1)
    step = min(max(STEP, 8 * n), flat[0].size)
    bins = [_Even(border, step) if even else None for border, even in zip(borders, evens, strict=True)]
    for begin in range(0, flat[0].size, max(1, step)):
        parts = [f[begin : begin + step] for f in flat]
        mine = None if heavy is None else heavy[begin : begin + step]
        keep = None
        for part, border in zip(parts, borders, strict=True):
            inside = _inside(part, border)
            keep = inside if keep is None else keep if inside is None else keep & inside
        if keep is not None:
            parts = [p[keep] for p in parts]
            mine = None if mine is None else mine[keep]
        place: Any = 0
        for part, border, formula in zip(parts, borders, bins, strict=True):
            place = place * (len(border) - 1) + (_places(part, border) if formula is None else formula.places(part))
        _add(total, place, mine)
    return total


def _add(total: Array, place: Array, weights: Array | None) -> None:
    if weights is None:
        total += np.bincount(place, minlength=len(total))
    elif weights.dtype.kind in "iu":
        np.add.at(total, place, weights)
    elif weights.dtype.kind == "c":
        total.real += np.bincount(place, weights.real, len(total))
        total.imag += np.bincount(place, weights.imag, len(total))
    else:
        total += np.bincount(place, weights, len(total)).astype(total.dtype, copy=False)


def _inside(x: Array, edges: Array) -> Array | None:
    """Return which elements are between the outer edges; None: all of them."""
    if x.size and x.min() >= edges[0] and x.max() <= edges[-1]:
        return None
    inside: Array = (x >= edges[0]) & (x <= edges[-1])
    return inside


def _places(x: Array, edges: Array) -> Array:
    """Return the bins of elements between the outer edges."""
    bins: Array = np.minimum(edges.searchsorted(x, "right") - 1, len(edges) - 2)
    return bins


class _Even:
    """Finds places in bins of one width; its buffers serve many parts of an array."""

    def __init__(self, edges: Array, step: int) -> None:
        self._edges, self._n = edges, len(edges) - 1
        self._first, last = float(edges[0]), float(edges[-1])
        self._scale = self._n / (last - self._first) if last > self._first else np.inf
        # What the edges and the formula may be off by, in widths of a bin.
        rounding = 16 * float(max(np.finfo(edges.dtype).eps, np.finfo(np.float64).eps))  # places are float64
        self._doubt = rounding * (max(abs(self._first), abs(last)) * self._scale + self._n)
        self._place, self._found = np.empty(step, np.float64), np.empty(step, np.intp)

    def count(self, x: Array) -> Array | None:
        """Return how many elements each bin has by a compiled kernel, where there is one."""
        fits = self._doubt < 0.25 and (x.dtype == self._edges.dtype or self._edges.dtype == np.float64)
        return count_even_bins(x, self._edges, self._scale, self._doubt) if fits else None

    def places(self, x: Array) -> Array:
        """Return the bins of elements between the outer edges, until the next call."""
        if not self._doubt < 0.25:
            return _places(x, self._edges)
        place, bins = self._place[: x.size], self._found[: x.size]
        np.subtract(x, self._first, out=place, dtype=np.float64)
        np.multiply(place, self._scale, out=place)
        np.copyto(bins, place, casting="unsafe")
        np.subtract(place, bins, out=place)
        np.subtract(place, 0.5, out=place)
        np.absolute(place, out=place)
        if x.size and place.max() > 0.5 - self._doubt:
            near = np.flatnonzero(place > 0.5 - self._doubt)
            bins[near] = _correct_bins(x[near], bins[near], self._edges)
        return bins


def _correct_bins(x: Array, bins: Array, edges: Array) -> Array:
    """Put elements that are near an edge on the side where they belong."""
    n = len(edges) - 1
    bins = np.clip(bins, 0, n - 1)
    bins -= x < edges[bins]
    bins += (x >= edges[bins + 1]) & (bins != n - 1)
    return bins
