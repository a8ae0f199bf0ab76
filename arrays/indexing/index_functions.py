"""Positions: as numbers in C order and along axes, of triangles and diagonals; putting elements at some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ..base import ArrayBase, as_array, check_axis, check_shape, make
from ..chunking.rechunk import aligned
from ..creation.ranges import arange, tri
from ..ops.reshaping import ravel, reshape
from .conditional import lazy_target, resize
from .nonzero import nonzero

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..array import Array

__all__ = [
    "diag_indices",
    "diag_indices_from",
    "fill_diagonal",
    "ix_",
    "mask_indices",
    "put",
    "put_along_axis",
    "ravel_multi_index",
    "tril_indices",
    "tril_indices_from",
    "triu_indices",
    "triu_indices_from",
    "unravel_index",
]


def _integers(operation: str, argument: str, value: Any) -> Array:
    array = as_array(operation, argument, np.zeros(0, np.intp) if isinstance(value, list) and not value else value)
    if array.dtype.kind not in "iu":
        raise DTypeError(bad(operation, argument, array.dtype, "an array of integers"))
    return array


def _key(operation: str, argument: str, value: Any) -> Any:
    """Return positions as a key: what isn't lazy is checked when elements are set, what is when they are computed."""
    array = _integers(operation, argument, value)
    return array if isinstance(value, ArrayBase) else np.asarray(value, array.dtype)


def _order(operation: str, order: Any) -> Any:
    if order not in ("C", "F"):
        raise ArgumentError(bad(operation, "order", order, "'C' or 'F'"))
    return order


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Array, ...]:
    """Return the positions along each axis of elements that are given by their numbers.

    Numbers that are not in the shape are an error once the result is computed.

    Parameters
    ----------
    indices : array of int
    shape : int or tuple of int
    order : {"C", "F"}

    Returns
    -------
    tuple of Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.compute(wr.unravel_index([5, 7], (2, 4)))
    (array([1, 1]), array([1, 3]))
    """
    array, lengths = _integers("unravel_index", "indices", indices), check_shape("unravel_index", shape)
    _order("unravel_index", order)
    return tuple(
        make(BlockFunction("positions:unravel", (lengths, order, i)), (array,), array.expr.grid, np.intp)
        for i in range(len(lengths))
    )


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Array:
    """Return the numbers of elements that are given by their positions along each axis.

    Positions that are not in the shape are an error once the result is computed, unless `mode` says otherwise.

    Parameters
    ----------
    multi_index : tuple of array of int
    dims : tuple of int
    mode : {"raise", "wrap", "clip"}, or a tuple of them
    order : {"C", "F"}

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.ravel_multi_index(([1, 1], [1, 3]), (2, 4)).compute()
    array([5, 7])
    """
    lengths = check_shape("ravel_multi_index", dims, "dims")
    given = list(multi_index)
    if len(given) != len(lengths) or not given:
        raise ShapeError(bad("ravel_multi_index", "multi_index", f"{len(given)} arrays", f"one for each of {lengths}"))
    modes = mode if isinstance(mode, tuple) else (mode,) * len(lengths)
    if len(modes) != len(lengths) or any(m not in ("raise", "wrap", "clip") for m in modes):
        raise ArgumentError(bad("ravel_multi_index", "mode", mode, "'raise', 'wrap' or 'clip', or one for each axis"))
    _order("ravel_multi_index", order)
    grid, arrays = aligned(
        "ravel_multi_index", [_integers("ravel_multi_index", f"multi_index[{i}]", a) for i, a in enumerate(given)]
    )
    operand_axes = tuple(tuple(range(grid.ndim - a.ndim, grid.ndim)) for a in arrays)
    op = BlockFunction("positions:ravel", (lengths, modes, order), axes=operand_axes)
    return make(op, arrays, grid, np.intp)


