"""Reductions that pass over NaN. Of dtypes that have none they are the plain ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ...graph.kinds.reduction import Reduce, count_reduced, reduce_grid
from ..base import as_array, check_axis, check_dtype, make
from ..creation.filled import constant
from ..ops import extremes
from ..ops import reductions as red
from ..ops.elementwise import astype, where
from ..ops.outputs import deliver
from ..ops.reduction_nodes import native, reduced_axes, without_empty
from ..ops.ufuncs import absolute, add, divide, fmax, fmin, isnan, logical_and, logical_not, multiply, square

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..array import Array

    Axes = int | Sequence[int] | None

__all__ = [
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]


def nansum(
    a: Any,
    axis: Axes = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Add up the elements that are not NaN.

    Parameters
    ----------
    a : array
    axis : int, tuple of int or None
    dtype : dtype, optional
    out : array, optional
        Takes the result, and is returned.
    keepdims : bool
    initial : scalar, optional
        Added to each sum.
    where : array of bool
        Which elements count.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.nansum(wr.asarray([1.0, float("nan"), 2.0])).compute()
    np.float64(3.0)
    """
    found = red.sum(_filled("nansum", a, 0, where), axis, dtype, keepdims=keepdims)
    return deliver("nansum", found if initial is None else astype(add(found, initial), found.dtype), out)


