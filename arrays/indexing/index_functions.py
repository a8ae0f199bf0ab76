"""Positions: as flat indices and along axes, of triangles and diagonals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ..base import ArrayBase, as_array, check_shape, make
from ..chunking.rechunk import align_chunks
from ..creation.ranges import arange, tri
from ..docstrings import COMMON
from ..ops.moves.reshaping import reshape
from .nonzero import nonzero

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..array import Array
    from ..typing import ArrayLike, ChunksLike, ShapeLike

__all__ = [
    "diag_indices",
    "diag_indices_from",
    "ix_",
    "mask_indices",
    "ravel_multi_index",
    "tril_indices",
    "tril_indices_from",
    "triu_indices",
    "triu_indices_from",
    "unravel_index",
]


def read_integers(operation: str, argument: str, value: object) -> Array:
    """Return an argument as an array of integers."""
    array = as_array(operation, argument, np.zeros(0, np.intp) if isinstance(value, list) and not value else value)
    if array.dtype.kind not in "iu":
        raise DTypeError(bad(operation, argument, array.dtype, "an array of integers"))
    return array


def _order(operation: str, order: str) -> Any:
    if order not in ("C", "F"):
        raise ArgumentError(bad(operation, "order", order, "'C' or 'F'"))
    return order


def unravel_index(indices: ArrayLike, shape: ShapeLike, order: str = "C") -> tuple[Array, ...]:
    """Return positions along each axis of elements given by their flat index.

    Parameters
    ----------
    indices : array_like of int
        Flat indices, from 0 on.
    shape : int or tuple of int
        Shape of the array that they index.
    order : {"C", "F"}
        Whether flat indices run along the last axis first, or the first.

    Returns
    -------
    tuple of Array
        Lazy, one for each axis, of the shape of `indices`.

    Raises
    ------
    ArgumentError
        `indices` can't be read as an array: an unknown object, a ragged sequence or a masked array. `shape` is not an
        integer or a tuple of integers. `order` is unknown.
    ShapeError
        `shape` has a negative length, or 2**63 elements or more.
    DTypeError
        `indices` holds Python objects. `indices` are not integers.
    ValueError
        An index is out of bounds, when the result is computed.

    >>> wr.compute(wr.unravel_index([5, 7], (2, 4)))
    (array([1, 1]), array([1, 3]))
    """
    array, lengths = read_integers("unravel_index", "indices", indices), check_shape("unravel_index", shape)
    _order("unravel_index", order)
    return tuple(
        make(BlockFunction("elements.positions:unravel", (lengths, order, i)), (array,), array.expr.grid, np.intp)
        for i in range(len(lengths))
    )


def ravel_multi_index(
    multi_index: ArrayLike, dims: ShapeLike, mode: str | tuple[str, ...] = "raise", order: str = "C"
) -> Array:
    """Return the flat index of elements given by their positions along each axis.

    Parameters
    ----------
    multi_index : tuple of array_like of int
        The positions along each axis; they broadcast.
    dims : tuple of int
        Shape of the array that they index.
    mode : {"raise", "wrap", "clip"} or tuple of them
        What positions out of bounds do, on all axes or each: raise, count on from the start, or become the first or
        last.
    order : {"C", "F"}
        Whether flat indices run along the last axis first, or the first.

    Returns
    -------
    Array
        Lazy, of int64.

    Raises
    ------
    ArgumentError
        `multi_index` can't be read as an array: an unknown object, a ragged sequence or a masked array. `dims` is not
        an integer or a tuple of integers. `mode` or `order` is unknown.
    ShapeError
        `dims` has a negative length, or 2**63 elements or more. There are not as many arrays as lengths, or they don't
        broadcast.
    DTypeError
        `multi_index` holds Python objects. The positions are not integers.
    ValueError
        A position is out of bounds, when the result is computed.

    >>> wr.ravel_multi_index(([1, 1], [1, 3]), (2, 4)).compute()
    array([5, 7])
    """
    lengths = check_shape("ravel_multi_index", dims, "dims")
    if isinstance(multi_index, ArrayBase) and multi_index.shape[:1] != (len(lengths),):
        raise ShapeError(bad("ravel_multi_index", "multi_index", multi_index, f"an array for each of {lengths}"))
    rows: Any = multi_index
    coords = list(rows)
    if len(coords) != len(lengths) or not coords:
        raise ShapeError(bad("ravel_multi_index", "multi_index", f"{len(coords)} arrays", f"one for each of {lengths}"))
    modes = mode if isinstance(mode, tuple) else (mode,) * len(lengths)
    if len(modes) != len(lengths) or any(m not in ("raise", "wrap", "clip") for m in modes):
        raise ArgumentError(bad("ravel_multi_index", "mode", mode, "'raise', 'wrap' or 'clip', or one for each axis"))
    _order("ravel_multi_index", order)
    grid, arrays = align_chunks(
        "ravel_multi_index", [read_integers("ravel_multi_index", f"multi_index[{i}]", a) for i, a in enumerate(coords)]
    )
    operand_axes = tuple(tuple(range(grid.ndim - a.ndim, grid.ndim)) for a in arrays)
    op = BlockFunction("elements.positions:ravel", (lengths, modes, order), axes=operand_axes)
    return make(op, arrays, grid, np.intp)


def mask_indices(n: int, mask_func: Callable[..., Any], k: object = 0) -> tuple[Array, ...]:
    """Return the positions that a function such as `triu` leaves in a square matrix of ones.

    Parameters
    ----------
    n : int
        Number of rows and columns.
    mask_func : callable
        Called with the matrix and `k`.
    k : any
        Passed on to `mask_func`: the diagonal, for `triu` and `tril`.

    Returns
    -------
    tuple of Array
        Lazy, one for each axis; how many there are is computed when it is needed.

    Raises
    ------
    ArgumentError
        `n` is not an integer.
    ShapeError
        `n` is negative.

    >>> wr.compute(wr.mask_indices(2, wr.triu))
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    return nonzero(mask_func(np.ones(check_shape("mask_indices", (n, n), "n"), int), k))


