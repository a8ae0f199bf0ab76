"""Variances and standard deviations that pass over NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ...graph.kinds.reduction import Reduce, reduce_grid
from ..base import as_array, make
from ..ops import reductions as red
from ..ops.elementwise import astype, where
from ..ops.outputs import deliver
from ..ops.reduction_nodes import find_axes
from ..ops.ufuncs import absolute, divide, isnan, square
from .nans import count_not_nan, inexact_dtype

if TYPE_CHECKING:
    from ..array import Array
    from .nans import Axes

__all__ = [
    "nanstd",
    "nanvar",
]


def nanvar(
    a: Any,
    axis: Axes = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """Return the variance of the elements that are not NaN.

    Parameters
    ----------
    a : array_like
        Numbers; dtypes without NaN are reduced as a whole.
    axis : int, tuple of int or None
        The axes to reduce; None: all.
    dtype : dtype, optional
        In which to compute, of floating-point or complex numbers; None: that of `a`, float64 for integers and bool.
    out : Array or numpy.ndarray, optional
        Takes the result: a lazy array stands for it from then on, a NumPy array is filled, which computes it.
    ddof : float
        Taken off the number of elements by which is divided.
    keepdims : bool
        Whether the reduced axes stay, as size-1 axes.
    where : array of bool
        Which elements count; broadcasts with `a`. True: all.
    mean : array_like, optional
        The means, with size-1 axes in the place of the reduced ones, where they are known; None: they are found.
    correction : float, optional
        The array API's name of `ddof`; only one of them may be given.

    Returns
    -------
    Array
        In the shape of `a` without `axis`, in a real floating-point dtype; NaN where no more than `ddof` elements
        count.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; `ddof` isn't a number; or `dtype` is of integers, and `a` isn't.
    AxisError
        The array has no such axis.
    ShapeError
        Both `ddof` and `correction` are given; `where` or `mean` doesn't broadcast; or the result doesn't broadcast to
        `out`.
    DTypeError
        `a` isn't numbers or bool, `dtype` isn't of floating-point or complex numbers, or the result isn't cast to the
        dtype of `out`.

    Notes
    -----
    NumPy warns where there are too few elements; here nothing does.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.nanvar(wr.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(0.25)
    """
    free = _freedom("nanvar", ddof, correction)
    return deliver("nanvar", _spread("nanvar", a, axis, dtype, free, keepdims, where, mean), out)


def nanstd(
    a: Any,
    axis: Axes = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """Return the standard deviation of the elements that are not NaN.

    Parameters
    ----------
    a : array_like
        Numbers; dtypes without NaN are reduced as a whole.
    axis : int, tuple of int or None
        The axes to reduce; None: all.
    dtype : dtype, optional
        In which to compute, of floating-point or complex numbers; None: that of `a`, float64 for integers and bool.
    out : Array or numpy.ndarray, optional
        Takes the result: a lazy array stands for it from then on, a NumPy array is filled, which computes it.
    ddof : float
        Taken off the number of elements by which is divided.
    keepdims : bool
        Whether the reduced axes stay, as size-1 axes.
    where : array of bool
        Which elements count; broadcasts with `a`. True: all.
    mean : array_like, optional
        The means, with size-1 axes in the place of the reduced ones, where they are known; None: they are found.
    correction : float, optional
        The array API's name of `ddof`; only one of them may be given.

    Returns
    -------
    Array
        In the shape of `a` without `axis`, in a real floating-point dtype; NaN where no more than `ddof` elements
        count.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; `ddof` isn't a number; or `dtype` is of integers, and `a` isn't.
    AxisError
        The array has no such axis.
    ShapeError
        Both `ddof` and `correction` are given; `where` or `mean` doesn't broadcast; or the result doesn't broadcast to
        `out`.
    DTypeError
        `a` isn't numbers or bool, `dtype` isn't of floating-point or complex numbers, or the result isn't cast to the
        dtype of `out`.

    Notes
    -----
    NumPy warns where there are too few elements; here nothing does.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.nanstd(wr.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(0.5)
    """
    free = _freedom("nanstd", ddof, correction)
    return deliver("nanstd", _spread("nanstd", a, axis, dtype, free, keepdims, where, mean), out)


def _freedom(operation: str, ddof: Any, correction: Any) -> float:
    if correction is not None:
        if ddof != 0:
            raise ShapeError(bad(operation, "correction", correction, "either it or ddof"))
        ddof = correction
    if isinstance(ddof, bool) or not isinstance(ddof, int | float | np.number):
        raise ArgumentError(bad(operation, "ddof", ddof, "a number"))
    return float(ddof)


def _spread(operation: str, a: Any, axis: Axes, dtype: Any, ddof: float, keepdims: bool, mask: Any, mean: Any) -> Array:
    array = as_array(operation, "a", a)
    wide = inexact_dtype(operation, array, dtype)
    if wide.kind not in "fc":
        raise DTypeError(bad(operation, "dtype", dtype, "a dtype of floating-point or complex numbers"))
    target = np.finfo(wide).dtype
    array = astype(array, np.float32 if wide == np.float16 else wide)
    if mask is not True:
        array = where(mask, array, array.dtype.type(np.nan))
    if mean is not None:
        count = count_not_nan(array, axis, keepdims, True)
        away = where(isnan(array), array.dtype.type(0), array - as_array(operation, "mean", mean))
        total = red.sum(square(absolute(away)), axis, keepdims=keepdims)
        found = divide(total, where(count > ddof, count - ddof, np.nan))
        return astype(found if operation == "nanvar" else found**0.5, target)
    axes = find_axes(operation, axis, array.ndim)
    grid = reduce_grid(array.expr.grid, axes, bool(keepdims))
    real = np.finfo(array.dtype).dtype
    return astype(make(Reduce(operation, axes, bool(keepdims), ddof), (array,), grid, real), target)
