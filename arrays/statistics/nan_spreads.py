"""Variances and standard deviations that ignore NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.kinds.reduction import count_reduced
from ...workers.kernels.functions import UNFREE
from ..base import as_array
from ..ops.elementwise.functions import astype, where
from ..ops.elementwise.ufuncs import divide, isnan, logical_not
from ..ops.outputs import deliver_inexact
from ..ops.reductions.nodes import check_freedom, find_axes, is_usual, mask_out, reduce_to, warn_of_few
from ..ops.reductions.spreads import check_mean, find_spread, square_sizes
from .docstrings import STATISTICS
from .nans import inexact_dtype, nanmean

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
        `a` can't be read as an array; or `ddof` isn't a number, or is given with `correction`.
    AxisError
        The array has no such axis.
    ShapeError
        `where` or `mean` doesn't broadcast; or `out` has another shape than the result.
    DTypeError
        `a` isn't numbers or bool, `dtype` isn't of numbers, or is of integers while `a` isn't, or the result isn't cast
        to the dtype of `out`.

    Notes
    -----
    NumPy warns also where NaN leaves too few elements; here nothing does.

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
    array = as_array(operation, "a", a)
    if array.dtype.kind not in "fc":
        plain = operation.removeprefix("nan")
        return find_spread(plain, array, axis, dtype, out, ddof, keepdims, mask, mean, correction, operation)
    free = check_freedom(operation, ddof, correction)
    axes = find_axes(operation, axis, array.ndim)
    wide = inexact_dtype(operation, array, dtype)
    real = np.finfo(wide).dtype
    target = real if dtype is None else wide
    array = mask_out(operation, array, mask, np.nan)
    usual = is_usual(array.dtype, wide)
    if mean is not None and mean is not np._NoValue:
        check_mean(operation, mean, array.shape)
    else:
        mean = None if usual else nanmean(array, axes, wide, keepdims=True)
    if usual and array.dtype.kind == wide.kind:
        array = astype(array, np.float32 if wide == np.float16 else wide)
    elif usual:
        array = astype(array, real)
    warn_of_few(UNFREE, count_reduced(array.expr.grid.shape, axes), free)
    if mean is not None:
        lost = isnan(array)
        count = reduce_to("sum", logical_not(lost), axes, keepdims, None, operation=operation)
        away = where(lost, array.dtype.type(0), array - as_array(operation, "mean", mean))
        total = reduce_to("sum", square_sizes(away), axes, keepdims, None if usual else wide, operation=operation)
        spread = divide(total, where(count > free, count - free, np.nan))
        spread = spread if operation == "nanvar" else spread**0.5
    else:
        spread = reduce_to(operation, array, axes, keepdims, None, ddof=free)
    return deliver_inexact(operation, astype(spread, target), out)


STATISTICS.fill(__name__)
