"""Recursive filters: each chunk is filtered from the state on that the chunk before it leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import DTypeError, ShapeError, bad
from ....graph.kinds.mapping import BlockFunction
from ...base import as_array, check_axis, make
from ...chunking.rechunk import regrid
from ...creation.filled import zeros
from ...ops.elementwise.functions import astype
from ...ops.moves.axis_moves import moveaxis
from ...ops.moves.broadcasting import broadcast_to
from ...ops.moves.joining import concatenate
from ..bridge import attempt, find_function, numbers, own
from ..documents import described

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, DTypeLike

documented = described(
    {},
    "Lazy, in the shape and chunks of `x`; with `zi` a tuple of it and the state behind the last element.",
    "Array or tuple of Array",
    "signal",
)


@documented
def lfilter(b: ArrayLike, a: ArrayLike, x: ArrayLike, axis: int = -1, zi: ArrayLike | None = None) -> Any:
    """Filter lines by a rational transfer function.

    Chunks along the axis follow each other; those beside each other run at once.

    >>> import windrow as wr
    >>> wr.signal.lfilter([1.0], [1.0, -0.5], wr.ones(5, chunks=2)).compute()
    array([1.    , 1.5   , 1.75  , 1.875 , 1.9375])
    """
    signal = numbers("lfilter", "x", x)
    at = check_axis("lfilter", axis, signal.ndim)
    over, under = (own(np.atleast_1d(np.asarray(v))) for v in (b, a))
    size = max(over.size, under.size) - 1
    states = [] if zi is None else [as_array("lfilter", "zi", zi)]
    samples = [np.ones((size,) * states[0].ndim, states[0].dtype)] if states else []
    small = np.ones((1,) * signal.ndim, signal.dtype)
    state = np.ones(tuple(size if i == at else 1 for i in range(signal.ndim)), samples[0].dtype) if states else None
    trial = attempt("lfilter", find_function("signal", "lfilter"), over, under, small, at, state)
    dtype = np.asarray(trial[0] if states else trial).dtype
    shape = tuple(size if i == at else n for i, n in enumerate(signal.shape))
    if states and not _fits(states[0].shape, shape, at):
        raise ShapeError(bad("lfilter", "zi", states[0].shape, f"shape {shape}, that of x but for the axis"))
    first = _first("lfilter", states, shape, dtype)
    filtered, last = _chain("scipy.signal:lfilter", (over, under, at), signal, first, at, size, dtype)
    return filtered if zi is None else (filtered, last)


@documented
def sosfilt(sos: ArrayLike, x: ArrayLike, axis: int = -1, zi: ArrayLike | None = None) -> Any:
    """Filter lines by second-order sections.

    Chunks along the axis follow each other; those beside each other run at once.

    >>> import windrow as wr
    >>> wr.signal.sosfilt([[1, 0, 0, 1, -0.5, 0]], wr.ones(5, chunks=2)).compute()
    array([1.    , 1.5   , 1.75  , 1.875 , 1.9375])
    """
    signal = numbers("sosfilt", "x", x)
    at = check_axis("sosfilt", axis, signal.ndim)
    sections = own(np.atleast_2d(np.asarray(sos)))
    count = len(sections)
    small = np.ones((1,) * signal.ndim, signal.dtype)
    dtype = np.asarray(attempt("sosfilt", find_function("signal", "sosfilt"), sections.copy(), small, at)).dtype
    states = []
    if zi is not None:
        initial = as_array("sosfilt", "zi", zi)
        wanted = (count, *(2 if i == at else n for i, n in enumerate(signal.shape)))
        if initial.shape != wanted:
            raise ShapeError(bad("sosfilt", "zi", initial.shape, f"shape {wanted}"))
        if np.result_type(dtype, initial.dtype) != dtype:
            dtype = np.result_type(dtype, initial.dtype)
        moved = moveaxis(initial, at + 1, 1)
        states = [moveaxis(moved.reshape((2 * count, *moved.shape[2:])), 0, at)]
    shape = tuple(2 * count if i == at else n for i, n in enumerate(signal.shape))
    first = _first("sosfilt", states, shape, dtype)
    filtered, last = _chain("scipy.signal:sosfilt", (sections, at), signal, first, at, 2 * count, dtype)
    if zi is None:
        return filtered
    line = moveaxis(last, at, 0)
    return filtered, moveaxis(line.reshape((count, 2, *line.shape[1:])), 1, at + 1)


def _fits(given: tuple[int, ...], wanted: tuple[int, ...], at: int) -> bool:
    """Tell whether a state has a shape, but for one line in the place of all that lie beside the axis."""
    return len(given) == len(wanted) and all(
        n == m or (n == 1 and i != at) for i, (n, m) in enumerate(zip(given, wanted, strict=True))
    )


def _first(name: str, states: list[Array], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    if not states:
        return zeros(shape, dtype)
    if not np.can_cast(states[0].dtype, dtype, "same_kind"):
        raise DTypeError(bad(name, "zi", states[0].dtype, f"a dtype that is cast to {dtype}"))
    return astype(broadcast_to(states[0], shape), dtype)


def _chain(
    function: str, params: tuple[Any, ...], x: Array, state: Array, at: int, size: int, dtype: DTypeLike
) -> tuple[Array, Array]:
    """Filter chunk after chunk along an axis; what each makes holds the state behind it, too."""
    axes = list(x.expr.grid.axes)
    beside = [Axis.whole(size) if i == at else a for i, a in enumerate(axes)]
    parts = []
    for k in range(axes[at].count):
        start, stop = int(axes[at].start(k)), int(axes[at].stop(k))
        if stop == start:
            continue
        before = (slice(None),) * at
        part = regrid(astype(x[(*before, slice(start, stop))], dtype), Grid(_with(axes, at, stop - start)))
        grid = Grid(_with(axes, at, stop - start + size))
        combined = make(BlockFunction(function, params), (part, regrid(state, Grid(beside))), grid, dtype)
        parts.append(combined[(*before, slice(0, stop - start))])
        state = combined[(*before, slice(stop - start, None))]
    if not parts:
        return zeros(x.shape, dtype), state
    return regrid(concatenate(parts, at), x.expr.grid), state


def _with(axes: list[Axis], at: int, length: int) -> list[Axis]:
    return [Axis.whole(length) if i == at else a for i, a in enumerate(axes)]
