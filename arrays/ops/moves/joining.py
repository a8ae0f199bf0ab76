"""Joining arrays along an old or a new axis, and repeating them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.axismap import Slice
from ....graph.chunks.counted_positions import Counted
from ....graph.chunks.grid import Axis, Grid, merge_tiny_chunks
from ....graph.chunks.positions import Periodic
from ....graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ....graph.kinds.move import Move, Route, join_operands
from ...base import LONGEST, ArrayBase, as_array, check_axis, check_dtype, check_shape, few, make
from ...views import gives_view
from ..docstrings import OPS
from ..elementwise.functions import astype
from ..outputs import deliver
from .axis_moves import expand_dims
from .taking import map_axis

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, DTypeLike, OutLike

__all__ = [
    "concat",
    "concatenate",
    "hstack",
    "repeat",
    "roll",
    "stack",
    "tile",
    "unstack",
    "vstack",
]


MOST_ROWS = 1024
"""Rows of an array that is given in place of a sequence, at most: each becomes an operand of its own."""


def _operands(
    operation: str, arrays: Sequence[ArrayLike], dtype: DTypeLike = None, casting: str = "same_kind"
) -> list[Array]:
    if isinstance(arrays, ArrayBase) and arrays.ndim and arrays.shape[0] > MOST_ROWS:
        expected = f"a sequence of arrays; one of more than {MOST_ROWS} rows is brought into shape by reshape, moveaxis"
        raise ArgumentError(bad(operation, "arrays", arrays, expected))
    if isinstance(arrays, ArrayBase | np.ndarray):
        arrays = list(arrays)
    if not isinstance(arrays, Sequence) or not arrays:
        raise ArgumentError(bad(operation, "arrays", arrays, "a sequence of at least one array"))
    operands = [as_array(operation, f"arrays[{i}]", a) for i, a in enumerate(arrays)]
    if dtype is not None:
        wanted = check_dtype(operation, "dtype", dtype)
        return [astype(a, wanted, casting=casting) for a in operands]
    try:
        common = np.result_type(*(a.dtype for a in operands))
    except TypeError as error:
        raise DTypeError(f"{operation}: arguments 'arrays' have dtypes without a common one: {error}") from error
    return [astype(a, common) for a in operands]


def concatenate(
    arrays: Sequence[Any],
    axis: int | None = 0,
    out: OutLike = None,
    *,
    dtype: DTypeLike = None,
    casting: str = "same_kind",
) -> Array:
    """Join arrays along an existing axis.

    Parameters
    ----------
    arrays : sequence of array_like
        Their shapes are equal except along `axis`.
    axis : int or None
        The axis; None: all are flattened.
    {out, dtype, casting}

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    ArgumentError
        `arrays` is no sequence of at least one array, or `axis` is not an integer. `out` is not an array.
    ShapeError
        The shapes differ along another axis. `out` doesn't have the result's shape.
    AxisError
        `axis` is out of range for the arrays.
    DTypeError
        The dtypes have no common one, or `casting` doesn't allow the cast to `dtype`. The result can't be cast to the
        dtype of `out` by the rule "same_kind".

    Notes
    -----
    The arrays' chunks are kept along `axis`. Where there would be more than 32, small neighbours are merged: up to 64
    KiB, or up to the largest chunk that was chosen for one of the arrays. `rechunk` gives other chunks.

    >>> wr.concatenate([wr.arange(2), wr.arange(3)]).compute()
    array([0, 1, 0, 1, 2])
    """
    operands = _operands("concatenate", arrays, dtype, casting)
    if axis is None:
        operands, axis = [a.reshape(-1) for a in operands], 0
    return deliver("concatenate", _concatenate(operands, axis), out)  # type: ignore[no-any-return]


def _concatenate(found: list[Array], axis: int) -> Array:
    """Join arrays of one dtype along an axis that they have."""
    first = found[0]
    at = check_axis("concatenate", axis, first.ndim)
    for array in found[1:]:
        same = len(array.shape) == first.ndim and all(
            n == m for i, (n, m) in enumerate(zip(array.shape, first.shape, strict=True)) if i != at
        )
        if not same:
            shapes = ", ".join(str(a.shape) for a in found)
            raise ShapeError(
                f"concatenate: arrays have shapes {shapes}; expected shapes that agree but along axis {at}"
            )
    return first if len(found) == 1 else _join("concatenate", found, at)


def _join(name: str, arrays: list[Array], at: int) -> Array:
    """Join arrays whose shapes fit; along the other axes the result has the chunks of the largest array."""
    axes = list(max(arrays, key=lambda a: a.nbytes).expr.grid.axes)
    along = [a.expr.grid.axes[at] for a in arrays]
    whole = Axis.of_sizes([n for axis in along for n in axis.sizes() if n])
    regular = max(axis.chosen for axis in along)
    unit = math.prod(axis.largest for i, axis in enumerate(axes) if i != at) * arrays[0].dtype.itemsize
    axes[at] = merge_tiny_chunks(whole, regular, unit).with_chosen(regular)
    op = join_operands(name, [a.shape[at] for a in arrays], arrays[0].ndim, at)
    return make(op, arrays, Grid(axes), arrays[0].dtype)


concat = concatenate


def stack(
    arrays: Sequence[Any], axis: int = 0, out: OutLike = None, *, dtype: DTypeLike = None, casting: str = "same_kind"
) -> Array:
    """Join arrays of equal shape along a new axis.

    Parameters
    ----------
    arrays : sequence of array_like
        All of one shape.
    axis : int
        Position of the new axis in the result.
    {out, dtype, casting}

    Returns
    -------
    Array
        Lazy, with one axis more.

    Raises
    ------
    ArgumentError
        `arrays` is no sequence of at least one array, or `axis` is not an integer. `out` is not an array.
    ShapeError
        The shapes differ. `out` doesn't have the result's shape.
    AxisError
        `axis` is out of range for the result.
    DTypeError
        The dtypes have no common one, or `casting` doesn't allow the cast to `dtype`. The result can't be cast to the
        dtype of `out` by the rule "same_kind".

    >>> wr.stack([wr.zeros(2), wr.ones(2)]).compute()
    array([[0., 0.],
           [1., 1.]])
    """
    operands = _operands("stack", arrays, dtype, casting)
    if any(a.shape != operands[0].shape for a in operands):
        raise ShapeError(f"stack: arrays have shapes {', '.join(str(a.shape) for a in operands)}; expected one shape")
    at = check_axis("stack", axis, operands[0].ndim + 1)
    stacked = _join("stack", [expand_dims(a, at) for a in operands], at)
    return deliver("stack", stacked, out)  # type: ignore[no-any-return]


@gives_view
def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Split an array into the arrays along an axis.

    Parameters
    ----------
    x : array_like, at least 1-D
        The array.
    axis : int
        The axis, which the results lack.

    Returns
    -------
    tuple of Array
        Lazy, one for each position along the axis.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is not an integer.
    {AxisError}
    DTypeError
        `x` holds Python objects.

    >>> [int(a.sum()) for a in wr.unstack(wr.arange(6).reshape(2, 3))]
    [3, 12]
    """
    array = as_array("unstack", "x", x)
    at = check_axis("unstack", axis, array.ndim)
    front = (slice(None),) * at
    return tuple(array[(*front, i)] for i in range(array.shape[at]))