def nanprod(
    a: Any,
    axis: Axes = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Multiply the elements that are not NaN.

    Parameters
    ----------
    a : array
    axis : int, tuple of int or None
    dtype : dtype, optional
    out : array, optional
        Takes the result, and is returned.
    keepdims : bool
    initial : scalar, optional
        Each product is multiplied by it.
    where : array of bool
        Which elements count.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.nanprod(wr.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(6.0)
    """
    found = red.prod(_filled("nanprod", a, 1, where), axis, dtype, keepdims=keepdims)
    return deliver("nanprod", found if initial is None else astype(multiply(found, initial), found.dtype), out)


def nanmin(
    a: Any, axis: Axes = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """Return the least of the elements that are not NaN; where all are, NaN (NumPy warns of it then).

    Parameters
    ----------
    a : array
    axis : int, tuple of int or None
    out : array, optional
        Takes the result, and is returned.
    keepdims : bool
    initial : scalar, optional
        No result is greater.
    where : array of bool
        Which elements count; it wants `initial`.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.nanmin(wr.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(2.0)
    """
    return deliver("nanmin", _extreme("nanmin", a, axis, keepdims, initial, where), out)


def nanmax(
    a: Any, axis: Axes = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """Return the greatest of the elements that are not NaN; where all are, NaN (NumPy warns of it then).

    Parameters
    ----------
    a : array
    axis : int, tuple of int or None
    out : array, optional
        Takes the result, and is returned.
    keepdims : bool
    initial : scalar, optional
        No result is less.
    where : array of bool
        Which elements count; it wants `initial`.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.nanmax(wr.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(3.0)
    """
    return deliver("nanmax", _extreme("nanmax", a, axis, keepdims, initial, where), out)


def nanmean(
    a: Any, axis: Axes = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
) -> Any:
    """Return the mean of the elements that are not NaN; where all are, NaN (NumPy warns of it then).

    Parameters
    ----------
    a : array
    axis : int, tuple of int or None
    dtype : dtype, optional
        Of floating-point or complex numbers, where `a` holds such.
    out : array, optional
        Takes the result, and is returned.
    keepdims : bool
    where : array of bool
        Which elements count.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.nanmean(wr.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(2.5)
    """
    array = as_array("nanmean", "a", a)
    if where is True and not _has_nan(array):
        return deliver("nanmean", red.mean(array, axis, dtype, keepdims=keepdims), out)
    wanted = _inexact("nanmean", array, dtype)
    wide = np.result_type(wanted, np.float32) if wanted == np.float16 else wanted
    total = nansum(array, axis, wide, keepdims=keepdims, where=where)
    return deliver("nanmean", astype(divide(total, _count(array, axis, keepdims, where)), wanted), out)


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
    """Return the variance of the elements that are not NaN; NaN where there are too few (NumPy warns of it then).

    Parameters
    ----------
    a : array
    axis : int, tuple of int or None
    dtype : dtype, optional
    out : array, optional
        Takes the result, and is returned.
    ddof : float
        Taken off the number of elements.
    keepdims : bool
    where : array of bool
        Which elements count.
    mean : array, optional
        The means, with axes of length one in the place of those reduced, where they are known.
    correction : float, optional
        Another name of `ddof`.

    Returns
    -------
    Array

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
    """Return the standard deviation of the elements that are not NaN; see `nanvar`.

    Parameters
    ----------
    a : array
    axis : int, tuple of int or None
    dtype : dtype, optional
    out : array, optional
        Takes the result, and is returned.
    ddof : float
        Taken off the number of elements.
    keepdims : bool
    where : array of bool
        Which elements count.
    mean : array, optional
        The means, with axes of length one in the place of those reduced, where they are known.
    correction : float, optional
        Another name of `ddof`.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.nanstd(wr.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(0.5)
    """
    free = _freedom("nanstd", ddof, correction)
    return deliver("nanstd", _spread("nanstd", a, axis, dtype, free, keepdims, where, mean), out)


def nanargmin(a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """Return where the least of the elements that are not NaN is.

    Parameters
    ----------
    a : array
    axis : int or None
        None: in the flattened array.
    out : array, optional
        Takes the result, and is returned.
    keepdims : bool

    Returns
    -------
    Array
        Computing it raises ValueError where all elements are NaN.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.nanargmin(wr.asarray([float("nan"), 3.0, 2.0])).compute()
    np.int64(2)
    """
    return deliver("nanargmin", _position("nanargmin", a, axis, keepdims), out)


def nanargmax(a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """Return where the greatest of the elements that are not NaN is.

    Parameters
    ----------
    a : array
    axis : int or None
        None: in the flattened array.
    out : array, optional
        Takes the result, and is returned.
    keepdims : bool

    Returns
    -------
    Array
        Computing it raises ValueError where all elements are NaN.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.nanargmax(wr.asarray([float("nan"), 3.0, 2.0])).compute()
    np.int64(1)
    """
    return deliver("nanargmax", _position("nanargmax", a, axis, keepdims), out)


def _has_nan(array: Array) -> bool:
    return array.dtype.kind in "fcmM"


def _filled(operation: str, a: Any, value: int, mask: Any) -> Array:
    """Put a value in the place of NaN, and of what doesn't count."""
    array = as_array(operation, "a", a)
    filler = array.dtype.type(value) if array.dtype.kind in "biufc" else np.zeros((), array.dtype)[()]
    if _has_nan(array):
        array = where(isnan(array), filler, array)
    return array if mask is True else where(mask, array, filler)


def _count(array: Array, axis: Axes, keepdims: bool, mask: Any) -> Array:
    """Count the elements that are not NaN, and count."""
    there = logical_not(isnan(array))
    if mask is not True:
        there = logical_and(there, mask)
    return red.sum(there, axis, np.int64, keepdims=keepdims)


def _inexact(operation: str, array: Array, dtype: Any) -> np.dtype[Any]:
    """Return the dtype to compute in."""
    if dtype is None:
        return np.dtype(np.float64) if array.dtype.kind in "biu" else array.dtype
    found = check_dtype(operation, "dtype", dtype)
    if found.kind not in "fc" and _has_nan(array):
        raise ArgumentError(bad(operation, "dtype", dtype, "a dtype of floating-point or complex numbers"))
    return found


def _extreme(operation: str, a: Any, axis: Axes, keepdims: bool, initial: Any, mask: Any) -> Array:
    array = as_array(operation, "a", a)
    if mask is not True:
        if initial is None:
            raise ShapeError(bad(operation, "initial", None, "a number, since where= may leave nothing"))
        array = where(mask, array, array.dtype.type(initial))
    array = astype(array, native(array.dtype))
    plain, pair = (extremes.min, fmin) if operation == "nanmin" else (extremes.max, fmax)
    axes = reduced_axes(operation, axis, array.ndim)
    grid = reduce_grid(array.expr.grid, axes, bool(keepdims))
    some = count_reduced(array.shape, axes) > 0
    if initial is not None and not some:
        return constant(grid.shape, initial, array.dtype)
    if not some and initial is None:
        raise ShapeError(
            f"{operation}: array of shape {array.shape} has no elements along axis {axis!r}; expected some, or initial="
        )
    if _has_nan(array):
        given = without_empty(array, axes)
        found = make(Reduce(operation, axes, bool(keepdims)), (given,), grid, array.dtype)
    else:
        found = plain(array, axis, keepdims=keepdims)
    return found if initial is None else astype(pair(found, initial), found.dtype)


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
    wide = _inexact(operation, array, dtype)
    if wide.kind not in "fc":
        raise DTypeError(bad(operation, "dtype", dtype, "a dtype of floating-point or complex numbers"))
    target = np.finfo(wide).dtype
    array = astype(array, np.float32 if wide == np.float16 else wide)
    if mask is not True:
        array = where(mask, array, array.dtype.type(np.nan))
    if mean is not None:
        count = _count(array, axis, keepdims, True)
        away = where(isnan(array), array.dtype.type(0), array - as_array(operation, "mean", mean))
        total = red.sum(square(absolute(away)), axis, keepdims=keepdims)
        found = divide(total, where(count > ddof, count - ddof, np.nan))
        return astype(found if operation == "nanvar" else found**0.5, target)
    axes = reduced_axes(operation, axis, array.ndim)
    grid = reduce_grid(array.expr.grid, axes, bool(keepdims))
    real = np.finfo(array.dtype).dtype
    return astype(make(Reduce(operation, axes, bool(keepdims), ddof), (array,), grid, real), target)


def _position(operation: str, a: Any, axis: int | None, keepdims: bool) -> Array:
    array = as_array(operation, "a", a)
    if axis is not None and (array.ndim or axis not in (0, -1)):
        axis = check_axis(operation, axis, array.ndim)
    find, worst = (extremes.argmin, np.inf) if operation == "nanargmin" else (extremes.argmax, -np.inf)
    if not _has_nan(array) or array.dtype.kind in "mM":
        return find(array, axis, keepdims=keepdims)
    lost = isnan(array)
    found = find(where(lost, array.dtype.type(worst), array), axis, keepdims=keepdims)
    nothing = extremes.all(lost, axis, keepdims=keepdims)
    grid = found.expr.grid
    return make(BlockFunction("checks:check_found", (operation,)), (found, nothing), grid, found.dtype)
