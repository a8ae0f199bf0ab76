"""Interpolation of a block's own part of an array: SciPy evaluates splines where their coefficients are at hand.

A block of the result is made from a window of the array. Where in the array each of its elements comes from is
computed here by SciPy's own arithmetic, `fold` brings these places into the array as `mode` says (SciPy's
`map_coordinate`), and they are counted from the window's begin. The array has a margin that continues it by `mode`, so
that the elements around each place lie in the window, and what SciPy does at the window's ends doesn't matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .ndimage import scipy_function

Array = np.ndarray[Any, Any]
ENDLESS = ("nearest", "grid-constant")
"""Modes in which places stay where they are; as far as splines reach, the array is continued."""


@dataclass(frozen=True)
class AxisPlaces:
    """Places along each axis by itself: (k + shift) * zoom; with `areas` element k is what lies around k + .5."""

    shifts: tuple[float, ...]
    zooms: tuple[float, ...]
    areas: bool = False

    def along(self, axis: int, begin: int, end: int) -> Array:
        """Return the places of elements along an axis."""
        positions = np.arange(begin, end, dtype=np.float64) + self.shifts[axis]
        return (positions + 0.5) * self.zooms[axis] - 0.5 if self.areas else positions * self.zooms[axis]

    def places(self, begins: tuple[int, ...], shape: tuple[int, ...]) -> list[Array]:
        """Return the places of a block's elements, an array for each axis."""
        coordinates = (self.along(i, b, b + n) for i, (b, n) in enumerate(zip(begins, shape, strict=True)))
        return list(np.meshgrid(*coordinates, indexing="ij", sparse=True))


@dataclass(frozen=True)
class Affine:
    """Places by a matrix with a row for each axis of the array, and an offset."""

    rows: tuple[tuple[float, ...], ...]
    offset: tuple[float, ...]

    def places(self, begins: tuple[int, ...], shape: tuple[int, ...]) -> list[Array]:
        """Return the places of a block's elements, an array for each axis of the array."""
        ks = [np.arange(b, b + n, dtype=np.float64) for b, n in zip(begins, shape, strict=True)]
        grids = np.meshgrid(*ks, indexing="ij", sparse=True)
        coordinates = []
        for row, off in zip(self.rows, self.offset, strict=True):
            at: Any = np.float64(off)
            for k, weight in zip(grids, row, strict=True):
                at = at + k * weight
            coordinates.append(np.asarray(at))
        return coordinates


@dataclass(frozen=True)
class Spline:
    """How an array is interpolated.

    `axes` are those along which it is, of the lengths `sizes`, `before` elements of which continue the array.
    `margin` more elements lie at each end, which no place is brought into. `output` is a dtype's text.
    """

    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    before: int
    margin: int
    order: int
    mode: str
    cval: Any
    output: str


def fold(at: Array, size: int, how: Spline) -> Array:
    """Return places within an array by those along its endless axis; NaN: there is nothing but `cval`."""
    at, mode = at + how.before, how.mode
    if mode in ENDLESS:
        reach = how.order + 1.0
        if mode == "nearest":
            return np.asarray(np.clip(at, -reach, size - 1 + reach))
        return np.where((at >= -reach) & (at <= size - 1 + reach), at, np.nan)
    if mode == "constant":
        return np.where((at >= 0) & (at <= size - 1), at, np.nan)
    at = np.where(np.isfinite(at), at, np.nan)
    if size <= 1:
        return np.asarray(at * 0)
    low, high = at < 0, at > size - 1
    if mode == "mirror":
        round_ = 2.0 * size - 2
        below = round_ * np.trunc(-at / round_) + at
        below = np.where(below <= 1 - size, below + round_, -below)
        above = at - round_ * np.trunc(at / round_)
        above = np.where(above >= size, round_ - above, above)
    elif mode in ("reflect", "grid-mirror"):
        round_ = 2.0 * size
        below = np.where(at < -round_, round_ * np.trunc(-at / round_) + at, at)
        below = np.where(below < -size, below + round_, -below - 1)
        above = at - round_ * np.trunc(at / round_)
        above = np.where(above >= size, round_ - above - 1, above)
    elif mode == "wrap":
        round_ = size - 1.0
        below = at + round_ * (np.trunc(-at / round_) + 1)
        above = at - round_ * np.trunc(at / round_)
    else:
        below = at + size * (np.trunc((-1 - at) / size) + 1)
        above = at - size * np.trunc(at / size)
    return np.where(low, below, np.where(high, above, at))


def interpolated(window: Array, *rest: Any) -> Array:
    """Interpolate a window of the array.

    After it come the block of places, where these are given; where the window begins in the array, and the block in
    the result; the block's shape; how places are found, or None where they came; and the `Spline`.
    """
    *place_blocks, begins, own, shape, places, how = rest
    dtype = np.dtype(how.output)
    if 0 in shape:
        return np.empty(shape, dtype)
    # The axes that aren't interpolated come first: a plane after the other is, at the same places.
    others = [i for i in range(window.ndim) if i not in how.axes]
    inner = tuple(shape[i] for i in how.axes) if others else tuple(shape)
    if place_blocks:
        coordinates = list(place_blocks[0].astype(np.float64, copy=False))
    else:
        coordinates = places.places(tuple(own[i] for i in how.axes) if others else own, inner)
    folded = [fold(at, size, how) for at, size in zip(coordinates, how.sizes, strict=True)]
    outside = np.zeros(inner, np.bool_)
    for at in folded:
        outside |= np.isnan(at)
    into = np.empty((len(folded), *inner))
    for i, (at, axis) in enumerate(zip(folded, how.axes, strict=True)):
        # By order 0 the nearest element is taken: a place halfway must not be moved by rounding.
        into[i] = (np.floor(at + 0.5) if how.order == 0 else at) + (how.margin - begins[axis])
    into[:, outside] = 0
    output = np.empty((*(shape[i] for i in others), *inner), dtype)
    planes = window.transpose([*others, *how.axes])
    beyond = _beyond(window.dtype, how)
    with np.errstate(all="ignore"):
        for index in np.ndindex(*output.shape[: len(others)]):
            plane = planes[index]
            output[index] = scipy_function("ndimage.map_coordinates")(
                plane, into, output=dtype, order=how.order, mode="nearest", prefilter=False
            )
            if outside.any():
                output[index][outside] = beyond
    return np.ascontiguousarray(output.transpose(np.argsort([*others, *how.axes]))) if others else output


def _beyond(dtype: np.dtype[Any], how: Spline) -> Any:
    """Return `cval` in the result's dtype, as SciPy rounds it."""
    nothing = np.zeros(1, np.complex128 if dtype.kind == "c" else np.float64)
    return scipy_function("ndimage.map_coordinates")(
        nothing, [[-9.0]], output=np.dtype(how.output), order=0, mode="constant", cval=how.cval, prefilter=False
    )[0]


def spans(block: Array, how: Spline) -> Array:
    """Return the least and largest places along each axis that a block of places needs, in a block of its own."""
    bounds = np.empty((2, len(how.sizes)))
    for i, size in enumerate(how.sizes):
        at = fold(block[i].astype(np.float64, copy=False), size, how)
        at = at[~np.isnan(at)]
        bounds[:, i] = (at.min(), at.max()) if at.size else (0, -1)
    return bounds.reshape(2, len(how.sizes), *(1,) * (block.ndim - 1))


def filled(x: Array, how: Spline, where: tuple[slice, ...]) -> Array:
    """Return a block of `cval`; of the array only the dtype counts."""
    return np.full([s.stop - s.start for s in where], _beyond(x.dtype, how))
