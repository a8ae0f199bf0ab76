"""Histograms in one dimension: elements counted in bins, chunk by chunk; chunks are added up in their order.

Edges that follow from the least and the greatest element are an array of their own, which the counting reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_integer
from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ..base import ArrayBase, as_array, make
from ..chunking.rechunk import regrid
from ..execution.deferred import defer_unsized
from ..ops.elementwise.functions import astype
from ..ops.reductions import extremes
from ..ops.reductions import sums as red
from ..refitting import refittable
from .widths import ESTIMATORS, estimate_edges

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..array import Array
    from ..typing import ArrayLike

__all__ = [
    "histogram",
    "histogram_bin_edges",
]


def histogram(
    a: ArrayLike, bins: ArrayLike = 10, range: Any = None, density: Any = None, weights: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Count the elements in bins.

    Parameters
    ----------
    a : array_like of real numbers
        What to count, of any shape; bool counts as 0 and 1.
    bins : int, sequence or str
        So many bins of one width; the edges of bins, which must not decrease; or how to estimate a good width: "auto",
        "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges".
    range : (float, float), optional
        Where bins of one width begin and end; None: at the least and the greatest element. What lies outside isn't
        counted.
    density : bool, optional
        Whether to divide the counts by their sum and by the width of their bins.
    weights : array_like, optional
        Numbers in the shape of `a`, added up instead of ones; None: ones.

    Returns
    -------
    histogram, edges : Array
        The counts, 1-D: int64, float64 with `density`, or the dtype of the weights; and the edges of the bins, one
        more. Bins are half-open, but the last holds its right edge.

    Raises
    ------
    ArgumentError
        `a` or `weights` can't be read as an array; `bins` is neither an integer, edges nor a name; it is a name and
        there are weights; or `range` isn't a pair.
    ShapeError
        `bins` is an unknown name, or edges that decrease or aren't 1-D; `range` isn't finite or falls; or
        `weights` has another shape.
    DTypeError
        `a` isn't real numbers, or `weights` isn't numbers.
    ValueError
        When it is computed: the least or greatest element, which `range` left out asks for, isn't finite.

    Notes
    -----
    With an estimate of the width the number of bins is found when something needs it, and "stone" reads the data once
    for each number of bins that it tries. Chunks are added up in their order, so that sums of weights have the same
    bits on any number of ranks.

    >>> counts, edges = wr.histogram(wr.arange(10, chunks=4), bins=4, range=(0, 8))
    >>> counts.compute(), edges.compute()
    (array([2, 2, 2, 3]), array([0., 2., 4., 6., 8.]))
    """
    x = check_binnable("histogram", "a", a)
    heavy = None if weights is None else _weights("histogram", weights, x)
    if isinstance(bins, str) and heavy is not None:
        raise ArgumentError(bad("histogram", "bins", bins, "a number or edges, since there are weights"))
    edges, even = edges_of("histogram", x, bins, range)
    if isinstance(bins, str):
        dtype = np.dtype(float if density else np.int64)
        return defer_unsized("histogram", _count_late, (x, edges), (bool(density),), (None,), dtype), edges
    counts = _count(x, heavy, edges, even)
    return (_dense(counts, edges) if density else counts), edges


def _count_late(x: Array, edges: Array, density: bool) -> Generator[Any, Any, Array]:
    """Count when the number of bins is known."""
    yield from ()
    counts = _count(x, None, edges, True)
    return _dense(counts, edges) if density else counts


def histogram_bin_edges(
    a: ArrayLike, bins: ArrayLike = 10, range: Any = None, weights: ArrayLike | None = None
) -> Array:
    """Return the edges of the bins that `histogram` uses.

    Parameters
    ----------
    a : array_like of real numbers
        What would be counted, of any shape.
    bins : int, sequence or str
        So many bins of one width; the edges of bins, which must not decrease; or how to estimate a good width: "auto",
        "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges".
    range : (float, float), optional
        Where bins of one width begin and end; None: at the least and the greatest element.
    weights : array_like, optional
        Without effect, as in NumPy; but no estimate is made with them.

    Returns
    -------
    Array
        The edges, 1-D, one more than there are bins; float64, or the floating-point dtype of `a`. With an estimate
        their number is found when something needs it.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; `bins` is neither an integer from 1 on, edges nor a name; it is a name and there
        are weights; or `range` isn't a pair.
    ShapeError
        `bins` is an unknown name, or edges that decrease or aren't 1-D; or `range` isn't finite or falls.
    DTypeError
        `a` isn't real numbers.
    ValueError
        When it is computed: the least or greatest element, which `range` left out asks for, isn't finite.

    >>> wr.histogram_bin_edges(wr.arange(9), bins=4).compute()
    array([0., 2., 4., 6., 8.])
    """
    x = check_binnable("histogram_bin_edges", "a", a)
    if isinstance(bins, str) and weights is not None:
        raise ArgumentError(bad("histogram_bin_edges", "bins", bins, "a number or edges, since there are weights"))
    return edges_of("histogram_bin_edges", x, bins, range)[0]


