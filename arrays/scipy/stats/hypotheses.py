"""Tests of hypotheses about means, counts and dependence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ....graph.errors import ArgumentError, ShapeError, bad
from ...base import as_array
from ...ops.elementwise.functions import clip, where
from ...ops.elementwise.ufuncs import absolute, logical_or, sqrt
from ..bridge import find_module
from ..documents import described
from .samples import ABOUT, Sample, check_alternative, refuse_other, same_lengths
from .shapes import kurtosis, skew

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...array import Array
    from ...typing import ArrayLike, AxisLike


class _Bunch(tuple[Any, ...]):
    """A tuple with names that has further attributes, which aren't unpacked, as SciPy's."""

    _fields: tuple[str, ...] = ()
    _unpacked = 0

    def __new__(cls, *values: Any) -> Self:
        """Make one of all values."""
        bunch = super().__new__(cls, values[: cls._unpacked])
        vars(bunch).update(zip(cls._fields, values, strict=True))
        return bunch

    def map_all(self, function: Callable[[Any], Any]) -> Self:
        """Return what a function makes of all values, by the same names."""
        return type(self)(*map(function, vars(self).values()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(vars(self).values())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


class TtestResult(_Bunch):
    """What a t-test tells: lazy arrays, of which two are unpacked, `statistic, pvalue`."""

    _fields, _unpacked = ("statistic", "pvalue", "df"), 2
    statistic: Any
    pvalue: Any
    df: Any


class SignificanceResult(NamedTuple):
    """What a test tells: lazy arrays."""

    statistic: Any
    pvalue: Any


class LinregressResult(_Bunch):
    """What `linregress` tells: lazy arrays, of which all but the last one are unpacked."""

    _fields, _unpacked = ("slope", "intercept", "rvalue", "pvalue", "stderr", "intercept_stderr"), 5
    slope: Any
    intercept: Any
    rvalue: Any
    pvalue: Any
    stderr: Any
    intercept_stderr: Any


t_tested = described(ABOUT, "`statistic`, `pvalue` and `df`: lazy, without the axes.", "TtestResult")
tested = described(ABOUT, "`statistic` and `pvalue`: lazy, without the axes.", "SignificanceResult")


def _student(name: str, t: Array, df: Any, alternative: str) -> Array:
    """Return p-values of Student's distribution."""
    stdtr = find_module("special", name).stdtr
    p_values: Array = (
        stdtr(df, t)
        if alternative == "less"
        else stdtr(df, -t)
        if alternative == "greater"
        else 2 * stdtr(df, -absolute(t))
    )
    return p_values


def _answer(name: str, sample: Sample, t: Array, df: Any, alternative: str, keepdims: bool) -> TtestResult:
    known = sample.mean()
    degrees = where(known == known, df, np.nan) if isinstance(df, float) else df
    p = _student(name, t, df, alternative)
    settle = sample.settle
    return TtestResult(settle(t, keepdims), settle(p, keepdims), settle(degrees, keepdims))


@t_tested
def ttest_1samp(
    a: ArrayLike,
    popmean: Any,
    axis: AxisLike = 0,
    nan_policy: str = "propagate",
    alternative: str = "two-sided",
    *,
    keepdims: bool = False,
) -> TtestResult:
    """Test whether means of samples are what is expected.

    >>> import windrow as wr
    >>> found = wr.stats.ttest_1samp(wr.arange(5.0, chunks=2), 1.0)
    >>> found.statistic.compute().round(3), found.pvalue.compute().round(3)
    (np.float64(1.414), np.float64(0.23))
    """
    check_alternative("ttest_1samp", alternative)
    sample = Sample("ttest_1samp", "a", a, axis, nan_policy)
    expected = popmean if np.ndim(popmean) == 0 else as_array("ttest_1samp", "popmean", popmean)
    if np.ndim(popmean) and expected.ndim == sample.x.ndim - len(sample.axes):
        for i in sample.axes:
            expected = expected.reshape((*expected.shape[:i], 1, *expected.shape[i:]))
    t = (sample.mean() - expected) / sqrt(sample.var(1) / sample.n)
    return _answer("ttest_1samp", sample, t, float(sample.n - 1), alternative, keepdims)


