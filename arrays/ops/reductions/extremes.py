"""Reductions that choose: extremes, their positions, whether any or all elements hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import DTypeError, bad
from ...base import as_array, check_axis
from ..docstrings import OPS
from ..elementwise.ufuncs import subtract
from ..outputs import deliver, deliver_positions, deliver_reduced, dtype_by_out
from .nodes import Axes, reduce_from, reduce_to
from .selected import reduces_selection

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, OutLike, WhereLike

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "max",
    "min",
    "ptp",
]


@reduces_selection
def min(
    a: Any,
    axis: Axes = None,
    out: OutLike = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
    where: Any = True,
) -> Array:
    """Return the least element over axes.

    Parameters
    ----------
    a : array
        Of real or complex numbers, booleans, dates or durations.
    {axis, out, keepdims}
    initial : scalar, optional
        Counts as an element everywhere; `where` asks for it, and so do axes without elements.
    {where}

    Returns
    -------
    Array
        Of the dtype of `a`, in this machine's byte order, and of the shape of `a` without `axis`.

    Raises
    ------
    {extreme_errors, initial_errors}

    See Also
    --------
    numpy.min

    Notes
    -----
    NaN, if there is one, is the result.

    >>> wr.min(wr.array([3, 1, 2], chunks=2)).compute()
    np.int64(1)
    """
    least = reduce_from("min", a, axis, dtype_by_out(a, None, out), keepdims, initial, where)
    return deliver_reduced("min", least, out)  # type: ignore[no-any-return]


@reduces_selection
def max(
    a: Any,
    axis: Axes = None,
    out: OutLike = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
    where: Any = True,
) -> Array:
    """Return the greatest element over axes.

    {Parameters, Returns, Raises of min}

    See Also
    --------
    numpy.max

    {Notes of min}

    >>> wr.max(wr.arange(6, chunks=4)).compute()
    np.int64(5)
    >>> wr.max(wr.zeros((2, 0)), axis=1, initial=1).compute()
    array([1., 1.])
    """
    greatest = reduce_from("max", a, axis, dtype_by_out(a, None, out), keepdims, initial, where)
    return deliver_reduced("max", greatest, out)  # type: ignore[no-any-return]


def ptp(a: ArrayLike, axis: Axes = None, out: OutLike = None, keepdims: bool = False) -> Array:
    """Return the range from the least to the greatest element over axes.

    Parameters
    ----------
    a : array
        Of real numbers, dates or durations.
    {axis, out, keepdims}

    Returns
    -------
    Array
        Of the shape of `a` without `axis`. dtype: that of a difference of elements.

    Raises
    ------
    {AxisError}
    ShapeError
        There are no elements.

    See Also
    --------
    numpy.ptp

    >>> wr.ptp(wr.arange(5)).compute()
    np.int64(4)
    """
    array = as_array("ptp", "a", a)
    greatest, least = (reduce_to(name, array, axis, keepdims, None, operation="ptp") for name in ("max", "min"))
    if array.dtype.kind == "b":
        raise DTypeError(bad("ptp", "a", array.dtype, "an array of numbers or times, not of bool"))
    return deliver("ptp", subtract(greatest, least), out)  # type: ignore[no-any-return]


def argmin(a: ArrayLike, axis: int | None = None, out: OutLike = None, *, keepdims: bool = False) -> Array:
    """Return the position of the least element along an axis.

    Parameters
    ----------
    a : array
        Of numbers, booleans, dates or durations.
    axis : int or None, optional
        The axis to search along; None: the flattened array, in C order.
    {out, keepdims}

    Returns
    -------
    Array
        Of int64, of the shape of `a` without `axis`; of equal elements the first one's position.

    Raises
    ------
    {AxisError}
    ShapeError
        There are no elements.

    See Also
    --------
    numpy.argmin

    Notes
    -----
    The first NaN, if there is one, counts as the extreme.

    >>> wr.argmin(wr.array([[3, 1], [0, 2]]), axis=1).compute()
    array([1, 0])
    """
    return deliver_positions("argmin", position_of("argmin", a, axis, keepdims), out)  # type: ignore[no-any-return]


def argmax(a: ArrayLike, axis: int | None = None, out: OutLike = None, *, keepdims: bool = False) -> Array:
    """Return the position of the greatest element along an axis.

    {Parameters, Returns, Raises of argmin}

    See Also
    --------
    numpy.argmax

    {Notes of argmin}

    >>> wr.argmax(wr.arange(10, chunks=3)).compute()
    np.int64(9)
    """
    return deliver_positions("argmax", position_of("argmax", a, axis, keepdims), out)  # type: ignore[no-any-return]


def position_of(name: str, a: ArrayLike, axis: int | None, keepdims: bool, operation: str = "") -> Array:
    """Return positions of extremes, by the reduction of that name; errors name the operation, if it has another."""
    operation = operation or name
    array = as_array(operation, "a", a)
    if axis is not None and (array.ndim or axis not in (0, -1)):
        axis = check_axis(operation, axis, array.ndim)
    return reduce_to(name, array, axis, keepdims, None, operation=operation)


@reduces_selection
def any(
    a: ArrayLike,
    axis: Axes = None,
    out: OutLike = None,
    keepdims: bool = False,
    *,
    where: WhereLike = True,
) -> Array:
    """Tell whether any element over axes is true.

    Parameters
    ----------
    a : array
        What isn't zero is true.
    {axis, out, keepdims, where}

    Returns
    -------
    Array
        Of bool, of the shape of `a` without `axis`; False for no elements.

    Raises
    ------
    {masked_errors}
    DTypeError
        `where` isn't bool, or the result isn't cast to the dtype of `out`.

    See Also
    --------
    numpy.any

    >>> x = wr.arange(6, chunks=4).reshape(2, 3)
    >>> wr.any(x > 4, axis=1).compute()
    array([False,  True])
    """
    holds = reduce_from("any", a, axis, None, keepdims, np._NoValue, where)
    return deliver_reduced("any", holds, out)  # type: ignore[no-any-return]


@reduces_selection
def all(
    a: ArrayLike,
    axis: Axes = None,
    out: OutLike = None,
    keepdims: bool = False,
    *,
    where: WhereLike = True,
) -> Array:
    """Tell whether all elements over axes are true.

    {Parameters of any}

    Returns
    -------
    Array
        Of bool, of the shape of `a` without `axis`; True for no elements.

    {Raises of any}

    See Also
    --------
    numpy.all

    >>> x = wr.arange(6, chunks=4).reshape(2, 3)
    >>> wr.all(x > 2, axis=1).compute()
    array([False,  True])
    """
    holds = reduce_from("all", a, axis, None, keepdims, np._NoValue, where)
    return deliver_reduced("all", holds, out)  # type: ignore[no-any-return]


amin = min
amax = max


OPS.fill(__name__)
