"""Padding arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.axismap import Slice, Spread
from ...graph.chunks.grid import Axis, Grid
from ...graph.chunks.positions import Periodic
from ...graph.errors import ArgumentError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ...graph.kinds.move import Move, Route
from ..base import LONGEST, ArrayBase, as_array, check_axis, make
from ..chunking.coalesce import whole
from ..ops.elementwise.functions import astype
from ..ops.elementwise.ufuncs import rint
from ..ops.moves.axis_moves import slice_axis
from ..ops.moves.joining import concatenate
from ..ops.moves.taking import map_axis, take_positions
from ..ops.reductions.extremes import max as greatest
from ..ops.reductions.extremes import min as least
from ..ops.reductions.sums import mean
from ..user_functions.map_blocks import map_blocks
from ..values import assigned, hold

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..array import Array
    from ..typing import ArrayLike

__all__ = [
    "pad",
]

KEYWORDS: dict[str, dict[str, Any]] = {
    "constant": {"constant_values": 0},
    "linear_ramp": {"end_values": 0},
    **{mode: {"stat_length": None} for mode in ("maximum", "minimum", "mean", "median")},
    **{mode: {"reflect_type": "even"} for mode in ("reflect", "symmetric")},
    **{mode: {} for mode in ("edge", "wrap", "empty")},
}
"""What may be said about each mode, and what holds when nothing is said."""

NARROW = 8
"""Ends that are repeated so often are taken so often, which loops on ranks read as rims; more are one run."""

MARGIN = 1 << 12
"""Chunks of a margin at most: those of an array that is tiny beside it would be very many."""

Widths = list[tuple[int, int]]


def pad(array: ArrayLike, pad_width: Any, mode: str | Callable[..., Any] = "constant", **kwargs: Any) -> Array:
    """Put a margin around an array.

    Parameters
    ----------
    array : array_like
        What to pad.
    pad_width : int, sequence or dict
        How many elements before and after: a number for all axes, a pair for all axes, or a pair for each; in a dict,
        by axis, for those named.
    mode : str or function
        What the margin holds. "constant": `constant_values`; "edge": the outermost element; "linear_ramp": a ramp to
        `end_values`; "maximum", "mean", "median", "minimum": that of `stat_length` elements at the edge; "reflect",
        "symmetric": a mirror image, without or with the outermost element; "wrap": the other end; "empty": zeros. A
        function is called as `function(line, width, axis, kwargs)` for each line along each axis, and changes the line
        in place.
    **kwargs
        `constant_values`, `end_values`, `stat_length` (None: the whole axis): as `pad_width`, for all sides or for
        each. `reflect_type`: "even" or "odd".

    Returns
    -------
    Array
        Larger by the margins, in the dtype of `array`. A margin belongs to the outermost chunks, or has chunks of its
        own where it is larger than they are.

    Raises
    ------
    ArgumentError
        `array` can't be read as an array; `mode` is unknown, or a keyword doesn't belong to it; `pad_width` isn't
        integers; or a width or value is a lazy array.
    ShapeError
        `pad_width` is negative or doesn't broadcast to a pair for each axis; or an axis without elements is padded, in
        a mode other than "constant" and "empty".
    AxisError
        A dict names an axis that the array hasn't.
    DTypeError
        `array` isn't numbers, in a mode that computes with them; or it holds Python objects.

    Notes
    -----
    "median" and functions bring the axis that is padded into one chunk; the other modes don't.

    "empty" gives zeros, NumPy whatever is in memory. A linear ramp of integers may be off by one from NumPy's, where a
    sum is rounded otherwise before it is rounded down.

    >>> wr.pad(wr.arange(3), 2, mode="reflect").compute()
    array([2, 1, 0, 1, 2, 1, 0])
    """
    x = as_array("pad", "array", array)
    if callable(mode):
        return _by_function(x, _widths(pad_width, x.shape), mode, kwargs)
    if mode not in KEYWORDS:
        raise ArgumentError(bad("pad", "mode", mode, f"a function, or one of {', '.join(map(repr, KEYWORDS))}"))
    options = dict(KEYWORDS[mode])
    for name, value in kwargs.items():
        if name not in options:
            raise ArgumentError(bad("pad", name, value, f"no such keyword for mode {mode!r}"))
        options[name] = value
    widths = _widths(pad_width, x.shape)
    if mode not in ("constant", "empty"):
        for n, width in zip(x.shape, widths, strict=True):
            if n == 0 and any(width):
                raise ShapeError(bad("pad", "array", x.shape, "some elements along the axes that are padded"))
    (value,) = options.values() or (None,)
    if mode in ("constant", "empty"):
        return _constant(x, widths, value)
    for at, width in enumerate(widths):
        if any(width):
            x = _one_axis(x, at, width, mode, value)
    return x


class _Lines:
    """A user's function of padded lines along one axis, applied to those of a block."""

    def __init__(self, function: Callable[..., Any], width: tuple[int, int], axis: int, kwargs: dict[str, Any]) -> None:
        self.function, self.width, self.axis, self.kwargs = function, width, axis, kwargs
        self.__name__ = "pad"

    def __call__(self, block: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        out = block.copy()
        lines = np.moveaxis(out, self.axis, -1)
        for at in np.ndindex(lines.shape[:-1]):
            self.function(lines[at], self.width, self.axis, self.kwargs)
        return out


def _by_function(x: Array, widths: Widths, function: Callable[..., Any], kwargs: dict[str, Any]) -> Array:
    x = _fill(x, widths, 0)
    for axis, width in enumerate(widths):
        x = map_blocks(_Lines(function, width, axis, kwargs), whole(x, {axis}), dtype=x.dtype)
    return x


def _pairs(argument: str, value: object, ndim: int) -> Any:
    """Return a pair for each axis, as (ndim, 2)."""
    if isinstance(value, ArrayBase):
        raise ArgumentError(bad("pad", argument, value, "numbers that are known"))
    try:
        return np.broadcast_to(np.asarray(value), (ndim, 2))
    except ValueError as error:
        raise ShapeError(bad("pad", argument, value, f"a number, a pair, or a pair for each of {ndim} axes")) from error


def _widths(value: object, shape: tuple[int, ...]) -> Widths:
    ndim = len(shape)
    if isinstance(value, dict):
        full: list[Any] = [(0, 0)] * ndim
        for axis, width in value.items():
            at = check_axis("pad", axis, ndim, "pad_width")
            full[at] = (width, width) if isinstance(width, int) else width
        value = full if ndim else 0
    pairs = _pairs("pad_width", value, ndim)
    if pairs.dtype.kind not in "iu":
        raise ArgumentError(bad("pad", "pad_width", value, "integers"))
    if pairs.size and pairs.min() < 0:
        raise ShapeError(bad("pad", "pad_width", value, "numbers that are not negative"))
    widths = [(int(before), int(after)) for before, after in pairs]
    if math.prod(n + sum(width) for n, width in zip(shape, widths, strict=True)) > LONGEST:
        raise ShapeError(bad("pad", "pad_width", value, "fewer than 2**63 elements in the result"))
    return widths


def _wider(axis: Axis, width: tuple[int, int]) -> Axis:
    """Return the chunks of a padded axis: margins join the outermost chunks if they aren't larger than these."""
    if not any(width):
        return axis
    largest = max(1, axis.largest)
    sizes = list(axis.sizes())
    for at, extra in ((0, width[0]), (-1, width[1])):
        if extra <= largest:
            sizes[at] += extra
        else:
            margin = Axis.regular(extra, max(largest, -(-extra // MARGIN))).sizes()
            sizes = [*margin, *sizes] if at == 0 else [*sizes, *margin]
    return Axis.of_sizes(sizes)


def _constant(x: Array, widths: Widths, value: object) -> Array:
    """Pad with one value in one move; where there are several, axis after axis, a side at a time."""
    values = np.zeros((x.ndim, 2)) if value is None else _pairs("constant_values", value, x.ndim)
    if values.size == 0:
        return x
    held = [hold("pad", "constant_values", v, x.dtype, assigned) for v in values.reshape(-1)]
    kept = np.stack(held).reshape(values.shape)
    if (kept == kept.flat[0]).all():
        return _fill(x, widths, kept.flat[0])
    for at, (before, after) in enumerate(widths):
        for side, width in enumerate(((before, 0), (0, after))):
            alone = [width if i == at else (0, 0) for i in range(x.ndim)]
            x = _fill(x, alone, kept[at, side])
    return x


def _fill(x: Array, widths: Widths, value: object) -> Array:
    steps = tuple((i, Slice(-before)) for i, (before, _) in enumerate(widths))
    axes = [_wider(axis, width) for axis, width in zip(x.expr.grid.axes, widths, strict=True)]
    return make(Move("pad", (Route(steps),), value), (x,), Grid(axes), x.dtype)


def _one_axis(x: Array, at: int, width: tuple[int, int], mode: str, value: object) -> Array:
    n = x.shape[at]
    if mode in ("reflect", "symmetric"):
        if value not in ("even", "odd"):
            raise ArgumentError(bad("pad", "reflect_type", value, "'even' or 'odd'"))
        return _mirror(x, at, width, mode, odd=value == "odd")
    if mode == "edge":
        return _join_margins(x, _spread_ends(x, at, width), at, width)
    if mode == "wrap":
        return _join_margins(x, [_turn(x, at, p, w, n) for p, w in zip((-width[0], n), width, strict=True)], at, width)
    if mode == "linear_ramp":
        return _join_margins(x, _ramps(x, at, width, _pairs("end_values", value, x.ndim)[at]), at, width)
    lengths: Sequence[Any] = (None, None) if value is None else _pairs("stat_length", value, x.ndim)[at]
    return _join_margins(x, _statistics(x, at, width, mode, lengths), at, width)


def _spread_ends(x: Array, at: int, width: tuple[int, int]) -> list[Array]:
    """Return both ends as wide as the margins."""
    places = (0, x.shape[at] - 1)
    return [
        take_positions("pad", x, at, np.full(extra, place))
        if extra <= NARROW
        else _spread(take_positions("pad", x, at, np.array([place])), at, extra)
        for extra, place in zip(width, places, strict=True)
    ]


def _spread(end: Array, at: int, extra: int) -> Array:
    """Return an array of length one along an axis so often."""
    return map_axis("pad", end, at, Spread(0, 1, extra), extra)


def _run(x: Array, at: int, start: int, count: int, step: int = 1) -> Array:
    """Return so many positions from one on, by steps of one or backwards."""
    if count <= NARROW:
        return take_positions("pad", x, at, start + step * np.arange(count))
    own = x.expr.grid.axes[at]
    return map_axis("pad", x, at, Slice(start, step), count, slice_axis(own, start, step, count))


def _turn(x: Array, at: int, start: int, count: int, period: int) -> Array:
    """Return so many positions of what comes again after a period, from one on."""
    start %= period
    if start + count <= period:
        return _run(x, at, start, count)
    if count <= NARROW:
        return take_positions("pad", x, at, (start + np.arange(count)) % period)
    return map_axis("pad", x, at, Periodic(1, start), count)


def _join_margins(x: Array, margins: Sequence[Array], at: int, width: tuple[int, int]) -> Array:
    """Return an array between its margins."""
    axes = list(x.expr.grid.axes)
    axes[at] = _wider(axes[at], width)
    parts = [(margins[0], 0), (x, width[0]), (margins[1], width[0] + x.shape[at])]
    some = [(part, offset) for part, offset in parts if part.shape[at]]
    routes = tuple(Route(tuple((i, Slice(-offset if i == at else 0)) for i in range(x.ndim))) for _, offset in some)
    return make(Move("pad", routes), [part for part, _ in some], Grid(axes), x.dtype)


def _mirror(x: Array, at: int, width: tuple[int, int], mode: str, *, odd: bool, once: int = 0) -> Array:
    """Reflect at the edges, as often as the margins need; `once` is the length before the first time."""
    n = x.shape[at]
    own = 0 if mode == "reflect" else 1
    period = 2 * (n - 1 + own)
    if period == 0:
        return _join_margins(x, _spread_ends(x, at, width), at, width)
    if not odd:
        if max(width) <= n - 1 + own:
            margins = _mirrored(x, at, width, own)
        else:
            both = concatenate([x, _run(x, at, n - 2 + own, period - n, -1)], axis=at)
            margins = [_turn(both, at, p, w, period) for p, w in zip((-width[0], n), width, strict=True)]
        return _join_margins(x, margins, at, width)
    unit = (once or n) - 1 + own  # a part of the pattern would set the next turn off at another place
    left, right = (min(w, (n - 1 + own) // unit * unit) for w in width)
    edges = [take_positions("pad", x, at, np.array([i])) for i in (0, n - 1)]
    margins = [2 * edge - part for edge, part in zip(edges, _mirrored(x, at, (left, right), own), strict=True)]
    padded = _join_margins(x, margins, at, (left, right))
    rest = (width[0] - left, width[1] - right)
    return _mirror(padded, at, rest, mode, odd=True, once=once or n) if any(rest) else padded


def _mirrored(x: Array, at: int, width: tuple[int, int], own: int) -> list[Array]:
    """Return what lies at both ends, the other way round."""
    return [_run(x, at, width[0] - own, width[0], -1), _run(x, at, x.shape[at] - 2 + own, width[1], -1)]


def _ramps(x: Array, at: int, width: tuple[int, int], ends: Any) -> list[Array]:
    margins = []
    for side, (extra, place) in enumerate(zip(width, (0, x.shape[at] - 1), strict=True)):
        edge = take_positions("pad", x, at, np.array([place]))
        axes = list(edge.expr.grid.axes)
        axes[at] = Axis.whole(extra)
        op = BlockFunction("signal.lines:ramp", (at, extra, ends[side], bool(side)))
        margins.append(make(op, (edge,), Grid(axes), x.dtype))
    return margins


def _statistics(x: Array, at: int, width: tuple[int, int], mode: str, lengths: Sequence[Any]) -> list[Array]:
    margins = []
    for side, extra in enumerate(width):
        n = x.shape[at] if lengths[side] is None else min(int(lengths[side]), x.shape[at])
        if n < 1 and (lengths[side] < 0 or mode in ("maximum", "minimum")):
            raise ShapeError(bad("pad", "stat_length", lengths[side], "at least one element"))
        where = (slice(None),) * at + (slice(x.shape[at] - n, None) if side else slice(n),)
        statistic = _statistic(x[where], at, mode)
        if x.dtype.kind in "iu" and statistic.dtype.kind == "f":
            statistic = rint(statistic)
        margins.append(_spread(astype(statistic, x.dtype), at, extra))
    return margins


def _statistic(part: Array, at: int, mode: str) -> Array:
    if mode == "median":
        wide = whole(part, {at})
        axes = list(wide.expr.grid.axes)
        axes[at] = Axis.whole(1)
        dtype = np.median(np.ones(1, part.dtype)).dtype
        return make(BlockFunction("signal.lines:median", (at,)), (wide,), Grid(axes), dtype)
    reduce: Any = {"maximum": greatest, "minimum": least, "mean": mean}[mode]
    statistic: Array = reduce(part, axis=at, keepdims=True)
    return statistic
