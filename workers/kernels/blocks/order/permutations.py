"""Bringing blocks into random orders, and choosing by weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...randoms import draws_of
from ...randoms.permuting import Permutation, Seed
from .sorting import argsort

Array = np.ndarray[Any, Any]
Where = tuple[slice, ...]


def shuffle_block(x: Array, seed: Seed, axis: int) -> Array:
    """Return a block in which the axis lies as a whole, permuted along it."""
    n = x.shape[axis]
    return x.take(Permutation(seed, n).forward(np.arange(n)), axis)


def count_moves(bounds: Array, seed: Seed, n: int, begins: Array) -> Array:
    """Return how many elements of one chunk go to each; `bounds` has where the chunk begins and ends."""
    lo, hi = bounds[0].tolist()
    return np.bincount(_targets(seed, n, lo, hi, begins), minlength=len(begins))[None]


def deal_elements(x: Array, seed: Seed, n: int, axis: int, begins: Array, where: Where) -> Array:
    """Return a chunk's elements in the order of the chunks that they go to."""
    targets = _targets(seed, n, where[axis].start, where[axis].stop, begins)
    small = targets.astype(np.uint16) if len(begins) < 1 << 16 else targets  # NumPy sorts these by their digits
    return x.take(np.argsort(small, kind="stable"), axis)


def place_elements(x: Array, seed: Seed, n: int, axis: int, where: Where) -> Array:
    """Return a chunk whose elements have come in the order of where they stood, each at its place."""
    stood = Permutation(seed, n).forward(np.arange(where[axis].start, where[axis].stop))
    order = argsort(stood)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return x.take(rank, axis)


def _targets(seed: Seed, n: int, lo: int, hi: int, begins: Array) -> Array:
    places = Permutation(seed, n).backward(np.arange(lo, hi))
    return np.searchsorted(begins, places, side="right") - 1


def permute_lines(
    x: Array, axis: int, stream: tuple[tuple[int, int], int, int], shape: tuple[int, ...], where: Where
) -> Array:
    """Return a block in which each line along the axis is in an order of its own: that of random keys."""
    if not x.size:
        return x
    key, jump, offset = stream
    origin = np.array([[s.start for s in where]], np.int64)
    keys = draws_of(key, jump, offset, shape, origin, x.shape).raw()[:, 0].reshape(x.shape)
    return np.take_along_axis(x, argsort(keys, axis), axis)


def find_quantiles(u: Array, p: Array) -> Array:
    """Return where numbers in [0, 1) lie up the distribution function of weights."""
    steps = np.cumsum(p)
    steps /= steps[-1]
    return np.searchsorted(steps, u, side="right")
