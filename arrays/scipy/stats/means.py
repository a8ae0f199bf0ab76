"""Means other than the arithmetic one, and scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError, ShapeError, bad
from ...base import as_array, few
from ...ops.elementwise.functions import astype, where
from ...ops.elementwise.ufuncs import exp, log, sqrt
from ...ops.moves.broadcasting import broadcast_to
from ...sorting.quantiles import percentile
from ..bridge import find_module
from ..documents import described
from .samples import ABOUT, Sample, nan_where

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, AxisLike, DTypeLike

documented = described(ABOUT, "Lazy, without the axes; a value for each sample.")
scored = described(ABOUT, "Lazy, in the shape and chunks of what is scored.")


def _average(sample: Sample, x: Array, weights: Any) -> Array:
    """Return means by weights; the axes stay."""
    if weights is None:
        return x.mean(axis=sample.axes, keepdims=True)
    heavy = as_array(sample.name, "weights", weights)
    if heavy.shape != x.shape:
        raise ArgumentError(bad(sample.name, "weights", heavy.shape, f"the shape of the sample, {x.shape}"))
    average: Array = (x * heavy).sum(axis=sample.axes, keepdims=True) / heavy.sum(axis=sample.axes, keepdims=True)
    return average


def _in(sample: Sample, dtype: DTypeLike) -> Array:
    return sample.x if dtype is None else astype(sample.x, dtype)


@documented
def gmean(
    a: ArrayLike,
    axis: AxisLike = 0,
    dtype: Any = None,
    weights: Any = None,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Array:
    """Return geometric means.

    >>> import windrow as wr
    >>> wr.stats.gmean(wr.asarray([1, 4, 16], chunks=2)).compute().round(3)
    np.float64(4.0)
    """
    sample = Sample("gmean", "a", a, axis, nan_policy)
    return sample.settle(exp(_average(sample, log(_in(sample, dtype)), weights)), keepdims)


@documented
def hmean(
    a: ArrayLike,
    axis: AxisLike = 0,
    dtype: DTypeLike = None,
    *,
    weights: Any = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Array:
    """Return harmonic means; NaN for samples with negative numbers.

    >>> import windrow as wr
    >>> wr.stats.hmean(wr.asarray([1, 4, 4], chunks=2)).compute()
    array(2.)
    """
    sample = Sample("hmean", "a", a, axis, nan_policy)
    x = _in(sample, dtype)
    x = nan_where(x < 0, x)
    return sample.settle(1.0 / _average(sample, 1.0 / x, weights), keepdims)


@documented
def pmean(
    a: ArrayLike,
    p: float,
    *,
    axis: AxisLike = 0,
    dtype: DTypeLike = None,
    weights: Any = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Array:
    """Return power means; NaN for samples with negative numbers.

    >>> import windrow as wr
    >>> wr.stats.pmean(wr.asarray([1, 7], chunks=1), 2).compute()
    array(5.)
    """
    if not isinstance(p, int | float):
        raise ArgumentError(bad("pmean", "p", p, "a number"))
    if p == 0:
        return gmean(a, axis, dtype, weights, nan_policy=nan_policy, keepdims=keepdims)
    sample = Sample("pmean", "a", a, axis, nan_policy)
    x = _in(sample, dtype)
    x = nan_where(x < 0, x)
    return sample.settle(_average(sample, x ** float(p), weights) ** (1 / float(p)), keepdims)


@documented
def gstd(
    a: ArrayLike, axis: AxisLike = 0, ddof: int = 1, *, keepdims: bool = False, nan_policy: str = "propagate"
) -> Array:
    """Return geometric standard deviations.

    >>> import windrow as wr
    >>> wr.stats.gstd(wr.asarray([1.0, 4, 16], chunks=2)).compute().round(3)
    np.float64(4.0)
    """
    sample = Sample("gstd", "a", a, axis, nan_policy)
    sample.x = log(sample.x)
    return sample.settle(exp(sqrt(sample.var(ddof))), keepdims)


@scored
def zscore(a: ArrayLike, axis: AxisLike = 0, ddof: int = 0, nan_policy: str = "propagate") -> Array:
    """Return how many standard deviations elements are from the mean.

    >>> import windrow as wr
    >>> wr.stats.zscore(wr.asarray([1.0, 3.0], chunks=1)).compute()
    array([-1.,  1.])
    """
    return _scores("zscore", a, a, axis, ddof, nan_policy)


@scored
def zmap(
    scores: ArrayLike, compare: ArrayLike, axis: AxisLike = 0, ddof: int = 0, nan_policy: str = "propagate"
) -> Array:
    """Return how many standard deviations elements are from the mean of others.

    >>> import windrow as wr
    >>> wr.stats.zmap([5.0], wr.asarray([1.0, 3.0], chunks=1)).compute()
    array([3.])
    """
    return _scores("zmap", scores, compare, axis, ddof, nan_policy)


@scored
def gzscore(a: ArrayLike, *, axis: AxisLike = 0, ddof: int = 0, nan_policy: str = "propagate") -> Array:
    """Return how many geometric standard deviations elements are from the geometric mean.

    >>> import windrow as wr
    >>> wr.stats.gzscore(wr.asarray([1.0, 4.0], chunks=1)).compute()
    array([-1.,  1.])
    """
    x = log(Sample("gzscore", "a", a, axis).x)
    return _scores("gzscore", x, x, axis, ddof, nan_policy)


def _scores(name: str, scores: ArrayLike, compare: ArrayLike, axis: AxisLike, ddof: int, nan_policy: str) -> Array:
    sample = Sample(name, "compare" if name == "zmap" else "a", compare, axis, nan_policy)
    x = sample.x if scores is compare else Sample(name, "scores", scores, None).x
    deviation = sqrt(sample.var(ddof))
    flat = sample.flat(deviation * deviation)
    z_scores: Array = (x - sample.mean()) / where(flat, deviation.dtype.type("nan"), deviation)
    return z_scores


@documented
def entropy(
    pk: ArrayLike,
    qk: ArrayLike | None = None,
    base: float | None = None,
    axis: AxisLike = 0,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Array:
    """Return entropies of distributions, or relative ones.

    >>> import windrow as wr
    >>> wr.stats.entropy(wr.asarray([1, 1], chunks=1), base=2).compute()
    array(1.)
    """
    if base is not None and base <= 0:
        raise ArgumentError(bad("entropy", "base", base, "a positive number"))
    special = find_module("special", "entropy")
    pk = as_array("entropy", "pk", pk)
    if qk is not None:  # sums are those of the broadcast arrays, as SciPy's
        qk = as_array("entropy", "qk", qk)
        try:
            shape = np.broadcast_shapes(pk.shape, qk.shape)
        except ValueError as error:
            raise ShapeError(
                bad("entropy", "qk", qk.shape, f"one that broadcasts with that of pk, {pk.shape}")
            ) from error
        pk, qk = broadcast_to(pk, shape), broadcast_to(qk, shape)
    sample = Sample("entropy", "pk", pk, axis, nan_policy)
    p = sample.x / sample.x.sum(axis=sample.axes, keepdims=True)
    if qk is None:
        parts = special.entr(p)
    else:
        other = Sample("entropy", "qk", qk, axis, nan_policy)
        parts = special.rel_entr(p, other.x / other.x.sum(axis=other.axes, keepdims=True))
    entropies = parts.sum(axis=sample.axes, keepdims=True)
    return sample.settle(entropies if base is None else entropies / log(float(base)), keepdims)


@documented
def iqr(
    x: ArrayLike,
    axis: AxisLike = None,
    rng: Any = (25, 75),
    scale: float = 1.0,
    nan_policy: str = "propagate",
    interpolation: str = "linear",
    keepdims: bool = False,
) -> Array:
    """Return the distance between two percentiles.

    >>> import windrow as wr
    >>> wr.stats.iqr(wr.arange(9, chunks=4)).compute()
    array(4.)
    """
    if not isinstance(scale, int | float):
        raise ArgumentError(bad("iqr", "scale", scale, "a number"))
    sample = Sample("iqr", "x", x, axis, nan_policy)
    between = few("iqr", "rng", rng, "two percentiles")
    low, high = (percentile(sample.x, q, sample.axes, method=interpolation, keepdims=True) for q in sorted(between))
    distance = high - low
    return sample.settle(distance if scale == 1.0 else distance / float(scale), keepdims)
