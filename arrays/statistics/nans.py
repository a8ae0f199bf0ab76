"""Reductions that ignore NaN. For dtypes without NaN they are the plain ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, bad
from ...graph.kinds.reduction import count_reduced
from ...workers.kernels.functions import EMPTY
from ...workers.kernels.reductions import REDUCTIONS
from ..base import as_array, check_dtype
from ..ops.elementwise.functions import astype, real, where
from ..ops.elementwise.ufuncs import divide, isnan, logical_and, logical_not
from ..ops.moves.sliding_window import reduce_windows
from ..ops.outputs import deliver_inexact, deliver_reduced, dtype_by_out
from ..ops.reductions import sums as red
from ..ops.reductions.nodes import check_keepdims, find_axes, reduce_from, reduce_to, warn_of_few
from .docstrings import STATISTICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..array import Array
    from ..typing import ArrayLike, DTypeLike, OutLike, WhereLike

    Axes = int | Sequence[int] | None

__all__ = [
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nansum",
]


def nansum(
    a: ArrayLike,
    axis: Axes = None,
    dtype: Any = None,
    out: OutLike = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Add up the elements that are not NaN.

    Parameters
    ----------
    a : array_like
        Numbers; dtypes without NaN are reduced as a whole, and so are times, where NaT stays, as in NumPy.
    {axis}
    dtype : dtype, optional
        In which to compute, and that of the result; None: that of `a`, for small integers and bool int64 or uint64.
    {out, keepdims}
    initial : scalar, optional
        Added to each sum; None: nothing.
    {where}

    Returns
    -------
    Array
        In the shape of `a` without `axis`; 0 where nothing counts.

    Raises
    ------
    {sum_errors}

    Examples
    --------
    >>> import windrow as wr
    >>> wr.nansum(wr.asarray([1.0, float("nan"), 2.0])).compute()
    np.float64(3.0)
    """
    filled, dtype = _replace_nan("nansum", a, 0), dtype_by_out(a, dtype, out)
    total = reduce_from("sum", filled, axis, dtype, keepdims, initial, where, "nansum")
    return deliver_reduced("nansum", total, out)