def hstack(arrays: Sequence[Any], *, dtype: DTypeLike = None, casting: str = "same_kind") -> Array:
    """Join arrays horizontally: along axis 1, or axis 0 for 1-D arrays.

    Parameters
    ----------
    arrays : sequence of array_like
        Their shapes are equal except along that axis.
    {dtype, casting}

    Returns
    -------
    Array
        Lazy, at least 1-D.

    Raises
    ------
    ArgumentError
        `arrays` is no sequence of at least one array.
    ShapeError
        The shapes differ along another axis.
    DTypeError
        The dtypes have no common one, or `casting` doesn't allow the cast to `dtype`.

    >>> wr.hstack([wr.ones((2, 1)), wr.ones((2, 2))]).shape
    (2, 3)
    """
    operands = [a.reshape(1) if a.ndim == 0 else a for a in _operands("hstack", arrays, dtype, casting)]
    return _concatenate(operands, 0 if operands[0].ndim == 1 else 1)


def vstack(arrays: Sequence[Any], *, dtype: DTypeLike = None, casting: str = "same_kind") -> Array:
    """Join arrays vertically: along axis 0, where a 1-D array is a row.

    Parameters
    ----------
    arrays : sequence of array_like
        Their shapes are equal except along axis 0.
    {dtype, casting}

    Returns
    -------
    Array
        Lazy, at least 2-D.

    {Raises of hstack}

    >>> wr.vstack([wr.ones(3), wr.ones((2, 3))]).shape
    (3, 3)
    """
    operands = [a.reshape(1, -1) if a.ndim < 2 else a for a in _operands("vstack", arrays, dtype, casting)]
    return _concatenate(operands, 0)


