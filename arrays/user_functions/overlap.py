"""Functions of chunks with margins of their neighbours, and the margins by themselves."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.axismap import Slice
from ...graph.chunks.grid import Axis, Grid
from ...graph.chunks.positions import Runs
from ...graph.errors import ArgumentError, ShapeError, bad
from ...graph.kinds.mapping import MapBlocks
from ...graph.kinds.source import Full
from ..base import ArrayBase, as_array, make
from ..chunking.coalesce import whole
from ..chunking.halo import Depths, Margin, Trimmed, read_boundaries, read_depths, with_halo
from ..ops.moves.axis_moves import Step, move
from ..ops.moves.sliding_window import sliding_window_view
from ..refitting import note_refit
from .changed_grid import find_changed_grid
from .map_blocks import (
    arguments,
    by_number,
    first_keywords,
    join_chunks,
    keywords_at,
    lay_out,
    lengthen_axes,
    match_chunks,
    read_dtype,
    target_axes,
)
from .travel.adapters import Informed
from .travel.pickling import find_wanted, infer_result, name_additions, name_of, payload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...graph.expr.expr import DType
    from ...graph.kinds.mapping import Payload
    from ..array import Array
    from ..typing import ArrayLike, ChunksLike, DTypeLike

__all__ = [
    "map_overlap",
    "overlap",
    "sliding_window_view",
    "trim_internal",
    "trim_overlap",
]


def map_overlap(
    func: Any,
    *args: Any,
    depth: object = None,
    boundary: object = None,
    trim: bool = True,
    align_arrays: bool = True,
    allow_rechunk: bool = True,
    name: str | None = None,
    token: str | None = None,
    dtype: DTypeLike = None,
    chunks: ChunksLike = None,
    drop_axis: int | Sequence[int] | None = None,
    new_axis: int | Sequence[int] | None = None,
    meta: object = None,
    memory: float | None = None,
    **kwargs: Any,
) -> Array:
    """Apply a function to each chunk together with a margin of its neighbours.

    Parameters
    ----------
    func : callable
        Takes NumPy arrays and returns one of their shape, from which the margin is trimmed. The first array may stand
        before it, as in older dask. It is pickled now.
    *args : array or any
        The arrays; after them `depth`, `boundary` and `trim`, if not given by keyword, and what else is passed on to
        `func`.
    depth : int, tuple, dict or list
        Elements of margin along each axis; a pair of integers in a tuple or dict: before and after. A list has a depth
        for each array. Chunks may be smaller than the margin.
    boundary : str, number, tuple, dict or list
        What lies beyond the ends of each axis: None or "none" (no margin there), "periodic", "reflect" (the edge
        repeated, as in dask), "nearest", or a number. A list has one for each array.
    trim : bool
        Whether the margin is trimmed from what `func` returns. If not, the result's chunks are what `func` makes of the
        wide ones, found by calling it on small arrays unless `chunks` is given; where it asks for `block_id` or
        `block_info`, as if for the first, a middle and the last chunk along each axis.
    align_arrays : bool
        Whether to rechunk arrays to common chunks; False: chunks are matched by their index.
    allow_rechunk : bool
        Accepted for dask and ignored: chunks may be smaller than the margin.
    name, token : str, optional
        The operation's name in representations and drawings; None: the function's.
    dtype : dtype, optional
        Of the result; None: found by calling `func` on small arrays.
    chunks : tuple, optional
        Chunks of the result before trimming, where `func` changes them; see `map_blocks`.
    drop_axis, new_axis : int or sequence of int, optional
        Axes that `func` removes and adds; see `map_blocks`.
    meta : numpy.ndarray, optional
        An empty array of the result's dtype, as in dask.
    memory : float, optional
        How many times the bytes of its arguments and its result `func` takes while it runs, for the bound on memory
        that `explain` tells; None: three times.
    **kwargs : any
        Passed on to `func`.

    Returns
    -------
    Array
        Lazy, with the chunks of the arguments where the margin is trimmed.

    Raises
    ------
    ArgumentError
        `func` is not callable, can't be pickled; there is no array; `depth` is missing; or `boundary` is unknown.
    ShapeError
        `depth` or `boundary` doesn't match the axes or arrays, or arrays don't fit together. When computed: `func`
        returned a block of another shape.
    AxisError
        An axis of `depth`, `boundary`, `drop_axis` or `new_axis` is out of range.
    DTypeError
        There is no `dtype`, and `func` raises an error when it is called on arrays of one element to find the dtype.
        `dtype` is not a NumPy dtype, or one of Python objects.
    ChunksError
        `chunks` can't be read or doesn't fit the shape.

    Notes
    -----
    Unlike in dask, the default boundary is "none" and margins may be larger than chunks.

    >>> import numpy as np
    >>> import windrow as wr
    >>> x = wr.arange(6, chunks=3)
    >>> def smooth(block):
    ...     return block + np.roll(block, 1) + np.roll(block, -1)
    >>> wr.map_overlap(smooth, x, depth=1, boundary="periodic").compute()
    array([ 6,  3,  6,  9, 12,  9])
    """
    if isinstance(func, ArrayBase | np.ndarray) and args and callable(args[0]):
        func, args = args[0], (func, *args[1:])
    function: Any = func
    arrays, places, called, extra = arguments("map_overlap", function, args, kwargs)
    if not arrays:
        raise ArgumentError(bad("map_overlap", "args", args, "at least one array"))
    if depth is None:
        positional = dict(zip(("depth", "boundary", "trim"), extra, strict=False))
        depth, boundary, trim = (
            positional.get("depth"),
            positional.get("boundary", boundary),
            positional.get("trim", trim),
        )
        extra = extra[3:]
    if depth is None:
        raise ArgumentError(bad("map_overlap", "depth", depth, "elements of margin, such as depth=1"))
    known, label, wants = (
        read_dtype("map_overlap", dtype, meta),
        token or name or name_of(function),
        find_wanted(function),
    )
    if align_arrays:
        _, arrays = match_chunks("map_overlap", arrays)
    depths, ends = _for_each("depth", depth, arrays), _for_each("boundary", boundary, arrays)
    wide = [with_halo(a, d, b) for a, d, b in zip(arrays, depths, ends, strict=True)]
    domain, wide = join_chunks("map_overlap", by_number("map_overlap", wide), wide, drop_axis)
    grid, operand_axes = lay_out("map_overlap", domain, wide, drop_axis, new_axis, chunks)
    sources = tuple((p, a.expr.grid, w) for p, a, w in zip(places, wide, operand_axes, strict=True))
    samples = [np.ones([1 + b + a for b, a in d], x.dtype) for x, d in zip(wide, depths, strict=True)]
    first = kwargs | first_keywords(wants, sources, grid)
    if known is None:
        known, shape = infer_result("map_overlap", called, samples, extra, first, label)
        if new_axis is not None and chunks is None:
            grid = lengthen_axes("map_overlap", grid, shape, new_axis)
    main = max(range(len(arrays)), key=lambda i: arrays[i].ndim)
    target, ndim = target_axes("map_overlap", arrays[main].ndim, drop_axis, new_axis, chunks)
    margins = _find_margins(arrays[main], depths[main], ends[main], target)
    free = trim and align_arrays and not wants and margins and chunks is drop_axis is new_axis is None
    free = free and all(len({1, *sizes}) < 3 for sizes in zip_longest(*(a.shape[::-1] for a in arrays), fillvalue=1))
    if trim:
        grid = Grid([_trim_axis(a, dict(margins).get(i)) for i, a in enumerate(grid.axes)])
    elif chunks is None and ndim == len(domain) and drop_axis is None:
        plain, wide_grid = called, grid

        def call(given: Sequence[np.ndarray[Any, Any]], index: tuple[int, ...]) -> Any:
            return plain(*given, *extra, **kwargs | keywords_at(wants, sources, wide_grid, index))

        grid = find_changed_grid(grid, call, samples, everywhere=not wants)
    if "block_info" in wants:
        called = Informed(called, sources, grid, known, "block_id" in wants)
    if trim and margins:
        called = Trimmed(called, margins, grid, bool(wants))
        wants = ("block_id",)
    packed = payload("map_overlap", called, extra, kwargs, label, memory)
    adds = name_additions(packed, wide, grid)
    array = make(MapBlocks(packed, tuple(operand_axes), ("block_id",) if wants else (), adds), wide, grid, known)
    if free and not adds:
        lines = tuple([tuple([i for i, n in enumerate(a.numblocks) if n == 1]) for a in arrays])
        note_refit(array, _fit_margins, (packed, known, depths, ends, lines, *arrays))
    return array


def _fit_margins(packed: Payload, dtype: DType, depths: Any, ends: Any, lines: Any, *given: Array) -> Array:
    """Do over arrays in other chunks what `map_overlap` did: what was one chunk along an axis, is one there."""
    _, arrays = match_chunks("map_overlap", [whole(x, own) for x, own in zip(given, lines, strict=True)])
    wide = [with_halo(x, d, e) for x, d, e in zip(arrays, depths, ends, strict=True)]
    domain = by_number("map_overlap", wide)
    grid, operand_axes = lay_out("map_overlap", domain, wide, None, None, None)
    main = max(range(len(arrays)), key=lambda i: arrays[i].ndim)
    margins = _find_margins(arrays[main], depths[main], ends[main], {i: i for i in range(grid.ndim)})
    grid = Grid([_trim_axis(a, dict(margins).get(i)) for i, a in enumerate(grid.axes)])
    trimmed, extra, keywords = pickle.loads(packed.pickled)
    trimmed = replace(trimmed, margins=margins, grid=grid)
    again = payload("map_overlap", trimmed, extra, keywords, packed.name, packed.memory)
    return make(MapBlocks(again, tuple(operand_axes), ("block_id",)), wide, grid, dtype)


def _find_margins(x: Array, depths: Depths, ends: Any, target: dict[int, int]) -> tuple[tuple[int, Margin], ...]:
    """Return the margins that are trimmed, by the result's axes."""
    return tuple(
        (target[i], Margin(axis, before, after, ends[i] == "none"))
        for i, (axis, (before, after)) in enumerate(zip(x.expr.grid.axes, depths, strict=True))
        if i in target and (before, after) != (0, 0)
    )


