"""Counting elements in bins.

The edges decide where an element belongs, never the place that a formula finds. For bins of one width the formula
is right for all elements but those so near an edge that rounding may have moved them; these are compared with edges.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

STEP = 1 << 14
"""So many elements at once: temporaries stay in cache."""


def edges(low: Array, high: Array, bins: int) -> Array:
    """Return the edges of bins of one width from the least to the greatest element."""
    return np.histogram_bin_edges(np.array([low, high]), bins)


def even_edges(low: Array, high: Array, bins: int) -> Array:
    """Return such edges as float64."""
    first, last = np.histogram_bin_edges(np.array([low, high]).astype(float), 1)
    return np.linspace(first, last, bins + 1)


def counts(x: Array, edges: Array, even: bool) -> Array:
    """Return how many elements each bin has, as a block with an axis for each of `x` and one for the bins."""
    n = len(edges) - 1
    total = np.zeros(n, np.int64)
    flat = x.reshape(-1)
    step = max(STEP, 8 * n)
    for begin in range(0, flat.size, step):
        part = flat[begin : begin + step]
        if even:
            part = part.astype(edges.dtype, copy=False)
            inside = _inside(part, edges)
            part = part if inside is None else part[inside]
            total += np.bincount(_even_places(part, edges), minlength=n)
        else:
            part = np.sort(part)
            below = [part.searchsorted(edges[:-1], "left"), part.searchsorted(edges[-1:], "right")]
            total += np.diff(np.concatenate(below))
    return total.reshape((1,) * x.ndim + (n,))


def weighted(x: Array, weights: Array, edges: Array, even: bool) -> Array:
    """Return the sum of the weights of each bin's elements, shaped as `counts`."""
    n = len(edges) - 1
    return _summed((x,), (edges,), (even,), weights, n).reshape((1,) * x.ndim + (n,))


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
    return _summed(tuple(columns), tuple(borders), evens, weights, int(np.prod(shape))).reshape(1, *shape)


def _summed(
    columns: tuple[Array, ...], borders: tuple[Array, ...], evens: tuple[bool, ...], weights: Array | None, n: int
) -> Array:
    """Add up weights, or ones, by bins; integers are added as such."""
    total = np.zeros(n, np.float64 if weights is None else weights.dtype)
    flat = [c.reshape(-1) for c in columns]
    heavy = None if weights is None else weights.reshape(-1)
    step = max(STEP, 8 * n)
    for begin in range(0, flat[0].size, step):
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
        for part, border, even in zip(parts, borders, evens, strict=True):
            place = place * (len(border) - 1) + (_even_places(part, border) if even else _places(part, border))
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
    return (x >= edges[0]) & (x <= edges[-1])


def _places(x: Array, edges: Array) -> Array:
    """Return the bins of elements between the outer edges."""
    return np.minimum(edges.searchsorted(x, "right") - 1, len(edges) - 2)


def _even_places(x: Array, edges: Array) -> Array:
    """Return the bins of elements between the outer edges, for bins of one width."""
    n = len(edges) - 1
    first, last = float(edges[0]), float(edges[-1])
    scale = n / (last - first) if last > first else np.inf
    # What the edges and the formula may be off by, in widths of a bin.
    doubt = 16 * float(np.finfo(edges.dtype).eps) * (max(abs(first), abs(last)) * scale + n)
    if not doubt < 0.25:
        return _places(x, edges)
    place = np.subtract(x, first, dtype=np.float64)
    place *= scale
    found = place.astype(np.intp)
    place -= found
    place -= 0.5
    np.absolute(place, out=place)
    if place.size and place.max() > 0.5 - doubt:
        near = np.flatnonzero(place > 0.5 - doubt)
        found[near] = _settled(x[near], found[near], edges)
    return found


def _settled(x: Array, found: Array, edges: Array) -> Array:
    """Put elements that are near an edge on the side where they belong."""
    n = len(edges) - 1
    found = np.clip(found, 0, n - 1)
    found -= x < edges[found]
    found += (x >= edges[found + 1]) & (found != n - 1)
    return found