def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0) -> tuple[Array, ...]:
    """Return the positions at which a function such as `triu` leaves ones of a square matrix.

    Parameters
    ----------
    n : int
    mask_func : callable
        Called with a matrix of ones, and `k`.
    k : int

    Returns
    -------
    tuple of Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.compute(wr.mask_indices(2, wr.triu))
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    return nonzero(mask_func(np.ones(check_shape("mask_indices", (n, n), "n"), int), k))


def tril_indices(n: int, k: int = 0, m: int | None = None, chunks: Any = "auto") -> tuple[Array, ...]:
    """Return the positions at and below a diagonal of a matrix of n rows and m columns, in C order.

    Parameters
    ----------
    n : int
    k : int
    m : int, optional
        None: n.
    chunks : int, str, tuple, dict or None
        Of the matrix whose positions they are.

    Returns
    -------
    tuple of Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.compute(wr.tril_indices(2))
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    return nonzero(tri(n, m, k, dtype=bool, chunks=chunks))


def triu_indices(n: int, k: int = 0, m: int | None = None, chunks: Any = "auto") -> tuple[Array, ...]:
    """Return the positions at and above a diagonal of a matrix of n rows and m columns, in C order.

    Parameters
    ----------
    n : int
    k : int
    m : int, optional
        None: n.
    chunks : int, str, tuple, dict or None
        Of the matrix whose positions they are.

    Returns
    -------
    tuple of Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.compute(wr.triu_indices(2, 1))
    (array([0]), array([1]))
    """
    return nonzero(~tri(n, m, k - 1, dtype=bool, chunks=chunks))


