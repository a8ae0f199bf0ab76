"""Reductions that add up, multiply or count: sums, products, means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import check_flag
from ....workers.kernels.reductions import REDUCTIONS
from ...base import as_array
from ..docstrings import OPS
from ..elementwise.nodes import apply, cast
from ..outputs import deliver_reduced, divides_in_out, dtype_by_out
from .nodes import (
    Axes,
    check_target,
    count_where,
    find_axes,
    mask_out,
    read_mask,
    reduce_from,
    reduce_to,
)
from .selected import reduces_selection

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, DTypeLike, OutLike, WhereLike

__all__ = [
    "count_nonzero",
    "mean",
    "prod",
    "sum",
]


@reduces_selection
def sum(
    a: Any,
    axis: Axes = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
    where: Any = True,
) -> Array:
    """Return the sum over axes.

    Parameters
    ----------
    a : array
        Of numbers or booleans; durations too.
    {axis}
    dtype : dtype, optional
        In which to compute, and that of the result.
    {out, keepdims}
    initial : scalar, optional
        Is added to every sum. None: there must be elements, and no `where`.
    {where}

    Returns
    -------
    Array
        Of the shape of `a` without `axis`. dtype: as in NumPy, 64 bits for smaller integers and booleans.

    Raises
    ------
    {sum_errors, initial_errors}

    See Also
    --------
    numpy.sum

    Notes
    -----
    float16 is computed in float32. Chunks are reduced on their own, and their results pairwise: the last bits may
    differ from NumPy's, and are the same on any number of ranks.

    >>> x = wr.arange(6, chunks=4).reshape(2, 3)
    >>> wr.sum(x, axis=0).compute()
    array([3, 5, 7])
    >>> wr.sum(x, where=x > 2, initial=100).compute()
    np.int64(112)
    """
    total = reduce_from("sum", a, axis, dtype_by_out(a, dtype, out), keepdims, initial, where)
    return deliver_reduced("sum", total, out)  # type: ignore[no-any-return]


@reduces_selection
def prod(
    a: Any,
    axis: Axes = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
    where: Any = True,
) -> Array:
    """Return the product over axes.

    Parameters
    ----------
    a : array
        Of numbers or booleans.
    {axis}
    dtype : dtype, optional
        In which to compute, and that of the result.
    {out, keepdims}
    initial : scalar, optional
        Every product is multiplied by it. None: there must be elements, and no `where`.
    {where}

    {Returns, Raises of sum}

    See Also
    --------
    numpy.prod

    {Notes of sum}

    >>> wr.prod(wr.arange(5), where=wr.arange(5) > 0, initial=2).compute()
    np.int64(48)
    """
    product = reduce_from("prod", a, axis, dtype_by_out(a, dtype, out), keepdims, initial, where)
    return deliver_reduced("prod", product, out)  # type: ignore[no-any-return]


@reduces_selection
def count_nonzero(a: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """Count the elements that are not zero (True, not empty) over axes.

    Parameters
    ----------
    a : array
        Of any dtype.
    {axis, keepdims}

    Returns
    -------
    Array
        Of int64, of the shape of `a` without `axis`.

    Raises
    ------
    {AxisError}

    See Also
    --------
    numpy.count_nonzero

    >>> wr.count_nonzero(wr.arange(4)).compute()
    np.int64(3)
    """
    return reduce_to("count_nonzero", a, axis, keepdims, None)


@reduces_selection
def mean(
    a: Any,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Array:
    """Return the arithmetic mean over axes.

    Parameters
    ----------
    a : array
        Of numbers, booleans or durations.
    {axis}
    dtype : dtype, optional
        In which to compute, and that of the result.
    {out, keepdims, where}

    Returns
    -------
    Array
        Of the shape of `a` without `axis`. dtype: float64 for integers and booleans, else that of `a`.

    Raises
    ------
    {masked_errors}
    DTypeError
        `a` isn't numbers or durations, `dtype` isn't of such, `where` isn't bool, or the result isn't cast to the dtype
        of `out`.

    See Also
    --------
    numpy.mean

    Notes
    -----
    float16 is computed in float32. The mean of no elements is NaN.

    >>> x = wr.arange(6, chunks=4).reshape(2, 3)
    >>> wr.mean(x, axis=1).compute()
    array([1., 4.])
    """
    return find_mean("mean", a, axis=axis, dtype=dtype, out=out, keepdims=keepdims, where=where)


def find_mean(
    operation: str,
    a: ArrayLike,
    *,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: OutLike = None,
    keepdims: bool = False,
    where: WhereLike = True,
    kernel: str = "divide_by_count",
) -> Array:
    """Return or deliver means; errors name the operation that was called.

    The kernel divides sums of what a mask leaves by counts: "divide" doesn't warn of counts of zero.
    """
    array = as_array(operation, "a", a)
    axes = find_axes(operation, axis, array.ndim, divides=where is True)  # before others, as NumPy
    wanted = None if dtype is None else check_target(operation, dtype)
    check_flag(operation, "keepdims", keepdims)
    where = read_mask(operation, where, array.shape)
    whole = not divides_in_out(wanted, out)
    if where is True and whole:
        average = reduce_to("mean", array, axes, keepdims, wanted, operation=operation)
        return deliver_reduced(operation, average, out)  # type: ignore[no-any-return]
    target = REDUCTIONS["mean"].result_dtype(array.dtype, wanted, operation)
    wide = np.dtype(np.float32) if target == np.float16 else target
    count = count_where(operation, where, array.shape, axes, keepdims)
    left = mask_out(operation, array, where, 0)
    total = reduce_to("sum", left, axes, keepdims, wide, operation=operation)
    average = apply(operation, kernel, (total, count), np.divide)
    return deliver_reduced(operation, cast(average, target) if whole else average, out)  # type: ignore[no-any-return]


OPS.fill(__name__)
