"""Windows that slide along axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.axismap import AxisMap, Slice
from ....graph.chunks.grid import Axis, Grid
from ....graph.chunks.positions import Runs
from ....graph.errors import BadValue, ShapeError, bad
from ....graph.kinds.mapping import BlockFunction
from ....graph.kinds.move import rechunk as rechunk_move
from ....graph.kinds.source import Full
from ....graph.passes.windows import WINDOWS, Windowed, find_windows
from ...base import as_array, check_axis, check_shape, make, wrap
from ...refitting import refittable
from ...views import gives_readonly_view
from .axis_moves import move, transpose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...array import Array
    from ...typing import ArrayLike

__all__ = [
    "sliding_window_view",
]

SMALL = 1 << 20
"""Bytes of windows up to which a chunk isn't cut."""


@gives_readonly_view
def sliding_window_view(
    x: ArrayLike,
    window_shape: int | Sequence[int],
    axis: int | Sequence[int] | None = None,
    *,
    subok: bool = False,
    writeable: bool = False,
    automatic_rechunk: bool = True,
) -> Array:
    """Return all windows of a shape that lie within the array.

    Parameters
    ----------
    x : array_like
        The array.
    window_shape : int or sequence of int
        Length of the window along each of the axes.
    axis : int, sequence of int or None
        The axes along which windows slide; None: all, in order.
    subok : bool
        Accepted for NumPy and ignored: there are no subclasses.
    writeable : bool
        Only False: windows are read-only.
    automatic_rechunk : bool
        Whether chunks are cut along the axes so that windows don't make them larger; False: they stay.

    Returns
    -------
    Array
        Lazy: the positions along the axes of `x`, then the axes of a window.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array. `window_shape` or an axis
        is not an integer.
    ShapeError
        There are not as many lengths as axes, or a window is longer than its axis.
    AxisError
        An axis is out of range for `x`.
    DTypeError
        `x` holds Python objects.
    BadValue
        `writeable` is True.

    Notes
    -----
    NumPy's function returns a view. Here windows are copied, chunk by chunk, where they are used; windows that
    are persisted take the memory of `x` times the number of elements of a window. Elementwise functions are computed
    once for each element of `x`. Sums, means, extremes and products of integers over windows, with or without NaN,
    and products of windows with a vector don't copy windows at all.

    >>> wr.sliding_window_view(wr.arange(5, chunks=2), 3).compute()
    array([[0, 1, 2],
           [1, 2, 3],
           [2, 3, 4]])
    """
    name = "sliding_window_view"
    array = as_array(name, "x", x)
    lengths = check_shape(name, window_shape, "window_shape")
    axes = range(array.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    along = tuple(check_axis(name, a, array.ndim) for a in axes)
    if writeable:
        raise BadValue(bad(name, "writeable", writeable, "False; windows are arrays of their own"))
    if len(along) != len(lengths):
        raise ShapeError(bad(name, "window_shape", lengths, f"a length for each of {len(along)} axes"))
    left = list(array.shape)
    for i, w in zip(along, lengths, strict=True):
        if left[i] < w:
            raise ShapeError(bad(name, "window_shape", lengths, f"windows within the array's shape {array.shape}"))
        left[i] -= w - 1
    return _view_windows(array, lengths, along, tuple(left), bool(automatic_rechunk))


@refittable
def _view_windows(
    array: Array, lengths: tuple[int, ...], along: tuple[int, ...], left: tuple[int, ...], smaller: bool
) -> Array:
    reach = [n - m for n, m in zip(array.shape, left, strict=True)]
    windows = [Axis.whole(w) for w in lengths]
    if smaller:
        cut = _places(array.expr.grid, reach, SMALL // max(1, array.dtype.itemsize))
    else:
        cut = [_shortened(own, n) for own, n in zip(array.expr.grid.axes, reach, strict=True)]
    places = [cut[i] if i in along else own for i, own in enumerate(array.expr.grid.axes)]
    if math.prod(lengths) == 0 or array.size == 0:
        return make(Full(np.zeros((), array.dtype)[()]), (), Grid([*places, *windows]), array.dtype)
    op = BlockFunction(WINDOWS, (lengths, along), (tuple(range(array.ndim)),))
    return make(op, (_reached(array, along, reach, places),), Grid([*places, *windows]), array.dtype)


def _reached(array: Array, along: Sequence[int], reach: Sequence[int], places: Sequence[Axis]) -> Array:
    """Return, for each chunk of `places`, a block of all elements of the windows that begin there."""
    steps: list[tuple[int | None, AxisMap]] = [(i, Slice()) for i in range(array.ndim)]
    read = list(array.expr.grid.axes)
    for i in set(along):
        blocks = np.arange(places[i].count)
        start, sizes = places[i].start(blocks), places[i].size(blocks) + reach[i]
        steps[i], read[i] = (i, Runs(start, sizes)), Axis.of_sizes(sizes)
    return move("windows", array, steps, read)


SHORT = 2
"""Elements of the longest window that is reduced by copying it."""

REDUCED = ("sum", "prod", "min", "max", "mean", "nanmin", "nanmax", "nanmean")
"""Reductions of windows that don't copy them."""


def reduce_windows(name: str, array: Array, axes: tuple[int, ...], dtype: np.dtype[Any]) -> Array | None:
    """Return a reduction over windows, whose time hardly depends on their length; None where `array` isn't windows."""
    slid = find_slid(array) if name in REDUCED else None
    if slid is None:
        return None
    ndim = slid.below.grid.ndim
    lengths = array.shape[ndim:]
    if math.prod(lengths) <= SHORT or axes != tuple(range(ndim, array.ndim)):
        return None
    if array.dtype.kind not in "biuf" or dtype.kind not in "biuf":
        return None
    if name == "prod" and dtype.kind == "f":  # another order of factors might overflow on the way
        return None
    return _reduce_windows(_reach(slid, array), lengths, slid.along, array.shape[:ndim], name, dtype)


@refittable
def _reduce_windows(
    source: Array, lengths: Any, along: Any, left: tuple[int, ...], name: str, dtype: np.dtype[Any]
) -> Array:
    axes = source.expr.grid.axes
    reach = [own.length - m for own, m in zip(axes, left, strict=True)]
    places = [
        _shortened(own, n) if n <= own.largest else Axis.regular(own.length - n, n)
        for own, n in zip(axes, reach, strict=True)
    ]
    op = BlockFunction("signal.lines:reduced_windows", (lengths, along, name, dtype.str), (tuple(range(source.ndim)),))
    return make(op, (_reached(source, along, reach, places),), Grid(places), dtype)


def find_slid(array: Array) -> Windowed | None:
    """Return the windows that an array consists of, below any elementwise functions; None where it isn't windows."""
    return find_windows(array.expr, lambda _: False)


def weigh_windows(left: Array, right: Array, labels: tuple[Sequence[int], ...]) -> Array | None:
    """Return the product of windows along one axis with a vector of weights; None where `left` isn't such windows.

    The elements of each window are added up in order, without copying the window.
    """
    mine, theirs, out = labels
    if len(theirs) != 1 or theirs[0] not in mine or theirs[0] in out or len(out) != len(mine) - 1:
        return None
    slid = find_slid(left)
    if slid is None or len(slid.along) != 1 or mine[-1] != theirs[0]:
        return None
    windows = slid.expression(left.expr.grid, left.dtype, left.expr.origin)
    vector = make(rechunk_move(1), (right,), Grid([Axis.whole(right.shape[0])]), right.dtype)
    op = BlockFunction("signal.lines:weighted_windows", (slid.along[0],), (tuple(range(left.ndim - 1)), (None,)))
    grid = Grid(left.expr.grid.axes[:-1])
    product = make(op, (wrap(windows.operands[0]), vector), grid, left.dtype)
    return transpose(product, [mine.index(label) for label in out])


def reduce_below(array: Array, axes: Sequence[int], reduce: Callable[[Array, tuple[int, ...]], Array]) -> Array | None:
    """Reduce along axes in which windows don't slide, before they slide; None where `array` isn't windows."""
    slid = find_slid(array)
    if slid is None or not axes or any(a in slid.along or a >= slid.below.grid.ndim for a in axes):
        return None
    kept = [i for i in range(array.ndim) if i not in axes]
    along = tuple(kept.index(a) for a in slid.along)
    reduced = reduce(_reach(slid, array), tuple(axes))
    grid = Grid([array.expr.grid.axes[i] for i in kept])
    return wrap(Windowed(reduced.expr, along, (0,) * reduced.ndim).expression(grid, reduced.dtype, reduced.expr.origin))


def _reach(slid: Windowed, array: Array) -> Array:
    """Return the part of the array below that the windows cover."""
    below, part = wrap(slid.below), []
    for i, start in enumerate(slid.starts):
        reach = sum(n - 1 for a, n in zip(slid.along, array.shape[below.ndim :], strict=True) if a == i)
        part.append(slice(start, start + array.shape[i] + reach))
    whole = all((p.start, p.stop) == (0, n) for p, n in zip(part, below.shape, strict=True))
    return below if whole else below[tuple(part)]


def _places(grid: Grid, reach: Sequence[int], small: int) -> list[Axis]:
    """Return the axes of positions at which windows begin, in chunks that become smaller as windows become longer.

    So a chunk of windows has about as many elements as a chunk of the array, or `small` where that is more. A chunk
    of positions is hardly shorter than a window.
    """
    longer = [max(n + 1, 1) for n in reach]
    left = min(math.prod(longer), max(1.0, small / max(1, math.prod(own.largest for own in grid.axes))))
    places = []
    for own, n, times in zip(grid.axes, reach, longer, strict=True):
        more = min(left, times)
        left /= more
        places.append(Axis.regular(max(own.length - n, 0), max(n, int(own.largest * more / times), 1)))
    return places


def _shortened(own: Axis, reach: int) -> Axis:
    """Return the axis of positions at which windows begin, in the array's own chunks."""
    left = max(own.length - reach, 0)
    stops = [min(int(n), left) for n in np.cumsum(np.asarray(own.sizes()))]
    sizes = [stop - start for start, stop in zip([0, *stops], stops, strict=False) if stop > start]
    return Axis.of_sizes(sizes or [0])
