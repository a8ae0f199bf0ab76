"""Variances and standard deviations that ignore NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.kinds.reduction import count_reduced
from ...workers.kernels.functions import UNFREE
from ..base import as_array
from ..ops.elementwise.functions import astype, where
from ..ops.elementwise.ufuncs import absolute, divide, isnan, square
from ..ops.outputs import deliver_inexact
from ..ops.reductions import sums as red
from ..ops.reductions.nodes import check_freedom, find_axes, is_usual, reduce_to, warn_of_few
from ..ops.reductions.spreads import std, var
from .docstrings import STATISTICS
from .nans import check_numbers, count_not_nan, inexact_dtype, nanmean

if TYPE_CHECKING:
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
    {a, axis}
    dtype : dtype, optional
        In which to compute, of floating-point or complex numbers; None: that of `a`, float64 for integers and bool.
    {out}
    ddof : float
        Taken off the number of elements by which is divided.
    {keepdims, where}
    mean : array_like, optional
        The means where they are known, with size-1 axes in the place of the reduced ones; None: they are computed.
    correction : float, optional
        The array API's name of `ddof`; only one of them may be given.

    Returns
    -------
    Array
        In the shape of `a` without `axis`, in `dtype`, or a real floating-point one; NaN where no more than `ddof`
        elements count.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; `ddof` isn't a number, or is given with `correction`; or `dtype` is of integers,
        and `a` isn't.
    AxisError
        The array has no such axis.
    ShapeError
        `where` or `mean` doesn't broadcast; or `out` has another shape than the result.
    DTypeError
        `a` isn't numbers or bool, `dtype` isn't of numbers, or the result isn't cast to the dtype of `out`.

    Notes
    -----
    NumPy warns also where NaN leaves too few elements; here nothing does.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.nanvar(wr.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(0.25)
    """
    return _spread("nanvar", a, axis, dtype, out, ddof, correction, keepdims, where, mean)


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

    {sections of nanvar}

    Examples
    --------
    >>> import windrow as wr
    >>> wr.nanstd(wr.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(0.5)
    """
    return _spread("nanstd", a, axis, dtype, out, ddof, correction, keepdims, where, mean)


def _spread(
    operation: str,
    a: Any,
    axis: Axes,
    dtype: Any,
    out: Any,
    ddof: Any,
    correction: Any,
    keepdims: bool,
    mask: Any,
    mean: Any,
) -> Any:
    """Deliver variances or standard deviations that ignore NaN; for dtypes without NaN, the plain ones."""
    array = check_numbers(operation, a, axis, dtype, keepdims)
    if array.dtype.kind not in "fc":
        plain = var if operation == "nanvar" else std
        return plain(array, axis, dtype, out, ddof, keepdims, where=mask, mean=mean, correction=correction)
    free = check_freedom(operation, ddof, correction)
    wide = inexact_dtype(operation, array, dtype)
    real = np.finfo(wide).dtype
    target = real if dtype is None else wide
    if mask is not True:
        array = where(mask, array, array.dtype.type(np.nan))
    if mean is None and not is_usual(array.dtype, wide):
        mean = nanmean(array, axis, wide, keepdims=True)
    elif array.dtype.kind == "c" or wide.kind == "f":
        array = astype(array, np.float32 if wide == np.float16 else wide)
    else:
        array = astype(array, real)
    axes = find_axes(operation, axis, array.ndim)
    if mask is True:
        warn_of_few(UNFREE, count_reduced(array.expr.grid.shape, axes), free)
    if mean is not None:
        count = count_not_nan(array, axis, keepdims, True)
        away = where(isnan(array), array.dtype.type(0), array - as_array(operation, "mean", mean))
        total = red.sum(square(absolute(away)), axis, keepdims=keepdims)
        spread = divide(total, where(count > free, count - free, np.nan))
        spread = spread if operation == "nanvar" else spread**0.5
    else:
        spread = reduce_to(operation, array, axes, keepdims, None, ddof=free)
    return deliver_inexact(operation, astype(spread, target), out)


STATISTICS.fill(__name__)
