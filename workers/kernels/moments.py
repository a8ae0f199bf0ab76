"""Variances: count, mean and sum of squared deviations of each tile, merged by Chan, Golub and LeVeque's update.

Where numbers lie close together far from zero, means differ by little more than their rounding. So a mean is two
numbers, itself and the rest that its dtype can't hold.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.kinds.reduction import count_reduced
from .sums import Distances, Squares, add_tile

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...graph.expr.expr import DType
    from ...graph.kinds.reduction import Level

Array = np.ndarray[Any, Any]


CLOSE = 2.0**-10
"""A variance below this part of the mean's square asks for the rest of the mean."""


def moments_dtype(source: DType, target: DType) -> DType:
    """Return the dtype of the moments of elements, whose variance has the dtype `target`."""
    wide = np.result_type(source, target)
    return np.dtype([("n", "f8"), ("mean", wide), ("rest", wide), ("m2", target)])


def moments_tile(x: Array, axes: tuple[int, ...], level: Level, origin: Array) -> Array:
    """Count, mean and sum of squared deviations of a tile."""
    dtype = level.partial
    x = x.astype(dtype["mean"], copy=False)
    shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    out = np.empty(shape, dtype)
    count = math.prod(x.shape[a] for a in axes)
    out["n"] = count
    out["mean"] = mean = add_tile(x, axes) / max(count, 1)
    mean = mean.astype(x.dtype, copy=False)
    out["m2"] = add_tile(x, axes, Squares(mean))
    _correct(out, lambda: add_tile(x, axes, Distances(mean)))
    return out


def some_moments_tile(x: Array, axes: tuple[int, ...], level: Level, origin: Array) -> Array:
    """The moments of what is not NaN."""
    dtype = level.partial
    lost = np.isnan(x)
    x = np.where(lost, 0, x).astype(dtype["mean"], copy=False)
    shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    out = np.empty(shape, dtype)
    out["n"] = np.add.reduce(~lost, axis=axes, dtype="f8", keepdims=True)
    out["mean"] = add_tile(x, axes) / np.maximum(out["n"], 1).astype(level.target)
    deviation = np.subtract(x, out["mean"])
    deviation[lost] = 0
    out["m2"] = add_tile(_modulus(deviation) if x.dtype.kind == "c" else np.square(deviation), axes)
    _correct(out, lambda: add_tile(deviation, axes))
    return out


def _correct(out: Array, add_deviations: Callable[[], Array]) -> None:
    """Find the rest of the means that need it, and take it out of the sums of squares.

    Each result goes by its own numbers, whatever else is computed with it.
    """
    count = np.maximum(out["n"], 1)
    out["rest"] = 0
    with np.errstate(all="ignore"):
        close = out["m2"] < _square(out["mean"]) * count * CLOSE
        if not close.any():
            return
        rest = add_deviations() / count
        rest = np.where(close & np.isfinite(rest), rest, 0)
        out["rest"] = rest
        out["m2"] = np.where(close, np.maximum(out["m2"] - _square(rest) * count, 0), out["m2"])


def variance_of_some(partial: Array, level: Level) -> Array:
    """Divide sums of squares by the numbers of elements, less ddof: NaN where too few are left."""
    freedom = partial["n"] - level.reduce.ddof
    return np.asarray(np.true_divide(partial["m2"], np.where(freedom > 0, freedom, np.nan)))


def moments_merge(a: Array, b: Array) -> Array:
    """Chan, Golub and LeVeque's update of the moments of two sets, elementwise."""
    out = np.empty_like(a)
    n = a["n"] + b["n"]
    share = b["n"] / np.maximum(n, 1)
    apart, rests = b["mean"] - a["mean"], b["rest"] - a["rest"]
    out["n"] = n
    wide = apart * share  # float64, of small floats too
    step = wide.astype(apart.dtype)
    mean = a["mean"] + step
    out["mean"] = mean
    with np.errstate(invalid="ignore"):
        whole = mean - a["mean"]
        lost = (a["mean"] - (mean - whole)) + (step - whole) + (wide - step)  # of the sum, exactly
        out["rest"] = np.where(np.isfinite(lost), lost, 0) + (a["rest"] + rests * share)
    out["m2"] = a["m2"] + b["m2"] + _square(apart + rests) * (a["n"] * share)
    return out


def _square(x: Array) -> Array:
    return _modulus(x) if x.dtype.kind == "c" else x * x


def _modulus(x: Array) -> Array:
    """Squares of absolute values."""
    real, imag = np.real(x), np.imag(x)
    return np.asarray(real * real + imag * imag)


def variance(partial: Array, level: Level) -> Array:
    """Divide sums of squares by the number of elements, less ddof."""
    freedom = np.maximum(count_reduced(level.shape, level.reduce.axes) - level.reduce.ddof, 0)
    return np.asarray(np.true_divide(partial["m2"], freedom))


def finish_by(variances: Callable[[Array, Level], Array], *, root: bool) -> Callable[[Array, Level], Array]:
    """Return the step that finishes with variances, or with their square roots."""

    def finish(partial: Array, level: Level) -> Array:
        with np.errstate(all="ignore"):
            spread = variances(partial, level)  # in float64, of small floats too
            return np.asarray(np.sqrt(spread) if root else spread).astype(level.target, copy=False)

    return finish
