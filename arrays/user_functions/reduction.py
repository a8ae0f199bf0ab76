"""Reductions and running reductions by users' own functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_integer, is_integer
from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, ShapeError, bad
from ...graph.kinds.mapping import MapBlocks
from ..base import as_array, check_axes, check_axis, make
from ..chunking.coalesce import whole
from ..chunking.rechunk import drop_empty_chunks, regrid
from ..ops.moves.broadcasting import broadcast_to
from ..ops.outputs import deliver
from .map_blocks import read_dtype
from .travel.adapters import Added, Before, Partial
from .travel.pickling import call_on_samples, name_of, payload, refuse_captured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..array import Array
    from ..typing import ArrayLike, DTypeLike, OutLike

__all__ = [
    "cumreduction",
    "reduction",
]

FAN = 16
"""So many partial results are combined at once."""


def reduction(
    x: ArrayLike,
    chunk: Callable[..., Any],
    aggregate: Callable[..., Any],
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    dtype: DTypeLike = None,
    split_every: int | Mapping[int, int] | None = None,
    combine: Callable[..., Any] | None = None,
    name: str | None = None,
    out: OutLike = None,
    concatenate: bool = True,
    output_size: int = 1,
    meta: object = None,
    weights: ArrayLike | None = None,
    **kwargs: Any,
) -> Array:
    """Reduce an array by functions of one's own: of chunks, of partial results, and of the last of these.

    Parameters
    ----------
    x : array_like
        The array.
    chunk : callable
        `chunk(block, axis=axes, keepdims=True)` returns a partial result: an array of length 1 along the axes, or a
        dict of such arrays.
    aggregate : callable
        `aggregate(partial, axis=axes, keepdims=keepdims)` returns the result of partial results side by side: an array,
        or a dict of arrays.
    axis : int, tuple of int or None
        The axes to reduce; None: all.
    keepdims : bool
        Whether reduced axes stay as size-1 axes.
    dtype : dtype, optional
        Of the result; None: found by calling the functions on arrays of one element.
    split_every : int or dict, optional
        How many partial results are combined at once, in the order of their chunks; a dict says it for each axis. None:
        16.
    combine : callable, optional
        As `aggregate`, with `keepdims=True`, for some of the partial results. None: `aggregate` itself.
    name : str, optional
        The operation's name in representations and drawings; None: the functions'.
    out : Array or numpy.ndarray, optional
        Receives the result, and is returned. A lazy array's elements are set, lazily; a NumPy array is filled at the
        call.
    concatenate : bool
        Whether partial results come side by side; else in lists, nested where there are several axes.
    output_size : int
        Length that the functions leave along each reduced axis.
    meta : numpy.ndarray, optional
        An empty array of the result's dtype, as in dask.
    weights : array_like, optional
        Passed to `chunk` after the block; broadcast to `x`.
    **kwargs : any
        Passed on to all functions.

    Returns
    -------
    Array
        Lazy, without the reduced axes unless `keepdims`.

    Raises
    ------
    ArgumentError
        `x` or `weights` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is
        not an integer. A function is not callable or can't be pickled, or `output_size` is no integer from 1 on. `out`
        is not an array.
    ShapeError
        An axis is named twice, `split_every` is less than 2, or `weights` don't broadcast to `x`. `out` doesn't have
        the result's shape.
    AxisError
        `axis` is out of range for the array.
    DTypeError
        `x` or `weights` holds Python objects. There is no `dtype`, and one of the functions raises an error when it is
        called on arrays of one element to find the dtype. `dtype` is not a NumPy dtype, or one of Python objects. The
        result can't be cast to the dtype of `out` by the rule "same_kind".

    >>> import numpy as np
    >>> import windrow as wr
    >>> wr.reduction(wr.arange(10, chunks=3), np.max, np.max).compute()
    np.int64(9)
    >>> def both(block, **how):
    ...     return {"total": block.sum(**how), "count": np.ones_like(block).sum(**how)}
    >>> def mean(parts, **how):
    ...     return parts["total"].sum(**how) / parts["count"].sum(**how)
    >>> def joined(parts, **how):
    ...     return {name: part.sum(**how) for name, part in parts.items()}
    >>> wr.reduction(wr.arange(10, chunks=3), both, mean, combine=joined).compute()
    np.float64(4.5)
    """
    array = as_array("reduction", "x", x)
    axes = check_axes("reduction", axis, array.ndim)
    array = drop_empty_chunks(array, axes)
    own, size = tuple(range(array.ndim)), check_integer("reduction", "output_size", output_size, 1)
    fan = _fan(split_every, axes, array.ndim)
    functions = {"chunk": chunk, "aggregate": aggregate, "combine": aggregate if combine is None else combine}
    for role, function in functions.items():
        if not callable(function):
            raise ArgumentError(bad("reduction", role, function, "a function"))
        refuse_captured("reduction", function)
    operands = [array]
    if weights is not None:
        operands.append(regrid(broadcast_to(as_array("reduction", "weights", weights), array.shape), array.expr.grid))
    shape = [size if i in axes else 1 for i in own]
    samples = [np.ones(shape, a.dtype) for a in operands]
    parts = call_on_samples("reduction", Partial(chunk, axes, True), samples, (), kwargs, name_of(chunk))
    partial, fields = _dtype_of(parts, name_of(chunk))
    listed = None if concatenate else size
    last = Partial(aggregate, axes, bool(keepdims), None, fields, listed)
    known = read_dtype("reduction", dtype, meta)
    if known is None:
        sample_partial = Partial.pack_records(parts, partial) if fields else np.asarray(parts)
        finished = call_on_samples("reduction", last, [sample_partial], (), kwargs, name_of(aggregate))
        known = np.asarray(finished).dtype
    first = Partial(chunk, axes, True, partial if fields else None)
    packed = payload("reduction", first, (), kwargs, name or name_of(chunk))
    grid = _grid_of_partials(array.expr.grid, axes, size)
    partials = make(MapBlocks(packed, (own,) * len(operands)), operands, grid, partial)
    step = Partial(functions["combine"], axes, True, partial if fields else None, fields, listed)
    packed = payload("reduction", step, (), kwargs, name or name_of(functions["combine"]))
    while (joined := _group_partials(partials.expr.grid, axes, fan, size)) is not None:
        partials = regrid(partials, joined)
        partials = make(MapBlocks(packed, (own,)), (partials,), _grid_of_partials(joined, axes, size), partial)
    partials = whole(partials, axes)
    kept = [i for i in own if keepdims or i not in axes]
    operand_axes = tuple(kept.index(i) if i in kept and i not in axes else None for i in own)
    grid = Grid([Axis.whole(size) if i in axes else partials.expr.grid.axes[i] for i in kept])
    packed = payload("reduction", last, (), kwargs, name or name_of(aggregate))
    return deliver("reduction", make(MapBlocks(packed, (operand_axes,)), (partials,), grid, known), out)  # type: ignore[no-any-return]


def _fan(split_every: Any, axes: tuple[int, ...], ndim: int) -> int | dict[int, int]:
    """Return how many partial results are combined at once: in all, or along axes."""
    by_axis = split_every if isinstance(split_every, Mapping) else {}
    named: dict[int, Any] = {check_axis("reduction", a, ndim, "split_every"): n for a, n in by_axis.items()}
    every: Any = FAN if split_every is None or named else split_every
    if any(not is_integer(n) or n < 2 for n in (every, *named.values())):
        raise ShapeError(bad("reduction", "split_every", split_every, "integers from 2 on"))
    return {a: int(named.get(a, FAN)) for a in axes} if named else int(every)


def _dtype_of(parts: Any, name: str) -> tuple[np.dtype[Any], tuple[str, ...]]:
    """Return the dtype of partial results, and the names of what they hold where they are dicts."""
    if not isinstance(parts, Mapping):
        return np.asarray(parts).dtype, ()
    names = tuple(parts)
    if not names or not all(isinstance(n, str) for n in names):
        raise ArgumentError(bad("reduction", "chunk", f"{name!r}, which returned {parts!r}", "names in the dict"))
    return np.dtype([(n, np.asarray(parts[n]).dtype) for n in names]), names


def _grid_of_partials(grid: Grid, axes: tuple[int, ...], size: int) -> Grid:
    """Return the grid of partial results: a chunk of one position, or of `size`, for each chunk along the axes."""
    return Grid([Axis.regular(a.count * size, size) if i in axes else a for i, a in enumerate(grid.axes)])


def _group_partials(grid: Grid, axes: tuple[int, ...], fan: int | dict[int, int], size: int) -> Grid | None:
    """Return the grid of as many partial results side by side as are combined at once; None where that is all."""
    counts = {a: grid.axes[a].count for a in axes}
    steps = {}
    if isinstance(fan, dict):
        steps = {a: min(counts[a], fan[a]) for a in axes}
    else:
        left = fan
        for a in sorted(axes, reverse=True):
            steps[a] = max(1, min(counts[a], left))
            left //= steps[a]
    if all(steps[a] >= counts[a] for a in axes):
        return None
    grouped_axes = list(grid.axes)
    for a in axes:
        grouped_axes[a] = Axis.regular(grouped_axes[a].length, steps[a] * size)
    return Grid(grouped_axes)


def cumreduction(
    func: Callable[..., Any],
    binop: Callable[..., Any],
    ident: Any,
    x: ArrayLike,
    axis: int | None = None,
    dtype: DTypeLike = None,
    out: OutLike = None,
    method: str = "sequential",
    preop: Callable[..., Any] | None = None,
) -> Array:
    """Reduce all elements up to each along an axis, by functions of one's own.

    Parameters
    ----------
    func : callable
        `func(block, axis=axis)` does it within a chunk, as `numpy.cumsum` does.
    binop : callable
        `binop(before, block)` takes in what came before, as `numpy.add` does.
    ident : number
        What comes before the first chunk, such as 0 for sums.
    x : array_like
        The array.
    axis : int or None
        The axis; None: of the flattened array.
    dtype : dtype, optional
        Of the result; None: found by calling `func` on an array of one element.
    out : Array or numpy.ndarray, optional
        Receives the result, and is returned. A lazy array's elements are set, lazily; a NumPy array is filled at the
        call.
    method : {"sequential", "blelloch"}
        Accepted for dask; both give the same.
    preop : callable, optional
        `preop(block, axis=axis, keepdims=True)` returns what a chunk adds. None: the last of what `func` returns.

    Returns
    -------
    Array
        Lazy, of the shape of `x`; 1-D where `axis` is None.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is not an integer.
        A function is not callable, can't be pickled, or `method` is unknown. `out` is not an array.
    ShapeError
        `out` doesn't have the result's shape.
    AxisError
        `axis` is out of range for the array.
    DTypeError
        `x` holds Python objects. There is no `dtype`, and `func` raises an error when it is called on arrays of one
        element to find the dtype. `dtype` is not a NumPy dtype, or one of Python objects. The result can't be cast to
        the dtype of `out` by the rule "same_kind".

    >>> import numpy as np
    >>> import windrow as wr
    >>> wr.cumreduction(np.cumsum, np.add, 0, wr.arange(6, chunks=2)).compute()
    array([ 0,  1,  3,  6, 10, 15])
    """
    array = as_array("cumreduction", "x", x)
    for role, function in {"func": func, "binop": binop}.items():
        if not callable(function):
            raise ArgumentError(bad("cumreduction", role, function, "a function"))
        refuse_captured("cumreduction", function)
    if method not in ("sequential", "blelloch"):
        raise ArgumentError(bad("cumreduction", "method", method, "'sequential' or 'blelloch'"))
    array, at = (array.reshape(-1), 0) if axis is None else (array, check_axis("cumreduction", axis, array.ndim))
    known = read_dtype("cumreduction", dtype, None)
    if known is None:
        sample = [np.ones((1,) * array.ndim, array.dtype)]
        known = np.asarray(call_on_samples("cumreduction", func, sample, (), {"axis": at}, name_of(func))).dtype
    array = drop_empty_chunks(array, (at,))
    own, grid = tuple(range(array.ndim)), array.expr.grid
    here = make(MapBlocks(payload("cumreduction", func, (), {"axis": at}), (own,)), (array,), grid, known)
    if array.shape[at] == 0:
        return deliver("cumreduction", here, out)  # type: ignore[no-any-return]
    ends, counted = here, list(grid.axes)
    counted[at] = Axis.regular(counted[at].count, 1)
    if preop is not None:
        refuse_captured("cumreduction", preop)
        ends = array
    packed = payload("cumreduction", Added(preop, at), (), {}, name_of(preop or func))
    totals = make(MapBlocks(packed, (own,)), (ends,), Grid(counted), known)
    before = payload("cumreduction", Before(binop, at, ident), (), {}, name_of(binop))
    led = whole(totals, (at,))
    led = regrid(make(MapBlocks(before, (own,)), (led,), led.expr.grid, known), Grid(counted))
    packed = payload("cumreduction", binop, (), {}, name_of(binop))
    return deliver("cumreduction", make(MapBlocks(packed, (own, own)), (led, here), grid, known), out)  # type: ignore[no-any-return]
