"""Running sums and their like: totals of blocks, scans of totals, scans of blocks that begin with what was before."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import filling

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, Any]

TILE = 1 << 18
"""Bytes of a result that are copied and scanned at once."""


def total(x: Array, ufunc: str, axis: int, dtype: np.dtype[Any], carried: np.dtype[Any]) -> Array:
    """Return what the elements, as `dtype` has them, come to along an axis; the axis stays, with length one."""
    cast = _cast(_cast(x, dtype), carried)
    return np.asarray(getattr(np, ufunc).reduce(cast, axis=axis, keepdims=True, dtype=_loop(carried)))


def total_scaled(x: Array, axis: int, dtype: np.dtype[Any]) -> Array:
    """Return the product along an axis as a number of moderate size and a power of two, one behind the other.

    So a product beyond the range of floats isn't infinite, and zero times it isn't NaN.
    """
    lines = np.moveaxis(x.astype(dtype, copy=False), axis, 0)
    with np.errstate(all="ignore"):
        product = np.multiply.reduce(lines, axis=0)
        if (np.isfinite(product) & (np.abs(product) >= np.finfo(dtype).tiny)).all():
            mantissas, powers = _scale(product)
        else:
            mantissas, powers = _product(lines)
    return np.stack([mantissas, powers.astype(dtype)], axis)


def _product(lines: Array) -> tuple[Array, Array]:
    """Multiply along the first axis by halves."""
    mantissas, powers = _scale(lines)
    while len(mantissas) > 1:
        half = len(mantissas) // 2
        rest = mantissas[2 * half :], powers[2 * half :]
        mantissas, more = _scale(mantissas[:half] * mantissas[half : 2 * half])
        powers = more + powers[:half] + powers[half : 2 * half]
        mantissas, powers = np.concatenate([mantissas, rest[0]]), np.concatenate([powers, rest[1]])
    return mantissas[0], powers[0]


def _scale(x: Array) -> tuple[Array, Array]:
    """Return numbers whose largest part is between a half and one, and powers of two; zero, infinity and NaN stay."""
    size = np.maximum(np.abs(x.real), np.abs(x.imag)) if x.dtype.kind == "c" else x
    powers = np.where(np.isfinite(size), np.frexp(size)[1], 0).astype(np.int64)
    return _times_power(x, -powers), powers


def _times_power(x: Array, powers: Array) -> Array:
    powers = np.clip(powers, -(1 << 20), 1 << 20).astype(np.int32)
    if x.dtype.kind != "c":
        return np.asarray(np.ldexp(x, powers))
    out = np.empty(np.broadcast_shapes(x.shape, powers.shape), x.dtype)
    out.real, out.imag = np.ldexp(x.real, powers), np.ldexp(x.imag, powers)
    return out


def scan_scaled(totals: Array, axis: int, dtype: np.dtype[Any]) -> Array:
    """Return the running products of what `total_scaled` gave; what has left the range of floats stays out of it."""
    lines = np.moveaxis(totals, axis, 0)
    mantissas, powers = lines[0::2], lines[1::2].real.astype(np.int64)
    out = np.empty(mantissas.shape, totals.dtype)
    with np.errstate(all="ignore"):
        so_far = np.ones(out.shape[1:], totals.dtype)
        for number, (one, power) in enumerate(zip(mantissas, powers, strict=True)):
            begun, had = _scale(so_far)
            so_far = np.asarray(_times_power(begun * one, had + power)).astype(dtype).astype(totals.dtype)
            out[number] = so_far
        return np.moveaxis(out.astype(dtype), 0, axis)


@filling
def scan(x: Array, ufunc: str, axis: int, dtype: np.dtype[Any], *, out: Array) -> Array:
    """Return the running results along an axis that is whole."""
    getattr(np, ufunc).accumulate(x, axis=axis, dtype=_loop(dtype), out=out)
    return out


@filling
def scan_from(
    x: Array,
    before: Array,
    ufunc: str,
    axis: int,
    dtype: np.dtype[Any],
    carried: np.dtype[Any],
    *,
    where: tuple[slice, ...],
    out: Array,
) -> Array:
    """Return the running results of a block; `before` is what the blocks before it come to."""
    function: np.ufunc = getattr(np, ufunc)
    ahead = (slice(None),) * axis
    so_far = before if where[axis].start else None
    for part in _parts(out, axis):
        place = out[(*ahead, part)]
        np.copyto(place, x[(*ahead, part)], casting="unsafe")
        tile = _cast(place, carried)
        if so_far is not None:
            first = tile[(*ahead, slice(0, 1))]
            first[...] = function(so_far, first)
        function.accumulate(tile, axis=axis, dtype=_loop(carried), out=tile)
        if tile is not place:
            np.copyto(place, tile, casting="same_kind")
        so_far = tile[(*ahead, slice(-1, None))]
    return out


def _parts(out: Array, axis: int) -> Iterator[slice]:
    """Cut an axis into parts that fit the cache, where they lie one after the other in memory."""
    n = out.shape[axis]
    whole = out.size == 0 or math.prod(out.shape[:axis]) > 1
    step = max(1, n if whole else TILE * n // out.nbytes)
    for at in range(0, n, step):
        yield slice(at, min(at + step, n))


def _cast(x: Array, dtype: np.dtype[Any]) -> Array:
    return x.astype(dtype, copy=False)


def _loop(dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    """The dtype to name to a ufunc; dates and times, whose unit a ufunc doesn't take, are none."""
    return None if dtype.kind in "mM" else dtype
