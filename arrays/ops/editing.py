"""Leaving out and putting in: elements along an axis by their positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.axismap import Runs, Slice
from ...graph.errors import ArgumentError, DTypeError, IndexingError, ShapeError, bad
from ...graph.grid import Axis
from ..base import ArrayBase, as_array, check_axis
from ..execution.deferred import defer_unsized
from .broadcasting import broadcast_to
from .elementwise import astype
from .elementwise_nodes import cast_values
from .joining import concatenate
from .moving import Step, move, moveaxis
from .reshaping import ravel
from .taking import take_positions

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..array import Array

__all__ = [
    "append",
    "delete",
    "insert",
]

Where = slice | int | np.ndarray[Any, Any]


def append(arr: Any, values: Any, axis: int | None = None) -> Array:
    """Return an array with values joined to its end.

    Parameters
    ----------
    arr : array_like
        The array.
    values : array_like
        What is appended; with an axis, of the shape of `arr` except along it.
    axis : int or None
        The axis; None: both are flattened.

    Returns
    -------
    Array
        Lazy, of the dtype that both promote to.

    Raises
    ------
    ArgumentError
        `arr` or `values` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is
        not an integer.
    ShapeError
        The shapes differ along another axis.
    AxisError
        `axis` is out of range for the array.
    DTypeError
        `arr` or `values` holds Python objects.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.append(wr.arange(3), [7, 8]).compute()
    array([0, 1, 2, 7, 8])
    """
    first, last = as_array("append", "arr", arr), as_array("append", "values", values)
    if axis is None:
        return concatenate([ravel(first), ravel(last)])
    return concatenate([first, last], axis=axis)


def _read(operation: str, obj: Any) -> Where:
    """Bring positions that are known to a slice, an integer or an array."""
    if isinstance(obj, slice):
        return obj
    found = np.asarray(obj)
    if found.size == 0 and found.dtype != bool:
        found = found.astype(np.int64)
    if found.dtype.kind not in "iub":
        raise IndexingError(bad(operation, "obj", obj, "a slice, integers, or a mask"))
    return int(found) if found.ndim == 0 and found.dtype.kind in "iu" else found


def delete(arr: Any, obj: Any, axis: int | None = None) -> Array:
    """Return an array without some elements along an axis.

    Parameters
    ----------
    arr : array_like
        The array.
    obj : slice, int or array_like of int or bool
        Positions that are left out, or a mask.
    axis : int or None
        The axis; None: of the flattened array.

    Returns
    -------
    Array
        Lazy. Where `obj` is lazy, the length along the axis is computed when it is needed.

    Raises
    ------
    ArgumentError
        `arr` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is not an
        integer.
    AxisError
        `axis` is out of range for the array.
    DTypeError
        `arr` holds Python objects.
    IndexingError
        `obj` is neither a slice, integers nor a mask of the axis' length, or a position is out of bounds.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.delete(wr.arange(6), [1, -1]).compute()
    array([0, 2, 3, 4])
    """
    array = as_array("delete", "arr", arr)
    if axis is None:
        array, axis = ravel(array), 0
    at = check_axis("delete", axis, array.ndim)
    if isinstance(obj, ArrayBase):
        if obj.dtype.kind not in "iub":
            raise IndexingError(bad("delete", "obj", obj.dtype, "integers, or a mask"))
        shape = tuple(None if i == at else n for i, n in enumerate(array.shape))
        return defer_unsized("delete", _delete, (array, obj), (at,), shape, array.dtype)
    n = array.shape[at]
    keep = np.ones(n, bool)
    positions = _read("delete", obj)
    if isinstance(positions, np.ndarray) and positions.dtype == bool and positions.shape != (n,):
        raise IndexingError(f"delete: boolean mask has shape {positions.shape}; expected {(n,)}")
    try:
        keep[positions] = False
    except IndexError as error:
        raise IndexingError(f"delete: {error}") from error
    return _keep_runs(array, at, keep)


def _delete(array: Array, obj: Array, at: int) -> Generator[Any, Any, Array]:
    """Recipe: compute the positions, then leave them out."""
    positions = yield obj
    return delete(array, positions, at)


def _keep_runs(array: Array, at: int, keep: np.ndarray[Any, Any]) -> Array:
    """Return what a mask along an axis keeps, as runs; chunks lose what is left out."""
    own = array.expr.grid.axes[at]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], keep, [False]]).astype(np.int8)))
    start, stop = edges[::2], edges[1::2]
    before = np.concatenate([[0], np.cumsum(keep)])
    chunks = np.arange(own.count)
    sizes = before[own.stop(chunks)] - before[own.start(chunks)]
    axis = Axis.of_sizes(sizes[sizes > 0])
    if len(start) > own.length // 8 + 8:
        return take_positions("delete", array, at, np.flatnonzero(keep), axis)
    steps: list[Step] = [(i, Slice()) for i in range(array.ndim)]
    steps[at] = (at, Runs(start, stop - start))
    axes = list(array.expr.grid.axes)
    axes[at] = axis
    return move("delete", array, steps, axes)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Array:
    """Return an array with values inserted along an axis.

    Parameters
    ----------
    arr : array_like
        The array.
    obj : slice, int or array_like of int or bool
        Positions in `arr` before which values are inserted, or a mask of them.
    values : array_like
        They broadcast to what is inserted, and are cast to the dtype of `arr`.
    axis : int or None
        The axis; None: of the flattened array.

    Returns
    -------
    Array
        Lazy, of the dtype of `arr`.

    Raises
    ------
    ArgumentError
        `arr` or `values` can't be read as an array: an unknown object, a ragged sequence or a masked array. `obj` is a
        lazy array: positions must be known at the call. Or `axis` is not an integer.
    ShapeError
        `values` don't broadcast to what is inserted.
    AxisError
        `axis` is out of range for the array.
    DTypeError
        `arr` or `values` holds Python objects. `values` are complex and `arr` isn't.
    RangeError
        `values` has a number of Python's that the dtype of `arr` can't hold.
    IndexingError
        `obj` has more than one axis, is of another dtype, or is out of bounds.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.insert(wr.arange(4), [1, 3], [10, 30]).compute()
    array([ 0, 10,  1,  2, 30,  3])
    """
    array = as_array("insert", "arr", arr)
    if axis is None:
        array, axis = ravel(array), 0
    at = check_axis("insert", axis, array.ndim)
    if isinstance(obj, ArrayBase):
        raise ArgumentError(bad("insert", "obj", "a lazy array", "known positions; compute them first"))
    if getattr(values, "dtype", array.dtype).kind == "c" and array.dtype.kind != "c":
        raise DTypeError(bad("insert", "values", values.dtype, f"a dtype that {array.dtype} can hold"))
    new = cast_values("insert", "values", values, array.dtype)
    positions = _read("insert", obj)
    n = array.shape[at]
    if isinstance(positions, slice):
        positions = np.arange(*positions.indices(n))
    elif isinstance(positions, np.ndarray) and positions.dtype == bool:
        positions = np.flatnonzero(positions)
    single = not isinstance(positions, np.ndarray)
    if not isinstance(positions, np.ndarray):
        if new.ndim < array.ndim:
            new = new.reshape((1,) * (array.ndim - new.ndim) + new.shape)
        if np.ndim(obj) == 0:
            new = moveaxis(new, 0, at)  # NumPy has it so for a single position
        positions = np.array([positions])
    if positions.ndim != 1:
        raise IndexingError(bad("insert", "obj", obj, "positions along one axis"))
    if positions.size and not -n <= int(positions.min()) <= int(positions.max()) <= n:
        raise IndexingError(bad("insert", "obj", obj, f"positions within an axis of length {n}, or {n}"))
    count = new.shape[at] if single or (len(positions) == 1 and new.ndim == array.ndim) else len(positions)
    wide = tuple(count if i == at else m for i, m in enumerate(array.shape))
    if new.ndim > array.ndim or any(m not in (1, w) for m, w in zip(new.shape[::-1], wide[::-1], strict=False)):
        raise ShapeError(bad("insert", "values", new.shape, f"a shape that broadcasts to {wide}"))
    new = broadcast_to(new, wide)
    return astype(_insert(array, at, np.where(positions < 0, positions + n, positions), new), array.dtype)


def _insert(array: Array, at: int, positions: np.ndarray[Any, Any], new: Array) -> Array:
    """Put values before positions; those for one position stay in order."""
    n, count = array.shape[at], new.shape[at]
    before = (slice(None),) * at
    if len(positions) == 1:
        k = int(positions[0])
        return concatenate([array[(*before, slice(0, k))], new, array[(*before, slice(k, n))]], axis=at)
    order = np.insert(np.arange(n), positions, n + np.arange(count))
    return take_positions("insert", concatenate([array, new], axis=at), at, order)
