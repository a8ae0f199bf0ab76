"""Differences of neighbours, gradients, integrals by trapezoids, phases without jumps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_integer
from ...graph.chunks.axismap import Slice
from ...graph.chunks.grid import Grid
from ...graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ...graph.kinds.move import Move, Route
from ...workers.kernels.blocks.signal.lines import REACH
from ..base import ArrayBase, as_array, check_axes, check_axis, make
from ..chunking.halo import with_halo
from ..chunking.rechunk import regrid
from ..ops.elementwise.functions import astype, where
from ..ops.elementwise.nodes import apply, cast_values
from ..ops.elementwise.ufuncs import absolute, logical_and, remainder
from ..ops.moves.broadcasting import broadcast_to
from ..ops.moves.joining import concatenate
from ..ops.moves.reshaping import ravel
from ..ops.reductions.cumulative import cumsum
from ..ops.reductions.sums import sum as add_up
from ..refitting import refittable

if TYPE_CHECKING:
    from ..array import Array
    from ..typing import ArrayLike

__all__ = [
    "diff",
    "ediff1d",
    "gradient",
    "trapezoid",
    "unwrap",
]

_NONE: Any = np._NoValue


def _part(x: Array, at: int, start: int | None, stop: int | None) -> Array:
    part: Array = x[(slice(None),) * at + (slice(start, stop),)]
    return part


def diff(a: ArrayLike, n: int = 1, axis: int = -1, prepend: ArrayLike = _NONE, append: ArrayLike = _NONE) -> Array:
    """Return the differences of neighbours along an axis, n times over.

    Parameters
    ----------
    a : array_like
        Numbers, dates, times or bool; at least 1-D.
    n : int
        How many times differences are taken; 0 returns `a` as it is.
    axis : int
        The axis along which neighbours are subtracted; the last one by default.
    prepend, append : array or scalar, optional
        What is put before and after `a` along the axis first; a scalar is broadcast to one element of the axis.

    Returns
    -------
    Array
        Shorter by n along the axis (as far as nothing was put before or after it), in the dtype of the subtraction; of
        bool: whether neighbours differ.

    Raises
    ------
    ArgumentError
        `a`, `prepend` or `append` can't be read as an array; `n` isn't an integer from 0 on, or `axis` isn't an
        integer.
    ShapeError
        `a` is 0-d, or `prepend` or `append` has other lengths along the other axes.
    AxisError
        The array has no such axis.
    DTypeError
        The elements can't be subtracted, such as strings.

    >>> wr.diff(wr.arange(5) ** 2).compute()
    array([1, 3, 5, 7])
    >>> wr.diff([[1, 2, 4], [0, 0, 9]], axis=0, prepend=0).compute()
    array([[ 1,  2,  4],
           [-1, -2,  5]])
    """
    x = as_array("diff", "a", a)
    n = check_integer("diff", "n", n, 0)
    if n == 0:
        return x
    if x.ndim == 0:
        raise ShapeError(bad("diff", "a", x.shape, "an array of at least one axis"))
    at = check_axis("diff", axis, x.ndim)
    parts = [x]
    for name, value in (("prepend", prepend), ("append", append)):
        if value is not _NONE:
            more = as_array("diff", name, value)
            if more.ndim == 0:
                more = broadcast_to(more, (*x.shape[:at], 1, *x.shape[at + 1 :]))
            parts = [more, *parts] if name == "prepend" else [*parts, more]
    x = concatenate(parts, at)
    op = np.not_equal if x.dtype == np.bool else np.subtract
    for _ in range(int(n)):
        x = apply("diff", op.__name__, (_part(x, at, 1, None), _part(x, at, None, -1)), op)
    return x


def ediff1d(ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None) -> Array:
    """Return the differences of neighbours in the flattened array.

    Parameters
    ----------
    ary : array_like
        Numbers; flattened in C order first.
    to_end, to_begin : array or scalar, optional
        What is put after and before the differences; cast to the dtype of `ary`.

    Returns
    -------
    Array
        1-D, one element less than `ary` has (none less than 0), plus those put before and after; the dtype of `ary`.

    Raises
    ------
    ArgumentError
        `ary`, `to_end` or `to_begin` can't be read as an array.
    DTypeError
        `ary` can't be subtracted (strings, bool), or `to_end` or `to_begin` isn't cast to its dtype by the rule
        "same_kind".

    >>> wr.ediff1d(wr.arange(4), to_end=9).compute()
    array([1, 1, 1, 9])
    """
    x = ravel(as_array("ediff1d", "ary", ary))
    parts = [apply("ediff1d", "subtract", (x[1:], x[:-1]), np.subtract)]
    for name, value in (("to_begin", to_begin), ("to_end", to_end)):
        if value is not None:
            if isinstance(value, int) and x.dtype.kind in "iufc":  # Python's integers, as they fit
                fitted = ravel(cast_values("ediff1d", name, value, x.dtype))
            else:
                more = as_array("ediff1d", name, value)
                if not np.can_cast(more.dtype, x.dtype, "same_kind"):
                    raise DTypeError(bad("ediff1d", name, more.dtype, f"a dtype that is cast to {x.dtype} in its kind"))
                fitted = ravel(astype(more, x.dtype))
            parts = [fitted, *parts] if name == "to_begin" else [*parts, fitted]
    return concatenate(parts)


def gradient(f: ArrayLike, *varargs: Any, axis: int | Sequence[int] | None = None, edge_order: int = 1) -> Any:
    """Return the gradient by central differences, and one-sided ones at the edges.

    Parameters
    ----------
    f : array_like
        Samples of a function; computed as float64, unless they are of another floating-point or complex dtype, dates or
        times.
    *varargs : scalar or 1-D array
        The distance of neighbours for all axes; or, for each axis, their distance or their coordinates. Left out: 1.
    axis : int, sequence of int or None
        The axes along which to differentiate; None: all of them.
    edge_order : {1, 2}
        Order of accuracy of the one-sided differences at the edges.

    Returns
    -------
    Array or tuple of Array
        The gradient along each of the axes, in the shape of `f`; a single array for a single axis.

    Raises
    ------
    ArgumentError
        `f` can't be read as an array; `edge_order` isn't 1 or 2; or there are neither none, one, nor as many distances
        as axes.
    ShapeError
        An axis has fewer than `edge_order + 1` elements, coordinates have another length than their axis, or an axis is
        named twice.
    AxisError
        The array has no such axis.
    DTypeError
        `f` isn't numbers, dates or times.

    >>> wr.gradient(wr.arange(5.0) ** 2).compute()
    array([1., 2., 4., 6., 7.])
    >>> wr.gradient(wr.asarray([0.0, 1.0, 9.0]), [0.0, 1.0, 3.0]).compute()  # coordinates
    array([1., 2., 4.])
    """
    x = as_array("gradient", "f", f)
    if x.dtype.kind not in "biufcmM":
        raise DTypeError(bad("gradient", "f", x.dtype, "numbers, dates or times"))
    axes = check_axes("gradient", axis, x.ndim)
    if axis is not None and isinstance(axis, Sequence):
        axes = tuple(check_axis("gradient", a, x.ndim) for a in axis)
    if edge_order not in (1, 2):
        raise ArgumentError(bad("gradient", "edge_order", edge_order, "1 or 2"))
    if len(varargs) == 1 and np.ndim(varargs[0]) == 0:
        varargs *= len(axes)
    if len(varargs) not in (0, len(axes)):
        raise ArgumentError(bad("gradient", "varargs", f"{len(varargs)} distances", f"none, one, or {len(axes)}"))
    steps = varargs or (1.0,) * len(axes)
    gradients = tuple(_gradient(x, at, step, int(edge_order)) for at, step in zip(axes, steps, strict=True))
    return gradients[0] if len(gradients) == 1 else gradients


def _gradient(x: Array, at: int, step: Any, edge_order: int) -> Array:
    if x.shape[at] < edge_order + 1:
        raise ShapeError(bad("gradient", "f", x.shape, f"at least {edge_order + 1} elements along axis {at}"))
    if np.ndim(step) == 0 and not isinstance(step, ArrayBase):
        return _gradient_by(x, at, step, edge_order)
    place = as_array("gradient", "varargs", step)
    if place.ndim == 0:
        place = place * np.arange(x.shape[at])
    if place.shape != x.shape[at : at + 1]:
        raise ShapeError(bad("gradient", "varargs", place.shape, f"coordinates of {x.shape[at]} elements"))
    return _gradient_at(x, place, at, edge_order)


@refittable
def _gradient_by(x: Array, at: int, step: ArrayLike, edge_order: int) -> Array:
    op = BlockFunction("signal.lines:gradient", (at, step, edge_order), where=True)
    return make(op, (_with_neighbours(x, at),), x.expr.grid, np.gradient(np.zeros(3, x.dtype)).dtype)


@refittable
def _gradient_at(x: Array, place: Array, at: int, edge_order: int) -> Array:
    near = _with_neighbours(regrid(place, Grid(x.expr.grid.axes[at : at + 1])), 0)
    op = BlockFunction("signal.lines:gradient_at", (at, edge_order), (tuple(range(x.ndim)), (at,)), where=True)
    operands = (_with_neighbours(x, at), near)
    return make(op, operands, x.expr.grid, np.gradient(np.zeros(3, x.dtype)).dtype)


def _with_neighbours(x: Array, at: int) -> Array:
    depths = tuple((REACH, REACH) if i == at else (0, 0) for i in range(x.ndim))
    return with_halo(x, depths, ("none",) * x.ndim)


def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1) -> Array:
    """Integrate along an axis by the trapezoidal rule.

    Parameters
    ----------
    y : array_like
        The samples; at least 1-D.
    x : array_like, optional
        Where the samples lie: 1-D, or with as many axes as `y`. None: `dx` apart.
    dx : scalar or array
        Distance of neighbours, where `x` is left out.
    axis : int
        The axis along which to integrate.

    Returns
    -------
    Array
        The integrals, without the axis; float64 for integers.

    Raises
    ------
    ArgumentError
        `y` or `x` can't be read as an array; or `axis` isn't an integer.
    AxisError
        The array has no such axis.
    ShapeError
        The distances don't broadcast to those between samples.
    DTypeError
        `y` or `x` isn't numbers.

    >>> wr.trapezoid(wr.arange(5)).compute()
    np.float64(8.0)
    """
    values = as_array("trapezoid", "y", y)
    at = check_axis("trapezoid", axis, values.ndim)
    step: Any = dx
    if x is not None:
        places = as_array("trapezoid", "x", x)
        step = diff(places, axis=axis if places.ndim > 1 else 0)
        if places.ndim == 1:
            step = step.reshape((-1,) + (1,) * (values.ndim - 1 - at))
    sums = apply("trapezoid", "add", (_part(values, at, 1, None), _part(values, at, None, -1)), np.add)
    return add_up(step * sums / 2.0, axis=at)


def unwrap(p: ArrayLike, discont: float | None = None, axis: int = -1, *, period: float = math.tau) -> Array:
    """Take jumps of more than half a period out of phases, by adding periods.

    Parameters
    ----------
    p : array_like
        Phases, as real numbers; at least 1-D.
    discont : float, optional
        Jumps smaller than this are left; None, or less than half a period: half a period.
    axis : int
        The axis along which jumps are looked for.
    period : float
        Length of a turn; 2π by default. With integers and an integer period the result is exact.

    Returns
    -------
    Array
        In the shape of `p`, in the dtype of `p` and `period` together.

    Raises
    ------
    ArgumentError
        `p` can't be read as an array; or `axis` isn't an integer.
    AxisError
        The array has no such axis.
    DTypeError
        `p` isn't real numbers.

    >>> wr.unwrap(wr.arange(0, 8, 2) % 5, period=5).compute()
    array([0, 2, 4, 6])
    """
    x = as_array("unwrap", "p", p)
    if x.dtype.kind not in "biuf":
        raise DTypeError(bad("unwrap", "p", x.dtype, "an array of real numbers"))
    at = check_axis("unwrap", axis, x.ndim)
    step = diff(x, axis=at)
    limit = period / 2 if discont is None else discont
    dtype = np.result_type(step.dtype, period)
    high, rest = divmod(period, 2) if dtype.kind in "iu" else (period / 2, 0)
    folded = remainder(step + high, period) - high
    if rest == 0:
        folded = where(logical_and(folded == -high, step > 0), high, folded)
    turns = astype(where(absolute(step) < limit, 0, folded - step), dtype)
    steps = tuple((i, Slice(-1 if i == at else 0)) for i in range(x.ndim))
    placed = make(Move("shifted", (Route(steps),), dtype.type(0)), (turns,), x.expr.grid, dtype)
    return astype(x + cumsum(placed, axis=at), dtype)
