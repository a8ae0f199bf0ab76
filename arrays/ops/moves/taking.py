"""Elements in reverse order along an axis, or at positions that other arrays hold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.axismap import Slice
from ....graph.chunks.grid import Axis, Grid
from ....graph.chunks.positions import Take
from ....graph.errors import ArgumentError, DTypeError, IndexingError, ShapeError, bad
from ....graph.kinds.mapping import BlockFunction
from ....workers.config import config
from ...base import ArrayBase, as_array, broadcast_shape, check_axes, check_axis, make
from ...chunking.coalesce import whole
from ...chunking.rechunk import regrid
from ...refitting import refittable
from ...views import gives_view
from ..elementwise.nodes import apply
from .axis_moves import Step, move, slice_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....graph.chunks.axismap import AxisMap
    from ...array import Array
    from ...typing import ArrayLike

__all__ = [
    "choose",
    "flip",
    "take",
    "take_along_axis",
]


@gives_view
def flip(x: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Reverse the order of elements along axes.

    Parameters
    ----------
    x : array_like
        The array.
    axis : int, sequence of int or None
        The axes; None: all.

    Returns
    -------
    Array
        Lazy, of the same shape.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is not an integer.
    ShapeError
        An axis is named twice.
    AxisError
        The array has no such axis.
    DTypeError
        `x` holds Python objects.

    >>> wr.flip(wr.arange(3)).compute()
    array([2, 1, 0])
    """
    array = as_array("flip", "x", x)
    turned = check_axes("flip", axis, array.ndim)
    steps: list[Step] = []
    axes = []
    for i, own in enumerate(array.expr.grid.axes):
        back = i in turned and own.length > 0
        steps.append((i, Slice(own.length - 1, -1) if back else Slice()))
        axes.append(slice_axis(own, own.length - 1, -1, own.length) if back else own)
    return move("flip", array, steps, axes)


def take(a: ArrayLike, indices: ArrayLike, axis: int | None = None, out: None = None, mode: str = "raise") -> Array:
    """Return the elements at positions along an axis.

    Parameters
    ----------
    a : array_like
        The array.
    indices : array_like of int
        The positions; negative ones count from the end. Lazy ones are computed with the result.
    axis : int or None
        The axis; None: of the flattened array.
    out : None
        Only None: the result is a new array.
    mode : {"raise", "wrap", "clip"}
        What positions out of bounds do: raise, count on from the start, or become the first or last. With "clip"
        negative ones become 0.

    Returns
    -------
    Array
        Lazy; the axes of `indices` stand where `axis` was.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `out` is given, `mode` is
        unknown, or `axis` is not an integer.
    AxisError
        `axis` is out of range for `a`.
    DTypeError
        `a` holds Python objects. `indices` are not integers.
    IndexingError
        A position is out of bounds: at the call, or for lazy `indices` when the result is computed.

    >>> wr.take(wr.arange(10) * 10, [3, -1]).compute()
    array([30, 90])
    """
    array = as_array("take", "a", a)
    if out is not None:
        raise ArgumentError(bad("take", "out", out, "None; results are new arrays"))
    if axis is None or (array.ndim == 0 and axis in (0, -1)):
        array, axis = array.reshape(-1), 0
    at = check_axis("take", axis, array.ndim)
    positions = indices if isinstance(indices, ArrayBase) else np.asarray(indices)
    if not isinstance(positions, ArrayBase) and not positions.size:
        positions = positions.astype(np.int64)
    if positions.dtype.kind not in "iu":
        raise DTypeError(bad("take", "indices", positions.dtype, "integers"))
    positions = _within("take", positions, array.shape[at], mode)
    taken: Array = array[(slice(None),) * at + (positions,)]
    return taken


def _within(operation: str, positions: Any, n: int, mode: str) -> Any:
    """Bring positions into an axis as `mode` has it."""
    if mode not in ("raise", "wrap", "clip"):
        raise ArgumentError(bad(operation, "mode", mode, "'raise', 'wrap' or 'clip'"))
    if n == 0 and positions.size:
        raise IndexingError(
            f"{operation}: {positions.size} positions are given; expected none, since the axis is empty"
        )
    if mode == "raise" or n == 0:
        return positions
    if isinstance(positions, ArrayBase):
        from ..elementwise.functions import astype, clip
        from ..elementwise.ufuncs import remainder

        positions = astype(positions, np.int64)
        return remainder(positions, n) if mode == "wrap" else clip(positions, 0, n - 1)
    positions = positions.astype(np.int64)
    return positions % n if mode == "wrap" else positions.clip(0, n - 1)


