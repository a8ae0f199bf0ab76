"""Distinct elements, and sets of them. All are sorted; how many there are is found when something asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...graph.axismap import Halo
from ...graph.errors import DTypeError, ShapeError, bad
from ...graph.grid import Axis, Grid
from ...graph.kinds.mapping import BlockFunction
from ...workers.kernels.blocks.quantiles import may_be_lost
from ..base import as_array, check_axis, make
from ..chunking import coalesce
from ..chunking.rechunk import regrid
from ..execution.compute import persist
from ..execution.deferred import unsized
from ..indexing.boolean import select
from ..ops.cumulative import cumulative_sum
from ..ops.elementwise import astype
from ..ops.joining import concatenate
from ..ops.moving import move, moveaxis
from ..ops.reshaping import ravel
from ..ops.ufuncs import logical_and, logical_not, minimum
from .samples import merged, merged_pair, ordered, parts_in_order, positions, restored
from .search import isin, searchsorted
from .sorts import gathered

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..array import Array

    Steps = Generator[Any, Any, Array]

__all__ = [
    "intersect1d",
    "setdiff1d",
    "setxor1d",
    "union1d",
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
    """An array in order, with its positions where they are wanted, and what is new in it: found once for all users.

    Where chunks have few distinct elements, these stand for all: they bring their first positions and their numbers.
    """

    def __init__(self, x: Array, equal_nan: bool, names: str) -> None:
        self.x, self.equal_nan = x, equal_nan
        self.carry, self.inverse = "i" in names or "r" in names, "r" in names
        self.found: tuple[Array, Array, Array, Array | None] | None = None

    def steps(self) -> Generator[Any, Any, tuple[Array, Array, Array, Array | None]]:
        """Give values in order, positions (or values again), flags of what is new, and numbers (None: each is one)."""
        if self.found is None:
            x = gathered(self.x)
            if self.carry:
                values, order = persist(*parts_in_order(x, positions(x)))
            else:
                values = order = persist(make(BlockFunction("sorting:sort"), (x,), x.expr.grid, x.dtype))
            if x.npartitions > 1 and x.dtype.kind != "V":
                self.found = yield from self._few(values, order)
            if self.found is None:
                if self.carry:
                    values, order = persist(*(yield from merged_pair(values, order)))
                else:
                    values = order = persist((yield from merged(values)))
                self.found = (values, order, persist(borders(values, self.equal_nan)), None)
        return self.found

    def _few(self, parts: Array, order: Array) -> Generator[Any, Any, Any]:
        """Give what `steps` does, made of the distinct elements of each chunk; None where these are too many."""
        grid = parts.expr.grid
        new = persist(make(BlockFunction("searching:mark_first", (self.equal_nan,)), (parts,), grid, bool))
        counts = yield make(BlockFunction("masks:count"), (new,), Grid([Axis.regular(grid.nblocks, 1)]), "i8")
        if counts.sum() > max(grid.largest, coalesce.SMALLEST) or 2 * counts.sum() > parts.size:
            return None
        begin = persist(select(positions(parts), new))
        numbers = concatenate([begin[1:], np.full(min(1, parts.size), parts.size)]) - begin
        x, first, numbers = (
            regrid(a, Grid.single(begin.shape)) for a in (select(parts, new), select(order, new), numbers)
        )
        local = persist(make(BlockFunction("sorting:argsort"), (x,), x.expr.grid, "i8"))
        found = [make(BlockFunction("sorting:pick"), (a, local), x.expr.grid, a.dtype) for a in (x, first, numbers)]
        values, first, numbers = persist(*found)
        if self.inverse and may_be_lost(x.dtype) and not self.equal_nan and np.isnan((yield values[-1:])).any():
            return None
        return values, first, persist(borders(values, self.equal_nan)), numbers


def borders(x: Array, equal_nan: bool, function: str = "begins") -> Array:
    """Tell which elements of a sorted array of one axis differ from the one before (or, "ends", from the one after)."""
    (axis,) = x.expr.grid.axes
    halo = Halo(1, 0, "none") if function == "begins" else Halo(0, 1, "none")
    wide = move("neighbours", x, [(0, halo)], [halo.axis(axis)])
    op = BlockFunction(f"searching:{function}", (equal_nan,), axes=((0,),), where=True)
    return make(op, (wide,), x.expr.grid, bool)


class _Pair:
    """The distinct elements of two arrays in one order, those of the first before equal ones; found once."""

    def __init__(self, first: Array, second: Array) -> None:
        self.first, self.second = first, second
        self.found: tuple[Array, Array, Array, Array] | None = None

    def steps(self) -> Generator[Any, Any, tuple[Array, Array, Array, Array]]:
        """Give elements, first positions (the second array's come after all of the first's), and both borders."""
        if self.found is None:
            values: list[Array] = []
            places: list[Array] = []
            for x in (self.first, self.second):
                own, where = _parts("unique", x, "vi", True)
                places.append(where + self.first.size if values else where)
                values.append(own)
            x = gathered(concatenate(values))
            both = persist(*(yield from ordered(x, regrid(concatenate(places), x.expr.grid))))
            flags = persist(borders(both[0], False), borders(both[0], False, "ends"))
            self.found = (*both, *flags)
        return self.found


def _common(_a: Array, _b: Array, pair: _Pair, wanted: str) -> Steps:
    values, where, begins, ends = yield from pair.steps()
    if wanted == "second":
        second: Array = select(where, logical_not(begins)) - pair.first.size
        return second
    return select(values if wanted == "values" else where, logical_not(ends))


def _alone(_a: Array, _b: Array, pair: _Pair, first_only: bool, dtype: np.dtype[Any]) -> Steps:
    values, where, begins, ends = yield from pair.steps()
    alone = logical_and(begins, ends)
    return astype(select(values, logical_and(alone, where < pair.first.size) if first_only else alone), dtype)


def _values(_: Array, order: _Order) -> Steps:
    values, _where, new, _numbers = yield from order.steps()
    return select(values, new)


def _first(_: Array, order: _Order) -> Steps:
    _values, where, new, _numbers = yield from order.steps()
    return select(where, new)


def _counts(_: Array, order: _Order) -> Steps:
    values, _where, new, numbers = yield from order.steps()
    found: Array
    if numbers is None:
        begin = persist(select(positions(values), new))
        found = concatenate([begin[1:], np.full(min(1, values.size), values.size)]) - begin
    else:
        end = persist(select(cumulative_sum(numbers), borders(values, order.equal_nan, "ends")))
        found = end - concatenate([np.zeros(min(1, values.size), np.int64), end[:-1]])
    return found


def _inverse(x: Array, order: _Order) -> Steps:
    values, where, new, numbers = yield from order.steps()
    if numbers is not None:
        found = searchsorted(select(values, new), x)
        if not (order.equal_nan and x.dtype.kind == "c"):
            return found
        least: Array = minimum(found, (yield new.sum()) - 1)
        return least  # complex NaN of several kinds: one, the least of them, stands for all
    each = make(BlockFunction("masks:count"), (new,), Grid([Axis.regular(new.npartitions, 1)]), "i8")
    counts = yield each
    before = regrid(as_array("unique", "x", np.cumsum(counts) - counts), each.expr.grid)
    operand_axes = ((0,), (0,))
    number = make(BlockFunction("searching:running", axes=operand_axes), (new, before), new.expr.grid, "i8")
    return regrid((yield from restored(where, number, where.expr.grid)), x.expr.grid)


def _parts(operation: str, x: Any, names: str, equal_nan: bool) -> list[Array]:
    """Return arrays of what is asked for: v(alues), i(ndices), r (inverse), c(ounts)."""
    array = as_array(operation, "x", x)
    if array.dtype.kind == "V" and array.dtype.names is None:
        raise DTypeError(bad(operation, "x", array.dtype, "a dtype that has an order"))
    flat = ravel(array)
    order = _Order(flat, equal_nan, names)
    recipes = {"v": _values, "i": _first, "r": _inverse, "c": _counts}
    found = []
    for name in names:
        shape = flat.shape if name == "r" else (None,)
        made = unsized(operation, recipes[name], (flat,), (order,), shape, array.dtype if name == "v" else "i8")
        found.append(made.reshape(array.shape) if name == "r" and array.ndim != 1 else made)
    return found


def unique_values(x: Any) -> Array:
    """Return the distinct elements, sorted; each NaN is one of its own.

    Parameters
    ----------
    x : array

    Returns
    -------
    Array
        Of one axis, whose length is found when it is needed.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.unique_values(wr.asarray([3, 1, 3], chunks=2)).compute()
    array([1, 3])
    """
    return _parts("unique_values", x, "v", False)[0]


def unique_counts(x: Any) -> UniqueCounts:
    """Return the distinct elements, sorted, and how often each occurs.

    Parameters
    ----------
    x : array

    Returns
    -------
    values, counts : Array

    Examples
    --------
    >>> import windrow as wr
    >>> values, counts = wr.unique_counts(wr.asarray([3, 1, 3], chunks=2))
    >>> counts.compute()
    array([1, 2])
    """
    return UniqueCounts(*_parts("unique_counts", x, "vc", False))


def unique_inverse(x: Any) -> UniqueInverse:
    """Return the distinct elements, sorted, and for each element of `x` which one it is.

    Parameters
    ----------
    x : array

    Returns
    -------
    values, inverse_indices : Array

    Examples
    --------
    >>> import windrow as wr
    >>> values, inverse = wr.unique_inverse(wr.asarray([3, 1, 3], chunks=2))
    >>> inverse.compute()
    array([1, 0, 1])
    """
    return UniqueInverse(*_parts("unique_inverse", x, "vr", False))


def unique_all(x: Any) -> UniqueAll:
    """Return the distinct elements, sorted, with first positions, inverse and counts.

    Parameters
    ----------
    x : array

    Returns
    -------
    values, indices, inverse_indices, counts : Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.unique_all(wr.asarray([3, 1, 3], chunks=2)).indices.compute()
    array([1, 0])
    """
    return UniqueAll(*_parts("unique_all", x, "virc", False))


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

    Slices are looked at as a whole: each is brought into one chunk.

    Parameters
    ----------
    ar : array
    return_index, return_inverse, return_counts : bool
        Whether to return first positions, the number of each element's value, and how often each occurs.
    axis : int or None
        None: elements of the flattened array.
    equal_nan : bool
        Whether all NaN count as one; slices with NaN are all different.
    sorted : bool
        As in NumPy; the result is sorted in any case.

    Returns
    -------
    Array, or a tuple of them

    Examples
    --------
    >>> import windrow as wr
    >>> wr.unique(wr.asarray([3, 1, 3], chunks=2)).compute()
    array([1, 3])
    """
    names = "v" + "i" * bool(return_index) + "r" * bool(return_inverse) + "c" * bool(return_counts)
    array = as_array("unique", "ar", ar)
    at = 0 if axis is None else check_axis("unique", axis, array.ndim)
    if axis is None or array.ndim == 1:
        found = _parts("unique", array, names, bool(equal_nan))
        return found[0] if len(found) == 1 else tuple(found)
    rows = moveaxis(array, at, 0)
    shape = rows.shape[1:]
    width = rows.size // max(1, rows.shape[0]) if rows.shape[0] else 0
    if array.dtype.names is not None:
        raise ShapeError(bad("unique", "axis", axis, "None for an array with fields"))
    if array.size == 0:  # slices without elements are all the same
        count, few = len(rows), min(1, len(rows))
        parts = {"i": np.zeros(few, int), "r": np.zeros(count, int), "c": np.full(few, count)}
        found = [as_array("unique", "ar", parts[n]) if n in parts else moveaxis(rows[:few], 0, at) for n in names]
    else:
        record = np.dtype([(f"f{i}", array.dtype) for i in range(width)])
        found = _parts("unique", _packed(rows.reshape(len(rows), width), record), names, False)
        found[0] = unsized("unique", _unpacked, (found[0],), (shape, at), _at((None, *shape), at), array.dtype)
    return found[0] if len(found) == 1 else tuple(found)