def _for_each(argument: str, spec: object, arrays: list[Array]) -> list[Any]:
    """Read depths or boundaries for each array: a list has one for each, anything else serves all."""
    if isinstance(spec, list) and len(spec) != len(arrays):
        raise ShapeError(bad("map_overlap", argument, spec, f"one entry for each of {len(arrays)} arrays"))
    entries: list[Any] = []
    for i, array in enumerate(arrays):
        mine = spec[i] if isinstance(spec, list) else spec
        if isinstance(mine, dict) and any(a.ndim != array.ndim for a in arrays):
            mine = {axis: value for axis, value in mine.items() if axis < array.ndim}
        if argument == "depth":
            entries.append(read_depths("map_overlap", mine, array.ndim))
        else:
            entries.append(read_boundaries("map_overlap", mine, array))
    return entries


def _trim_axis(axis: Axis, margin: Margin | None) -> Axis:
    """Return an axis whose chunks lose their margins."""
    if margin is None:
        return axis
    before, after = margin.at(np.arange(axis.count))
    sizes = axis.size(np.arange(axis.count)) - before - after
    if len(sizes) and sizes.min() < 0:
        raise ShapeError(
            f"map_overlap: chunks of {axis.largest} elements are smaller than the margin that is taken off"
        )
    return Axis.of_sizes(sizes)


