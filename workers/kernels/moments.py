"""Variances: count, mean and sum of squared deviations of each tile, merged by Chan, Golub and LeVeque's update."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.kinds.reduction import count_reduced
from .sums import Squares, add_tile

if TYPE_CHECKING:
    from ...graph.kinds.reduction import Level

Array = np.ndarray[Any, Any]


def moments_tile(x: Array, axes: tuple[int, ...], level: Level, origin: Array) -> Array:
    """Count, mean and sum of squared deviations of a tile."""
    dtype = np.dtype([("n", "f8"), ("mean", np.result_type(level.source, level.target)), ("m2", level.target)])
    x = x.astype(dtype["mean"], copy=False)
    shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    out = np.empty(shape, dtype)
    count = math.prod(x.shape[a] for a in axes)
    out["n"] = count
    out["mean"] = mean = add_tile(x, axes) / max(count, 1)
    out["m2"] = add_tile(x, axes, Squares(mean.astype(x.dtype, copy=False)))
    return out


def some_moments_tile(x: Array, axes: tuple[int, ...], level: Level, origin: Array) -> Array:
    """The moments of what is not NaN."""
    dtype = np.dtype([("n", "f8"), ("mean", np.result_type(level.source, level.target)), ("m2", level.target)])
    lost = np.isnan(x)
    x = np.where(lost, 0, x).astype(dtype["mean"], copy=False)
    shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    out = np.empty(shape, dtype)
    out["n"] = np.add.reduce(~lost, axis=axes, dtype="f8", keepdims=True)
    out["mean"] = add_tile(x, axes) / np.maximum(out["n"], 1).astype(level.target)
    deviation = np.subtract(x, out["mean"])
    deviation[lost] = 0
    squares = _modulus(deviation) if x.dtype.kind == "c" else np.square(deviation, out=deviation)
    out["m2"] = add_tile(squares, axes)
    return out


def some_moments_finish(partial: Array, level: Level) -> Array:
    freedom = partial["n"] - level.reduce.ddof
    with np.errstate(all="ignore"):
        variance = np.true_divide(partial["m2"], np.where(freedom > 0, freedom, np.nan))
        return np.asarray(np.sqrt(variance) if level.reduce.head == "nanstd" else variance).astype(level.target)


def moments_merge(a: Array, b: Array) -> Array:
    """Chan, Golub and LeVeque's update of the moments of two sets, elementwise."""
    out = np.empty_like(a)
    n = a["n"] + b["n"]
    share = b["n"] / np.maximum(n, 1)
    delta = b["mean"] - a["mean"]
    out["n"] = n
    out["mean"] = a["mean"] + delta * share
    square = _modulus(delta) if delta.dtype.kind == "c" else delta * delta
    out["m2"] = a["m2"] + b["m2"] + square * (a["n"] * share)
    return out


def _modulus(x: Array) -> Array:
    """Squares of absolute values."""
    real, imag = np.real(x), np.imag(x)
    return np.asarray(real * real + imag * imag)


def moments_finish(partial: Array, level: Level) -> Array:
    freedom = np.maximum(count_reduced(level.shape, level.reduce.axes) - level.reduce.ddof, 0)
    with np.errstate(all="ignore"):
        variance = np.true_divide(partial["m2"], freedom)
        return np.asarray(np.sqrt(variance) if level.reduce.head == "std" else variance).astype(level.target)