def repeat(a: ArrayLike, repeats: ArrayLike, axis: int | None = None) -> Array:
    """Repeat each element along an axis.

    Parameters
    ----------
    a : array_like
        The array.
    repeats : int or array_like of int
        How often: one number for all positions, or one for each. A lazy array is computed now, since the result's
        length depends on it.
    axis : int or None
        The axis; None: of the flattened array.

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is not an integer.
    ShapeError
        `repeats` are negative, not integers, or neither one nor one for each position.
    {AxisError}
    DTypeError
        `a` holds Python objects.

    >>> wr.repeat(wr.arange(3), 2).compute()
    array([0, 0, 1, 1, 2, 2])
    """
    array = as_array("repeat", "a", a)
    if axis is None or (array.ndim == 0 and axis in (0, -1)):
        array, axis = array.reshape(-1), 0
    at = check_axis("repeat", axis, array.ndim)
    counts = np.asarray(repeats.compute() if isinstance(repeats, ArrayBase) else repeats)  # type: ignore[attr-defined]
    if counts.size == 0:
        counts = counts.astype(np.int64)
    if counts.dtype.kind not in "iub" or counts.min(initial=0) < 0:
        raise ShapeError(bad("repeat", "repeats", repeats, "integers that are not negative"))
    if counts.size == 1 and counts.ndim < 2:
        count = int(counts.reshape(()))
        return map_axis("repeat", array, at, Periodic(count or 1), count * array.shape[at])
    if float(counts.sum(dtype=np.float64)) > LONGEST:
        raise ShapeError(bad("repeat", "repeats", repeats, "counts that come to less than 2**63"))
    if counts.shape != (array.shape[at],):
        raise ShapeError(bad("repeat", "repeats", repeats, f"one count, or {array.shape[at]} of them"))
    return map_axis("repeat", array, at, Counted.of(counts), int(counts.sum(dtype=np.int64)))


def roll(a: ArrayLike, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Array:
    """Shift elements along axes; those that move beyond the last position reappear at the first.

    Parameters
    ----------
    a : array_like
        The array.
    shift : int or sequence of int
        Number of positions; negative: towards the front.
    axis : int, sequence of int or None
        The axes; None: the flattened array is shifted, and takes its shape again.

    Returns
    -------
    Array
        Lazy, of the shape of `a`.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is not an integer,
        or `shift` is no number.
    ShapeError
        `shift` and `axis` are sequences of different lengths.
    {AxisError}
    DTypeError
        `a` holds Python objects.

    >>> wr.roll(wr.arange(5), 2).compute()
    array([3, 4, 0, 1, 2])
    """
    array = as_array("roll", "a", a)
    shift = few("roll", "shift", shift, "an integer, or one for each axis")
    try:
        shifts = [int(by) for by in np.ravel(shift)]  # NumPy truncates floats as well
    except (TypeError, ValueError) as error:
        raise ArgumentError(bad("roll", "shift", shift, "an integer, or one for each axis")) from error
    if axis is None:
        return _roll(array.reshape(-1), sum(shifts), 0).reshape(array.shape)
    chosen: Any = few("roll", "axis", axis, "an axis, or several")
    axes: tuple[Any, ...] = tuple(chosen) if isinstance(chosen, Sequence | np.ndarray) else (chosen,)
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise ShapeError(bad("roll", "shift", shift, f"one shift, or one for each axis of {axis!r}"))
    for by, at in np.broadcast(shifts, axes):
        array = _roll(array, int(by), check_axis("roll", at, array.ndim))
    return array


def _roll(array: Array, shift: int, at: int) -> Array:
    n = array.shape[at]
    if n == 0 or shift % n == 0:
        return array
    by = shift % n
    routes = [Route(tuple((i, Slice(s if i == at else 0)) for i in range(array.ndim))) for s in (n - by, -by)]
    return make(Move("roll", tuple(routes)), (array, array), array.expr.grid, array.dtype)


def tile(A: ArrayLike, reps: int | Sequence[int], /) -> Array:
    """Repeat a whole array along its axes.

    Parameters
    ----------
    A : array_like
        The array.
    reps : int or sequence of int
        Copies along each axis. Fewer than axes count for the last ones; more add axes in front.

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    ArgumentError
        `A` can't be read as an array: an unknown object, a ragged sequence or a masked array. `reps` is neither an
        integer nor a sequence of them.
    ShapeError
        `reps` is negative.
    DTypeError
        `A` holds Python objects.

    >>> wr.tile(wr.arange(2), 3).compute()
    array([0, 1, 0, 1, 0, 1])
    """
    array = as_array("tile", "A", A)
    counts = check_shape("tile", reps, "reps")
    if array.ndim < len(counts):
        array = array.reshape((1,) * (len(counts) - array.ndim) + array.shape)
    for at, count in enumerate((1,) * (array.ndim - len(counts)) + counts):
        if count != 1:
            array = map_axis("tile", array, at, Periodic(), count * array.shape[at])
    return array


OPS.fill(__name__)