def overlap(x: ArrayLike, depth: object, boundary: object = None, *, allow_rechunk: bool = True) -> Array:
    """Return the array of chunks that each include a margin of their neighbours.

    Parameters
    ----------
    x : array_like
        The array.
    depth : int, tuple or dict
        Elements of margin along each axis, or pairs of them: before and after.
    boundary : str, number, tuple or dict
        What lies beyond the ends; see `map_overlap`.
    allow_rechunk : bool
        Accepted for dask and ignored: chunks may be smaller than the margin.

    Returns
    -------
    Array
        Lazy; longer than `x` by all margins.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array. `boundary` is unknown.
    ShapeError
        `depth` or `boundary` doesn't match the axes, or is negative.
    AxisError
        An axis of `depth` or `boundary` is out of range.
    DTypeError
        `x` holds Python objects.

    >>> wr.overlap.overlap(wr.arange(6, chunks=3), depth=1, boundary=-1).compute()
    array([-1,  0,  1,  2,  3,  2,  3,  4,  5, -1])
    """
    array = as_array("overlap", "x", x)
    ends = read_boundaries("overlap", boundary, array)
    return with_halo(array, read_depths("overlap", depth, array.ndim), ends)


def trim_internal(x: ArrayLike, axes: Any, boundary: object = None) -> Array:
    """Trim margins from all chunks; the ends of the array keep theirs where the boundary is "none".

    Parameters
    ----------
    x : array_like
        The array, with margins.
    axes : dict, int or tuple
        Elements to trim along axes, or pairs of them: before and after.
    boundary : str, number, tuple or dict
        What lay beyond the ends; see `map_overlap`.

    Returns
    -------
    Array
        Lazy, shorter than `x` by the margins.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array. `boundary` is unknown.
    ShapeError
        `axes` doesn't match the array, or a chunk is shorter than its margins.
    AxisError
        An axis of `axes` or `boundary` is out of range.
    DTypeError
        `x` holds Python objects.

    >>> x = wr.overlap.overlap(wr.arange(6, chunks=3), depth=1, boundary="periodic")
    >>> wr.overlap.trim_internal(x, {0: 1}, "periodic").compute()
    array([0, 1, 2, 3, 4, 5])
    """
    array = as_array("trim_internal", "x", x)
    ends = read_boundaries("trim_internal", boundary, array)
    return _trim_margins("trim_internal", "axes", array, read_depths("trim_internal", axes, array.ndim, "axes"), ends)


