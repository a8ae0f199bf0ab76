"""Users' functions of chunks: map_blocks and map_overlap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.errors import ArgumentError, ChunksError, ShapeError, bad
from ..graph.grid import Axis, Grid
from ..graph.kinds.mapping import MapBlocks
from .align import aligned, regrid
from .core import Node, as_array, check_axes, check_dtype, make
from .overlap import Trimmed, read_depths, with_halo
from .payload import inferred_dtype, name_of, payload, refuse_captured, wanted

if TYPE_CHECKING:
    from .array import Array

__all__ = [
    "map_blocks",
    "map_overlap",
]


def map_blocks(
    func: Callable[..., Any],
    *args: Any,
    dtype: Any = None,
    chunks: Any = None,
    drop_axis: int | Sequence[int] | None = None,
    new_axis: int | Sequence[int] | None = None,
    **kwargs: Any,
) -> Array:
    """Apply a function to each chunk.

    Parameters
    ----------
    func : callable
        Takes NumPy arrays, one chunk of each array, and returns one. It is pickled now. Where it names
        `block_id` or `block_info` among its parameters, it is given them.
    *args : array or anything
        Arrays, whose chunks are brought together as for elementwise functions, then further arguments.
    dtype : dtype, optional
        Of the result; None: found by calling `func` on arrays of one element.
    chunks : tuple, optional
        The result's chunks where they are not the arguments': for each axis a size for every chunk, or all
        sizes.
    drop_axis, new_axis : int or sequence of int, optional
        Axes that `func` drops (their chunks are joined first), and then adds (numbered in the result).
    **kwargs
        Handed on to `func`.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> x = wr.arange(6, chunks=3)
    >>> wr.map_blocks(lambda block: block - block.min(), x).compute()
    array([0, 1, 2, 0, 1, 2])
    """
    arrays, extra = _arguments("map_blocks", func, args, kwargs)
    wants = wanted(func)
    packed = payload("map_blocks", func, extra, kwargs)
    if not arrays:
        return _from_nothing(packed, wants, chunks, dtype)
    domain, arrays = aligned("map_blocks", arrays)
    dropped = check_axes("map_blocks", drop_axis, domain.ndim, "drop_axis") if drop_axis is not None else ()
    if dropped:
        domain = Grid(
            [Axis.regular(a.length, max(1, a.length)) if i in dropped else a for i, a in enumerate(domain.axes)]
        )
        domain, arrays = _regridded(domain, arrays)
    kept = [i for i in range(domain.ndim) if i not in dropped]
    count = 0 if new_axis is None else len(new_axis) if isinstance(new_axis, Sequence) else 1
    added = check_axes("map_blocks", new_axis, len(kept) + count, "new_axis") if new_axis is not None else ()
    places = [i for i in range(len(kept) + count) if i not in added]
    axes = [Axis.regular(1, 1)] * (len(kept) + count)
    for place, own in zip(places, kept, strict=True):
        axes[place] = domain.axes[own]
    grid = Grid(axes) if chunks is None else _grid_of(chunks, axes)
    target = dict(zip(kept, places, strict=True))
    ways = tuple(tuple(target.get(i + domain.ndim - a.ndim) for i in range(a.ndim)) for a in arrays)
    if dtype is None:
        samples = [np.ones((1,) * a.ndim, a.dtype) for a in arrays]
        known = inferred_dtype("map_blocks", func, samples, extra, kwargs, wants)
    else:
        known = check_dtype("map_blocks", "dtype", dtype)
    return make(MapBlocks(packed, ways, wants), arrays, grid, known)


def _arguments(
    operation: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Array], tuple[Any, ...]]:
    """Tell arrays from further arguments."""
    for name, value in kwargs.items():
        if isinstance(value, Node):
            raise ArgumentError(
                bad(
                    operation,
                    name,
                    value,
                    f"lazy arrays by position, before other arguments of {name_of(func)!r}",
                )
            )
    arrays: list[Array] = []
    for i, value in enumerate(args):
        if not isinstance(value, Node | np.ndarray):
            if any(isinstance(rest, Node) for rest in args[i:]):
                raise ArgumentError(bad(operation, f"args[{i}]", value, "arrays before other arguments"))
            return arrays, args[i:]
        arrays.append(as_array(operation, f"args[{i}]", value))
    return arrays, ()


def _regridded(domain: Grid, arrays: list[Array]) -> tuple[Grid, list[Array]]:
    fitted = []
    for array in arrays:
        mine = domain.axes[domain.ndim - array.ndim :]
        fitted.append(
            regrid(
                array,
                Grid(
                    [
                        own if n == 1 else axis
                        for n, own, axis in zip(array.shape, array.expr.grid.axes, mine, strict=True)
                    ]
                ),
            )
        )
    return domain, fitted


def _grid_of(chunks: Any, axes: list[Axis]) -> Grid:
    """Read the result's chunks: the number of chunks stays, unless sizes are given for each."""
    if not isinstance(chunks, tuple | list) or len(chunks) != len(axes):
        raise ChunksError(bad("map_blocks", "chunks", chunks, f"an entry for each of {len(axes)} axes of the result"))
    found = []
    for spec, axis in zip(chunks, axes, strict=True):
        sizes = (spec,) * axis.count if isinstance(spec, int | np.integer) else tuple(spec)
        if any(isinstance(s, bool) or not isinstance(s, int | np.integer) or s < 0 for s in sizes):
            raise ChunksError(bad("map_blocks", "chunks", chunks, "sizes that are not negative"))
        if len(sizes) != axis.count and axis.count != 1:
            raise ChunksError(bad("map_blocks", "chunks", chunks, f"{axis.count} sizes, one for each chunk"))
        found.append(Axis.of_sizes(int(s) for s in sizes))
    return Grid(found)


