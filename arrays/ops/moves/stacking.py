"""NumPy's older functions that join arrays: `column_stack`, `dstack`, `block`, and `atleast_1d` and its like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....graph.errors import ArgumentError, ShapeError, bad
from ...base import as_array
from ...docstrings import COMMON
from ...views import gives_view
from .axis_moves import expand_dims
from .joining import concatenate, vstack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...array import Array
    from ...typing import ArrayLike

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block",
    "column_stack",
    "dstack",
    "row_stack",
]


def _at_least(operation: str, arys: tuple[Any, ...], ndim: int) -> Any:
    arrays = []
    for i, ary in enumerate(arys):
        array = as_array(operation, f"arys[{i}]", ary)
        if array.ndim == 0:
            array = array.reshape(1)
        if array.ndim == 1 and ndim > 1:
            array = expand_dims(array, 0)
        if array.ndim == 2 and ndim > 2:
            array = expand_dims(array, 2)
        arrays.append(array)
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


@gives_view
def atleast_1d(*arys: ArrayLike) -> Any:
    """Return arrays with at least one axis.

    Parameters
    ----------
    *arys : array_like
        The arrays; a 0-d one gets a size-1 axis.

    Returns
    -------
    Array or tuple of Array
        Lazy; a tuple for several arrays.

    Raises
    ------
    ArgumentError
        `arys` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    DTypeError
        `arys` holds Python objects.

    >>> wr.atleast_1d(5.0).shape
    (1,)
    """
    return _at_least("atleast_1d", arys, 1)


@gives_view
def atleast_2d(*arys: ArrayLike) -> Any:
    """Return arrays with at least two axes, new ones in front.

    Parameters
    ----------
    *arys : array_like
        The arrays; those with fewer axes get size-1 axes.

    {Returns, Raises of atleast_1d}

    >>> wr.atleast_2d(wr.arange(3)).shape
    (1, 3)
    """
    return _at_least("atleast_2d", arys, 2)


@gives_view
def atleast_3d(*arys: ArrayLike) -> Any:
    """Return arrays with at least three axes.

    Parameters
    ----------
    *arys : array_like
        The arrays. Shape (N,) becomes (1, N, 1), and (M, N) becomes (M, N, 1).

    {Returns, Raises of atleast_1d}

    >>> wr.atleast_3d(wr.arange(3)).shape
    (1, 3, 1)
    """
    return _at_least("atleast_3d", arys, 3)


def dstack(tup: Sequence[Any]) -> Array:
    """Join arrays in depth: along the third axis, added as in `atleast_3d`.

    Parameters
    ----------
    tup : sequence of array_like
        Their shapes are equal except along that axis.

    Returns
    -------
    Array
        Lazy, at least 3-D.

    Raises
    ------
    ArgumentError
        `tup` can't be read as an array. `tup` is no tuple or list of at least one array.
    ShapeError
        The shapes differ along another axis.
    DTypeError
        The dtypes have no common one.

    >>> wr.dstack([wr.arange(2), wr.arange(2)]).compute()
    array([[[0, 0],
            [1, 1]]])
    """
    return concatenate([_at_least("dstack", (a,), 3) for a in _sequence("dstack", tup)], 2)


def column_stack(tup: Sequence[Any]) -> Array:
    """Join arrays side by side; 1-D arrays are columns.

    Parameters
    ----------
    tup : sequence of array_like
        All with the same number of rows.

    Returns
    -------
    Array
        Lazy, at least 2-D.

    Raises
    ------
    ArgumentError
        `tup` can't be read as an array. `tup` is no tuple or list of at least one array.
    ShapeError
        The numbers of rows differ.
    DTypeError
        The dtypes have no common one.

    >>> wr.column_stack([wr.arange(2), wr.arange(2)]).compute()
    array([[0, 0],
           [1, 1]])
    """
    arrays = [as_array("column_stack", "tup", a) for a in _sequence("column_stack", tup)]
    return concatenate([a.reshape(-1, 1) if a.ndim < 2 else a for a in arrays], 1)


def row_stack(tup: Sequence[Any]) -> Array:
    """Join arrays vertically: the older name of `vstack`.

    Parameters
    ----------
    tup : sequence of array_like
        Their shapes are equal except along axis 0.

    Returns
    -------
    Array
        Lazy, at least 2-D.

    Raises
    ------
    ArgumentError
        `tup` is no sequence of at least one array.
    ShapeError
        The shapes differ along another axis.
    DTypeError
        The dtypes have no common one.

    >>> wr.row_stack([wr.arange(2), wr.arange(2)]).shape
    (2, 2)
    """
    return vstack(tup)


def _sequence(operation: str, tup: Sequence[ArrayLike]) -> list[Any]:
    if not isinstance(tup, tuple | list) or not tup:
        raise ArgumentError(bad(operation, "tup", tup, "a sequence of at least one array"))
    return list(tup)


def block(arrays: Sequence[ArrayLike]) -> Array:
    """Join arrays as nested lists lay them out.

    The innermost lists are joined along the last axis, those around them along the one before, and so on.

    Parameters
    ----------
    arrays : array_like or nested list of array_like
        All arrays at one depth.

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    ArgumentError
        `arrays` can't be read as an array: an unknown object, a ragged sequence or a masked array. There is a tuple
        instead of a list.
    ShapeError
        A list is empty, arrays lie at different depths, or shapes don't fit.
    DTypeError
        `arrays` holds Python objects.

    >>> wr.block([[wr.eye(2), wr.zeros((2, 1))], [wr.ones((1, 3))]]).compute()
    array([[1., 0., 0.],
           [0., 1., 0.],
           [1., 1., 1.]])
    """
    depths: set[int] = set()
    widest = [0]
    tree = _read(arrays, 0, depths, widest)
    if len(depths) > 1:
        raise ShapeError(f"block: argument 'arrays' has arrays at depths {sorted(depths)}; expected one depth")
    (depth,) = depths
    return _lay_blocks(tree, depth, max(depth, widest[0]))


def _read(item: object, depth: int, depths: set[int], widest: list[int]) -> Any:
    if isinstance(item, tuple):
        raise ArgumentError(bad("block", "arrays", item, "lists, no tuples"))
    if isinstance(item, list):
        if not item:
            raise ShapeError(bad("block", "arrays", item, "no empty list"))
        return [_read(each, depth + 1, depths, widest) for each in item]
    array = as_array("block", "arrays", item)
    depths.add(depth)
    widest[0] = max(widest[0], array.ndim)
    return array


def _lay_blocks(tree: Any, depth: int, ndim: int) -> Array:
    if isinstance(tree, list):
        return concatenate([_lay_blocks(each, depth - 1, ndim) for each in tree], -depth)
    missing = ndim - tree.ndim
    expanded: Array = expand_dims(tree, tuple(range(missing))) if missing else tree
    return expanded


COMMON.fill(__name__)
