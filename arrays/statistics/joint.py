"""Histograms of several dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ..base import ArrayBase, as_array, few, make
from ..chunking.rechunk import regrid
from ..ops.elementwise.functions import astype
from ..ops.reductions import extremes
from ..ops.reductions import sums as red
from .docstrings import STATISTICS
from .histograms import check_binnable, check_count, check_edges, check_range

if TYPE_CHECKING:
    from ..array import Array
    from ..typing import ArrayLike

__all__ = [
    "histogram2d",
    "histogramdd",
]


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Array, list[Array]]:
    """Count points in boxes.

    Parameters
    ----------
    sample : array_like (N, D), or sequence of D 1-D arrays
        The points: one in each row, or an array for each dimension.
    bins : int or sequence
        For all dimensions, or for each: so many bins of one width, or the edges of bins, which must not decrease.
    range : sequence, optional
        For each dimension None or (float, float): where bins of one width begin and end; None: at the least and the
        greatest element.
    density : bool, optional
        Whether to divide the counts by their sum and by the volume of their boxes.
    weights : array_like, optional
        Real numbers, one for each point, added up instead of ones; None: ones.

    Returns
    -------
    histogram : Array of float64
        The counts, with an axis for each dimension.
    edges : list of Array
        The edges of the bins in each dimension.

    Raises
    ------
    ArgumentError
        `sample` is neither an array nor a sequence, or `bins` isn't integers from 1 on or edges.
    {histogram_errors}

    Notes
    -----
    There are no names of estimates for `bins`, as in NumPy.

    >>> x = wr.arange(4.0)
    >>> counts, edges = wr.histogramdd((x, 2 * x), bins=(2, 3))
    >>> counts.compute()
    array([[1., 1., 0.],
           [0., 0., 2.]])
    """
    return _joint("histogramdd", _columns(sample), bins, range, density, weights)


def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[Array, Array, Array]:
    """Count points of the plane in rectangles.

    Parameters
    ----------
    x, y : 1-D array
        The points' coordinates, of one length.
    bins : int, edges, or a pair of these
        So many bins of one width, or the edges of bins: for both axes, or for each.
    range : pair, optional
        For each axis None or (float, float): where bins of one width begin and end; None: at the least and the greatest
        element.
    density : bool, optional
        Whether to divide the counts by their sum and by the area of their bins.
    weights : array_like, optional
        Real numbers, one for each point, added up instead of ones; None: ones.

    Returns
    -------
    histogram, xedges, yedges : Array
        The counts, 2-D of float64 with `x` along the first axis, and the edges of the bins along each.

    Raises
    ------
    ArgumentError
        `x` or `y` can't be read as an array; or `bins` isn't integers from 1 on or edges.
    {histogram_errors}

    >>> x = wr.arange(4.0)
    >>> wr.histogram2d(x, x, bins=2)[0].compute()
    array([[2., 0.],
           [0., 2.]])
    """
    columns = [check_binnable("histogram2d", name, v) for name, v in (("x", x), ("y", y))]
    if columns[0].shape != columns[1].shape or columns[0].ndim != 1:
        raise ShapeError(bad("histogram2d", "y", columns[1].shape, f"a 1-D array, as long as x, {columns[0].shape}"))
    if isinstance(bins, ArrayBase) or (_several(bins) and len(bins) not in (1, 2)):
        bins = [bins, bins]
    counts, edges = _joint("histogram2d", columns, bins, range, density, weights)
    return counts, edges[0], edges[1]


def _several(bins: ArrayLike) -> bool:
    """Whether bins are given by edges, or for each dimension."""
    return isinstance(bins, list | tuple) or (isinstance(bins, ArrayBase | np.ndarray) and bins.ndim > 0)


def _columns(sample: Any) -> list[Array]:
    """Return the points' coordinates, an array for each dimension."""
    if isinstance(sample, ArrayBase | np.ndarray):
        points = check_binnable("histogramdd", "sample", sample)
        if points.ndim == 1:
            points = points.reshape(-1, 1)
        if points.ndim != 2:
            raise ShapeError(bad("histogramdd", "sample", points.shape, "(points, dimensions)"))
        return [points[:, i] for i in np.arange(points.shape[1]).tolist()]
    if not isinstance(sample, tuple | list):
        raise ArgumentError(bad("histogramdd", "sample", sample, "an array, or a sequence of them"))
    if sample and not any(isinstance(s, ArrayBase | np.ndarray) for s in sample) and np.ndim(sample) == 2:
        sample = list(np.asarray(sample))
    columns = [check_binnable("histogramdd", f"sample[{i}]", s) for i, s in enumerate(sample)]
    if any(f.ndim != 1 or f.shape != columns[0].shape for f in columns):
        raise ShapeError(f"histogramdd: coordinates have shapes {[f.shape for f in columns]}; expected one length")
    return columns


