"""Sets of distinct elements, sorted. Their number is computed when something asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import DTypeError, bad
from ..base import as_array
from ..chunking.rechunk import regrid
from ..execution.compute import persist
from ..execution.deferred import defer_unsized
from ..indexing.boolean import select
from ..ops.elementwise.functions import astype
from ..ops.elementwise.ufuncs import logical_and, logical_not
from ..ops.moves.joining import concatenate
from ..ops.moves.reshaping import ravel
from .distinct import borders, find_distinct, unique
from .docstrings import SORTING
from .samples import sort_pair
from .search import isin
from .sorts import gather_line

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..array import Array
    from ..typing import ArrayLike

    Steps = Generator[Any, Any, Array]

__all__ = [
    "intersect1d",
    "setdiff1d",
    "setxor1d",
    "union1d",
]


def union1d(ar1: ArrayLike, ar2: ArrayLike) -> Array:
    """Return the distinct elements of two arrays, sorted.

    Parameters
    ----------
    ar1, ar2 : array_like
        Flattened in C order.

    Returns
    -------
    Array
        1-D, in the dtype of both together.

    Raises
    ------
    {set_errors}

    Notes
    -----
    All NaN count as one. The length is computed when something needs it.

    >>> wr.union1d([1, 3], [2, 3]).compute()
    array([1, 2, 3])
    """
    union: Array = unique(concatenate(_flat("union1d", ar1, ar2)))
    return union


def intersect1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """Return the distinct elements that two arrays have in common, sorted.

    Parameters
    ----------
    ar1, ar2 : array_like
        Flattened in C order.
    assume_unique : bool
        Whether neither has an element twice; it makes no difference where it holds.
    return_indices : bool
        Whether to return the positions of their first occurrences, too.

    Returns
    -------
    Array, or three of them
        1-D, in the dtype of both together; with `return_indices` also the positions in the flattened `ar1` and `ar2`,
        as int64.

    Raises
    ------
    {set_errors}

    Notes
    -----
    Each NaN is distinct. The length is computed when something needs it.

    >>> wr.intersect1d([1, 3, 3], [3, 2]).compute()
    array([3])
    """
    first, second = _flat("intersect1d", ar1, ar2)
    pair = _Pair(first, second)
    names = ("values", "first", "second") if return_indices else ("values",)
    outputs = [
        defer_unsized(
            "intersect1d", _common, (first, second), (pair, n), (None,), first.dtype if n == "values" else "i8"
        )
        for n in names
    ]
    return tuple(outputs) if return_indices else outputs[0]


def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Array:
    """Return the distinct elements of one array that another lacks, sorted.

    Parameters
    ----------
    ar1, ar2 : array_like
        Flattened in C order.
    assume_unique : bool
        Whether `ar1` is taken as it is: not sorted, and nothing left out that it has twice.

    Returns
    -------
    Array
        1-D, in the dtype of `ar1`.

    {Raises, Notes of intersect1d}

    >>> wr.setdiff1d([4, 1, 3, 1], [3, 2]).compute()
    array([1, 4])
    """
    first, second = _flat("setdiff1d", ar1, ar2)
    own = as_array("setdiff1d", "ar1", ar1)
    if assume_unique:
        return select(ravel(own), isin(first, second, invert=True))
    params = (_Pair(first, second), True, own.dtype)
    return defer_unsized("setdiff1d", _alone, (first, second), params, (None,), own.dtype)


def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Array:
    """Return the distinct elements that only one of two arrays has, sorted.

    Parameters
    ----------
    ar1, ar2 : array_like
        Flattened in C order.
    assume_unique : bool
        Whether neither has an element twice; it makes no difference where it holds.

    {Returns, Raises of union1d}

    Notes
    -----
    Each NaN is distinct. The length is computed when something needs it.

    >>> wr.setxor1d([1, 3], [3, 2]).compute()
    array([1, 2])
    """
    first, second = _flat("setxor1d", ar1, ar2)
    params = (_Pair(first, second), False, first.dtype)
    return defer_unsized("setxor1d", _alone, (first, second), params, (None,), first.dtype)


def _flat(operation: str, ar1: ArrayLike, ar2: ArrayLike) -> list[Array]:
    """Return two arrays flattened, in a common dtype."""
    arrays = [ravel(as_array(operation, f"ar{i + 1}", a)) for i, a in enumerate((ar1, ar2))]
    try:
        dtype = np.result_type(*(a.dtype for a in arrays))
    except TypeError as error:
        raise DTypeError(
            bad(operation, "ar2", arrays[1].dtype, f"elements to compare with {arrays[0].dtype}")
        ) from error
    return [astype(a, dtype) for a in arrays]


class _Pair:
    """The distinct elements of two arrays sorted together, those of the first before equal ones; computed once."""

    def __init__(self, first: Array, second: Array) -> None:
        self.first, self.second = first, second
        self.found: tuple[Array, Array, Array, Array] | None = None

    def steps(self) -> Generator[Any, Any, tuple[Array, Array, Array, Array]]:
        """Give elements, first positions (the second array's come after all of the first's), and both borders."""
        if self.found is None:
            values: list[Array] = []
            places: list[Array] = []
            for x in (self.first, self.second):
                own, where = find_distinct("unique", x, "vi", True)
                places.append(where + self.first.size if values else where)
                values.append(own)
            x = gather_line(concatenate(values))
            both = persist(*(yield from sort_pair(x, regrid(concatenate(places), x.expr.grid))))
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


SORTING.fill(__name__)
