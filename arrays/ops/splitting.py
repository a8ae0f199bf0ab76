"""Cutting arrays into parts along an axis."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, ShapeError, bad
from ..base import as_array, check_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..array import Array

    Cuts = int | Sequence[int]

__all__ = [
    "array_split",
    "dsplit",
    "hsplit",
    "split",
    "vsplit",
]


def _parts(operation: str, ary: Any, cuts: Any, axis: int, *, even: bool) -> list[Array]:
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
        given: Any = cuts
        try:
            borders = [0, *(int(np.asarray(c)[()].__index__()) for c in given), length]
        except (TypeError, AttributeError) as error:
            raise ArgumentError(
                bad(operation, "indices_or_sections", cuts, "a number of parts, or positions")
            ) from error
    before = (slice(None),) * at
    return [array[(*before, slice(a, b))] for a, b in pairwise(borders)]


def split(ary: Any, indices_or_sections: Cuts, axis: int = 0) -> list[Array]:
    """Cut an array into equal parts, or at some positions.

    Parameters
    ----------
    ary : array
    indices_or_sections : int or sequence of int
        The number of parts, or where each but the first begins.
    axis : int

    Returns
    -------
    list of Array

    Examples
    --------
    >>> import windrow as wr
    >>> [part.compute() for part in wr.split(wr.arange(4), 2)]
    [array([0, 1]), array([2, 3])]
    """
    return _parts("split", ary, indices_or_sections, axis, even=True)


def array_split(ary: Any, indices_or_sections: Cuts, axis: int = 0) -> list[Array]:
    """Cut an array into parts of nearly one length, or at some positions.

    Parameters
    ----------
    ary : array
    indices_or_sections : int or sequence of int
        The number of parts, or where each but the first begins.
    axis : int

    Returns
    -------
    list of Array

    Examples
    --------
    >>> import windrow as wr
    >>> [part.shape for part in wr.array_split(wr.arange(5), 2)]
    [(3,), (2,)]
    """
    return _parts("array_split", ary, indices_or_sections, axis, even=False)


def vsplit(ary: Any, indices_or_sections: Cuts) -> list[Array]:
    """Cut an array of two axes or more along the first.

    Parameters
    ----------
    ary : array
    indices_or_sections : int or sequence of int
        As in `split`.

    Returns
    -------
    list of Array

    Examples
    --------
    >>> import windrow as wr
    >>> [part.shape for part in wr.vsplit(wr.ones((4, 3)), 2)]
    [(2, 3), (2, 3)]
    """
    array = _with_axes("vsplit", ary, 2)
    return _parts("vsplit", array, indices_or_sections, 0, even=True)


def hsplit(ary: Any, indices_or_sections: Cuts) -> list[Array]:
    """Cut an array along its second axis, or the only one.

    Parameters
    ----------
    ary : array
    indices_or_sections : int or sequence of int
        As in `split`.

    Returns
    -------
    list of Array

    Examples
    --------
    >>> import windrow as wr
    >>> [part.shape for part in wr.hsplit(wr.ones((4, 3)), [1])]
    [(4, 1), (4, 2)]
    """
    array = _with_axes("hsplit", ary, 1)
    return _parts("hsplit", array, indices_or_sections, min(1, array.ndim - 1), even=True)


def dsplit(ary: Any, indices_or_sections: Cuts) -> list[Array]:
    """Cut an array of three axes or more along the third.

    Parameters
    ----------
    ary : array
    indices_or_sections : int or sequence of int
        As in `split`.

    Returns
    -------
    list of Array

    Examples
    --------
    >>> import windrow as wr
    >>> [part.shape for part in wr.dsplit(wr.ones((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    array = _with_axes("dsplit", ary, 3)
    return _parts("dsplit", array, indices_or_sections, 2, even=True)


def _with_axes(operation: str, ary: Any, least: int) -> Array:
    array = as_array(operation, "ary", ary)
    if array.ndim < least:
        raise ShapeError(bad(operation, "ary", array.shape, f"at least {least} axes"))
    return array
