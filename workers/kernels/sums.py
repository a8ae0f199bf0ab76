"""Sums in an order that follows from shapes alone: on lanes over whole blocks, on long rows along the first axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .buffers import Buffers
from .compiled.fixed.deviations import add_squares
from .compiled.fused.loops import LANES

Array = np.ndarray[Any, Any]
_scratch = Buffers(1 << 23)


class Terms:
    """What is added up: the elements themselves."""

    def of(self, x: Array) -> Array:
        """Return the terms of some elements; they may be the elements."""
        return x

    def add_rows(self, x: Array) -> Array:
        """Add up the terms of (n, rows, length) elements, row after row, to (n, length)."""
        return np.asarray(np.add.reduce(x, axis=1))


@dataclass(frozen=True)
class Squares(Terms):
    """Squares of the distances from a mean, which has length one along the axes that are reduced."""

    mean: Array

    def of(self, x: Array) -> Array:
        return _square(x, _beside(x, self.mean))

    def add_rows(self, x: Array) -> Array:
        mean = self.mean.reshape(len(x), 1, -1)
        row = np.tile(mean, x.shape[2] // mean.shape[2])
        sums = add_squares(x, row)
        return np.asarray(np.add.reduce(_square(x, row), axis=1)) if sums is None else sums


@dataclass(frozen=True)
class Distances(Terms):
    """Distances from such a mean: what they add up to is left of its rounding."""

    mean: Array

    def of(self, x: Array) -> Array:
        return _distances(x, _beside(x, self.mean))

    def add_rows(self, x: Array) -> Array:
        mean = self.mean.reshape(len(x), 1, -1)
        return np.asarray(np.add.reduce(_distances(x, np.tile(mean, x.shape[2] // mean.shape[2])), axis=1))


PLAIN = Terms()


def _beside(x: Array, mean: Array) -> Array:
    """Return means in a shape that broadcasts: there is one for each element, or each line, or each block on lanes."""
    return mean.reshape(len(x), 1) if x.ndim == 2 and mean.size == len(x) else mean


def _distances(x: Array, mean: Array) -> Array:
    """Return distances, in memory that is valid until the next call."""
    return np.subtract(x, mean, out=_scratch.lend("distance", x.shape, x.dtype))


def _square(x: Array, mean: Array) -> Array:
    """Return squared distances, in memory that is valid until the next call."""
    distance = _distances(x, mean)
    if x.dtype.kind == "c":
        squares: Array = np.square(np.real(distance)) + np.square(np.imag(distance))
        return squares
    return np.square(distance, out=distance)


def lanes_of(x: Array, terms: Terms = PLAIN) -> Array:
    """Add up the terms of (n, m) elements to (n, min(m, 512)) lanes."""
    n, m = x.shape
    rows = m // LANES
    if rows == 0:
        return terms.of(x).copy()
    head = x[:, : rows * LANES].reshape(n, rows, LANES)
    lanes: Array = terms.add_rows(head) if rows > 1 else terms.of(head[:, 0]).copy()
    tail = m - rows * LANES
    if tail:
        np.add(lanes[:, :tail], terms.of(x[:, rows * LANES :]), out=lanes[:, :tail])
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


def is_whole(x: Array, axes: tuple[int, ...]) -> bool:
    """Whether whole blocks of numbers that aren't exact are added up: then it is done on lanes."""
    return len(axes) == x.ndim - 1 and x.dtype.kind in "fc"


def add_tile(x: Array, axes: tuple[int, ...], terms: Terms = PLAIN) -> Array:
    """Add up the terms of a tile along axes, which stay with length one."""
    if is_whole(x, axes):
        return reduce_lanes(lanes_of(x.reshape(len(x), -1), terms)).reshape(-1, *(1,) * (x.ndim - 1))
    return add_along(x, axes, terms)


def add_along(x: Array, axes: tuple[int, ...], terms: Terms = PLAIN) -> Array:
    """Add up along some axes. Short rows are added several at once, as one long row: NumPy takes as long for each."""
    width = math.prod(x.shape[2:])
    beside = LANES // max(1, width)
    rows = x.shape[1] // max(1, beside) if x.ndim > 2 else 0
    if axes != (1,) or width == 0 or beside < 2 or rows < 2:
        return np.asarray(np.add.reduce(terms.of(x), axis=axes, keepdims=True))
    cut = rows * beside
    long = terms.add_rows(x[:, :cut].reshape(len(x), rows, beside * width))
    total: Array = np.add.reduce(long.reshape(len(x), beside, *x.shape[2:]), axis=1, keepdims=True)
    if cut < x.shape[1]:
        np.add(total, np.add.reduce(terms.of(x[:, cut:]), axis=1, keepdims=True), out=total)
    return total
