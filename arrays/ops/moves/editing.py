"""`delete`, `insert` and `append`: elements along an axis are removed or inserted by position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.axismap import Slice
from ....graph.chunks.counted_positions import Counted, Marked
from ....graph.chunks.grid import Axis, Grid
from ....graph.chunks.positions import Runs
from ....graph.errors import ArgumentError, DTypeError, IndexingError, ShapeError, bad
from ....graph.few import distinct
from ....graph.kinds.move import Move, Route
from ...base import ArrayBase, as_array, check_axis, make
from ...execution.deferred import defer_unsized
from ..docstrings import OPS
from ..elementwise.functions import astype
from ..elementwise.nodes import cast_values
from .axis_moves import moveaxis
from .broadcasting import broadcast_to
from .joining import concatenate
from .reshaping import ravel
from .taking import map_axis, points_step, take_positions

if TYPE_CHECKING:
    from collections.abc import Generator

    from ....graph.chunks.axismap import AxisMap
    from ...array import Array
    from ...typing import ArrayLike

MANY = 64
"""From one changed position in so many on, a byte for each position says what is changed; below, runs do."""

__all__ = [
    "append",
    "delete",
    "insert",
]

Where = slice | int | np.ndarray[Any, Any]


def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
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
    {AxisError}
    DTypeError
        `arr` or `values` holds Python objects.

    >>> wr.append(wr.arange(3), [7, 8]).compute()
    array([0, 1, 2, 7, 8])
    """
    first, last = as_array("append", "arr", arr), as_array("append", "values", values)
    if axis is None:
        return concatenate([ravel(first), ravel(last)])
    return concatenate([first, last], axis=axis)


def _read(operation: str, obj: object) -> Where:
    """Return known positions as a slice, an integer or an array."""
    if isinstance(obj, slice):
        return obj
    positions = np.asarray(obj)
    if positions.size == 0 and positions.dtype != bool:
        positions = positions.astype(np.int64)
    if positions.dtype.kind not in "iub":
        raise IndexingError(bad(operation, "obj", obj, "a slice, integers, or a mask"))
    return int(positions) if positions.ndim == 0 and positions.dtype.kind in "iu" else positions


def delete(arr: ArrayLike, obj: object, axis: int | None = None) -> Array:
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
    {AxisError}
    DTypeError
        `arr` holds Python objects.
    IndexingError
        `obj` is neither a slice, integers nor a mask of the axis' length, or a position is out of bounds.

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
    return _leave_out(array, at, _removed(_read("delete", obj), array.shape[at]))


def _removed(where: Where, n: int) -> np.ndarray[Any, Any] | range:
    """Return the positions to remove from an axis, sorted and without duplicates."""
    if isinstance(where, slice):
        chosen = range(*where.indices(n))
        if len(chosen) == 1:  # with one position the step has no meaning, and may be any integer
            chosen = range(chosen[0], chosen[0] + 1)
        chosen = range(0) if not chosen else chosen if chosen.step > 0 else chosen[::-1]
        return chosen if chosen.step == 1 else np.arange(chosen.start, chosen.stop, chosen.step)
    if isinstance(where, np.ndarray) and where.dtype == bool:
        if where.shape != (n,):
            raise IndexingError(f"delete: boolean mask has shape {where.shape}; expected {(n,)}")
        return np.flatnonzero(where)
    positions = np.ravel(where)
    beyond = positions[(positions < -n) | (positions >= n)]
    if beyond.size:
        raise IndexingError(f"delete: index {beyond[0]} is out of bounds for axis with size {n}")
    positions = positions.astype(np.int64)  # those beyond 64 bits, which would wrap around, have been refused
    positions = np.where(positions < 0, positions + n, positions)
    return positions if (positions[1:] > positions[:-1]).all() else distinct(positions)


def _delete(array: Array, obj: Array, at: int) -> Generator[Any, Any, Array]:
    """Recipe: compute the positions, then remove them."""
    positions = yield obj
    return delete(array, positions, at)