def _at(shape: tuple[int | None, ...], axis: int) -> tuple[int | None, ...]:
    """Move the first length to its place."""
    return (*shape[1 : axis + 1], shape[0], *shape[axis + 1 :])


def _packed(rows: Array, record: np.dtype[Any]) -> Array:
    grid = rows.expr.grid
    step = max(1, grid.largest // max(1, rows.shape[1]))
    axis = grid.axes[0] if grid.axes[0].largest <= step else Axis.regular(rows.shape[0], step)
    rows = regrid(rows, Grid([axis, Axis.whole(rows.shape[1])]))
    return make(BlockFunction("searching:pack_rows", (record,), axes=((0, None),)), (rows,), Grid([axis]), record)


def _unpacked(x: Array, shape: tuple[int, ...], axis: int) -> Steps:
    """Recipe of the slices of which `x` has one in each record."""
    dtype = x.dtype[0]
    assert x.dtype.names is not None
    width = len(x.dtype.names)
    grid = Grid([x.expr.grid.axes[0], Axis.whole(width)])
    rows = make(BlockFunction("searching:unpack_rows", axes=((0,),)), (x,), grid, dtype)
    yield from ()
    return moveaxis(rows.reshape(x.shape[0], *shape), 0, axis)


def union1d(ar1: Any, ar2: Any) -> Array:
    """Return the distinct elements of two arrays, sorted.

    Parameters
    ----------
    ar1, ar2 : array

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.union1d([1, 3], [2, 3]).compute()
    array([1, 2, 3])
    """
    found: Array = unique(concatenate(_flat("union1d", ar1, ar2)))
    return found


def _flat(operation: str, ar1: Any, ar2: Any) -> list[Array]:
    """Return two arrays flattened, in a common dtype."""
    arrays = [ravel(as_array(operation, f"ar{i + 1}", a)) for i, a in enumerate((ar1, ar2))]
    try:
        dtype = np.result_type(*(a.dtype for a in arrays))
    except TypeError as error:
        raise DTypeError(
            bad(operation, "ar2", arrays[1].dtype, f"elements to compare with {arrays[0].dtype}")
        ) from error
    return [astype(a, dtype) for a in arrays]


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """Return the distinct elements that two arrays have in common, sorted.

    Parameters
    ----------
    ar1, ar2 : array
    assume_unique : bool
        As in NumPy; it makes no difference where it holds.
    return_indices : bool
        Whether to return the positions of their first occurrences, too.

    Returns
    -------
    Array, or three of them

    Examples
    --------
    >>> import windrow as wr
    >>> wr.intersect1d([1, 3, 3], [3, 2]).compute()
    array([3])
    """
    first, second = _flat("intersect1d", ar1, ar2)
    pair = _Pair(first, second)
    names = ("values", "first", "second") if return_indices else ("values",)
    found = [
        unsized("intersect1d", _common, (first, second), (pair, n), (None,), first.dtype if n == "values" else "i8")
        for n in names
    ]
    return tuple(found) if return_indices else found[0]


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    """Return the distinct elements of one array that another lacks, sorted.

    Parameters
    ----------
    ar1, ar2 : array
    assume_unique : bool
        Whether `ar1` is taken as it is: not sorted, and nothing left out that it has twice.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.setdiff1d([4, 1, 3, 1], [3, 2]).compute()
    array([1, 4])
    """
    first, second = _flat("setdiff1d", ar1, ar2)
    own = as_array("setdiff1d", "ar1", ar1)
    if assume_unique:
        return select(ravel(own), isin(first, second, invert=True))
    params = (_Pair(first, second), True, own.dtype)
    return unsized("setdiff1d", _alone, (first, second), params, (None,), own.dtype)


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    """Return the distinct elements that only one of two arrays has, sorted.

    Parameters
    ----------
    ar1, ar2 : array
    assume_unique : bool
        As in NumPy; it makes no difference where it holds.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.setxor1d([1, 3], [3, 2]).compute()
    array([1, 2])
    """
    first, second = _flat("setxor1d", ar1, ar2)
    params = (_Pair(first, second), False, first.dtype)
    return unsized("setxor1d", _alone, (first, second), params, (None,), first.dtype)
