"""Distinct elements, sorted. Their number is computed when something asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...graph.chunks.axismap import Halo
from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import DTypeError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ...workers.kernels.blocks.order.quantiles import may_be_lost
from ..base import as_array, check_axis, make
from ..chunking import coalesce
from ..chunking.rechunk import regrid
from ..execution.compute import persist
from ..execution.deferred import defer_unsized
from ..indexing.boolean import select
from ..ops.elementwise.ufuncs import minimum
from ..ops.moves.axis_moves import move, moveaxis
from ..ops.moves.joining import concatenate
from ..ops.moves.reshaping import ravel
from ..ops.reductions.cumulative import cumulative_sum
from .docstrings import SORTING
from .samples import merge_sorted, merge_sorted_pair, parts_in_order, positions, restore_order
from .search import searchsorted
from .sorts import gather_line

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..array import Array
    from ..typing import ArrayLike

    Steps = Generator[Any, Any, Array]

__all__ = [
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: Array
    inverse_indices: Array


class _Order:
    """A sorted array, with positions if they are wanted, and flags of new elements; computed once for all users.

    If chunks have few distinct elements, only these are sorted, with their first positions and their counts.
    """

    def __init__(self, x: Array, equal_nan: bool, names: str) -> None:
        self.x, self.equal_nan = x, equal_nan
        self.carry, self.inverse = "i" in names or "r" in names, "r" in names
        self.found: tuple[Array, Array, Array, Array | None] | None = None

    def steps(self) -> Generator[Any, Any, tuple[Array, Array, Array, Array | None]]:
        """Give sorted values, positions (or values again), flags of new values, and counts (None: each counts once)."""
        if self.found is None:
            x = gather_line(self.x)
            if self.carry:
                values, order = persist(*parts_in_order(x, positions(x)))
            else:
                values = order = make(BlockFunction("order.sorting:sort"), (x,), x.expr.grid, x.dtype).persist()
            if x.npartitions > 1 and x.dtype.kind != "V":
                self.found = yield from self._few(values, order)
            if self.found is None:
                if self.carry:
                    values, order = persist(*(yield from merge_sorted_pair(values, order)))
                else:
                    values = order = (yield from merge_sorted(values)).persist()
                self.found = (values, order, borders(values, self.equal_nan).persist(), None)
        return self.found

    def _few(self, parts: Array, order: Array) -> Generator[Any, Any, Any]:
        """Give the result of `steps` from the distinct elements of each chunk; None if these are too many."""
        grid = parts.expr.grid
        new = make(BlockFunction("order.searching:mark_first", (self.equal_nan,)), (parts,), grid, bool).persist()
        counts = yield make(BlockFunction("elements.masks:count"), (new,), Grid([Axis.regular(grid.nblocks, 1)]), "i8")
        if counts.sum() > max(grid.largest, coalesce.SMALLEST) or 2 * counts.sum() > parts.size:
            return None
        begin = select(positions(parts), new).persist()
        numbers = concatenate([begin[1:], np.full(min(1, parts.size), parts.size)]) - begin
        x, first, numbers = (
            regrid(a, Grid.single(begin.shape)) for a in (select(parts, new), select(order, new), numbers)
        )
        local = make(BlockFunction("order.sorting:argsort"), (x,), x.expr.grid, "i8").persist()
        picked = [
            make(BlockFunction("order.sorting:pick"), (a, local), x.expr.grid, a.dtype) for a in (x, first, numbers)
        ]
        values, first, numbers = persist(*picked)
        if self.inverse and may_be_lost(x.dtype) and not self.equal_nan and np.isnan((yield values[-1:])).any():
            return None
        return values, first, borders(values, self.equal_nan).persist(), numbers


def borders(x: Array, equal_nan: bool, function: str = "begins") -> Array:
    """Tell which elements of a sorted 1-D array differ from the one before (or, "ends", from the one after)."""
    (axis,) = x.expr.grid.axes
    halo = Halo(1, 0, "none") if function == "begins" else Halo(0, 1, "none")
    wide = move("neighbours", x, [(0, halo)], [halo.axis(axis)])
    op = BlockFunction(f"order.searching:{function}", (equal_nan,), axes=((0,),), where=True)
    return make(op, (wide,), x.expr.grid, bool)


def _values(_: Array, order: _Order) -> Steps:
    values, _where, new, _numbers = yield from order.steps()
    return select(values, new)


def _first(_: Array, order: _Order) -> Steps:
    _values, where, new, _numbers = yield from order.steps()
    return select(where, new)


def _counts(_: Array, order: _Order) -> Steps:
    values, _where, new, numbers = yield from order.steps()
    counts: Array
    if numbers is None:
        begin = select(positions(values), new).persist()
        counts = concatenate([begin[1:], np.full(min(1, values.size), values.size)]) - begin
    else:
        end = select(cumulative_sum(numbers), borders(values, order.equal_nan, "ends")).persist()
        counts = end - concatenate([np.zeros(min(1, values.size), np.int64), end[:-1]])
    return counts


def _inverse(x: Array, order: _Order) -> Steps:
    values, where, new, numbers = yield from order.steps()
    if numbers is not None:
        inverse = searchsorted(select(values, new), x)
        if not (order.equal_nan and x.dtype.kind == "c"):
            return inverse
        least: Array = minimum(inverse, (yield new.sum()) - 1)
        return least  # complex NaN of several kinds: the least of them stands for all
    each = make(BlockFunction("elements.masks:count"), (new,), Grid([Axis.regular(new.npartitions, 1)]), "i8")
    counts = yield each
    before = regrid(as_array("unique", "x", np.cumsum(counts) - counts), each.expr.grid)
    operand_axes = ((0,), (0,))
    number = make(BlockFunction("order.searching:number_runs", axes=operand_axes), (new, before), new.expr.grid, "i8")
    return regrid((yield from restore_order(where, number, where.expr.grid)), x.expr.grid)


def find_distinct(operation: str, x: ArrayLike, names: str, equal_nan: bool) -> list[Array]:
    """Return the arrays that `names` asks for: v(alues), i(ndices), r (inverse), c(ounts)."""
    array = as_array(operation, "x", x)
    if array.dtype.kind == "V" and array.dtype.names is None:
        raise DTypeError(bad(operation, "x", array.dtype, "a dtype that has an order"))
    flat = ravel(array)
    order = _Order(flat, equal_nan, names)
    recipes = {"v": _values, "i": _first, "r": _inverse, "c": _counts}
    outputs = []
    for name in names:
        shape = flat.shape if name == "r" else (None,)
        output = defer_unsized(operation, recipes[name], (flat,), (order,), shape, array.dtype if name == "v" else "i8")
        outputs.append(output.reshape(array.shape) if name == "r" and array.ndim != 1 else output)
    return outputs


def unique_values(x: ArrayLike) -> Array:
    """Return the distinct elements, sorted.

    Parameters
    ----------
    x : array_like
        Flattened in C order.

    Returns
    -------
    Array
        1-D, in the dtype of `x`; its length is computed when it is needed.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array.
    DTypeError
        `x` has a dtype without an order, or holds Python objects.

    Notes
    -----
    A function of the array API; each NaN is distinct, unlike in `windrow.unique`. Values are sorted, which the
    standard leaves open; their number is computed when something needs it.

    >>> wr.unique_values(wr.asarray([3, 1, 3], chunks=2)).compute()
    array([1, 3])
    """
    return find_distinct("unique_values", x, "v", False)[0]


def unique_counts(x: ArrayLike) -> UniqueCounts:
    """Return the distinct elements, sorted, and how often each occurs.

    {Parameters of unique_values}

    Returns
    -------
    values, counts : Array
        A named tuple of 1-D arrays: the distinct elements, and how often each occurs as int64.

    {Raises, Notes of unique_values}

    >>> values, counts = wr.unique_counts(wr.asarray([3, 1, 3], chunks=2))
    >>> counts.compute()
    array([1, 2])
    """
    return UniqueCounts(*find_distinct("unique_counts", x, "vc", False))


def unique_inverse(x: ArrayLike) -> UniqueInverse:
    """Return the distinct elements, sorted, and for each element of `x` which one it is.

    {Parameters of unique_values}

    Returns
    -------
    values, inverse_indices : Array
        A named tuple: the distinct elements, 1-D, and the position there of each element, as int64 in the shape of `x`.

    {Raises, Notes of unique_values}

    >>> values, inverse = wr.unique_inverse(wr.asarray([3, 1, 3], chunks=2))
    >>> inverse.compute()
    array([1, 0, 1])
    """
    return UniqueInverse(*find_distinct("unique_inverse", x, "vr", False))


def unique_all(x: ArrayLike) -> UniqueAll:
    """Return the distinct elements, sorted, with first positions, inverse and counts.

    {Parameters of unique_values}

    Returns
    -------
    values, indices, inverse_indices, counts : Array
        A named tuple: the distinct elements, 1-D; as int64 their first positions in the flattened array, the position
        of each element among them (in the shape of `x`), and how often each occurs.

    {Raises, Notes of unique_values}

    >>> wr.unique_all(wr.asarray([3, 1, 3], chunks=2)).indices.compute()
    array([1, 0])
    """
    return UniqueAll(*find_distinct("unique_all", x, "virc", False))


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Return the distinct elements, or slices along an axis, sorted.

    Parameters
    ----------
    ar : array_like
        What to look at.
    return_index, return_inverse, return_counts : bool
        Whether to return first positions, the number of each element's value, and how often each occurs.
    axis : int or None
        The axis whose slices are compared as wholes; None: elements of the array flattened in C order.
    equal_nan : bool
        Whether all NaN count as one; slices with NaN are all different.
    sorted : bool
        As in NumPy; the result is sorted in any case.

    Returns
    -------
    Array, or a tuple of them
        The distinct elements, 1-D, or slices, sorted, in the dtype of `ar`; then, as int64, what is asked for: first
        positions, the number of each element's value (in the shape of `ar`; 1-D with `axis`), how often each occurs.

    Raises
    ------
    ArgumentError
        `ar` can't be read as an array; or `axis` isn't an integer.
    {AxisError}
    ShapeError
        `axis` is given for an array with fields.
    DTypeError
        `ar` has a dtype without an order, or holds Python objects.

    Notes
    -----
    Their number is computed when something needs it; until then that length is None in `shape`. Slices along an axis
    are brought into one chunk each.

    >>> x = wr.asarray([3, 1, 3], chunks=2)
    >>> wr.unique(x).compute()
    array([1, 3])
    >>> values, counts = wr.unique(x, return_counts=True)
    >>> values.shape, len(values), counts.compute()
    ((2,), 2, array([1, 2]))
    """
    names = "v" + "i" * bool(return_index) + "r" * bool(return_inverse) + "c" * bool(return_counts)
    array = as_array("unique", "ar", ar)
    at = 0 if axis is None else check_axis("unique", axis, array.ndim)
    if axis is None or array.ndim == 1:
        outputs = find_distinct("unique", array, names, bool(equal_nan))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)
    rows = moveaxis(array, at, 0)
    shape = rows.shape[1:]
    width = rows.size // max(1, rows.shape[0]) if rows.shape[0] else 0
    if array.dtype.names is not None:
        raise ShapeError(bad("unique", "axis", axis, "None for an array with fields"))
    if array.size == 0:  # slices without elements are all the same
        count, few = len(rows), min(1, len(rows))
        parts = {"i": np.zeros(few, int), "r": np.zeros(count, int), "c": np.full(few, count)}
        outputs = [as_array("unique", "ar", parts[n]) if n in parts else moveaxis(rows[:few], 0, at) for n in names]
    else:
        record = np.dtype([(f"f{i}", array.dtype) for i in range(width)])
        outputs = find_distinct("unique", _packed(rows.reshape(len(rows), width), record), names, False)
        outputs[0] = defer_unsized(
            "unique", _unpacked, (outputs[0],), (shape, at), _at((None, *shape), at), array.dtype
        )
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _at(shape: tuple[int | None, ...], axis: int) -> tuple[int | None, ...]:
    """Move the first length to its place."""
    return (*shape[1 : axis + 1], shape[0], *shape[axis + 1 :])


def _packed(rows: Array, record: np.dtype[Any]) -> Array:
    grid = rows.expr.grid
    step = max(1, grid.largest // max(1, rows.shape[1]))
    axis = grid.axes[0] if grid.axes[0].largest <= step else Axis.regular(rows.shape[0], step)
    rows = regrid(rows, Grid([axis, Axis.whole(rows.shape[1])]))
    return make(BlockFunction("order.searching:pack_rows", (record,), axes=((0, None),)), (rows,), Grid([axis]), record)


def _unpacked(x: Array, shape: tuple[int, ...], axis: int) -> Steps:
    """Recipe of the distinct slices; each record of `x` is one slice."""
    dtype = x.dtype[0]
    assert x.dtype.names is not None
    width = len(x.dtype.names)
    grid = Grid([x.expr.grid.axes[0], Axis.whole(width)])
    rows = make(BlockFunction("order.searching:unpack_rows", axes=((0,),)), (x,), grid, dtype)
    yield from ()
    return moveaxis(rows.reshape(x.shape[0], *shape), 0, axis)


SORTING.fill(__name__)
