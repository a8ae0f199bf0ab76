"""Sorting along an axis, and the positions that do it.

An axis that fits a chunk of ordinary size is brought into one, and the other axes are cut instead. A longer one is
sorted in chunks (`dealing.py`, `samples.py`), one line after the other, if there are few lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_flag
from ...graph.errors import ArgumentError, BadValue, DTypeError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ..base import ArrayBase, as_array, check_axis, few, make
from ..chunking import coalesce
from ..chunking.rechunk import align_chunks, regrid
from ..execution.deferred import defer
from ..indexing.getitem import pick_field
from ..ops.elementwise.functions import astype
from ..ops.moves.axis_moves import moveaxis
from ..ops.moves.joining import stack
from ..ops.moves.reshaping import ravel
from ..ops.moves.taking import flip
from .dealing import sort_long
from .docstrings import SORTING
from .samples import keep_readable, lexsort_long, order_long

if TYPE_CHECKING:
    from ..array import Array
    from ..typing import ArrayLike, AxisLike
    from .samples import Steps

__all__ = [
    "argpartition",
    "argsort",
    "lexsort",
    "partition",
    "sort",
    "sort_complex",
]

KINDS = (None, "quicksort", "mergesort", "heapsort", "stable")
LINES = 32
"""If there are more long lines than this, each is brought into one chunk."""

MOST_KEYS = 1024
"""Rows of a lazy array that are keys of `lexsort`: each is an array of its own."""


def sort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: object = None,
    order: str | Sequence[str] | None = None,
    *,
    descending: bool = False,
    stable: bool | None = True,
) -> Array:
    """Return the elements in order along an axis.

    Parameters
    ----------
    a : array_like
        What to sort: numbers, bool, dates, times, strings or records.
    axis : int or None
        The axis to sort along; None: the array flattened in C order.
    kind : {None, "quicksort", "mergesort", "heapsort", "stable"}
        As in NumPy; it makes no difference, every order is stable.
    order : str or sequence of str, optional
        Fields of records to sort by first; then by the others, in their order. None: by all of them, in their order.
    descending : bool
        Whether the greatest come first; equal elements keep their order then, too.
    stable : bool, optional
        As in the array API; it makes no difference.

    Returns
    -------
    Array
        In the shape, dtype and chunks of `a`. NaN and NaT come last; with `descending` first.

    Raises
    ------
    {sort_errors}

    Notes
    -----
    The order is always stable, so that results have the same bits whatever `kind` and `stable` are. `descending` and
    `stable` are the array API's; NumPy has no `descending`.

    Chunks stay as they are, unless other axes can be cut so that an axis of several chunks fits one of the same size.

    >>> wr.sort(wr.asarray([3, 1, 2], chunks=2)).compute()
    array([1, 2, 3])
    """
    array, at = _check_sort("sort", a, axis, kind, order)
    return _as_before(_along("sort", array, at, check_flag("sort", "descending", descending)), a, order)


def sort_complex(a: ArrayLike) -> Array:
    """Return the elements as complex numbers, in order along the last axis.

    Parameters
    ----------
    a : array_like
        Numbers, at least 1-D.

    Returns
    -------
    Array
        In the shape of `a`, by real parts, then by imaginary ones: complex128, complex64 for integers of at most 16
        bits.

    Raises
    ------
    {ArgumentError}
    AxisError
        `a` is 0-d.
    DTypeError
        `a` has a dtype without an order, or holds Python objects.

    >>> wr.sort_complex(wr.asarray([3, 1, 2])).compute()
    array([1.+0.j, 2.+0.j, 3.+0.j])
    """
    array = as_array("sort_complex", "a", a)
    if array.dtype.kind == "c":
        return sort(array)
    narrow = array.dtype.kind in "iu" and array.dtype.itemsize <= 2  # NumPy's rule; float32 becomes complex128, too
    kind = "F" if narrow else "G" if array.dtype.char == "g" else "D"
    return sort(astype(array, np.dtype(kind)))


def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: object = None,
    order: str | Sequence[str] | None = None,
    *,
    descending: bool = False,
    stable: bool | None = True,
) -> Array:
    """Return the positions that put an axis in order.

    Parameters
    ----------
    a : array_like
        What to sort: numbers, bool, dates, times, strings or records.
    axis : int or None
        The axis to sort along; None: the array flattened in C order.
    kind : {None, "quicksort", "mergesort", "heapsort", "stable"}
        As in NumPy; it makes no difference, every order is stable.
    order : str or sequence of str, optional
        Fields of records to sort by first; then by the others, in their order. None: by all of them, in their order.
    descending : bool
        Whether the greatest come first.
    stable : bool, optional
        As in the array API; it makes no difference.

    Returns
    -------
    Array of int64
        In the shape of `a`, positions along the axis; equal elements keep their order. NaN and NaT come last; with
        `descending` first.

    Raises
    ------
    {sort_errors}

    >>> wr.argsort(wr.asarray([3, 1, 2], chunks=2)).compute()
    array([1, 2, 0])
    """
    array, at = _check_sort("argsort", a, axis, kind, order)
    return _along("argsort", array, at, check_flag("argsort", "descending", descending))


def partition(
    a: ArrayLike,
    kth: ArrayLike,
    axis: int | None = -1,
    kind: str = "introselect",
    order: str | Sequence[str] | None = None,
) -> Array:
    """Return the elements with those at positions `kth` in their sorted place, lesser ones before, greater ones after.

    Parameters
    ----------
    a : array_like
        What to select from.
    kth : int or sequence of int
        Positions along the axis, from -n to n - 1 of its n.
    axis : int or None
        The axis along which to select; None: the array flattened in C order.
    kind : str
        As in NumPy; it makes no difference.
    order : str or sequence of str, optional
        Fields of records to sort by first; then by the others, in their order. None: by all of them, in their order.

    Returns
    -------
    Array
        In the shape and dtype of `a`: the elements in order, which is one such arrangement.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; `kth` isn't positions along the axis; or `axis`, `kind` or `order` isn't what
        it may be.
    {AxisError}
    DTypeError
        `a` has a dtype without an order, or holds Python objects.

    Notes
    -----
    This is a full sort, and NumPy's isn't: elements before and after may be in another order. For few elements
    `windrow.topk` is faster.

    >>> wr.partition(wr.asarray([3, 1, 2]), 1)[1].compute()
    np.int64(2)
    """
    array, at = _check_sort("partition", a, axis, None if kind == "introselect" else kind, order)
    _check_kth("partition", kth, array.shape[at])
    return _as_before(_along("sort", array, at, descending=False), a, order)


def argpartition(
    a: ArrayLike,
    kth: ArrayLike,
    axis: int | None = -1,
    kind: str = "introselect",
    order: str | Sequence[str] | None = None,
) -> Array:
    """Return the positions that partition an array.

    {Parameters of partition}

    Returns
    -------
    Array of int64
        In the shape of `a`: the positions of a full sort.

    {Raises of partition}

    Notes
    -----
    This is a full sort, and NumPy's isn't: elements before and after may be in another order. For few elements
    `windrow.argtopk` is faster.

    >>> wr.argpartition(wr.asarray([3, 1, 2]), 0)[0].compute()
    np.int64(1)
    """
    array, at = _check_sort("argpartition", a, axis, None if kind == "introselect" else kind, order)
    _check_kth("argpartition", kth, array.shape[at])
    return _along("argsort", array, at, descending=False)


def lexsort(keys: ArrayLike, axis: int = -1) -> Array:
    """Return the positions that sort by several keys: by the last one, then by the one before it, and so on.

    Parameters
    ----------
    keys : sequence of array, or array
        The keys, of one shape; an array is the sequence of its rows.
    axis : int
        The axis to sort along.

    Returns
    -------
    Array of int64
        In the shape of a key; what is equal in all keys keeps its order.

    Raises
    ------
    ArgumentError
        There are no keys, or one can't be read as an array.
    {AxisError}
    ShapeError
        The keys have several shapes.

    >>> surnames, names = ["Lee", "Ade", "Lee"], ["Ann", "Bo", "Al"]
    >>> wr.lexsort((names, surnames)).compute()
    array([1, 2, 0])
    """
    if isinstance(keys, ArrayBase | np.ndarray):
        rows = as_array("lexsort", "keys", keys)
        if isinstance(keys, ArrayBase) and (rows.ndim == 1 or rows.shape[0] > MOST_KEYS):
            expected = f"a sequence of arrays, or an array with up to {MOST_KEYS} rows, a key each"
            raise ArgumentError(bad("lexsort", "keys", keys, expected))
        keys = [rows[i] for i in range(rows.shape[0])] if rows.ndim else ()
    if not isinstance(keys, Sequence) or not keys:
        raise ArgumentError(bad("lexsort", "keys", keys, "a sequence of at least one array"))
    arrays = [as_array("lexsort", f"keys[{i}]", k) for i, k in enumerate(keys)]
    if any(k.shape != arrays[0].shape for k in arrays):
        raise ShapeError(bad("lexsort", "keys", tuple(k.shape for k in arrays), "arrays of one shape"))
    if not arrays[0].ndim:
        return as_array("lexsort", "keys", np.array(0))
    at = check_axis("lexsort", axis, arrays[0].ndim)
    grid, arrays = align_chunks("lexsort", arrays)
    if in_chunks(arrays[0], at):
        return defer("lexsort", partial(by_lines, lexsort_long), arrays, (at,), grid, "i8")
    arrays = [regrid(k, coalesce.whole_grid(grid, (at,))) for k in arrays]
    return make(BlockFunction("order.sorting:lexsort", (at,)), arrays, arrays[0].expr.grid, "i8")


def _check_sort(
    operation: str, a: ArrayLike, axis: AxisLike, kind: object, order: str | Sequence[str] | None
) -> tuple[Array, int]:
    """Return the array and the axis as a number; arguments without effect are checked, too."""
    array = as_array(operation, "a", a)
    if kind not in KINDS:
        raise ArgumentError(bad(operation, "kind", kind, f"one of {KINDS}"))
    if order is not None:
        array = _by_fields(operation, array, order)
    if array.dtype.kind == "V" and array.dtype.names is None:
        raise DTypeError(bad(operation, "a", array.dtype, "a dtype that has an order"))
    if axis is None or (operation in ("argsort", "argpartition") and array.ndim == 0 and axis in (0, -1)):
        return ravel(array), 0
    return array, check_axis(operation, axis, array.ndim)


def _by_fields(operation: str, array: Array, order: str | Sequence[str] | None) -> Array:
    """Return records with the named fields first, by which they are compared."""
    order = few(operation, "order", order, "None or names of fields")
    names: list[Any] = list(order) if isinstance(order, Iterable) and not isinstance(order, str) else [order]
    own = array.dtype.names or ()
    if len(set(names)) != len(names) or not set(names) <= set(own):
        expected = f"None or names among {own}, each once" if own else f"None, as {array.dtype} has no fields"
        raise BadValue(bad(operation, "order", order, expected))
    return pick_field(array, [*names, *(name for name in own if name not in names)])


def _as_before(found: Array, a: Any, order: str | Sequence[str] | None) -> Array:
    """Return sorted records with their fields in the original order."""
    return found if order is None else pick_field(found, list(a.dtype.names))


def _check_kth(operation: str, kth: ArrayLike, n: int) -> None:
    positions = np.asarray(kth)
    if positions.dtype.kind not in "iu" or (positions.size and not -n <= positions.min() <= positions.max() < n):
        raise ArgumentError(bad(operation, "kth", kth, f"positions along an axis of length {n}"))


def in_chunks(x: Array, axis: int) -> bool:
    """Tell whether an axis has several chunks, and is too long to be brought into one of ordinary size."""
    grid = x.expr.grid
    own = grid.axes[axis]
    if own.count == 1 or own.length <= max(grid.largest, coalesce.SMALLEST):
        return False
    return math.prod(x.shape) // own.length <= LINES


def gather_line(x: Array) -> Array:
    """Return a 1-D array in one chunk, or with small chunks merged if it is too long for that."""
    return coalesce.merge_small_chunks(x) if in_chunks(x, 0) else coalesce.whole(x, (0,))


def by_lines(recipe: Callable[..., Steps], *given: Any) -> Steps:
    """Recipe that applies `recipe(*lines, *params)` to each line along an axis, which comes last, and stays."""
    arrays: list[Array] = [x for x in given if isinstance(x, ArrayBase)]  # type: ignore[misc]
    *params, axis = given[len(arrays) :]
    if arrays[0].ndim == 1:
        return (yield from recipe(*arrays, *params))
    rows = [moveaxis(keep_readable(x), axis, -1).reshape(-1, x.shape[axis]) for x in arrays]
    results: list[Array] = []
    while len(results) < rows[0].shape[0]:
        results += [(yield from recipe(*(x[len(results)] for x in rows), *params))]
    shape = tuple(n for i, n in enumerate(arrays[0].shape) if i != axis)
    stacked = astype(stack(results), results[0].dtype).reshape(*shape, *results[0].shape)  # stack gives native bytes
    return moveaxis(stacked, -1, axis) if results[0].ndim == 1 else stacked


def _along(name: str, x: Array, axis: int, descending: bool) -> Array:
    dtype = x.dtype if name == "sort" else np.dtype(np.int64)
    if not in_chunks(x, axis):
        x = coalesce.whole(x, (axis,))
        return make(BlockFunction(f"order.sorting:{name}", (axis, descending)), (x,), x.expr.grid, dtype)
    back = flip(x, axis) if descending else x
    recipe = sort_long if name == "sort" else order_long
    ordered = defer(name, partial(by_lines, recipe), (back,), (axis,), back.expr.grid, dtype)
    if not descending:
        return ordered
    return flip(ordered if name == "sort" else x.shape[axis] - 1 - ordered, axis)


SORTING.fill(__name__)
