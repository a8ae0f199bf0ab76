"""Coarser arrays: a function of each group of neighbouring elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_integer
from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, ShapeError, bad
from ...graph.kinds.mapping import MapBlocks
from ..base import as_array, check_axis, make
from ..chunking.rechunk import regrid
from .travel.adapters import Coarse
from .travel.pickling import infer_dtype, name_of, payload, refuse_captured

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..array import Array
    from ..typing import ArrayLike

__all__ = [
    "coarsen",
]


def coarsen(
    reduction: Callable[..., Any], x: ArrayLike, axes: dict[int, int], trim_excess: bool = False, **kwargs: Any
) -> Array:
    """Reduce each group of neighbouring elements to one.

    Parameters
    ----------
    reduction : callable
        Takes a NumPy array and `axis`, a tuple of axes, as `numpy.mean` does. It is pickled now.
    x : array_like
        The array.
    axes : dict of int to int
        For each axis the number of neighbours that become one.
    trim_excess : bool
        Whether to leave out elements at the end that don't fill a group; else there must be none.
    **kwargs : any
        Passed on to `reduction`.

    Returns
    -------
    Array
        Lazy; its axes are shorter by those numbers.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array. `reduction` is not
        callable or can't be pickled, or `axes` has something else than integers from 1 on.
    ShapeError
        A number doesn't divide its axis, and `trim_excess` is False.
    AxisError
        An axis is out of range for `x`.
    DTypeError
        `x` holds Python objects. `reduction` raises an error when it is called on arrays of one element to find the
        dtype.

    >>> import numpy as np
    >>> import windrow as wr
    >>> wr.coarsen(np.sum, wr.arange(6, chunks=3), {0: 2}).compute()
    array([1, 5, 9])
    """
    array = as_array("coarsen", "x", x)
    if not callable(reduction):
        raise ArgumentError(bad("coarsen", "reduction", reduction, "a function"))
    refuse_captured("coarsen", reduction)
    factors = [1] * array.ndim
    for axis, n in axes.items():
        at = check_axis("coarsen", axis, array.ndim, "axes")
        factors[at] = check_integer("coarsen", f"axes[{axis}]", n, 1)
    if trim_excess:
        array = array[tuple(slice(n - n % f) for n, f in zip(array.shape, factors, strict=True))]
    elif any(n % f for n, f in zip(array.shape, factors, strict=True)):
        raise ShapeError(bad("coarsen", "axes", axes, f"divisors of the lengths {array.shape}, or trim_excess=True"))
    wide = [_in_groups(a, f) for a, f in zip(array.expr.grid.axes, factors, strict=True)]
    called = Coarse(reduction, tuple(factors))
    sample = [np.ones(factors, array.dtype)]
    dtype = infer_dtype("coarsen", called, sample, (), kwargs, name_of(reduction), None)
    grid = Grid([Axis.of_sizes(np.asarray(a.sizes()) // f) for a, f in zip(wide, factors, strict=True)])
    packed = payload("coarsen", called, (), kwargs, name_of(reduction))
    return make(MapBlocks(packed, (tuple(range(array.ndim)),)), (regrid(array, Grid(wide)),), grid, dtype)


def _in_groups(axis: Axis, factor: int) -> Axis:
    """Return an axis whose chunks hold whole groups: borders move up to the next one."""
    stops = -(-np.cumsum(axis.sizes()) // factor) * factor
    sizes = np.diff(np.minimum(stops, axis.length), prepend=0)
    return Axis.of_sizes(sizes[sizes > 0]) if axis.length else axis
