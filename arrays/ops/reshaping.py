"""Reshaping: the same elements in C order under another shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...graph.errors import ShapeError, bad
from ...graph.kinds.move import Reshape, reshape_grid, reshape_groups
from ..align import regrid
from ..core import as_array, check_shape, grid_for, make

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "ravel",
    "reshape",
]


def reshape(x: Any, shape: int | Sequence[int], *, chunks: Any = None) -> Array:
    """Give an array another shape; the elements keep their C order.

    Parameters
    ----------
    x : array
    shape : int or tuple of int
        One length may be -1: it follows from the others.
    chunks : optional
        The result's chunks; left out, they follow the array's own where borders fit.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.reshape(wr.arange(6, chunks=4), (2, -1)).compute()
    array([[0, 1, 2],
           [3, 4, 5]])
    """
    array = as_array("reshape", "x", x)
    wanted = _inferred(array.shape, shape)
    if math.prod(wanted) != array.size:
        raise ShapeError(bad("reshape", "shape", shape, f"a shape of {array.size} elements, as {array.shape} has"))
    found = array
    if wanted != array.shape:
        source = array.expr.grid
        if array.size == 0:
            grid = grid_for("reshape", -1, wanted, array.dtype)
            groups: Any = (((0, array.ndim), (0, len(wanted))),)
        else:
            groups = reshape_groups(array.shape, wanted)
            grid = reshape_grid(groups, source, wanted)
        found = make(Reshape(groups), (array,), grid, array.dtype)
    if chunks is None:
        return found
    return regrid(found, grid_for("reshape", chunks, wanted, array.dtype, found.expr.grid))


def _inferred(old: tuple[int, ...], shape: Any) -> tuple[int, ...]:
    """Replace -1 by the length that is left for it."""
    given = (shape,) if not isinstance(shape, Sequence) else tuple(shape)
    if given.count(-1) > 1:
        raise ShapeError(bad("reshape", "shape", shape, "at most one length of -1"))
    if -1 not in given:
        return check_shape("reshape", given)
    at = given.index(-1)
    rest = math.prod(check_shape("reshape", given[:at] + given[at + 1 :]))
    if rest == 0 or math.prod(old) % rest:
        raise ShapeError(bad("reshape", "shape", shape, f"lengths that divide the {math.prod(old)} elements of {old}"))
    return check_shape("reshape", (*given[:at], math.prod(old) // rest, *given[at + 1 :]))


def ravel(x: Any) -> Array:
    """Flatten an array in C order.

    Parameters
    ----------
    x : array

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.ravel(wr.ones((2, 3))).shape
    (6,)
    """
    return reshape(as_array("ravel", "x", x), -1)
