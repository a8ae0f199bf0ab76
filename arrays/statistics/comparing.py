"""Comparing whole arrays; the answer is a 0-d array, which `bool` computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import DTypeError
from ..base import as_array
from ..creation.filled import constant
from ..ops.elementwise.functions import isclose
from ..ops.elementwise.ufuncs import equal, isnan, logical_and, logical_or
from ..ops.reductions import extremes

if TYPE_CHECKING:
    from ..array import Array
    from ..typing import ArrayLike

__all__ = [
    "allclose",
    "array_equal",
    "array_equiv",
]


def allclose(a: ArrayLike, b: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Array:
    """Tell whether all elements are equal within a tolerance; see `isclose`.

    Parameters
    ----------
    a, b : array_like
        Numbers; they broadcast.
    rtol : float
        Relative tolerance, times `abs(b)`.
    atol : float
        Absolute tolerance, added to the relative one.
    equal_nan : bool
        Whether NaN counts as equal to NaN.

    Returns
    -------
    Array of bool, 0-d
        Whether `abs(a - b) <= atol + rtol * abs(b)` everywhere.

    Raises
    ------
    ArgumentError
        `a` or `b` can't be read as an array.
    ShapeError
        The shapes don't broadcast.
    DTypeError
        `a` or `b` isn't numbers.

    Notes
    -----
    Lazy; `bool`, `if` and `assert` compute it. NumPy returns a bool at once.

    >>> bool(wr.allclose(wr.ones(3), 1 + 1e-9))
    True
    """
    return extremes.all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Array:
    """Tell whether arrays have one shape and equal elements.

    Parameters
    ----------
    a1, a2 : array_like
        What to compare, of any shapes.
    equal_nan : bool
        Whether NaN counts as equal to NaN.

    Returns
    -------
    Array of bool, 0-d
        Whether shapes and all elements are equal; False of other shapes, without looking at elements.

    Raises
    ------
    ArgumentError
        `a1` or `a2` can't be read as an array.

    Notes
    -----
    Lazy; `bool`, `if` and `assert` compute it. NumPy returns a bool at once.

    >>> bool(wr.array_equal(wr.arange(3), [0, 1, 2]))
    True
    >>> bool(wr.array_equal([1.0, float("nan")], [1.0, float("nan")], equal_nan=True))
    True
    """
    left, right = as_array("array_equal", "a1", a1), as_array("array_equal", "a2", a2)
    if left.expr.grid.shape != right.expr.grid.shape:
        return constant((), False, np.dtype(bool))
    matches = _equal(left, right)
    if equal_nan and left.dtype.kind in "fcmM" and right.dtype.kind in "fcmM":
        matches = logical_or(matches, logical_and(isnan(left), isnan(right)))
    return extremes.all(matches)


def array_equiv(a1: Any, a2: Any) -> Array:
    """Tell whether arrays broadcast to one shape and have equal elements there.

    Parameters
    ----------
    a1, a2 : array_like
        What to compare, of any shapes.

    Returns
    -------
    Array of bool, 0-d
        Whether the shapes broadcast, and all elements are equal then.

    Raises
    ------
    ArgumentError
        `a1` or `a2` can't be read as an array.

    Notes
    -----
    Lazy; `bool`, `if` and `assert` compute it. NumPy returns a bool at once.

    >>> bool(wr.array_equiv(wr.ones((2, 3)), wr.ones(3)))
    True
    """
    left, right = as_array("array_equiv", "a1", a1), as_array("array_equiv", "a2", a2)
    try:
        np.broadcast_shapes(left.expr.grid.shape, right.expr.grid.shape)
    except ValueError:
        return constant((), False, np.dtype(bool))
    return extremes.all(_equal(left, right))


def _equal(left: Array, right: Array) -> Array:
    """Return where arrays are equal: nowhere if their dtypes can't be compared, such as texts and numbers."""
    try:
        matches: Array = equal(left, right)
    except DTypeError:
        matches = constant(np.broadcast_shapes(left.shape, right.shape), False, np.dtype(bool))
    return matches
