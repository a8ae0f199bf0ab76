"""Users' own operations: functions of matched blocks, and reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.errors import ArgumentError, ChunksError, ShapeError, bad
from ..graph.grid import Axis, Grid
from ..graph.kinds.mapping import MapBlocks
from .align import regrid
from .calls import Aggregate, Interleaved, Reduced
from .core import Node, as_array, check_axes, check_dtype, make
from .payload import inferred_dtype, name_of, payload, refuse_captured

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .array import Array

__all__ = [
    "blockwise",
    "reduction",
]


def blockwise(
    func: Callable[..., Any],
    out_ind: Any,
    *args: Any,
    dtype: Any = None,
    new_axes: dict[Any, Any] | None = None,
    adjust_chunks: dict[Any, Any] | None = None,
    align_arrays: bool = True,
    concatenate: bool = True,
    **kwargs: Any,
) -> Array:
    """Apply a function to blocks that are matched by the names of their axes.

    An axis that the result lacks is brought into one chunk, as with `concatenate=True` in dask.

    Parameters
    ----------
    func : callable
        Takes NumPy arrays, a block of each argument, and returns the result's block. It is pickled now.
    out_ind : str or sequence
        The names of the result's axes.
    *args : pairs of an array and its axes' names, or of anything and None
    dtype : dtype, optional
        None: found by calling `func` on arrays of one element.
    new_axes : dict, optional
        Lengths (or sizes of chunks) of axes that no argument has.
    adjust_chunks : dict, optional
        For axes whose chunks `func` makes larger or smaller: a function of a size, a size, or all sizes.
    align_arrays : bool
        False: chunks must agree already.
    concatenate : bool
        Only True: functions never get lists of blocks.
    **kwargs
        Handed on to `func`.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> x, y = wr.ones((4, 6), chunks=2), wr.ones((6, 2), chunks=(3, 1))
    >>> wr.blockwise(lambda a, b: a @ b, "ik", x, "ij", y, "jk", dtype=float).chunks
    ((2, 2), (1, 1))
    """
    if len(args) % 2:
        raise ArgumentError(bad("blockwise", "args", f"{len(args)} arguments", "pairs of an array and its axes' names"))
    if concatenate is not True:
        raise ArgumentError(bad("blockwise", "concatenate", concatenate, "True: functions get no lists of blocks"))
    out, pairs = tuple(out_ind), list(zip(args[::2], args[1::2], strict=True))
    arrays = [as_array("blockwise", f"args[{2 * i}]", a) for i, (a, names) in enumerate(pairs) if names is not None]
    named = [tuple(names) for _, names in pairs if names is not None]
    axes = _matched(arrays, named, out, align_arrays)
    for name, given in (new_axes or {}).items():
        sizes = (given,) if isinstance(given, int | np.integer) else tuple(given)
        axes[name] = Axis.of_sizes(int(s) for s in sizes)
    if any(name not in axes for name in out) or len(set(out)) != len(out):
        raise ArgumentError(bad("blockwise", "out_ind", out_ind, f"different names among {sorted(map(str, axes))}"))
    arrays = [regrid(a, Grid([Axis.regular(1, 1) if n == 1 else axes[i] for n, i in zip(a.shape, names, strict=True)]))
              for a, names in zip(arrays, named, strict=True)]  # fmt: skip
    grid = Grid([_adjusted(axes[name], (adjust_chunks or {}).get(name), name) for name in out])
    refuse_captured("blockwise", func)
    called: Any = func
    if len(arrays) < len(pairs):
        called = Interleaved(func, tuple((names is not None, None if names is not None else a) for a, names in pairs))
    ways = tuple(
        tuple(
            out.index(i) if i in out and not (n == 1 and axes[i].length != 1) else None
            for n, i in zip(a.shape, names, strict=True)
        )
        for a, names in zip(arrays, named, strict=True)
    )
    if dtype is None:
        samples = [np.ones((1,) * a.ndim, a.dtype) for a in arrays]
        known = inferred_dtype("blockwise", called, samples, (), kwargs)
    else:
        known = check_dtype("blockwise", "dtype", dtype)
    packed = payload("blockwise", called, (), kwargs, name_of(func))
    return make(MapBlocks(packed, ways), arrays, grid, known)


def _matched(arrays: list[Array], named: list[tuple[Any, ...]], out: tuple[Any, ...], align: bool) -> dict[Any, Axis]:
    """Return the chunks of each named axis, from the argument with most bytes; one chunk where the result lacks it."""
    axes: dict[Any, Axis] = {}
    for array, names in sorted(zip(arrays, named, strict=True), key=lambda pair: -pair[0].nbytes):
        if len(names) != array.ndim:
            raise ShapeError(bad("blockwise", "args", array.shape, f"an array of {len(names)} axes, {names}"))
        for name, axis in zip(names, array.expr.grid.axes, strict=True):
            known = axes.setdefault(name, axis)
            if known.length == 1 and axis.length != 1:
                axes[name] = axis
            elif axis.length not in (1, known.length):
                raise ShapeError(bad("blockwise", "args", array.shape, f"length {known.length} along {name!r}"))
            elif not align and axis != known and axis.length != 1:
                raise ChunksError(bad("blockwise", "align_arrays", align, f"True, since chunks differ along {name!r}"))
    return {n: a if n in out else Axis.regular(a.length, max(1, a.length)) for n, a in axes.items()}


def _adjusted(axis: Axis, change: Any, name: Any) -> Axis:
    if change is None:
        return axis
    sizes: list[int]
    if callable(change):
        given: list[Any] = [change(n) for n in axis.sizes()]
        sizes = [int(n) for n in given]
    else:
        sizes = [int(change)] * axis.count if isinstance(change, int | np.integer) else [int(n) for n in change]
    if len(sizes) != axis.count or min(sizes) < 0:
        raise ChunksError(bad("blockwise", "adjust_chunks", sizes, f"{axis.count} sizes for axis {name!r}"))
    return Axis.of_sizes(sizes)


FAN = 16
"""So many partial results are combined at once."""


def reduction(
    x: Any,
    chunk: Callable[..., Any],
    aggregate: Callable[..., Any],
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    dtype: Any = None,
    *,
    combine: Callable[..., Any] | None = None,
    split_every: int = FAN,
    **kwargs: Any,
) -> Array:
    """Reduce an array by functions of one's own: of a chunk, of partial results, and of the last of these.

    Parameters
    ----------
    x : array
    chunk : callable
        `chunk(block, axis=axes, keepdims=True)` returns a partial result: an array of length one along the axes.
    aggregate : callable
        `aggregate(partial, axis=axes, keepdims=keepdims)` finishes, given partial results side by side.
    axis : int, tuple of int or None
    keepdims : bool
    dtype : dtype, optional
        Of the result; None: found by calling the functions on arrays of one element.
    combine : callable, optional
        As `chunk`, of partial results side by side. None: `chunk` itself.
    split_every : int
        So many partial results are combined at once, in the order of their chunks.
    **kwargs
        Handed on to all functions.

    Returns
    -------
    Array

    Examples
    --------
    >>> import numpy as np
    >>> import windrow as wr
    >>> wr.reduction(wr.arange(10, chunks=3), np.max, np.max).compute()
    np.int64(9)
    """
    array = as_array("reduction", "x", x)
    axes = check_axes("reduction", axis, array.ndim)
    if isinstance(split_every, bool) or not isinstance(split_every, int | np.integer) or split_every < 2:
        raise ShapeError(bad("reduction", "split_every", split_every, "an integer from 2 on"))
    names = {"chunk": chunk, "aggregate": aggregate, "combine": combine if combine is not None else chunk}
    for name, function in names.items():
        if not callable(function):
            raise ArgumentError(bad("reduction", name, function, "a function"))
        refuse_captured("reduction", function)
    one = [np.ones((1,) * array.ndim, array.dtype)]
    first, last = Reduced(chunk, axes), Aggregate(aggregate, axes, bool(keepdims))
    partial = inferred_dtype("reduction", first, one, (), kwargs)
    sample = [np.ones((1,) * array.ndim, partial)]
    known = (
        inferred_dtype("reduction", last, sample, (), kwargs)
        if dtype is None
        else check_dtype("reduction", "dtype", dtype)
    )
    own = (tuple(range(array.ndim)),)
    packed = payload("reduction", first, (), kwargs, name_of(chunk))
    found = make(MapBlocks(packed, own), (array,), _counted(array.expr.grid, axes), partial)
    packed = payload("reduction", Reduced(names["combine"], axes), (), kwargs, name_of(names["combine"]))
    while any(found.shape[a] > 1 for a in axes) and _product(found, axes) > split_every:
        found = regrid(found, _grouped(found.expr.grid, axes, int(split_every)))
        found = make(MapBlocks(packed, own), (found,), _counted(found.expr.grid, axes), partial)
    found = regrid(
        found, Grid([Axis.regular(a.length, a.length) if i in axes else a for i, a in enumerate(found.expr.grid.axes)])
    )
    kept = [i for i in range(array.ndim) if keepdims or i not in axes]
    way = tuple(kept.index(i) if i in kept and i not in axes else None for i in range(array.ndim))
    grid = Grid([Axis.regular(1, 1) if i in axes else found.expr.grid.axes[i] for i in kept])
    packed = payload("reduction", last, (), kwargs, name_of(aggregate))
    return make(MapBlocks(packed, (way,)), (found,), grid, known)


def _counted(grid: Grid, axes: tuple[int, ...]) -> Grid:
    """Return the grid of partial results: one position for each chunk along the reduced axes."""
    return Grid([Axis.regular(a.count, 1) if i in axes else a for i, a in enumerate(grid.axes)])


def _product(x: Node, axes: tuple[int, ...]) -> int:
    return int(np.prod([x.shape[a] for a in axes]))


def _grouped(grid: Grid, axes: tuple[int, ...], most: int) -> Grid:
    """Join chunks along the reduced axes, at most so many."""
    found, left = list(grid.axes), most
    for a in sorted(axes, reverse=True):
        step = max(1, min(grid.axes[a].length, left))
        found[a] = Axis.regular(grid.axes[a].length, step)
        left //= step
    return Grid(found)