def trim_overlap(x: ArrayLike, depth: object, boundary: object = None) -> Array:
    """Trim the margins that `overlap` added.

    Parameters
    ----------
    x : array_like
        The array, with margins.
    depth : int, tuple or dict
        The margins, as given to `overlap`.
    boundary : str, number, tuple or dict
        What lay beyond the ends, as given to `overlap`.

    Returns
    -------
    Array
        Lazy, shorter than `x` by the margins.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array. `boundary` is unknown.
    ShapeError
        `depth` doesn't match the array, or a chunk is shorter than its margins.
    AxisError
        An axis of `depth` or `boundary` is out of range.
    DTypeError
        `x` holds Python objects.

    >>> x = wr.overlap.overlap(wr.arange(6, chunks=3), depth=1)
    >>> wr.overlap.trim_overlap(x, depth=1).compute()
    array([0, 1, 2, 3, 4, 5])
    """
    array = as_array("trim_overlap", "x", x)
    ends = read_boundaries("trim_overlap", boundary, array)
    return _trim_margins("trim_overlap", "depth", array, read_depths("trim_overlap", depth, array.ndim), ends)


def _trim_margins(operation: str, argument: str, x: Array, depths: Depths, ends: tuple[Any, ...]) -> Array:
    steps: list[Step] = []
    axes: list[Axis] = []
    for i, (axis, (before, after), end) in enumerate(zip(x.expr.grid.axes, depths, ends, strict=True)):
        chunks = np.arange(axis.count)
        first, last = axis.start(chunks) + before, axis.stop(chunks) - after
        if end == "none" and len(chunks):
            first[0], last[-1] = 0, axis.length
        if (before, after) == (0, 0):
            steps.append((i, Slice()))
            axes.append(axis)
            continue
        sizes = last - first
        # Margins towards an open end are shorter where they would reach beyond it, and by how much nothing tells.
        short = end == "none" and axis.count > 1 and (sizes[0] < before or sizes[-1] < after)
        if short or bool((sizes < 0).any()):
            expected = f"margins along axis {i} that all of its chunks have whole; they are {x.chunks[i]} with margins"
            raise ShapeError(bad(operation, argument, (before, after), expected))
        steps.append((i, Runs(first, sizes)))
        axes.append(Axis.of_sizes(sizes))
    if not all(a.length for a in axes):
        return make(Full(np.zeros((), x.dtype)[()]), (), Grid(axes), x.dtype)
    return move(operation, x, steps, axes)
