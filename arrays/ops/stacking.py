"""Joining arrays of few axes as NumPy's older functions do: columns, layers, nested blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...graph.errors import ArgumentError, ShapeError, bad
from ..base import as_array
from .joining import concatenate, vstack
from .moving import expand_dims

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..array import Array

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
    found = []
    for i, ary in enumerate(arys):
        array = as_array(operation, f"arys[{i}]", ary)
        if array.ndim == 0:
            array = array.reshape(1)
        if array.ndim == 1 and ndim > 1:
            array = expand_dims(array, 0)
        if array.ndim == 2 and ndim > 2:
            array = expand_dims(array, 2)
        found.append(array)
    return found[0] if len(found) == 1 else tuple(found)


def atleast_1d(*arys: Any) -> Any:
    """Give arrays without axes one.

    Parameters
    ----------
    *arys : array

    Returns
    -------
    Array, or a tuple of them for several

    Examples
    --------
    >>> import windrow as wr
    >>> wr.atleast_1d(5.0).shape
    (1,)
    """
    return _at_least("atleast_1d", arys, 1)


def atleast_2d(*arys: Any) -> Any:
    """Give arrays two axes at least, new ones in front.

    Parameters
    ----------
    *arys : array

    Returns
    -------
    Array, or a tuple of them for several

    Examples
    --------
    >>> import windrow as wr
    >>> wr.atleast_2d(wr.arange(3)).shape
    (1, 3)
    """
    return _at_least("atleast_2d", arys, 2)


def atleast_3d(*arys: Any) -> Any:
    """Give arrays three axes at least; one of one axis has it in the middle.

    Parameters
    ----------
    *arys : array

    Returns
    -------
    Array, or a tuple of them for several

    Examples
    --------
    >>> import windrow as wr
    >>> wr.atleast_3d(wr.arange(3)).shape
    (1, 3, 1)
    """
    return _at_least("atleast_3d", arys, 3)


def dstack(tup: Sequence[Any]) -> Array:
    """Join arrays along their third axis; those of fewer axes get them as in `atleast_3d`.

    Parameters
    ----------
    tup : sequence of array

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.dstack([wr.arange(2), wr.arange(2)]).compute()
    array([[[0, 0],
            [1, 1]]])
    """
    return concatenate([_at_least("dstack", (a,), 3) for a in _sequence("dstack", tup)], 2)


def column_stack(tup: Sequence[Any]) -> Array:
    """Join arrays side by side; those of one axis are columns.

    Parameters
    ----------
    tup : sequence of array

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.column_stack([wr.arange(2), wr.arange(2)]).compute()
    array([[0, 0],
           [1, 1]])
    """
    found = [as_array("column_stack", "tup", a) for a in _sequence("column_stack", tup)]
    return concatenate([a.reshape(-1, 1) if a.ndim < 2 else a for a in found], 1)


def row_stack(tup: Sequence[Any]) -> Array:
    """Join arrays one below the other: `vstack` under its old name.

    Parameters
    ----------
    tup : sequence of array

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.row_stack([wr.arange(2), wr.arange(2)]).shape
    (2, 2)
    """
    return vstack(tup)


def _sequence(operation: str, tup: Any) -> list[Any]:
    if not isinstance(tup, tuple | list) or not tup:
        raise ArgumentError(bad(operation, "tup", tup, "a sequence of at least one array"))
    return list(tup)


def block(arrays: Any) -> Array:
    """Join arrays that nested lists lay out: the innermost lists along the last axis, and so on outwards.

    Parameters
    ----------
    arrays : array, or nested lists of arrays, all at one depth

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
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
    return _laid(tree, depth, max(depth, widest[0]))


def _read(item: Any, depth: int, depths: set[int], widest: list[int]) -> Any:
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


def _laid(tree: Any, depth: int, ndim: int) -> Array:
    if isinstance(tree, list):
        return concatenate([_laid(each, depth - 1, ndim) for each in tree], -depth)
    missing = ndim - tree.ndim
    found: Array = expand_dims(tree, tuple(range(missing))) if missing else tree
    return found
