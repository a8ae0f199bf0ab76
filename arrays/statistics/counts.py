"""Counting small whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_integer
from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import DTypeError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ...workers.kernels.reduction import native
from ..base import ArrayBase, as_array, make
from ..chunking.rechunk import regrid
from ..creation.filled import zeros
from ..execution.deferred import defer_unsized
from ..ops.elementwise.functions import astype
from ..ops.elementwise.nodes import choose
from ..ops.reductions import extremes
from ..ops.reductions import sums as red
from .bounds import find_bounds

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..array import Array
    from ..typing import ArrayLike

__all__ = [
    "bincount",
]

GUESS = 1 << 10
"""The first pass counts at least the numbers below this."""

MOST = 1 << 16
"""The first pass counts no more numbers than this; else the greatest element is found first."""


def bincount(x: ArrayLike, /, weights: ArrayLike | None = None, minlength: int = 0) -> Array:
    """Count how often each integer from 0 on occurs.

    Parameters
    ----------
    x : 1-D array of integers
        None of them negative.
    weights : array_like, optional
        Real numbers in the shape of `x`, added up instead of ones; None: ones.
    minlength : int
        The result has at least this length. Where it covers all numbers, `x` is read only once. Where `x` is known to
        be below it (indices of `argmin` or `digitize`, remainders, random integers, a small array), so is the result's
        length, and nothing is computed before it is asked for. Of others the length isn't known, whatever
        `minlength` is, so `c[:, j] = bincount(…)` computes it. The mask of a selection `x[mask]` is counted at the
        call, but where its numbers are known to be below `minlength` and there are no weights.

    Returns
    -------
    Array
        1-D, as long as the greatest number plus 1 (and at least `minlength`): unless that is known, its size is found
        when something needs it. int64, or float64 with weights.

    Raises
    ------
    ArgumentError
        `x` or `weights` can't be read as an array; or `minlength` isn't an integer from 0 on.
    ShapeError
        `x` isn't 1-D, or `weights` has another shape; when it is computed: `x` has negative numbers.
    DTypeError
        `x` isn't integers, or `weights` isn't real numbers.

    >>> wr.bincount(wr.asarray([0, 3, 1, 3]), minlength=5).compute()
    array([1, 1, 0, 2, 0])
    >>> wr.bincount([0, 1, 1], weights=[0.5, 1.0, 2.0]).compute()
    array([0.5, 3. ])
    """
    least = check_integer("bincount", "minlength", minlength, 0, expected="an integer that is not negative")
    selected = _of_selection(x, least) if weights is None else None
    if selected is not None:
        return selected
    array = as_array("bincount", "x", x)
    if array.ndim != 1:
        raise ShapeError(bad("bincount", "x", array.shape, "a 1-D array"))
    if array.dtype.kind not in "biu" and array.shape != (0,):
        raise DTypeError(bad("bincount", "x", array.dtype, "an array of integers that int64 holds"))
    dtype = np.dtype(np.int64 if weights is None else np.float64)
    operands = [array]
    if weights is not None:
        heavy = as_array("bincount", "weights", weights)
        if heavy.shape != array.shape:
            raise ShapeError(bad("bincount", "weights", heavy.shape, f"the shape of x, {array.shape}"))
        if not np.can_cast(heavy.dtype, np.float64):
            raise DTypeError(bad("bincount", "weights", heavy.dtype, "an array of real numbers"))
        operands.append(astype(heavy, np.float64))
    if array.shape == (0,):
        return zeros(least, dtype)
    operands[0] = astype(
        array, np.int8 if array.dtype == bool else np.int64 if array.dtype.kind == "u" else native(array.dtype)
    )
    if _is_below(array, least):
        return _counted(operands, least, dtype)
    return defer_unsized("bincount", _count, operands, (least,), (None,), dtype)


def _is_below(x: Array, least: int) -> bool:
    """Tell whether integers are known, without computing anything, to be from 0 on and below a number."""
    bounds = find_bounds(x.expr)
    return bounds is not None and bounds[0] >= 0 and bounds[1] < least <= MOST


def _of_selection(x: Any, least: int) -> Array | None:
    """Count the elements that a mask selects, without selecting them; None for others, or if the length is unknown."""
    chosen = x._unsized.chosen if isinstance(x, ArrayBase) and x._unsized is not None else None
    if chosen is None or chosen.whole.ndim != 1 or x.dtype.kind not in "biu" or not _is_below(chosen.whole, least):
        return None
    numbers = choose("bincount", chosen.mask, astype(chosen.whole, np.int64), np.int64(least))  # others lie beyond
    return _counted([numbers], least + 1, np.dtype(np.int64))[:least]


def _counted(operands: list[Array], length: int, dtype: np.dtype[Any]) -> Array:
    sums = _sums(operands[0], operands[1:], length)
    return make(BlockFunction("statistics.counts:counted"), (sums,), Grid([Axis.whole(length)]), dtype)


def _count(x: Array, *rest: Any) -> Generator[Any, Any, Array]:
    """Count the numbers below a guess; if there are greater ones, find the greatest, and count again."""
    *weights, least = rest
    guess = least if weights else max(least, GUESS)
    if 0 < guess <= MOST:
        sums = yield _sums(x, weights, guess)
        counts, beyond = sums[:-1], sums[-1]
        if beyond == 0:
            length = guess if weights else max(least, int(counts.nonzero()[0].max(initial=-1)) + 1)
            return as_array("bincount", "x", counts[:length])
    low, high = yield extremes.min(x), extremes.max(x)
    if low < 0:
        raise ShapeError(f"bincount: argument 'x' is an array with {low}; expected no negative numbers")
    return _sums(x, weights, max(least, int(high) + 1))[:-1]


def _sums(x: Array, weights: list[Array], length: int) -> Array:
    """Add up each chunk's counts or weights; the last element counts the numbers from `length` on."""
    if length > max(x.chunksize):  # else the counts would take more memory than the elements
        x = regrid(x, Grid([Axis.regular(x.shape[0], length)]))
    grid = Grid([Axis.regular(x.npartitions, 1), Axis.whole(length + 1)])
    operands = [x, *(regrid(w, x.expr.grid) for w in weights)]
    dtype = np.float64 if weights else np.int64
    op = BlockFunction("statistics.counts:count_within", (length,), ((0,),) * len(operands))
    return red.sum(make(op, operands, grid, dtype), 0)
