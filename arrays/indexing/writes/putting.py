"""Setting elements at positions: flat indices, positions along an axis, the main diagonal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError, ShapeError, bad
from ...base import ArrayBase, check_axis
from ...ops.elementwise.nodes import cast_values
from ...ops.moves.reshaping import ravel, reshape
from ..conditional import lazy_target, resize
from ..index_functions import read_integers

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike

__all__ = [
    "fill_diagonal",
    "put",
    "put_along_axis",
]


def _key(operation: str, argument: str, value: object) -> Any:
    """Return positions as a key: what isn't lazy is checked when elements are set, what is when they are computed."""
    array = read_integers(operation, argument, value)
    return array if isinstance(value, ArrayBase) else np.asarray(value, array.dtype)


def put(a: ArrayLike, ind: Any, v: ArrayLike, mode: str = "raise") -> None:
    """Set elements given by their flat index.

    Parameters
    ----------
    a : Array
        The array, whose elements are set.
    ind : array_like of int
        Flat indices in C order; negative ones count from the end.
    v : array_like
        The values: repeated where there are fewer than indices, cut off where more.
    mode : {"raise", "wrap", "clip"}
        What indices out of bounds do: raise, count on from the start, or become the first or last.

    Raises
    ------
    ArgumentError
        `a` is not a Windrow array, `ind` or `v` can't be read as an array, or `mode` is unknown.
    DTypeError
        `ind` are not integers.
    IndexingError
        An index is out of bounds: at the call, or for lazy indices when the result is computed.

    >>> x = wr.zeros((2, 3), int)
    >>> wr.put(x, [1, -1], [7, 8])
    >>> x.compute()
    array([[0, 7, 0],
           [0, 0, 8]])
    """
    array, positions = lazy_target("put", "a", a), _key("put", "ind", ind).reshape(-1)
    if mode not in ("raise", "wrap", "clip"):
        raise ArgumentError(bad("put", "mode", mode, "'raise', 'wrap' or 'clip'"))
    values = cast_values("put", "v", v, array.dtype)
    if not positions.size or not values.size:
        return
    if mode == "wrap":
        positions = positions % array.size
    elif mode == "clip":
        positions = positions.clip(0, array.size - 1)
    _set_flat(array, positions, resize(values, positions.shape))


def _set_flat(array: Array, positions: Any, values: Any) -> None:
    """Set elements by their numbers in C order."""
    flat = ravel(array)
    flat[positions] = values
    if flat._storage is None or flat._storage is not array._storage:  # a copy
        array[...] = reshape(flat, array.shape)


def put_along_axis(arr: ArrayLike, indices: ArrayLike, values: ArrayLike, axis: int | None) -> None:
    """Set elements at positions given for each 1-D slice along an axis; see `take_along_axis`.

    Parameters
    ----------
    arr : Array
        The array, whose elements are set.
    indices : array_like of int
        As many axes as `arr`; they broadcast except along `axis`.
    values : array_like
        They broadcast to the shape of `indices`.
    axis : int or None
        The axis; None: of the flattened array.

    Raises
    ------
    ArgumentError
        `indices` or `values` can't be read as an array: an unknown object, a ragged sequence or a masked array. `arr`
        is not a Windrow array, or `axis` is not an integer.
    ShapeError
        `indices` have another number of axes, or shapes don't broadcast.
    AxisError
        The array has no such axis.
    DTypeError
        `indices` or `values` holds Python objects. `indices` are not integers.
    IndexingError
        A position is out of bounds: at the call, or for lazy `indices` when the result is computed.

    >>> x = wr.arange(6).reshape(2, 3)
    >>> wr.put_along_axis(x, x.argmax(axis=1, keepdims=True), -1, axis=1)
    >>> x.compute()
    array([[ 0,  1, -1],
           [ 3,  4, -1]])
    """
    array, positions = lazy_target("put_along_axis", "arr", arr), _key("put_along_axis", "indices", indices)
    if axis is None:
        if positions.ndim != 1:
            raise ShapeError(bad("put_along_axis", "indices", positions.shape, "a 1-D array, since axis is None"))
        _set_flat(array, positions, values)
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


def fill_diagonal(a: ArrayLike, val: Any, wrap: bool = False) -> None:
    """Set the elements of the main diagonal.

    Parameters
    ----------
    a : Array, at least 2-D
        The array, whose elements are set. With more than two axes, all of equal length.
    val : scalar or array_like
        The value, or values that repeat along the diagonal.
    wrap : bool
        Whether in a tall matrix the diagonal begins again, one row below where it ended.

    Raises
    ------
    ArgumentError
        `val` can't be read as an array: an unknown object, a ragged sequence or a masked array. `a` is not a Windrow
        array.
    ShapeError
        `a` has fewer than two axes, or more of different lengths.
    DTypeError
        `val` holds Python objects.

    >>> x = wr.zeros((2, 3), int)
    >>> wr.fill_diagonal(x, 5)
    >>> x.compute()
    array([[5, 0, 0],
           [0, 5, 0]])
    """
    array = lazy_target("fill_diagonal", "a", a)
    shape = array.shape
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise ShapeError(bad("fill_diagonal", "a", shape, "two axes, or more of one length"))
    if wrap and len(shape) == 2 and shape[0] > shape[1] > 0:
        rows, columns = np.divmod(np.arange(0, shape[0] * shape[1], shape[1] + 1), shape[1])
        key: tuple[Any, ...] = (rows, columns)
    else:
        key = (np.arange(min(shape)),) * len(shape)
    values = cast_values("fill_diagonal", "val", val, array.dtype)
    if len(key[0]) and values.size:
        array[key] = values if values.size == 1 and not values.ndim else resize(values, (len(key[0]),))
