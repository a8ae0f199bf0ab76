"""Each block of an interpolated array is made from the window of the array that it comes from.

The array becomes coefficients of splines (`splines.coefficients`), chunk by chunk, and gets a margin that continues it
as `mode` says. Where a block's elements come from along each axis, at least and at most, is known from the zoom, shift
or matrix; with arrays of places it is found beforehand by one pass over them. So a task reads what lies there alone,
and an array needn't fit into the memory of one rank. It takes a node of the graph for each block of the result.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import ArgumentError, bad
from ....graph.kinds.mapping import BlockFunction
from ....workers.kernels.blocks.scipy.interpolation import ENDLESS, Affine, AxisPlaces, Spline, fold
from ...base import as_array, grid_for, make
from ...chunking.rechunk import regrid
from ...ops.elementwise.functions import astype
from ...ops.moves.joining import concatenate
from .splines import coefficients, continue_ends

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from ...array import Array

    Places = AxisPlaces | Affine
    Span = tuple[float, float]

PADDING = {
    "mirror": "reflect",
    "constant": "reflect",
    "wrap": "reflect",
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "nearest": "edge",
    "grid-wrap": "wrap",
    "grid-constant": "constant",
}
"""How `pad` continues coefficients as SciPy does in each mode."""
MANY = 1024
"""A result that would have more blocks is made in larger ones, and cut afterwards."""
LOOKED_AT = 1 << 12
"""Positions along an axis of a block whose places are all looked at; of more the ends tell."""


def prepare(x: Array, axes: Sequence[int], dtype: np.dtype[Any], given: dict[str, Any]) -> tuple[Array, Spline]:
    """Return the coefficients with a margin, and how they are used."""
    order, mode, cval = int(given["order"]), str(given["mode"]), given["cval"]
    before, margin = 0, 2 * order + 3 if mode in ENDLESS else order // 2 + 2
    if order > 1 and given["prefilter"]:
        x, before = coefficients(x, axes, order, mode, cval)
    sizes = tuple(x.shape[axis] for axis in axes)
    value = {}
    if mode == "grid-constant":
        x = astype(x, np.complex128 if x.dtype.kind == "c" else np.float64)
        value = {"constant_values": cval}
    wide = continue_ends(x, axes, margin, PADDING[mode], **value)
    return wide, Spline(tuple(axes), sizes, before, margin, order, mode, cval, dtype.str)


def of_nothing(name: str, x: Array, shape: tuple[int, ...], dtype: np.dtype[Any], given: dict[str, Any]) -> Array:
    """Return what comes of an array without elements, or has none."""
    if 0 not in shape and given["mode"] not in ("constant", "grid-constant"):
        raise ArgumentError(bad(name, "input", x.shape, f"elements: mode {given['mode']!r} repeats them"))
    how = Spline(tuple(range(x.ndim)), (1,) * x.ndim, 0, 0, 0, "constant", given["cval"], dtype.str)
    op = BlockFunction("scipy.interpolation:filled", (how,), ((None,),), where=True)
    return make(op, [as_array("", "", np.zeros(1, x.dtype))], grid_for("", "auto", shape, dtype), dtype)


def interpolate(
    name: str,
    x: Array,
    shape: tuple[int, ...],
    places: Places,
    axes: Sequence[int],
    dtype: np.dtype[Any],
    given: dict[str, Any],
) -> Array:
    """Return an array interpolated along axes at places that follow from positions in the result."""
    if 0 in x.shape or 0 in shape:
        return of_nothing(name, x, shape, dtype, given)
    grid = x.expr.grid if shape == x.shape else grid_for(name, "auto", shape, dtype)
    wide, how = prepare(x, axes, dtype, given)
    coarse = grid if grid.nblocks <= MANY else grid_for(name, "auto", shape, dtype)

    def block(index: tuple[int, ...]) -> Array:
        own = [(a.start(i), a.stop(i)) for a, i in zip(coarse.axes, index, strict=True)]
        inner = [own[axis] for axis in axes] if len(axes) < len(own) else own
        spans = dict(zip(axes, _spans(places, inner, how), strict=True))
        cut = [_around(*spans[i], how, n) if i in spans else own[i] for i, n in enumerate(wide.shape)]
        return _make_block(wide, cut, own, [], places, how)

    return regrid(_join(block, coarse, ()), grid)


def at_places(wide: Array, places: Array, how: Spline) -> Generator[Array, Any, Array]:
    """Interpolate at places: how far these reach is looked at first."""
    axes = places.expr.grid.axes
    spans_grid = Grid([Axis.whole(2), Axis.whole(wide.ndim), *(Axis.regular(n, 1) for n in places.numblocks[1:])])
    around = (None, *range(2, places.ndim + 1))
    reach = yield make(BlockFunction("scipy.interpolation:spans", (how,), (around,)), [places], spans_grid, np.float64)

    def block(index: tuple[int, ...]) -> Array:
        own = [(a.start(i), a.stop(i)) for a, i in zip(axes[1:], index, strict=True)]
        ends = reach[(slice(None), slice(None), *index)]
        cut = [_around(lo, hi, how, n) for lo, hi, n in zip(*ends.tolist(), wide.shape, strict=True)]
        part = places[(slice(None), *(slice(*o) for o in own))]
        return _make_block(wide, cut, own, [part], None, how)

    grid = Grid(axes[1:])
    return regrid(_join(block, grid, ()), grid)


def _make_block(
    wide: Array, cut: list[Any], own: list[Any], more: list[Array], places: Places | None, how: Spline
) -> Array:
    """Return a block of the result as an array of one chunk."""
    window = wide[tuple(slice(lo, hi) for lo, hi in cut)]
    operands = [regrid(a, Grid.single(a.shape)) for a in (window, *more)]
    shape = tuple(hi - lo for lo, hi in own)
    params = (tuple(lo for lo, _ in cut), tuple(lo for lo, _ in own), shape, places, how)
    op = BlockFunction("scipy.interpolation:interpolated", params, tuple((None,) * a.ndim for a in operands))
    return make(op, operands, Grid.single(shape), np.dtype(how.output))


def _join(block: Any, grid: Grid, index: tuple[int, ...]) -> Array:
    """Return the blocks from an index on, joined along all axes after it."""
    axis = len(index)
    if axis == grid.ndim:
        array: Array = block(index)
        return array
    parts = [_join(block, grid, (*index, i)) for i in range(grid.counts[axis])]
    return parts[0] if len(parts) == 1 else concatenate(parts, axis)


def _spans(places: Places, own: list[tuple[int, int]], how: Spline) -> list[Span]:
    """Return the least and largest places, folded, that a block needs along each axis."""
    if isinstance(places, AxisPlaces):
        spans = []
        for i, ((begin, end), size) in enumerate(zip(own, how.sizes, strict=True)):
            if end - begin > LOOKED_AT:  # places ascend or descend evenly: the ends tell
                ends = sorted(float(places.along(i, k, k + 1)[0]) for k in (begin, end - 1))
                spans.append(_fold_span(ends[0], ends[1], size, how))
                continue
            at = fold(places.along(i, begin, end), size, how)
            at = at[~np.isnan(at)]
            spans.append((float(at.min()), float(at.max())) if at.size else (0.0, -1.0))
        return spans
    corners = np.array(list(product(*((begin, end - 1) for begin, end in own))), np.float64)
    at = corners @ np.array(places.rows).T + places.offset
    return [_fold_span(lo, hi, n, how) for lo, hi, n in zip(at.min(0), at.max(0), how.sizes, strict=True)]


def _fold_span(low: float, high: float, size: int, how: Spline) -> Span:
    """Return the least and largest place that what lies between two places is folded to."""
    mode, last = how.mode, size - 1.0
    low, high = low - 1e-6 - 1e-12 * abs(low), high + 1e-6 + 1e-12 * abs(high)  # rounding of the corners
    if mode in ("constant", "nearest", "grid-constant"):
        beyond = how.order + 1.0 if mode in ENDLESS else 0.0
        low, high = low + how.before, high + how.before
        if mode != "nearest" and (high < -beyond or low > last + beyond):
            return 0.0, -1.0
        return float(np.clip(low, -beyond, last + beyond)), float(np.clip(high, -beyond, last + beyond))
    if low >= 0 and high <= last:
        return low, high
    if mode in ("wrap", "grid-wrap") or high - low > size or size == 1:
        return -1.0, size + 0.0
    # A mirror: the extremes are at the ends, or where it turns.
    first, step = (0.0, last) if mode == "mirror" else (-0.5, size + 0.0)
    turns = first + step * np.arange(math.ceil((low - first) / step), math.floor((high - first) / step) + 1)
    at = fold(np.array([low, high, *turns]), size, how)
    return float(at.min()) - 1, float(at.max()) + 1


def _around(low: float, high: float, how: Spline, length: int) -> tuple[int, int]:
    """Return which elements, the margin counted, splines at places from `low` to `high` are made of."""
    if high < low:
        return 0, 1
    reach = how.order // 2 + 2
    begin = max(0, math.floor(low) - reach + how.margin)
    return begin, min(length, math.floor(high) + reach + 1 + how.margin)