def tril_indices(n: int, k: int = 0, m: int | None = None, chunks: ChunksLike = "auto") -> tuple[Array, ...]:
    """Return the positions at and below a diagonal of an (n, m) matrix, in C order.

    Parameters
    ----------
    n : int
        Number of rows.
    {k}
    m : int, optional
        Number of columns; None: n.
    chunks : int, str, tuple, dict or None
        Chunks of the matrix whose positions they are.

    Returns
    -------
    tuple of Array
        Lazy: rows and columns. How many there are is computed when it is needed.

    Raises
    ------
    ArgumentError
        `n` or `m` is not an integer.
    ShapeError
        `n` or `m` is negative.
    {ChunksError}

    >>> wr.compute(wr.tril_indices(2))
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    return nonzero(tri(n, m, k, dtype=bool, chunks=chunks))


def triu_indices(n: int, k: int = 0, m: int | None = None, chunks: ChunksLike = "auto") -> tuple[Array, ...]:
    """Return the positions at and above a diagonal of an (n, m) matrix, in C order.

    {sections of tril_indices}

    >>> wr.compute(wr.triu_indices(2, 1))
    (array([0]), array([1]))
    """
    return nonzero(~tri(n, m, k - 1, dtype=bool, chunks=chunks))


def _matrix(operation: str, arr: Any) -> tuple[int, int]:
    shape = tuple(arr.shape) if hasattr(arr, "shape") else np.shape(arr)
    if len(shape) != 2:
        raise ShapeError(bad(operation, "arr", shape, "a 2-D array"))
    rows, columns = shape
    return rows, columns


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, ...]:
    """Return the positions at and below a diagonal of a given matrix; see `tril_indices`.

    Parameters
    ----------
    arr : array_like, 2-D
        The matrix; only its shape counts.
    {k}

    Returns
    -------
    tuple of Array
        Lazy: rows and columns. How many there are is computed when it is needed.

    Raises
    ------
    ShapeError
        `arr` is not 2-D.

    >>> wr.compute(wr.tril_indices_from(wr.ones((2, 3)), -1))
    (array([1]), array([0]))
    """
    rows, columns = _matrix("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, ...]:
    """Return the positions at and above a diagonal of a given matrix; see `triu_indices`.

    {sections of tril_indices_from}

    >>> wr.compute(wr.triu_indices_from(wr.ones((2, 2)), 1))
    (array([0]), array([1]))
    """
    rows, columns = _matrix("triu_indices_from", arr)
    return triu_indices(rows, k, columns)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Return the positions of the main diagonal of an array with equal axes.

    Parameters
    ----------
    n : int
        Length of each axis.
    ndim : int
        Number of axes.

    Returns
    -------
    tuple of Array
        Lazy and 1-D, one for each axis.

    Raises
    ------
    ArgumentError
        `n` is not a number.

    >>> wr.compute(wr.diag_indices(2))
    (array([0, 1]), array([0, 1]))
    """
    return (arange(n),) * ndim


def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """Return the positions of the main diagonal of a given array.

    Parameters
    ----------
    arr : array_like, at least 2-D
        The array, whose axes have equal lengths; only its shape counts.

    Returns
    -------
    tuple of Array
        Lazy and 1-D, one for each axis.

    Raises
    ------
    ShapeError
        `arr` has fewer than two axes, or their lengths differ.

    >>> len(wr.diag_indices_from(wr.ones((3, 3))))
    2
    """
    shape = np.shape(arr)
    if len(shape) < 2 or len(set(shape)) > 1:
        raise ShapeError(bad("diag_indices_from", "arr", shape, "at least two axes, all of one length"))
    return diag_indices(shape[0], len(shape))


def ix_(*args: ArrayLike) -> tuple[Array, ...]:
    """Return a key that selects all combinations of positions: `x[wr.ix_(rows, columns)]`.

    Parameters
    ----------
    *args : array_like, 1-D
        For each axis positions, or a mask.

    Returns
    -------
    tuple of Array
        Lazy, with size-1 axes so that they broadcast. A lazy mask is computed now.

    Raises
    ------
    ArgumentError
        `args` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    ShapeError
        An argument is not 1-D.
    DTypeError
        `args` holds Python objects. An argument is neither of integers nor of booleans.

    >>> x = wr.arange(12).reshape(3, 4)
    >>> x[wr.ix_([0, 2], [1, 3])].compute()
    array([[ 1,  3],
           [ 9, 11]])
    """
    arrays = []
    for i, arg in enumerate(args):
        array = as_array("ix_", f"args[{i}]", arg)
        if array.ndim != 1:
            raise ShapeError(bad("ix_", f"args[{i}]", array.shape, "a 1-D array"))
        if array.dtype == bool:
            (array,) = nonzero(array)
        elif array.dtype.kind not in "iu" and array.size:
            raise DTypeError(bad("ix_", f"args[{i}]", array.dtype, "integers or a mask"))
        shape = [1] * len(args)
        shape[i] = array.shape[0] if array.shape[0] is not None else len(array)
        arrays.append(reshape(array if array.size else array.astype(np.intp), tuple(shape)))
    return tuple(arrays)


COMMON.fill(__name__)
