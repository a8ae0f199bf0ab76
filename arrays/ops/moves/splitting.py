"""Cutting arrays into parts along an axis."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError, ShapeError, bad
from ...base import ArrayBase, as_array, check_axis
from ...views import gives_view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...array import Array
    from ...typing import ArrayLike

    Cuts = int | Sequence[int]

__all__ = [
    "array_split",
    "dsplit",
    "hsplit",
    "split",
    "vsplit",
]


def _parts(operation: str, ary: ArrayLike, cuts: Any, axis: int, *, even: bool) -> list[Array]:
    array = as_array(operation, "ary", ary)
    at = check_axis(operation, axis, array.ndim)
    length = array.expr.grid.shape[at]
    if isinstance(cuts, int | np.integer) and not isinstance(cuts, bool):
        if cuts < 1:
            raise ShapeError(bad(operation, "indices_or_sections", cuts, "at least one part"))
        if even and length % cuts:
            raise ShapeError(bad(operation, "indices_or_sections", cuts, f"a number that divides the length {length}"))
        size, longer = divmod(length, int(cuts))
        borders = np.cumsum([0] + [size + 1] * longer + [size] * (int(cuts) - longer)).tolist()
    else:
        positions: Any = np.asarray(cuts) if isinstance(cuts, ArrayBase) else cuts
        try:
            borders = [0, *(int(np.asarray(c)[()].__index__()) for c in positions), length]
        except (TypeError, AttributeError) as error:
            raise ArgumentError(
                bad(operation, "indices_or_sections", cuts, "a number of parts, or positions")
            ) from error
    before = (slice(None),) * at
    return [array[(*before, slice(a, b))] for a, b in pairwise(borders)]


@gives_view
def split(ary: ArrayLike, indices_or_sections: Cuts, axis: int = 0) -> list[Array]:
    """Split an array into equal parts, or at given positions.

    Parameters
    ----------
    ary : array_like, at least 1-D
        The array.
    indices_or_sections : int or sequence of int
        The number of parts, or the positions at which each but the first begins.
    axis : int
        The axis to split along.

    Returns
    -------
    list of Array
        Lazy parts.

    Raises
    ------
    ArgumentError
        `ary` can't be read as an array: an unknown object, a ragged sequence or a masked array. `indices_or_sections`
        is neither an integer nor a sequence of them, or `axis` is not an integer.
    ShapeError
        The number of parts is less than 1, or doesn't divide the axis.
    AxisError
        The array has no such axis.
    DTypeError
        `ary` holds Python objects.

    >>> [part.compute() for part in wr.split(wr.arange(4), 2)]
    [array([0, 1]), array([2, 3])]
    """
    return _parts("split", ary, indices_or_sections, axis, even=True)


@gives_view
def array_split(ary: ArrayLike, indices_or_sections: Cuts, axis: int = 0) -> list[Array]:
    """Split an array into parts of nearly equal length, or at given positions.

    Parameters
    ----------
    ary : array_like, at least 1-D
        The array.
    indices_or_sections : int or sequence of int
        The number of parts, of which the first may be longer by one; or the positions at which each but the first
        begins.
    axis : int
        The axis to split along.

    Returns
    -------
    list of Array
        Lazy parts.

    Raises
    ------
    ArgumentError
        `ary` can't be read as an array: an unknown object, a ragged sequence or a masked array. `indices_or_sections`
        is neither an integer nor a sequence of them, or `axis` is not an integer.
    ShapeError
        The number of parts is less than 1.
    AxisError
        The array has no such axis.
    DTypeError
        `ary` holds Python objects.

    >>> [part.shape for part in wr.array_split(wr.arange(5), 2)]
    [(3,), (2,)]
    """
    return _parts("array_split", ary, indices_or_sections, axis, even=False)


@gives_view
def vsplit(ary: ArrayLike, indices_or_sections: Cuts) -> list[Array]:
    """Split an array vertically, along axis 0; see `split`.

    Parameters
    ----------
    ary : array_like, at least 2-D
        The array.
    indices_or_sections : int or sequence of int
        The number of parts, or the positions at which each but the first begins.

    Returns
    -------
    list of Array
        Lazy parts.

    Raises
    ------
    ArgumentError
        `ary` can't be read as an array: an unknown object, a ragged sequence or a masked array. `indices_or_sections`
        is neither an integer nor a sequence of them.
    ShapeError
        The array has fewer than two axes, or the number of parts doesn't divide the axis.
    DTypeError
        `ary` holds Python objects.

    >>> [part.shape for part in wr.vsplit(wr.ones((4, 3)), 2)]
    [(2, 3), (2, 3)]
    """
    array = _with_axes("vsplit", ary, 2)
    return _parts("vsplit", array, indices_or_sections, 0, even=True)


@gives_view
def hsplit(ary: ArrayLike, indices_or_sections: Cuts) -> list[Array]:
    """Split an array horizontally, along axis 1, or axis 0 for a 1-D array; see `split`.

    Parameters
    ----------
    ary : array_like, at least 1-D
        The array.
    indices_or_sections : int or sequence of int
        The number of parts, or the positions at which each but the first begins.

    Returns
    -------
    list of Array
        Lazy parts.

    Raises
    ------
    ArgumentError
        `ary` can't be read as an array: an unknown object, a ragged sequence or a masked array. `indices_or_sections`
        is neither an integer nor a sequence of them.
    ShapeError
        The array is 0-d, or the number of parts doesn't divide the axis.
    DTypeError
        `ary` holds Python objects.

    >>> [part.shape for part in wr.hsplit(wr.ones((4, 3)), [1])]
    [(4, 1), (4, 2)]
    """
    array = _with_axes("hsplit", ary, 1)
    return _parts("hsplit", array, indices_or_sections, min(1, array.ndim - 1), even=True)


@gives_view
def dsplit(ary: ArrayLike, indices_or_sections: Cuts) -> list[Array]:
    """Split an array in depth, along axis 2; see `split`.

    Parameters
    ----------
    ary : array_like, at least 3-D
        The array.
    indices_or_sections : int or sequence of int
        The number of parts, or the positions at which each but the first begins.

    Returns
    -------
    list of Array
        Lazy parts.

    Raises
    ------
    ArgumentError
        `ary` can't be read as an array: an unknown object, a ragged sequence or a masked array. `indices_or_sections`
        is neither an integer nor a sequence of them.
    ShapeError
        The array has fewer than three axes, or the number of parts doesn't divide the axis.
    DTypeError
        `ary` holds Python objects.

    >>> [part.shape for part in wr.dsplit(wr.ones((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    array = _with_axes("dsplit", ary, 3)
    return _parts("dsplit", array, indices_or_sections, 2, even=True)


def _with_axes(operation: str, ary: ArrayLike, least: int) -> Array:
    array = as_array(operation, "ary", ary)
    if array.ndim < least:
        raise ShapeError(bad(operation, "ary", array.shape, f"at least {least} axes"))
    return array