@t_tested
def ttest_rel(
    a: ArrayLike,
    b: ArrayLike,
    axis: AxisLike = 0,
    nan_policy: str = "propagate",
    alternative: str = "two-sided",
    *,
    keepdims: bool = False,
) -> TtestResult:
    """Test whether means of paired samples are the same.

    >>> import windrow as wr
    >>> found = wr.stats.ttest_rel(wr.arange(5.0, chunks=2), wr.asarray([0.0, 0, 3, 3, 3], chunks=2))
    >>> found.pvalue.compute().round(3)
    np.float64(0.621)
    """
    check_alternative("ttest_rel", alternative)
    first, second = Sample("ttest_rel", "a", a, axis, nan_policy), Sample("ttest_rel", "b", b, axis, nan_policy)
    same_lengths("ttest_rel", first, second)
    first.x = first.x - second.x
    t = first.mean() / sqrt(first.var(1) / first.n)
    return _answer("ttest_rel", first, t, float(first.n - 1), alternative, keepdims)


@t_tested
def ttest_ind(
    a: ArrayLike,
    b: ArrayLike,
    *,
    axis: AxisLike = 0,
    equal_var: bool = True,
    nan_policy: str = "propagate",
    alternative: str = "two-sided",
    trim: float = 0,
    method: None = None,
    keepdims: bool = False,
) -> TtestResult:
    """Test whether means of independent samples are the same.

    >>> import windrow as wr
    >>> found = wr.stats.ttest_ind(wr.arange(5.0, chunks=2), wr.arange(9.0, chunks=4))
    >>> found.pvalue.compute().round(3)
    np.float64(0.163)
    """
    check_alternative("ttest_ind", alternative)
    refuse_other("ttest_ind", trim=(trim, 0), method=(method, None))
    first, second = Sample("ttest_ind", "a", a, axis, nan_policy), Sample("ttest_ind", "b", b, axis, nan_policy)
    n, m, v, w = first.n, second.n, first.var(1), second.var(1)
    if equal_var:
        df: Any = float(n + m - 2)
        spread = ((n - 1) * v + (m - 1) * w) / df
        error = sqrt(spread * (1.0 / n + 1.0 / m))
    else:
        each, other = v / n, w / m
        df = (each + other) ** 2 / (each**2 / (n - 1) + other**2 / (m - 1))
        df = where(np.isnan(df), 1.0, df)
        error = sqrt(each + other)
    t = (first.mean() - second.mean()) / error
    return _answer("ttest_ind", first, t, df, alternative, keepdims)