def _matrix(operation: str, arr: Any) -> tuple[int, int]:
    shape = tuple(arr.shape) if hasattr(arr, "shape") else np.shape(arr)
    if len(shape) != 2:
        raise ShapeError(bad(operation, "arr", shape, "an array of two axes"))
    rows, columns = shape
    return rows, columns


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """Return the positions at and below a diagonal of a matrix; see `tril_indices`.

    Parameters
    ----------
    arr : array
    k : int

    Returns
    -------
    tuple of Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.compute(wr.tril_indices_from(wr.ones((2, 3)), -1))
    (array([1]), array([0]))
    """
    rows, columns = _matrix("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """Return the positions at and above a diagonal of a matrix; see `triu_indices`.

    Parameters
    ----------
    arr : array
    k : int

    Returns
    -------
    tuple of Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.compute(wr.triu_indices_from(wr.ones((2, 2)), 1))
    (array([0]), array([1]))
    """
    rows, columns = _matrix("triu_indices_from", arr)
    return triu_indices(rows, k, columns)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Return the positions of the main diagonal of an array of `ndim` axes of length n.

    Parameters
    ----------
    n : int
    ndim : int

    Returns
    -------
    tuple of Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.compute(wr.diag_indices(2))
    (array([0, 1]), array([0, 1]))
    """
    return (arange(n),) * ndim


def diag_indices_from(arr: Any) -> tuple[Array, ...]:
    """Return the positions of the main diagonal of an array whose axes have one length.

    Parameters
    ----------
    arr : array

    Returns
    -------
    tuple of Array

    Examples
    --------
    >>> import windrow as wr
    >>> len(wr.diag_indices_from(wr.ones((3, 3))))
    2
    """
    shape = np.shape(arr)
    if len(shape) < 2 or len(set(shape)) > 1:
        raise ShapeError(bad("diag_indices_from", "arr", shape, "two axes or more of one length"))
    return diag_indices(shape[0], len(shape))


def ix_(*args: Any) -> tuple[Array, ...]:
    """Return arrays of positions as a key that takes all their combinations: `x[wr.ix_(rows, columns)]`.

    Parameters
    ----------
    *args : array of one axis
        Of integers, or a mask.

    Returns
    -------
    tuple of Array

    Examples
    --------
    >>> import windrow as wr
    >>> x = wr.arange(12).reshape(3, 4)
    >>> x[wr.ix_([0, 2], [1, 3])].compute()
    array([[ 1,  3],
           [ 9, 11]])
    """
    found = []
    for i, given in enumerate(args):
        array = as_array("ix_", f"args[{i}]", given)
        if array.ndim != 1:
            raise ShapeError(bad("ix_", f"args[{i}]", array.shape, "arrays of one axis"))
        if array.dtype == bool:
            (array,) = nonzero(array)
        elif array.dtype.kind not in "iu" and array.size:
            raise DTypeError(bad("ix_", f"args[{i}]", array.dtype, "integers or a mask"))
        shape = [1] * len(args)
        shape[i] = array.shape[0] if array.shape[0] is not None else len(array)
        found.append(reshape(array if array.size else array.astype(np.intp), tuple(shape)))
    return tuple(found)


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Set elements that are given by their numbers in C order; what was made of the array before stays as it was.

    Parameters
    ----------
    a : Array
    ind : array of int
    v : array
        Repeated where there are fewer than positions; those too many are left out.
    mode : {"raise", "wrap", "clip"}
        What numbers that are not in the array mean.

    Examples
    --------
    >>> import windrow as wr
    >>> x = wr.zeros((2, 3), int)
    >>> wr.put(x, [1, -1], [7, 8])
    >>> x.compute()
    array([[0, 7, 0],
           [0, 0, 8]])
    """
    array, positions = lazy_target("put", "a", a), _key("put", "ind", ind).reshape(-1)
    if mode not in ("raise", "wrap", "clip"):
        raise ArgumentError(bad("put", "mode", mode, "'raise', 'wrap' or 'clip'"))
    values = as_array("put", "v", v)
    if not positions.size or not values.size:
        return
    if mode == "wrap":
        positions = positions % array.size
    elif mode == "clip":
        positions = positions.clip(0, array.size - 1)
    flat = ravel(array)
    flat[positions] = resize(values, positions.shape)
    array[...] = reshape(flat, array.shape)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    """Set elements along an axis at positions that are given for each line; see `take_along_axis`.

    Parameters
    ----------
    arr : Array
    indices : array of int
        Of as many axes; its other axes broadcast with those of `arr`.
    values : array
        Broadcasts to the shape of `indices`.
    axis : int or None
        None: `arr` is taken as flat.

    Examples
    --------
    >>> import windrow as wr
    >>> x = wr.arange(6).reshape(2, 3)
    >>> wr.put_along_axis(x, x.argmax(axis=1, keepdims=True), -1, axis=1)
    >>> x.compute()
    array([[ 0,  1, -1],
           [ 3,  4, -1]])
    """
    array, positions = lazy_target("put_along_axis", "arr", arr), _key("put_along_axis", "indices", indices)
    if axis is None:
        if positions.ndim != 1:
            raise ShapeError(bad("put_along_axis", "indices", positions.shape, "one axis, since axis is None"))
        flat = ravel(array)
        flat[positions] = values
        array[...] = reshape(flat, array.shape)
        return
    along = check_axis("put_along_axis", axis, array.ndim)
    if positions.ndim != array.ndim:
        raise ShapeError(bad("put_along_axis", "indices", positions.shape, f"{array.ndim} axes, as arr has"))
    key: list[Any] = []
    for i, n in enumerate(array.shape):
        ones = [1] * array.ndim
        ones[i] = n
        key.append(positions if i == along else np.arange(n).reshape(ones))
    array[tuple(key)] = values


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Set the main diagonal; what was made of the array before stays as it was.

    Parameters
    ----------
    a : Array
        Of two axes, or of more that have one length.
    val : scalar or array
        Repeated along the diagonal.
    wrap : bool
        Whether the diagonal begins anew below a row that is left out, in a matrix that is higher than wide.

    Examples
    --------
    >>> import windrow as wr
    >>> x = wr.zeros((2, 3), int)
    >>> wr.fill_diagonal(x, 5)
    >>> x.compute()
    array([[5, 0, 0],
           [0, 5, 0]])
    """
    array = lazy_target("fill_diagonal", "a", a)
    shape = array.shape
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise ShapeError(bad("fill_diagonal", "a", shape, "two axes, or more that have one length"))
    if wrap and len(shape) == 2 and shape[0] > shape[1] > 0:
        rows, columns = np.divmod(np.arange(0, shape[0] * shape[1], shape[1] + 1), shape[1])
        key: tuple[Any, ...] = (rows, columns)
    else:
        key = (np.arange(min(shape)),) * len(shape)
    values = as_array("fill_diagonal", "val", val)
    if len(key[0]) and values.size:
        array[key] = values if values.size == 1 and not values.ndim else resize(values, (len(key[0]),))
