"""Reductions to what elements differ from their mean by: variances and standard deviations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import DTypeError, bad
from ....graph.keyword_hints import refuse
from ....workers.kernels.reduction import native
from ....workers.kernels.reductions import REDUCTIONS
from ...base import as_array, check_dtype
from ..docstrings import OPS
from ..elementwise.nodes import apply, cast
from ..elementwise.ufuncs import absolute, divide, multiply, sqrt, subtract
from ..outputs import deliver_inexact, deliver_reduced, divides_in_out
from .nodes import Axes, check_freedom, count_where, is_usual, mask_out, reduce_to, warn_of_few
from .selected import reduces_selection
from .sums import mean as mean_of

if TYPE_CHECKING:
    from ....graph.expr.expr import DType
    from ...array import Array
    from ...typing import ArrayLike, DTypeLike, OutLike, WhereLike

__all__ = [
    "std",
    "var",
]

_SPREAD = ["axis", "dtype", "out", "ddof", "keepdims", "where", "mean", "correction"]


@reduces_selection
def var(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: OutLike = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: WhereLike = True,
    mean: ArrayLike | None = None,
    correction: float | None = None,
    **unknown: Any,
) -> Array:
    """Return the variance over axes, the mean squared difference from the mean.

    Parameters
    ----------
    a : array
        Of numbers or booleans.
    {axis}
    dtype : dtype, optional
        Of numbers, in which to compute, and that of the result; in integers the mean is cut off, as in NumPy.
    {out}
    ddof : number, optional
        What is taken off the count of elements to divide by.
    {keepdims, where}
    mean : array, optional
        The mean where it is known, computed with `keepdims`.
    correction : number, optional
        The array API's name for `ddof`.

    Returns
    -------
    Array
        Of the shape of `a` without `axis`. dtype: float64 for integers and booleans, else that of `a`; real.

    Raises
    ------
    {AxisError}
    DTypeError
        The elements are no numbers, or `dtype` is not of such.
    ArgumentError
        `ddof` is not a number, or `ddof` and `correction` are given.
    {where_error}

    See Also
    --------
    numpy.var

    Notes
    -----
    Counts, means and squared differences of chunks are merged, which stays exact where the mean is far from zero
    [1]_.

    .. [1] Chan, Golub and LeVeque, "Algorithms for computing the sample variance", The American Statistician 37,
       1983.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.var(wr.arange(4), ddof=1).compute()
    np.float64(1.6666666666666667)
    """
    refuse("var", unknown, _SPREAD)
    variance = _find_spread("var", a, axis, dtype, out, ddof, keepdims, where, mean, correction)
    return deliver_reduced("var", variance, out)  # type: ignore[no-any-return]


@reduces_selection
def std(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: OutLike = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: WhereLike = True,
    mean: ArrayLike | None = None,
    correction: float | None = None,
    **unknown: Any,
) -> Array:
    """Return the standard deviation over axes, the square root of the variance.

    Parameters
    ----------
    a : array
        Of numbers or booleans.
    {axis}
    dtype : dtype, optional
        Of floating-point or complex numbers, in which to compute, and that of the result.
    {out}
    ddof : number, optional
        What is taken off the count of elements to divide by.
    {keepdims, where}
    mean : array, optional
        The mean where it is known, computed with `keepdims`.
    correction : number, optional
        The array API's name for `ddof`.

    Returns
    -------
    Array
        Of the shape of `a` without `axis`. dtype: float64 for integers and booleans, else that of `a`; real.

    Raises
    ------
    {AxisError}
    DTypeError
        The elements are no numbers, or `dtype` is not of such.
    ArgumentError
        `ddof` is not a number, or `ddof` and `correction` are given.
    {where_error}

    See Also
    --------
    numpy.std

    Notes
    -----
    Counts, means and squared differences of chunks are merged, which stays exact where the mean is far from zero
    [1]_.

    .. [1] Chan, Golub and LeVeque, "Algorithms for computing the sample variance", The American Statistician 37,
       1983.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.std(wr.array([1.0, 3.0, 1.0, 3.0])).compute()
    np.float64(1.0)
    """
    refuse("std", unknown, _SPREAD)
    deviation = _find_spread("std", a, axis, dtype, out, ddof, keepdims, where, mean, correction)
    return deliver_inexact("std", deviation, out)  # type: ignore[no-any-return]


def _find_spread(
    name: str,
    a: ArrayLike,
    axis: Axes,
    dtype: DTypeLike,
    out: OutLike,
    ddof: Any,
    keepdims: bool,
    where: WhereLike,
    known: Any,
    correction: Any,
) -> Array:
    """Return variances or standard deviations."""
    free = check_freedom(name, ddof, correction)
    array = as_array(name, "a", a)
    target = REDUCTIONS[name].result_dtype(array.dtype)
    wanted = None if dtype is None else native(check_dtype(name, "dtype", dtype))
    if wanted is not None:
        target = wanted
        if wanted.kind not in ("fc" if name == "std" and not divides_in_out(wanted, out) else "biufc"):
            raise DTypeError(bad(name, "dtype", wanted, "a dtype of floating-point numbers"))
        if is_usual(array.dtype, wanted):
            array, wanted = cast(array, wanted if array.dtype.kind == "c" else np.finfo(wanted).dtype), None
    if known is np._NoValue:
        known = None
    if where is True and known is None and wanted is None:
        return cast(reduce_to(name, array, axis, keepdims, None, ddof=free), target)
    spread = _add_squares(name, array, axis, free, keepdims, where, known, wanted)
    return spread if divides_in_out(wanted, out) else cast(spread, target)


def _add_squares(
    name: str,
    array: Array,
    axis: Axes,
    ddof: float,
    keepdims: bool,
    where: WhereLike,
    known: Any,
    wanted: DType | None,
) -> Array:
    """Add up squares of what is left when the mean is taken off; in a dtype that isn't the usual one, if `wanted`."""
    count = count_where(name, where, array.shape, axis, keepdims)
    if known is None:
        known = mean_of(array, axis, wanted, keepdims=True, where=where)
    if wanted is None:
        real = REDUCTIONS[name].result_dtype(array.dtype)
        array = cast(array, np.result_type(array.dtype, np.float32 if real == np.float16 else real))
    rest = subtract(array, known)
    if rest.dtype.kind == "c":
        rest = absolute(rest)
    total = reduce_to("sum", mask_out(name, multiply(rest, rest), where, 0), axis, keepdims, wanted)
    if where is True:
        warn_of_few(REDUCTIONS[name].few, count, ddof)
        variance = divide(total, max(count - ddof, 0.0))
    else:
        variance = apply(name, "divide_by_freedom", (total, subtract(count, ddof)), np.divide)
    spread: Array = sqrt(variance) if name == "std" else variance
    return spread


OPS.fill(__name__)