def _joint(
    operation: str, columns: list[Array], bins: Any, range: Any, density: Any, weights: ArrayLike
) -> tuple[Array, list[Array]]:
    dimensions = len(columns)
    if not dimensions:
        raise ShapeError(bad(operation, "sample", "no dimensions", "at least one"))
    each = f"an entry for each of {dimensions} dimensions"
    bins, range = few(operation, "bins", bins, each), few(operation, "range", range, each)
    axis_bins = list(bins) if _several(bins) else [bins] * dimensions
    if len(axis_bins) == 1:
        axis_bins = axis_bins * dimensions
    if len(axis_bins) != dimensions:
        raise ShapeError(bad(operation, "bins", bins, each))
    between = [None] * dimensions if range is None else list(range)
    if len(between) != dimensions:
        raise ShapeError(bad(operation, "range", range, each))
    grid = columns[0].expr.grid
    common = np.result_type(*(c.dtype for c in columns))
    columns = [astype(regrid(c, grid), common) for c in columns]
    edges = [_edges(operation, c, b, r) for c, b, r in zip(columns, axis_bins, between, strict=True)]
    counts = _count(operation, columns, edges, tuple(not _several(b) for b in axis_bins), weights)
    if density:
        total = counts.sum()
        for i, edge in enumerate(edges):
            shape = tuple(-1 if i == k else 1 for k in np.arange(dimensions).tolist())
            counts = counts / (edge[1:] - edge[:-1]).reshape(shape)
        counts = counts / total
    return counts, edges


def _edges(operation: str, x: Array, bins: ArrayLike, given: object) -> Array:
    if _several(bins):
        return check_edges(operation, bins)
    count = check_count(operation, bins)
    between = check_range(operation, given)
    if between is not None or x.size == 0:
        first, last = np.histogram_bin_edges(np.zeros(0), 1, between)
        return as_array(operation, "range", np.linspace(first, last, count + 1))
    grid = Grid([Axis.whole(count + 1)])
    ends = (extremes.min(x), extremes.max(x))
    dtype = np.histogram_bin_edges(np.zeros(1, x.dtype), 1).dtype
    return make(BlockFunction("statistics.histograms:even_edges", (count,), ((), ())), ends, grid, dtype)


def _count(
    operation: str, columns: list[Array], edges: list[Array], even: tuple[bool, ...], weights: ArrayLike
) -> Array:
    """Count each chunk, and add up."""
    axis = columns[0].expr.grid.axes[0]
    lengths = [e.shape[0] - 1 for e in edges]
    grid = Grid([Axis.regular(axis.count, 1), *(Axis.whole(n) for n in lengths)])
    operands, operand_axes = [*columns, *edges], ((0,),) * len(columns) + ((None,),) * len(edges)
    if weights is not None:
        heavy = as_array(operation, "weights", weights)
        if heavy.shape != columns[0].shape:
            raise ShapeError(bad(operation, "weights", heavy.shape, f"a weight for each point, {columns[0].shape}"))
        if heavy.dtype.kind not in "biuf":
            raise DTypeError(bad(operation, "weights", heavy.dtype, "an array of real numbers"))
        operands.append(astype(regrid(heavy, Grid([axis])), float))
        operand_axes += ((0,),)
    op = BlockFunction("statistics.histograms:joint", (even, weights is not None), operand_axes)
    return red.sum(make(op, operands, grid, np.float64), 0)


STATISTICS.fill(__name__)