def _leave_out(array: Array, at: int, gone: np.ndarray[Any, Any] | range) -> Array:
    """Return an array without some positions along an axis; each chunk becomes shorter by what it loses."""
    own = array.expr.grid.axes[at]
    bounds = np.append(own.start(np.arange(own.count)), own.length)
    if len(gone) * MANY > own.length and not isinstance(gone, range):
        keep = np.ones(own.length, np.uint8)
        keep[gone] = 0
        counted = Counted(keep)
        sizes = np.diff(counted.before(bounds))
        axis = Axis.of_sizes(sizes[sizes > 0])
        return map_axis("delete", array, at, counted, axis.length, axis)
    if isinstance(gone, range):
        start, stop = np.array([0, gone.stop]), np.array([gone.start, own.length])
        kept = bounds - np.clip(bounds - gone.start, 0, len(gone))
    else:
        start, stop = np.append(0, gone + 1), np.append(gone, own.length)
        kept = bounds - np.searchsorted(gone, bounds)
    some = stop > start
    sizes = np.diff(kept)
    axis = Axis.of_sizes(sizes[sizes > 0])
    return map_axis("delete", array, at, Runs(start[some], (stop - start)[some]), axis.length, axis)


def insert(arr: ArrayLike, obj: object, values: Any, axis: int | None = None) -> Array:
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
    {AxisError}
    DTypeError
        `arr` or `values` holds Python objects. `values` are complex and `arr` isn't.
    RangeError
        `values` has a number of Python's that the dtype of `arr` can't hold.
    IndexingError
        `obj` has more than one axis, is of another dtype, or is out of bounds.

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
    if np.size(positions) == 1 and new.ndim < array.ndim:
        new = new.reshape((1,) * (array.ndim - new.ndim) + new.shape)
    if not isinstance(positions, np.ndarray):
        new = moveaxis(new, 0, at)  # as NumPy does for a single position
        positions = np.array([positions])
    if positions.ndim != 1:
        raise IndexingError(bad("insert", "obj", obj, "positions along one axis"))
    if positions.size and not -n <= int(positions.min()) <= int(positions.max()) <= n:
        raise IndexingError(bad("insert", "obj", obj, f"positions within an axis of length {n}, or {n}"))
    count = new.shape[at] if len(positions) == 1 and new.ndim == array.ndim else len(positions)
    wide = tuple(count if i == at else m for i, m in enumerate(array.shape))
    if new.ndim > array.ndim or any(m not in (1, w) for m, w in zip(new.shape[::-1], wide[::-1], strict=False)):
        raise ShapeError(bad("insert", "values", new.shape, f"a shape that broadcasts to {wide}"))
    new = broadcast_to(new, wide)
    return astype(_insert(array, at, np.where(positions < 0, positions + n, positions), new), array.dtype)


def _insert(array: Array, at: int, positions: np.ndarray[Any, Any], new: Array) -> Array:
    """Insert values before positions; several for one position keep their order."""
    n, count = array.shape[at], new.shape[at]
    before = (slice(None),) * at
    if len(positions) == 1:
        k = int(positions[0])
        return concatenate([array[(*before, slice(0, k))], new, array[(*before, slice(k, n))]], axis=at)
    if (positions[1:] < positions[:-1]).any():
        order = np.argsort(positions, kind="stable")
        positions, new = positions[order], take_positions("insert", new, at, order)
    old: AxisMap
    put: AxisMap
    if count * MANY > n:
        marks = np.zeros(n + count, np.uint8)
        marks[positions + np.arange(count)] = 1
        old, put = Marked(Counted(1 - marks)), Marked(Counted(marks))
    else:
        first = np.flatnonzero(np.diff(positions, prepend=-1))
        each, after = positions[first], np.append(first[1:], count)
        start = np.append(0, each)  # of the array's own runs; each moves on by the number of values inserted before it
        length, begin = np.append(each, n) - start, np.append(0, each + after)
        some = length > 0
        old = Runs(start[some], length[some], begin[some])
        put = Runs(first, after - first, each + first)
    routes = [Route(tuple((i, m if i == at else Slice()) for i in range(array.ndim))) for m in (old, put)]
    joined = concatenate([array, new], axis=at)
    axes = list(joined.expr.grid.axes)
    axes[at] = Axis.regular(n + count, points_step(joined, [at], axes, at, n + count))
    return make(Move("insert", tuple(routes)), (array, new), Grid(axes), array.dtype)


OPS.fill(__name__)