def _from_nothing(packed: Any, wants: tuple[str, ...], chunks: Any, dtype: Any) -> Array:
    """Make an array from block indices alone: the function has no array among its arguments."""
    if chunks is None or dtype is None:
        raise ArgumentError(bad("map_blocks", "chunks", chunks, "chunks= and dtype=, since no argument is an array"))
    if not isinstance(chunks, tuple | list) or not all(isinstance(c, tuple | list) for c in chunks):
        raise ChunksError(bad("map_blocks", "chunks", chunks, "a tuple of sizes for each axis"))
    grid = Grid([Axis.of_sizes(int(s) for s in sizes) for sizes in chunks])
    return make(MapBlocks(packed, (), wants), (), grid, check_dtype("map_blocks", "dtype", dtype))


def map_overlap(
    func: Callable[..., Any],
    *args: Any,
    depth: Any,
    boundary: Any = "none",
    trim: bool = True,
    dtype: Any = None,
    **kwargs: Any,
) -> Array:
    """Apply a function to each chunk together with a margin of its neighbours.

    Parameters
    ----------
    func : callable
        Takes NumPy arrays and returns one of their shape.
    *args : array or anything
        Arrays, then further arguments.
    depth : int, tuple or dict
        Elements of margin along each axis; a pair of integers in a tuple or dict: before and after.
    boundary : str, number, tuple or dict
        Beyond the ends, for each axis: "none" (no margin there), "periodic", "reflect" (the edge repeated,
        as in dask), "nearest", or a number that stands there.
    trim : bool
        Whether the margin is taken off what `func` returns.
    dtype : dtype, optional
        Of the result; None: found by calling `func` on arrays of one element.
    **kwargs
        Handed on to `func`.

    Returns
    -------
    Array

    Examples
    --------
    >>> import numpy as np
    >>> import windrow as wr
    >>> x = wr.arange(6, chunks=3)
    >>> def smooth(block):
    ...     return block + np.roll(block, 1) + np.roll(block, -1)
    >>> wr.map_overlap(smooth, x, depth=1, boundary="periodic").compute()
    array([ 6,  3,  6,  9, 12,  9])
    """
    arrays, extra = _arguments("map_overlap", func, args, kwargs)
    if not arrays:
        raise ArgumentError(bad("map_overlap", "args", args, "at least one array"))
    domain, arrays = aligned("map_overlap", arrays)
    if any(a.shape != domain.shape for a in arrays):
        shapes = ", ".join(str(a.shape) for a in arrays)
        raise ShapeError(f"map_overlap: arrays have shapes {shapes}; expected one shape")
    depths, boundaries = read_depths(depth, boundary, domain.ndim)
    wants = wanted(func)
    refuse_captured("map_overlap", func)
    if dtype is None:
        samples = [np.ones(tuple(1 + b + a for b, a in depths), x.dtype) for x in arrays]
        known = inferred_dtype("map_overlap", func, samples, extra, kwargs, wants)
    else:
        known = check_dtype("map_overlap", "dtype", dtype)
    wide = [with_halo(a, depths, boundaries) for a in arrays]
    ways = (tuple(range(domain.ndim)),) * len(arrays)
    if not trim:
        packed = payload("map_overlap", func, extra, kwargs)
        return make(MapBlocks(packed, ways, wants), wide, wide[0].expr.grid, known)
    lengths = tuple((a.length, a.count) for a in domain.axes)
    open_ends = tuple(b == "none" for b in boundaries)
    trimmed = Trimmed(func, depths, open_ends, lengths, domain.chunks() if any(open_ends) else (), "block_id" in wants)
    packed = payload("map_overlap", trimmed, extra, kwargs, name_of(func))
    asked = tuple(dict.fromkeys(("block_id", *wants)))
    return make(MapBlocks(packed, ways, asked), wide, domain, known)
