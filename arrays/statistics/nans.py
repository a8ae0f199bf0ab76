"""Reductions that ignore NaN. For dtypes without NaN they are the plain ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_flag
from ...graph.errors import DTypeError, bad
from ...graph.kinds.reduction import count_reduced
from ...workers.kernels.functions import EMPTY
from ...workers.kernels.reduction import native
from ..base import as_array, check_dtype
from ..ops.elementwise.functions import astype, real, where
from ..ops.elementwise.ufuncs import divide, isnan
from ..ops.moves.sliding_window import reduce_windows
from ..ops.outputs import deliver_inexact, deliver_reduced, dtype_by_out
from ..ops.reductions.cumulative import replace_nan
from ..ops.reductions.nodes import find_axes, mask_out, reduce_from, reduce_to, warn_of_few
from ..ops.reductions.sums import find_mean
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
    initial: Any = np._NoValue,
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
        Added to each sum. None: there must be elements, and no `where`.
    {where}

    Returns
    -------
    Array
        In the shape of `a` without `axis`; 0 where nothing counts.

    Raises
    ------
    {sum_errors, initial_errors}

    >>> wr.nansum(wr.asarray([1.0, float("nan"), 2.0])).compute()
    np.float64(3.0)
    """
    filled, dtype = replace_nan("nansum", a, 0), dtype_by_out(a, dtype, out)
    total = reduce_from("sum", filled, axis, dtype, keepdims, initial, where, "nansum")
    return deliver_reduced("nansum", total, out)


def nanprod(
    a: ArrayLike,
    axis: Axes = None,
    dtype: Any = None,
    out: OutLike = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
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
        Each product is multiplied by it. None: there must be elements, and no `where`.
    {where}

    Returns
    -------
    Array
        In the shape of `a` without `axis`; 1 where nothing counts.

    Raises
    ------
    {sum_errors, initial_errors}

    >>> wr.nanprod(wr.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(6.0)
    """
    filled, dtype = replace_nan("nanprod", a, 1), dtype_by_out(a, dtype, out)
    product = reduce_from("prod", filled, axis, dtype, keepdims, initial, where, "nanprod")
    return deliver_reduced("nanprod", product, out)


def nanmin(
    a: Any,
    axis: Axes = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
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
    {extreme_errors, initial_errors}

    Notes
    -----
    NumPy warns where all elements are NaN; here nothing does.

    >>> wr.nanmin(wr.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(2.0)
    """
    extremes = _extreme("nanmin", a, axis, dtype_by_out(a, None, out), keepdims, initial, where)
    return deliver_reduced("nanmin", extremes, out)


def nanmax(
    a: Any,
    axis: Axes = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
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

    {Returns, Raises, Notes of nanmin}

    >>> wr.nanmax(wr.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(3.0)
    """
    extremes = _extreme("nanmax", a, axis, dtype_by_out(a, None, out), keepdims, initial, where)
    return deliver_reduced("nanmax", extremes, out)


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
        `a` can't be read as an array.
    {AxisError}
    ShapeError
        `where` doesn't broadcast, an axis is named twice, or `out` has another shape than the result.
    DTypeError
        `a` isn't numbers or holds dates, `dtype` isn't of floating-point or complex numbers while `a` is, `where` isn't
        bool, or the result isn't cast to the dtype of `out`.

    Notes
    -----
    NumPy warns also where all elements are NaN; here nothing does.

    >>> wr.nanmean(wr.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(2.5)
    """
    array = as_array("nanmean", "a", a)
    if array.dtype.kind not in "fc":
        return find_mean("nanmean", array, axis=axis, dtype=dtype, out=out, keepdims=keepdims, where=where)
    wanted = inexact_dtype("nanmean", array, dtype)
    wide = np.result_type(wanted, np.float32) if wanted == np.float16 else wanted
    left = mask_out("nanmean", array, where, np.nan)
    return deliver_inexact("nanmean", _mean_of_some(_as_real(left, wide), axis, keepdims, wanted), out)


def _mean_of_some(array: Array, axis: Axes, keepdims: bool, dtype: np.dtype[Any]) -> Array:
    """Divide the sum of the elements that are not NaN by their number; one pass computes both."""
    axes = find_axes("nanmean", axis, array.ndim)
    check_flag("nanmean", "keepdims", keepdims)
    warn_of_few(EMPTY, count_reduced(array.expr.grid.shape, axes))
    of_windows = None if keepdims else reduce_windows("nanmean", array, axes, array.dtype)
    if of_windows is not None:
        return astype(of_windows, dtype)
    total, count = (
        reduce_to(name, array, axes, keepdims, None, operation="nanmean") for name in ("sum_some", "count_some")
    )
    return astype(divide(total, count), dtype)


def _as_real(array: Array, dtype: np.dtype[Any]) -> Array:
    """Cast elements; where complex ones become real, an element with NaN in either part becomes NaN."""
    if array.dtype.kind == "c" and dtype.kind == "f":
        array = where(isnan(array), np.nan, real(array))
    return astype(array, dtype)


def inexact_dtype(operation: str, array: Array, dtype: DTypeLike) -> np.dtype[Any]:
    """Return the dtype to compute in, for an array of floating-point or complex numbers."""
    wanted = array.dtype if dtype is None else check_dtype(operation, "dtype", dtype)
    if wanted.kind not in "fc":
        raise DTypeError(bad(operation, "dtype", wanted, "a dtype of floating-point or complex numbers"))
    return native(wanted)


def _extreme(
    operation: str, a: ArrayLike, axis: Axes, dtype: DTypeLike, keepdims: bool, initial: Any, mask: ArrayLike
) -> Array:
    array = as_array(operation, "a", a)
    name = operation if array.dtype.kind in "fcmM" else operation.removeprefix("nan")
    return reduce_from(name, array, axis, dtype, keepdims, initial, mask, operation)


STATISTICS.fill(__name__)