def nanprod(
    a: ArrayLike,
    axis: Axes = None,
    dtype: Any = None,
    out: OutLike = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Multiply the elements that are not NaN.

    Parameters
    ----------
    {a, axis}
    dtype : dtype, optional
        In which to compute, and that of the result; None: that of `a`, for small integers and bool int64 or uint64.
    {out, keepdims}
    initial : scalar, optional
        Each product is multiplied by it; None: by nothing.
    {where}

    Returns
    -------
    Array
        In the shape of `a` without `axis`; 1 where nothing counts.

    Raises
    ------
    {sum_errors}

    Examples
    --------
    >>> import windrow as wr
    >>> wr.nanprod(wr.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(6.0)
    """
    filled, dtype = _replace_nan("nanprod", a, 1), dtype_by_out(a, dtype, out)
    product = reduce_from("prod", filled, axis, dtype, keepdims, initial, where, "nanprod")
    return deliver_reduced("nanprod", product, out)


def nanmin(
    a: Any,
    axis: Axes = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Return the least of the elements that are not NaN.

    Parameters
    ----------
    {a, axis, out, keepdims}
    initial : scalar, optional
        No result is greater; None: there must be elements.
    where : array of bool, optional
        Which elements count; broadcasts to the shape of `a`, and wants `initial`. True: all.

    Returns
    -------
    Array
        In the shape of `a` without `axis`, in the dtype of `a`; NaN where all elements are.

    Raises
    ------
    {extreme_errors}

    Notes
    -----
    NumPy warns where all elements are NaN; here nothing does.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.nanmin(wr.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(2.0)
    """
    return deliver_reduced("nanmin", _extreme("nanmin", a, axis, keepdims, initial, where), out)


def nanmax(
    a: Any,
    axis: Axes = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Return the greatest of the elements that are not NaN.

    Parameters
    ----------
    {a, axis, out, keepdims}
    initial : scalar, optional
        No result is less; None: there must be elements.
    where : array of bool, optional
        Which elements count; broadcasts to the shape of `a`, and wants `initial`. True: all.

    Returns
    -------
    Array
        In the shape of `a` without `axis`, in the dtype of `a`; NaN where all elements are.

    Raises
    ------
    {extreme_errors}

    Notes
    -----
    NumPy warns where all elements are NaN; here nothing does.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.nanmax(wr.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(3.0)
    """
    return deliver_reduced("nanmax", _extreme("nanmax", a, axis, keepdims, initial, where), out)


def nanmean(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: OutLike = None,
    keepdims: bool = False,
    *,
    where: WhereLike = True,
) -> Any:
    """Return the mean of the elements that are not NaN.

    Parameters
    ----------
    {a, axis}
    dtype : dtype, optional
        In which to compute, and that of the result; of floating-point or complex numbers where `a` holds such. None:
        that of `a`, float64 for integers and bool.
    {out, keepdims, where}

    Returns
    -------
    Array
        In the shape of `a` without `axis`; NaN where nothing counts.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; or `dtype` isn't of floating-point or complex numbers, and `a` is.
    {AxisError}
    ShapeError
        `where` doesn't broadcast, an axis is named twice, or `out` has another shape than the result.
    DTypeError
        `a` isn't numbers or holds dates, `where` isn't bool, or the result isn't cast to the dtype of `out`.

    Notes
    -----
    NumPy warns also where all elements are NaN; here nothing does.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.nanmean(wr.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(2.5)
    """
    array = check_numbers("nanmean", a, axis, dtype, keepdims)
    if array.dtype.kind not in "fc":
        return red.mean(array, axis, dtype, out, keepdims, where=where)
    wanted = inexact_dtype("nanmean", array, dtype)
    wide = np.result_type(wanted, np.float32) if wanted == np.float16 else wanted
    if where is True:
        average = _mean_of_some(_as_real(array, wide), axis, keepdims, wanted)
    else:
        total = nansum(array, axis, wide, keepdims=keepdims, where=where)
        average = astype(divide(total, count_not_nan(array, axis, keepdims, where)), wanted)
    return deliver_inexact("nanmean", average, out)


def _mean_of_some(array: Array, axis: Axes, keepdims: bool, dtype: np.dtype[Any]) -> Array:
    """Divide the sum of the elements that are not NaN by their number; one pass computes both."""
    axes = find_axes("nanmean", axis, array.ndim)
    warn_of_few(EMPTY, count_reduced(array.expr.grid.shape, axes))
    of_windows = None if keepdims else reduce_windows("nanmean", array, axes, array.dtype)
    if of_windows is not None:
        return astype(of_windows, dtype)
    total, count = (reduce_to(name, array, axes, keepdims, None) for name in ("sum_some", "count_some"))
    return astype(divide(total, count), dtype)


def _as_real(array: Array, dtype: np.dtype[Any]) -> Array:
    """Cast elements; where complex ones become real, an element with NaN in either part becomes NaN."""
    if array.dtype.kind == "c" and dtype.kind == "f":
        array = where(isnan(array), np.nan, real(array))
    return astype(array, dtype)


def check_numbers(operation: str, a: ArrayLike, axis: Axes, dtype: DTypeLike, keepdims: object) -> Array:
    """Return an array to reduce; errors name the function that was called."""
    array = as_array(operation, "a", a)
    wanted = None if dtype is None else check_dtype(operation, "dtype", dtype)
    REDUCTIONS[operation.removeprefix("nan")].result_dtype(array.dtype, wanted, operation)
    find_axes(operation, axis, array.ndim)
    check_keepdims(operation, keepdims)
    return array


def has_nan(array: Array) -> bool:
    return array.dtype.kind in "fcmM"


def _replace_nan(operation: str, a: ArrayLike, value: int) -> Array:
    """Put a value in the place of NaN; NaT stays, as in NumPy."""
    array = as_array(operation, "a", a)
    return where(isnan(array), array.dtype.type(value), array) if array.dtype.kind in "fc" else array


def count_not_nan(array: Array, axis: Axes, keepdims: bool, mask: ArrayLike) -> Array:
    """Count the elements that are not NaN and that the mask includes."""
    there = logical_not(isnan(array))
    if mask is not True:
        there = logical_and(there, mask)
    return red.sum(there, axis, np.int64, keepdims=keepdims)


def inexact_dtype(operation: str, array: Array, dtype: DTypeLike) -> np.dtype[Any]:
    """Return the dtype to compute in."""
    if dtype is None:
        return np.dtype(np.float64) if array.dtype.kind in "biu" else array.dtype
    wanted = check_dtype(operation, "dtype", dtype)
    if wanted.kind not in "fc" and has_nan(array):
        raise ArgumentError(bad(operation, "dtype", dtype, "a dtype of floating-point or complex numbers"))
    return wanted


def _extreme(operation: str, a: ArrayLike, axis: Axes, keepdims: bool, initial: Any, mask: ArrayLike) -> Array:
    array = as_array(operation, "a", a)
    name = operation if has_nan(array) else operation.removeprefix("nan")
    return reduce_from(name, array, axis, None, keepdims, initial, mask, operation)


STATISTICS.fill(__name__)