def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: int | None = -1) -> Array:
    """Return, for each 1-D slice along an axis, the elements at the positions of the matching slice of `indices`.

    The axis is brought into one chunk, since a position may be anywhere along it. The other axes are cut into smaller
    chunks, so that chunks don't grow.

    Parameters
    ----------
    arr : array_like
        The array.
    indices : array_like of int
        As many axes as `arr`; they broadcast except along `axis`. `argsort` and `argmax` with keepdims give such.
    axis : int or None
        The axis; None: of the flattened array.

    Returns
    -------
    Array
        Lazy, of the broadcast shape of `indices`.

    Raises
    ------
    ArgumentError
        `arr` or `indices` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is
        not an integer.
    ShapeError
        `indices` have another number of axes, don't broadcast, or the axis is empty.
    AxisError
        The array has no such axis.
    DTypeError
        `arr` or `indices` holds Python objects. `indices` are not integers.
    IndexingError
        A position is out of bounds, when the result is computed.

    >>> x = wr.from_array([[10, 30, 20], [60, 40, 50]])
    >>> wr.take_along_axis(x, wr.argmax(x, axis=1, keepdims=True), axis=1).compute()
    array([[30],
           [60]])
    """
    name = "take_along_axis"
    x, index = as_array(name, "arr", arr), as_array(name, "indices", indices)
    if index.dtype.kind not in "iu":
        raise DTypeError(bad(name, "indices", index.dtype, "integers"))
    if axis is None:
        if index.ndim != 1:
            raise ShapeError(bad(name, "indices", index.shape, "a 1-D array, since axis is None"))
        x, axis = x.reshape(-1), 0
    if index.ndim != x.ndim:
        raise ShapeError(bad(name, "indices", index.shape, f"{x.ndim} axes, as the array has"))
    at = check_axis(name, axis, x.ndim)
    n = x.shape[at]
    lines = [(*s[:at], 1, *s[at + 1 :]) for s in (x.shape, index.shape)]
    shape = broadcast_shape(name, *lines)
    x = whole(x, [at])
    axes = [own if own.length == m else Axis.whole(m) for own, m in zip(x.expr.grid.axes, shape, strict=True)]
    for i, own in enumerate(index.expr.grid.axes):
        if i == at or x.shape[i] != shape[i]:
            axes[i] = own
    fitted = [Axis.whole(1) if m == 1 and i != at else axes[i] for i, m in enumerate(index.shape)]
    operand_axes = (tuple(None if i == at else i for i in range(x.ndim)), tuple(range(x.ndim)))
    if n == 0 and index.shape[at]:
        raise ShapeError(bad(name, "arr", x.shape, f"elements along axis {at}"))
    op = BlockFunction("elements.picking:along", (name, at), axes=operand_axes)
    return make(op, (x, regrid(index, Grid(fitted))), Grid(axes), x.dtype)


def choose(a: ArrayLike, choices: ArrayLike, out: None = None, mode: str = "raise") -> Array:
    """Return each element from one of several arrays; `a` says from which.

    Parameters
    ----------
    a : array_like of int
        The number of the array for each element.
    choices : sequence of array_like
        They broadcast with `a`. Those of one array run along its first axis.
    out : None
        Only None: the result is a new array.
    mode : {"raise", "wrap", "clip"}
        What numbers out of bounds do: raise, count on from the start, or become the first or last.

    Returns
    -------
    Array
        Lazy, of the broadcast shape.

    Raises
    ------
    ArgumentError
        `a` or `choices` can't be read as an array: an unknown object, a ragged sequence or a masked array. `out` is
        given, `mode` is unknown, or there are no choices or more than 63.
    ShapeError
        The shapes don't broadcast.
    DTypeError
        `a` holds no integers that int64 can hold, or `choices` holds Python objects.
    ValueError
        A number is out of bounds, when the result is computed.

    >>> wr.choose(wr.from_array([0, 1, 0]), [[1, 2, 3], [10, 20, 30]]).compute()
    array([ 1, 20,  3])
    """
    if out is not None:
        raise ArgumentError(bad("choose", "out", out, "None; results are new arrays"))
    picked = as_array("choose", "a", a)
    if isinstance(choices, ArrayBase) and choices.ndim and choices.shape[0] > 63:
        raise ArgumentError(bad("choose", "choices", choices, "between 1 and 63 choices"))
    listed: list[Any] = list(choices) if isinstance(choices, ArrayBase | np.ndarray | list | tuple) else [choices]  # type: ignore[arg-type]
    if not 0 < len(listed) < 64:
        raise ArgumentError(bad("choose", "choices", f"{len(listed)} choices", "between 1 and 63"))
    if not np.can_cast(picked.dtype, np.int64):
        raise DTypeError(bad("choose", "a", picked.dtype, "an array of integers that int64 holds"))
    number = _within("choose", picked, len(listed), mode)
    return apply("choose", "choose", (number, *listed), lambda n, *each: np.choose(n, each))


def points_step(x: ArrayBase, indexed: Sequence[int], axes: Sequence[Axis], at: int, count: int) -> int:
    """Return the chunk size for an axis of `count` points: chunks of the result are about as large as the array's.

    For many points of a small array it follows from bytes, as with `chunks="auto"`.
    """
    own = [x.expr.grid.axes[i] for i in indexed]
    largest, blocks = math.prod(a.largest for a in own), math.prod(a.count for a in own)
    others = math.prod(a.largest for i, a in enumerate(axes) if i != at)
    by_bytes: int = config.chunk_bytes // max(1, others * x.dtype.itemsize)
    return max(1, largest, min(-(-count // blocks), by_bytes))


def take_positions(
    name: str, array: ArrayBase, axis: int, index: np.ndarray[Any, Any], out: Axis | None = None
) -> Array:
    """Return the positions `index` (from 0 on) along an axis, in chunks about as large as the array's."""
    return map_axis(name, array, axis, Take(np.ascontiguousarray(index, np.int64)), len(index), out)


def map_axis(name: str, array: ArrayBase, axis: int, axis_map: AxisMap, count: int, out: Axis | None = None) -> Array:
    """Return `count` positions that a map finds along an axis, in chunks about as large as the array's."""
    return _map_freely(name, array, axis, axis_map, count) if out is None else _map(name, array, axis, axis_map, out)


@refittable
def _map_freely(name: str, array: ArrayBase, axis: int, axis_map: AxisMap, count: int) -> Array:
    axes = list(array.expr.grid.axes)
    return _map(name, array, axis, axis_map, Axis.regular(count, points_step(array, [axis], axes, axis, count)))


def _map(name: str, array: ArrayBase, axis: int, axis_map: AxisMap, out: Axis) -> Array:
    steps: list[Step] = [(i, Slice()) for i in range(array.ndim)]
    steps[axis] = (axis, axis_map)
    axes = list(array.expr.grid.axes)
    axes[axis] = out
    return move(name, array, steps, axes)
