"""Reductions to what elements differ from their mean by: variances and standard deviations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import check_flag
from ....graph.errors import DTypeError, bad
from ....workers.kernels.reduction import NUMBERS, native
from ....workers.kernels.reductions import REDUCTIONS
from ...base import as_array, broadcast_shape, check_dtype
from ..docstrings import OPS
from ..elementwise.functions import imag, real
from ..elementwise.nodes import apply, cast
from ..elementwise.ufuncs import add, divide, multiply, sqrt, square, subtract
from ..outputs import deliver_inexact, deliver_reduced, divides_in_out
from .nodes import (
    Axes,
    check_freedom,
    count_where,
    find_axes,
    is_usual,
    mask_out,
    read_mask,
    reduce_to,
    warn_of_few,
)
from .selected import reduces_selection
from .sums import find_mean

if TYPE_CHECKING:
    from ....graph.expr.expr import DType
    from ...array import Array
    from ...typing import ArrayLike, DTypeLike, OutLike, WhereLike

__all__ = [
    "std",
    "var",
]


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
    ArgumentError
        `a` can't be read as an array; `ddof` isn't a number, or is given with `correction`; `keepdims` isn't True or
        False; or `out` isn't an array.
    {AxisError}
    ShapeError
        `where` or `mean` doesn't broadcast to the shape of `a`, an axis is named twice, or `out` has another shape than
        the result.
    DTypeError
        `a` isn't numbers or bool, `dtype` isn't of numbers, `where` isn't bool, or the result isn't cast to the dtype
        of `out`.

    See Also
    --------
    numpy.var

    Notes
    -----
    Counts, means and squared differences of chunks are merged, which stays exact where the mean is far from zero
    [1]_.

    .. [1] Chan, Golub and LeVeque, "Algorithms for computing the sample variance", The American Statistician 37,
       1983.

    >>> wr.var(wr.arange(4), ddof=1).compute()
    np.float64(1.6666666666666667)
    """
    return find_spread("var", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


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

    {Returns, Raises of var}

    See Also
    --------
    numpy.std

    {Notes of var}

    >>> wr.std(wr.array([1.0, 3.0, 1.0, 3.0])).compute()
    np.float64(1.0)
    """
    return find_spread("std", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


def find_spread(
    name: str,
    a: ArrayLike,
    axis: Axes,
    dtype: DTypeLike,
    out: OutLike,
    ddof: Any,
    keepdims: bool,
    where: WhereLike,
    mean: Any,
    correction: Any,
    operation: str = "",
) -> Array:
    """Return or deliver variances or standard deviations; errors name the operation, where it isn't `name`."""
    operation = operation or name
    free = check_freedom(operation, ddof, correction)
    array = as_array(operation, "a", a)
    axes = find_axes(operation, axis, array.ndim, divides=where is True)  # before others, as NumPy
    target = REDUCTIONS[name].result_dtype(array.dtype, operation=operation)
    wanted = None if dtype is None else native(check_dtype(operation, "dtype", dtype))
    whole = not divides_in_out(wanted, out)
    if wanted is not None:
        target = wanted
        kinds = "fc" if name == "std" and whole else NUMBERS
        if wanted.kind not in kinds or wanted == array.dtype == np.bool:  # which can't be subtracted
            raise DTypeError(bad(operation, "dtype", wanted, "a dtype of floating-point numbers"))
        if is_usual(array.dtype, wanted):
            array, wanted = cast(array, wanted if array.dtype.kind == "c" else np.finfo(wanted).dtype), None
    check_flag(operation, "keepdims", keepdims)
    where = read_mask(operation, where, array.shape)
    if mean is np._NoValue:
        mean = None
    if where is True and mean is None and wanted is None:
        spread = reduce_to(name, array, axes, keepdims, None, ddof=free, operation=operation)
    else:
        spread = _add_squares(name, array, axes, free, keepdims, where, mean, wanted, operation)
    deliver_spread = deliver_inexact if name == "std" else deliver_reduced
    return deliver_spread(operation, cast(spread, target) if whole else spread, out)  # type: ignore[no-any-return]


def _add_squares(
    name: str,
    array: Array,
    axes: tuple[int, ...],
    ddof: float,
    keepdims: bool,
    where: WhereLike,
    mean: Any,
    wanted: DType | None,
    operation: str,
) -> Array:
    """Add up squares of what is left when the mean is taken off; in a dtype that isn't the usual one, if `wanted`."""
    count = count_where(operation, where, array.shape, axes, keepdims)
    if mean is None:
        mean = find_mean(operation, array, axis=axes, dtype=wanted, keepdims=True, where=where, kernel="divide")
    else:
        check_mean(operation, mean, array.shape)
    if wanted is None:
        wide = REDUCTIONS[name].result_dtype(array.dtype)
        array = cast(array, np.result_type(array.dtype, np.float32 if wide == np.float16 else wide))
    left = mask_out(operation, square_sizes(subtract(array, mean)), where, 0)
    total = reduce_to("sum", left, axes, keepdims, wanted, operation=operation)
    if where is True:
        warn_of_few(REDUCTIONS[name].few, count, ddof)
        variance = divide(total, max(count - ddof, 0.0))
    else:
        variance = apply(operation, "divide_by_freedom", (total, subtract(count, ddof)), np.divide)
    spread: Array = sqrt(variance) if name == "std" else variance
    return spread


def square_sizes(rest: Array) -> Array:
    """Return the squares of numbers, of complex ones those of their sizes, added as NumPy adds them."""
    sizes: Array = add(square(real(rest)), square(imag(rest))) if rest.dtype.kind == "c" else multiply(rest, rest)
    return sizes


def check_mean(operation: str, mean: ArrayLike, shape: tuple[int, ...]) -> None:
    """Raise unless means that the user knows can be taken off the elements."""
    array = as_array(operation, "mean", mean)
    if array.dtype.kind not in NUMBERS:
        raise DTypeError(bad(operation, "mean", array.dtype, "an array of numbers"))
    broadcast_shape(operation, shape, array.shape)


OPS.fill(__name__)
