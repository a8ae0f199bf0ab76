"""Moments, and what tells the shape of a distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....graph.arguments import check_integer
from ....graph.errors import ArgumentError, bad
from ...ops.elementwise.functions import where
from ...ops.elementwise.ufuncs import sqrt
from ..documents import described
from .samples import ABOUT, Sample, nan_where

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, AxisLike

documented = described(ABOUT, "Lazy, without the axes; a value for each sample.")


class DescribeResult(NamedTuple):
    """What `describe` tells of samples: lazy arrays, but for their size."""

    nobs: int
    minmax: tuple[Any, Any]
    mean: Any
    variance: Any
    skewness: Any
    kurtosis: Any


@documented
def moment(
    a: ArrayLike,
    order: int = 1,
    axis: AxisLike = 0,
    nan_policy: str = "propagate",
    *,
    center: Any = None,
    keepdims: bool = False,
) -> Array:
    """Return a moment of samples about their mean.

    >>> import windrow as wr
    >>> wr.stats.moment(wr.arange(5, chunks=2), order=2).compute()
    array(2.)
    """
    sample = Sample("moment", "a", a, axis, nan_policy)
    number = check_integer("moment", "order", order, 0)
    if number == 1 and center is None:
        return sample.settle(sample.mean() * 0, keepdims)
    return sample.settle(sample.moment(number, center), keepdims)


@documented
def skew(
    a: ArrayLike, axis: AxisLike = 0, bias: bool = True, nan_policy: str = "propagate", *, keepdims: bool = False
) -> Array:
    """Return the skewness of samples; NaN where all elements are the same.

    >>> import windrow as wr
    >>> wr.stats.skew(wr.asarray([1, 2, 3, 10], chunks=2)).compute().round(3)
    np.float64(1.018)
    """
    sample = Sample("skew", "a", a, axis, nan_policy)
    return sample.settle(_skew(sample, bias), keepdims)


def _skew(sample: Sample, bias: bool) -> Array:
    n, second = sample.n, sample.moment(2)
    skewness = sample.moment(3) / second**1.5
    if not bias and n > 2:
        skewness = skewness * float(np.sqrt((n - 1.0) * n) / (n - 2.0))
    return nan_where(sample.flat(second), skewness)


@documented
def kurtosis(
    a: ArrayLike,
    axis: AxisLike = 0,
    fisher: bool = True,
    bias: bool = True,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Array:
    """Return the kurtosis of samples; NaN where all elements are the same.

    >>> import windrow as wr
    >>> wr.stats.kurtosis(wr.arange(5, chunks=2)).compute().round(3)
    np.float64(-1.3)
    """
    sample = Sample("kurtosis", "a", a, axis, nan_policy)
    return sample.settle(_kurtosis(sample, bias, fisher), keepdims)


def _kurtosis(sample: Sample, bias: bool, fisher: bool) -> Array:
    n, second = sample.n, sample.moment(2)
    estimate = sample.moment(4) / second**2
    if not bias and n > 3:
        estimate = ((n**2 - 1.0) * estimate - 3.0 * (n - 1) ** 2.0) * (1.0 / (n - 2) / (n - 3)) + 3.0
    estimate = nan_where(sample.flat(second), estimate)
    return estimate - 3.0 if fisher else estimate


@documented
def variation(
    a: ArrayLike, axis: AxisLike = 0, nan_policy: str = "propagate", ddof: int = 0, *, keepdims: bool = False
) -> Array:
    """Return standard deviations divided by means.

    >>> import windrow as wr
    >>> wr.stats.variation(wr.arange(1, 6, chunks=2)).compute().round(3)
    np.float64(0.471)
    """
    sample = Sample("variation", "a", a, axis, nan_policy)
    if ddof > sample.n:
        raise ArgumentError(bad("variation", "ddof", ddof, f"at most {sample.n}, the number of elements"))
    mean, deviation = sample.mean(), sqrt(sample.var(ddof))
    if ddof == sample.n:
        nothing = sample.moment(2) == 0
        deviation = where(nothing, deviation * np.nan, np.inf)
        return sample.settle(where(mean < 0, -deviation, deviation), keepdims)
    return sample.settle(deviation / mean, keepdims)


@documented
def sem(
    a: ArrayLike, axis: AxisLike = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False
) -> Array:
    """Return standard errors of means.

    >>> import windrow as wr
    >>> wr.stats.sem(wr.arange(5, chunks=2)).compute().round(3)
    np.float64(0.707)
    """
    sample = Sample("sem", "a", a, axis, nan_policy)
    errors = sqrt(sample.var(ddof)) / float(np.sqrt(sample.n))
    return sample.settle(errors, keepdims)


@described(ABOUT, "The size, least and greatest elements, means, variances, skewness and kurtosis.", "DescribeResult")
def describe(
    a: ArrayLike, axis: AxisLike = 0, ddof: int = 1, bias: bool = True, nan_policy: str = "propagate"
) -> DescribeResult:
    """Return several statistics of samples.

    >>> import windrow as wr
    >>> found = wr.stats.describe(wr.arange(5, chunks=2))
    >>> found.nobs, found.variance.compute()
    (5, array(2.5))
    """
    sample = Sample("describe", "a", a, axis, nan_policy)
    if not sample.x.size:
        raise ArgumentError(bad("describe", "a", sample.x.shape, "a sample that has elements"))
    x, axes, settle = sample.x, sample.axes, sample.settle
    raw = x if getattr(a, "dtype", None) is None else a
    ends = tuple(getattr(_lazy(raw, x), name)(axis=axes) for name in ("min", "max"))
    return DescribeResult(
        sample.n,
        (ends[0], ends[1]),
        settle(sample.mean()),
        settle(sample.var(ddof)),
        settle(_skew(sample, bias)),
        settle(_kurtosis(sample, bias, True)),
    )


def _lazy(given: object, x: Array) -> Any:
    return given if type(given) is type(x) else x