@tested
def f_oneway(
    *samples: ArrayLike,
    axis: AxisLike = 0,
    equal_var: bool = True,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> SignificanceResult:
    """Test whether means of several samples are the same, by analysis of variance.

    >>> import windrow as wr
    >>> x = wr.arange(6.0, chunks=4)
    >>> found = wr.stats.f_oneway(x, x + 1, x * 2)
    >>> found.statistic.compute().round(3), found.pvalue.compute().round(3)
    (np.float64(1.357), np.float64(0.287))
    """
    refuse_other("f_oneway", equal_var=(equal_var, True))
    if len(samples) < 2:
        raise ArgumentError(bad("f_oneway", "samples", len(samples), "at least two"))
    each = [Sample("f_oneway", f"samples[{i}]", s, axis, nan_policy) for i, s in enumerate(samples)]
    total, groups = sum(s.n for s in each), len(each)
    middle = sum((s.mean() * s.n for s in each[1:]), each[0].mean() * each[0].n) / total
    between: Any = sum((s.mean() - middle) ** 2 * s.n for s in each)
    within: Any = sum(s.moment(2) * s.n for s in each)
    first = each[0]
    statistic = (between / (groups - 1)) / (within / (total - groups))
    p = find_module("special", "f_oneway").fdtrc(float(groups - 1), float(total - groups), statistic)
    return SignificanceResult(first.settle(statistic, keepdims), first.settle(p, keepdims))


POWERS = {
    "pearson": 1.0,
    "log-likelihood": 0.0,
    "freeman-tukey": -0.5,
    "mod-log-likelihood": -1.0,
    "neyman": -2.0,
    "cressie-read": 2 / 3,
}


@tested
def chisquare(
    f_obs: ArrayLike,
    f_exp: ArrayLike | None = None,
    ddof: int = 0,
    axis: AxisLike = 0,
    *,
    sum_check: bool = True,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> SignificanceResult:
    """Test whether counts are what is expected.

    >>> import windrow as wr
    >>> wr.stats.chisquare(wr.asarray([16, 18, 16, 14], chunks=2)).statistic.compute()
    array(0.5)
    """
    return _divergence("chisquare", f_obs, f_exp, ddof, axis, 1.0, sum_check, nan_policy, keepdims)


@tested
def power_divergence(
    f_obs: ArrayLike,
    f_exp: ArrayLike | None = None,
    ddof: int = 0,
    axis: AxisLike = 0,
    lambda_: float | str | None = None,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> SignificanceResult:
    """Test whether counts are what is expected, by Cressie's and Read's statistics.

    >>> import windrow as wr
    >>> wr.stats.power_divergence(wr.asarray([16, 18, 16, 14], chunks=2), lambda_=0).statistic.compute().round(3)
    np.float64(0.501)
    """
    power = POWERS.get(lambda_) if isinstance(lambda_, str) else 1.0 if lambda_ is None else lambda_
    if not isinstance(power, int | float):
        raise ArgumentError(bad("power_divergence", "lambda_", lambda_, f"a number or one of {', '.join(POWERS)}"))
    return _divergence("power_divergence", f_obs, f_exp, ddof, axis, float(power), True, nan_policy, keepdims)


def _divergence(
    name: str,
    f_obs: ArrayLike,
    f_exp: ArrayLike | None,
    ddof: float,
    axis: AxisLike,
    power: float,
    check: bool,
    policy: str,
    keepdims: bool,
) -> SignificanceResult:
    if not isinstance(ddof, int | float):
        raise ArgumentError(bad(name, "ddof", ddof, "a number"))
    special = find_module("special", name)
    seen = Sample(name, "f_obs", f_obs, axis, policy)
    x = seen.x
    if f_exp is None:
        expected = seen.mean()
    else:
        other = Sample(name, "f_exp", f_exp, axis, policy)
        expected = other.x
        if np.broadcast_shapes(x.shape, expected.shape) != x.shape:
            raise ShapeError(bad(name, "f_exp", expected.shape, f"a shape that broadcasts to that of f_obs, {x.shape}"))
        if check:
            sums = x.sum(axis=seen.axes), (x * 0 + expected).sum(axis=seen.axes)
            off = absolute(sums[0] - sums[1]) / where(sums[0] < sums[1], sums[0], sums[1])
            if bool((off > float(np.sqrt(np.finfo(np.float64).eps))).any()):
                raise ArgumentError(f"{name}: sums of f_obs and f_exp differ; expected the same, or sum_check=False")
    if power == 1:
        terms = (x - expected) ** 2 / expected
    elif power == 0:
        terms = 2.0 * special.xlogy(x, x / expected)
    elif power == -1:
        terms = 2.0 * special.xlogy(expected, expected / x)
    else:
        terms = x * ((x / expected) ** power - 1) / (0.5 * power * (power + 1))
    statistic = terms.sum(axis=seen.axes, keepdims=True)
    p = special.chdtrc(float(seen.n - 1 - ddof), statistic)
    return SignificanceResult(seen.settle(statistic, keepdims), seen.settle(p, keepdims))


@tested
def pearsonr(
    x: ArrayLike, y: ArrayLike, *, alternative: str = "two-sided", method: None = None, axis: AxisLike = 0
) -> SignificanceResult:
    """Return Pearson's correlation of two samples, and test whether there is none.

    >>> import windrow as wr
    >>> found = wr.stats.pearsonr(wr.arange(5.0, chunks=2), wr.asarray([1.0, 0, 3, 3, 5], chunks=2))
    >>> found.statistic.compute().round(3), found.pvalue.compute().round(3)
    (np.float64(0.892), np.float64(0.042))
    """
    check_alternative("pearsonr", alternative)
    refuse_other("pearsonr", method=(method, None))
    first, second = Sample("pearsonr", "x", x, axis), Sample("pearsonr", "y", y, axis)
    same_lengths("pearsonr", first, second)
    if first.n < 2:
        raise ArgumentError(bad("pearsonr", "x", first.x.shape, "at least two elements"))
    u, v = first.x - first.mean(), second.x - second.mean()
    norms = [sqrt((o * o).sum(axis=first.axes, keepdims=True)) for o in (u, v)]
    r = clip((u / norms[0] * (v / norms[1])).sum(axis=first.axes, keepdims=True), -1.0, 1.0)
    flat = logical_or(_constant(first), _constant(second))
    r = where(flat, r.dtype.type(np.nan), r)
    half = first.n / 2 - 1
    if half == 0:
        p = where(np.isnan(r), r, 1.0)
        r = where(np.isnan(r), r, np.round(r))
    else:
        beta = find_module("special", "pearsonr").betainc
        below, above = beta(half, half, (r + 1) / 2), beta(half, half, (1 - r) / 2)
        p = (
            below
            if alternative == "less"
            else above
            if alternative == "greater"
            else 2 * beta(half, half, (1 - absolute(r)) / 2)
        )
    return SignificanceResult(first.settle(r), first.settle(p))


def _constant(sample: Sample) -> Array:
    ends = [getattr(sample.x, name)(axis=sample.axes, keepdims=True) for name in ("min", "max")]
    is_constant: Array = ends[0] == ends[1]
    return is_constant


@described(ABOUT, "Slope, intercept, correlation, p-value and standard errors: lazy.", "LinregressResult")
def linregress(
    x: ArrayLike,
    y: ArrayLike,
    alternative: str = "two-sided",
    *,
    axis: AxisLike = 0,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> LinregressResult:
    """Fit lines of least squares; NaN where all `x` are the same.

    >>> import windrow as wr
    >>> found = wr.stats.linregress(wr.arange(5.0, chunks=2), wr.arange(5.0, chunks=2) * 2 + 1)
    >>> found.slope.compute(), found.intercept.compute()
    (array(2.), array(1.))
    """
    check_alternative("linregress", alternative)
    first, second = (
        Sample("linregress", "x", x, axis, nan_policy),
        Sample("linregress", "y", y, axis, nan_policy),
    )
    same_lengths("linregress", first, second)
    n = first.n
    if n < 3:
        raise ArgumentError(bad("linregress", "x", first.x.shape, "at least three elements"))
    u, v = first.x - first.mean(), second.x - second.mean()
    xx, xy, yy = ((p * q).mean(axis=first.axes, keepdims=True) for p, q in ((u, u), (u, v), (v, v)))
    none = logical_or(xx == 0, yy == 0)
    r = clip(where(none, 0.0, xy / sqrt(xx * yy)), -1.0, 1.0)
    slope = xy / xx
    tiny = 1.0e-20
    t = r * sqrt((n - 2) / ((1.0 - r + tiny) * (1.0 + r + tiny)))
    error = sqrt((1 - r**2) * yy / xx / (n - 2))
    estimates = (
        slope,
        second.mean() - slope * first.mean(),
        r,
        _student("linregress", t, float(n - 2), alternative),
        error,
        error * sqrt(xx + first.mean() ** 2),
    )
    return LinregressResult(*(first.settle(f, keepdims) for f in estimates))


@tested
def jarque_bera(
    x: ArrayLike, *, axis: AxisLike = None, nan_policy: str = "propagate", keepdims: bool = False
) -> SignificanceResult:
    """Test whether skewness and kurtosis are those of normal numbers.

    >>> import windrow as wr
    >>> found = wr.stats.jarque_bera(wr.arange(20.0, chunks=8))
    >>> found.statistic.compute().round(3), found.pvalue.compute().round(3)
    (np.float64(1.212), np.float64(0.546))
    """
    sample = Sample("jarque_bera", "x", x, axis, nan_policy)
    if not sample.n:
        raise ArgumentError(bad("jarque_bera", "x", sample.x.shape, "at least one element"))
    s = skew(sample.x, sample.axes, keepdims=True)
    k = kurtosis(sample.x, sample.axes, keepdims=True)
    statistic = sample.n / 6.0 * (s**2 + k**2 / 4)
    p = find_module("special", "jarque_bera").chdtrc(2.0, statistic)
    return SignificanceResult(sample.settle(statistic, keepdims), sample.settle(p, keepdims))
