"""Running sums and their like: totals of blocks, scans of totals, scans of blocks that begin with what was before."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def total(x: Array, ufunc: str, axis: int, dtype: np.dtype[Any]) -> Array:
    """Return what the elements along an axis come to; the axis stays, with length one."""
    return np.asarray(getattr(np, ufunc).reduce(_cast(x, dtype), axis=axis, keepdims=True, dtype=_loop(dtype)))


def scan(x: Array, ufunc: str, axis: int, dtype: np.dtype[Any]) -> Array:
    """Return the running results along an axis that is whole."""
    return np.asarray(getattr(np, ufunc).accumulate(x, axis=axis, dtype=_loop(dtype)))


def seeded(x: Array, before: Array, ufunc: str, axis: int, dtype: np.dtype[Any], *, where: tuple[slice, ...]) -> Array:
    """Return the running results of a block; `before` is what the blocks up to this one come to, itself included."""
    function: np.ufunc = getattr(np, ufunc)
    out = x.astype(dtype)
    if where[axis].start and out.shape[axis]:
        first = (slice(None),) * axis + (slice(0, 1),)
        out[first] = function(before, out[first])
    function.accumulate(out, axis=axis, dtype=_loop(dtype), out=out)
    return out


def _cast(x: Array, dtype: np.dtype[Any]) -> Array:
    return x.astype(dtype, copy=False)


def _loop(dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    """The dtype to name to a ufunc; dates and times, whose unit a ufunc doesn't take, are none."""
    return None if dtype.kind in "mM" else dtype