def check_binnable(operation: str, argument: str, a: ArrayLike) -> Array:
    """Return an array whose elements are to be counted in bins."""
    x = as_array(operation, argument, a)
    if x.dtype.kind not in "biuf":
        raise DTypeError(bad(operation, argument, x.dtype, "an array of real numbers"))
    return astype(x, np.uint8) if x.dtype == bool else x


def _weights(operation: str, weights: ArrayLike, x: Array) -> Array:
    heavy = as_array(operation, "weights", weights)
    if heavy.shape != x.shape:
        raise ShapeError(bad(operation, "weights", heavy.shape, f"the shape of a, {x.shape}"))
    if heavy.dtype.kind not in "iufc":
        raise DTypeError(bad(operation, "weights", heavy.dtype, "an array of numbers"))
    return regrid(heavy, x.expr.grid)


def check_range(operation: str, given: Any) -> tuple[Any, Any] | None:
    """Return where the bins begin and end."""
    if given is None:
        return None
    try:
        first, last = given
        fits = bool(np.isfinite(first) and np.isfinite(last) and first <= last)
    except (TypeError, ValueError) as error:
        raise ArgumentError(bad(operation, "range", given, "a pair of numbers")) from error
    if not fits:
        raise ShapeError(bad(operation, "range", given, "finite numbers, the second not less than the first"))
    return first, last


def whole(x: ArrayBase) -> Array:
    """Return an array in one chunk."""
    return regrid(x, Grid.single(x.expr.grid.shape))


def check_edges(operation: str, bins: ArrayLike, argument: str = "bins") -> Array:
    """Return the user's edges; NumPy's arrays are checked."""
    if not isinstance(bins, ArrayBase):
        bins = np.asarray(bins)
        if bins.ndim == 1 and (bins[:-1] > bins[1:]).any():
            raise ShapeError(bad(operation, argument, bins, "edges that don't decrease"))
    edges = as_array(operation, argument, bins)
    if edges.ndim != 1 or edges.shape[0] < 1 or edges.dtype.kind not in "biuf":
        raise ShapeError(bad(operation, argument, bins, "1-D edges"))
    return whole(edges)


def check_count(operation: str, bins: ArrayLike, argument: str = "bins") -> int:
    """Return a number of bins."""
    return check_integer(operation, argument, bins, 1, expected="an integer from 1 on, or edges")


def edges_of(operation: str, x: Array, bins: Any, given: object) -> tuple[Array, bool]:
    """Return the edges, and whether all bins have one width."""
    between = check_range(operation, given)
    if isinstance(bins, str):
        if bins not in ESTIMATORS:
            raise ShapeError(bad(operation, "bins", bins, f"one of {', '.join(ESTIMATORS)}"))
        dtype = np.histogram_bin_edges(np.zeros(0, x.dtype), 1, between).dtype
        if between is None:
            dtype = np.histogram_bin_edges(np.zeros(1, x.dtype), 1).dtype
        return defer_unsized(operation, estimate_edges, (x,), (bins, between), (None,), dtype), True
    if np.ndim(bins):
        return check_edges(operation, bins), False
    count = check_count(operation, bins)
    if between is not None or x.size == 0:
        return as_array(operation, "range", np.histogram_bin_edges(np.zeros(0, x.dtype), count, between)), True
    dtype = np.histogram_bin_edges(np.zeros(1, x.dtype), 1).dtype
    grid = Grid([Axis.whole(count + 1)])
    return make(
        BlockFunction("statistics.histograms:edges", (count,), ((), ())),
        (extremes.min(x), extremes.max(x)),
        grid,
        dtype,
    ), True


@refittable
def _count(x: Array, weights: Array | None, edges: Array, even: bool) -> Array:
    """Count each chunk, and add up."""
    n = edges.expr.grid.shape[0] - 1
    own = tuple(range(x.ndim))
    grid = Grid([*(Axis.regular(c, 1) for c in x.numblocks), Axis.whole(n)])
    if weights is None:
        op = BlockFunction("statistics.histograms:counts", (even,), (own, (None,)))
        return red.sum(make(op, (x, edges), grid, np.int64), own)
    op = BlockFunction("statistics.histograms:sum_weights", (even,), (own, own, (None,)))
    return red.sum(make(op, (x, regrid(weights, x.expr.grid), edges), grid, weights.dtype), own, weights.dtype)


def _dense(found: Array, edges: Array) -> Array:
    widths = astype(edges[1:] - edges[:-1], float)
    dense: Array = found / widths / found.sum()
    return dense
