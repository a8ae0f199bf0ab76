"""Quantiles, percentiles and medians, exact ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...graph.errors import ArgumentError, bad
from .docstrings import SORTING
from .ranking import find_quantiles

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = [
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "percentile",
    "quantile",
]


def quantile(
    a: Any,
    q: Any,
    axis: int | Sequence[int] | None = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Return quantiles, exactly.

    Parameters
    ----------
    a : array_like of real numbers
        Real numbers; dates and times too.
    q : float or sequence of float
        Which ones, from 0 to 1. Lazy ones are found when the result is computed.
    {axis, out, overwrite_input, method, keepdims, weights}

    Returns
    -------
    Array
        The axes of `q`, then those of `a` without `axis`; float64 for integers, unless `method` chooses elements. NaN
        where an element is NaN.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; `q` isn't real numbers from 0 to 1, or has more than two axes; `method` is
        unknown, or isn't "inverted_cdf" with weights.
    {quantile_errors}

    Notes
    -----
    {exact}

    >>> x = wr.asarray([4.0, 1.0, 2.0], chunks=2)
    >>> wr.quantile(x, 0.5).compute()
    np.float64(2.0)
    >>> wr.quantile(x, [0, 1]).compute()
    array([1., 4.])
    """
    return find_quantiles("quantile", a, q, axis, out, method, keepdims, weights, overwrite_input)


def percentile(
    a: Any,
    q: Any,
    axis: int | Sequence[int] | None = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
    internal_method: str = "default",
) -> Any:
    """Return percentiles, exactly.

    Parameters
    ----------
    a : array_like of real numbers
        Real numbers; dates and times too.
    q : float or sequence of float
        Which ones, from 0 to 100. Lazy ones are found when the result is computed.
    {axis, out, overwrite_input, method, keepdims, weights}
    internal_method : {"default", "dask", "tdigest"}
        As dask has it; it makes no difference.

    {Returns of quantile}

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; `q` isn't real numbers from 0 to 100, or has more than two axes; `method` is
        unknown, or isn't "inverted_cdf" with weights; or `internal_method` is unknown.
    {quantile_errors}

    {Notes of quantile}

    >>> wr.percentile(wr.asarray([4.0, 1.0, 2.0], chunks=2), 50).compute()
    np.float64(2.0)
    """
    if internal_method not in ("default", "dask", "tdigest"):
        raise ArgumentError(bad("percentile", "internal_method", internal_method, "'default', 'dask' or 'tdigest'"))
    return find_quantiles("percentile", a, q, axis, out, method, keepdims, weights, overwrite_input)


def median(
    a: Any,
    axis: int | Sequence[int] | None = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """Return medians, exactly.

    Parameters
    ----------
    a : array_like of real numbers
        Numbers, dates or times.
    {axis, out, overwrite_input, keepdims}

    Returns
    -------
    Array
        In the shape of `a` without `axis`; float64 for integers. NaN where there are no elements, or one is NaN.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; or `axis` isn't an integer.
    {AxisError}
    ShapeError
        An axis is named twice, or the result doesn't broadcast to `out`.
    DTypeError
        `a` isn't numbers, dates or times, or the result isn't cast to the dtype of `out`.

    Notes
    -----
    {exact}

    >>> wr.median(wr.asarray([4.0, 1.0, 2.0], chunks=2)).compute()
    np.float64(2.0)
    """
    return find_quantiles("median", a, 0.5, axis, out, "median", keepdims, None, overwrite_input)


def nanquantile(
    a: Any,
    q: Any,
    axis: int | Sequence[int] | None = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Return quantiles of the elements that are not NaN, exactly.

    {Parameters of quantile}

    Returns
    -------
    Array
        The axes of `q`, then those of `a` without `axis`; float64 for integers, unless `method` chooses elements. NaN
        where all elements are NaN.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; `q` isn't real numbers from 0 to 1, or has more than two axes; `method` is
        unknown, or isn't "inverted_cdf" with weights.
    {nan_quantile_errors}

    Notes
    -----
    {exact}

    NumPy warns where all elements are NaN; here nothing does. Of an array without elements the result is that of
    `mean`, with its warning and without the axes of `q`, as in NumPy.

    >>> import numpy as np
    >>> import windrow as wr
    >>> wr.nanquantile(wr.asarray([4.0, 1.0, np.nan], chunks=2), 0.5).compute()
    np.float64(2.5)
    """
    return find_quantiles("nanquantile", a, q, axis, out, method, keepdims, weights, overwrite_input)


def nanpercentile(
    a: Any,
    q: Any,
    axis: int | Sequence[int] | None = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Return percentiles of the elements that are not NaN, exactly.

    Parameters
    ----------
    a : array_like of real numbers
        Real numbers; dates and times too.
    q : float or sequence of float
        Which ones, from 0 to 100. Lazy ones are found when the result is computed.
    {axis, out, overwrite_input, method, keepdims, weights}

    {Returns of nanquantile}

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; `q` isn't real numbers from 0 to 100, or has more than two axes; `method` is
        unknown, or isn't "inverted_cdf" with weights.
    {nan_quantile_errors}

    {Notes of nanquantile}

    >>> import numpy as np
    >>> import windrow as wr
    >>> wr.nanpercentile(wr.asarray([4.0, 1.0, np.nan], chunks=2), 50).compute()
    np.float64(2.5)
    """
    return find_quantiles("nanpercentile", a, q, axis, out, method, keepdims, weights, overwrite_input)


def nanmedian(
    a: Any,
    axis: int | Sequence[int] | None = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """Return medians of the elements that are not NaN, exactly.

    {Parameters of median}

    Returns
    -------
    Array
        In the shape of `a` without `axis`; float64 for integers. NaN where there are no elements, or all are NaN.

    {Raises, Notes of median}

    >>> import numpy as np
    >>> import windrow as wr
    >>> wr.nanmedian(wr.asarray([4.0, 1.0, np.nan], chunks=2)).compute()
    np.float64(2.5)
    """
    return find_quantiles("nanmedian", a, 0.5, axis, out, "median", keepdims, None, overwrite_input)


SORTING.fill(__name__)
