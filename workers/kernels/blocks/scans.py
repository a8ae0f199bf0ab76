"""Running sums and their like: totals of blocks, scans of totals, scans of blocks that begin with what was before."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from . import filling

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, Any]

TILE = 1 << 18
"""Bytes of a result that are copied and scanned at once."""


def total(x: Array, ufunc: str, axis: int, dtype: np.dtype[Any]) -> Array:
    """Return what the elements along an axis come to; the axis stays, with length one."""
    return np.asarray(getattr(np, ufunc).reduce(_cast(x, dtype), axis=axis, keepdims=True, dtype=_loop(dtype)))


@filling
def scan(x: Array, ufunc: str, axis: int, dtype: np.dtype[Any], *, out: Array) -> Array:
    """Return the running results along an axis that is whole."""
    getattr(np, ufunc).accumulate(x, axis=axis, dtype=_loop(dtype), out=out)
    return out


@filling
def seeded(
    x: Array, before: Array, ufunc: str, axis: int, dtype: np.dtype[Any], *, where: tuple[slice, ...], out: Array
) -> Array:
    """Return the running results of a block; `before` is what the blocks before it come to."""
    function: np.ufunc = getattr(np, ufunc)
    ahead = (slice(None),) * axis
    so_far = before if where[axis].start else None
    for part in _parts(out, axis):
        tile = out[(*ahead, part)]
        np.copyto(tile, x[(*ahead, part)], casting="unsafe")
        if so_far is not None:
            first = tile[(*ahead, slice(0, 1))]
            first[...] = function(so_far, first)
        function.accumulate(tile, axis=axis, dtype=_loop(dtype), out=tile)
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
