"""Users' functions of chunks: map_blocks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import is_integer
from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, ChunksError, DTypeError, ShapeError, bad
from ...graph.kinds.mapping import MapBlocks
from ...workers.sources.arrow import value_type
from ..base import ArrayBase, as_array, check_axes, check_dtype, make
from ..chunking.rechunk import common_axes, regrid
from .travel.adapters import ArrowBlocks, Informed, Interleaved
from .travel.pickling import find_wanted, infer_result, name_additions, name_of, payload, refuse_captured

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...graph.expr.expr import DType
    from ..array import Array
    from ..typing import AxisLike, ChunksLike, DTypeLike
    from .travel.adapters import Place

__all__ = [
    "map_blocks",
]


def map_blocks(
    func: Callable[..., Any],
    *args: Any,
    name: str | None = None,
    token: str | None = None,
    dtype: DTypeLike = None,
    chunks: ChunksLike = None,
    drop_axis: int | Sequence[int] | None = None,
    new_axis: int | Sequence[int] | None = None,
    enforce_ndim: bool = False,
    meta: object = None,
    blocks: str = "numpy",
    memory: float | None = None,
    **kwargs: Any,
) -> Array:
    """Apply a function to each chunk.

    Parameters
    ----------
    func : callable
        Takes NumPy arrays, one chunk of each array, and returns one. It is pickled now. Where it has a parameter
        `block_id`, it gets the index of the result's chunk along each axis; `block_info`: a dict with "shape",
        "num-chunks", "chunk-location" and "array-location" for each array, by its place among `args`, and for the
        result, by None, with "chunk-shape" and "dtype" too.
    *args : array or any
        Lazy arrays, whose chunks are aligned as for elementwise functions; where lengths don't broadcast, chunks are
        matched by their index. Anything else is passed on as it is, NumPy arrays whole, such as look-up tables:
        `from_array` makes them lazy. Where no argument is lazy, NumPy arrays are cut into chunks.
    name, token : str, optional
        The operation's name in representations and drawings; None: the function's.
    dtype : dtype, optional
        Of the result; None: found by calling `func` on arrays of one element. What `func` returns is cast to it; a
        complex block for a real dtype is an error.
    chunks : tuple, optional
        Chunks of the result where `func` changes them: for each axis a size for every chunk, or all sizes.
    drop_axis : int or sequence of int, optional
        Axes that `func` removes; their chunks are joined first.
    new_axis : int or sequence of int, optional
        Axes that `func` adds, as numbered in the result. Without `chunks` they are as long as what `func` returned when
        the dtype was found, or 1 with a `dtype`.
    enforce_ndim : bool
        Accepted for dask: the axes of what `func` returns are always checked.
    meta : numpy.ndarray, optional
        An empty array of the result's dtype, as in dask.
    blocks : str
        "numpy", or "arrow": lazy arrays' blocks come as `pyarrow.Array`, those of two or more axes as
        `FixedShapeTensorArray` with a tensor for each position along the first axis; a 0-d block has length 1. `func`
        returns such, an Arrow scalar, or a NumPy array.
    memory : float, optional
        How many times the bytes of its arguments and its result `func` takes while it runs, for the bound on memory
        that `explain` tells; None: three times.
    **kwargs : any
        Passed on to `func`.

    Returns
    -------
    Array
        Lazy, with the chunks of the arguments unless `chunks` says otherwise.

    Raises
    ------
    ArgumentError
        `func` is not callable, can't be pickled, or uses a lazy array; a lazy array is passed by keyword; or there is
        neither an array nor `chunks` and `dtype`. `blocks` is neither "numpy" nor "arrow".
    ShapeError
        Arrays neither broadcast nor have matching numbers of chunks. When computed: `func` returned a block of another
        shape.
    AxisError
        `drop_axis` or `new_axis` is out of range.
    DTypeError
        There is no `dtype`, and `func` raises an error when it is called on arrays of one element to find the dtype.
        `dtype` is not a NumPy dtype, or one of Python objects. Arrow has no type for an array that is to come as Arrow.
        When computed: `func` returned Arrow nulls, and the result's dtype has no NaN or NaT.
    ChunksError
        `chunks` doesn't match the axes or the number of chunks.

    Notes
    -----
    To find the dtype, the function is called once with small arrays; give `dtype` where it can't take them.

    A block that is a chunk isn't copied for Arrow, unless Arrow has it otherwise: booleans as bits, texts of any
    length, records as structs. NaT is null there; complex numbers are lists of two.

    >>> x = wr.arange(6, chunks=3)
    >>> wr.map_blocks(lambda block: block - block.min(), x).compute()
    array([0, 1, 2, 0, 1, 2])
    >>> import pyarrow.compute as pc
    >>> wr.map_blocks(pc.negate, x, blocks="arrow").compute()
    array([ 0, -1, -2, -3, -4, -5])
    """
    arrays, places, called, extra = arguments("map_blocks", func, args, kwargs)
    known = read_dtype("map_blocks", dtype, meta)
    label = token or name or name_of(func)
    operand_axes: list[tuple[int | None, ...]] = []
    if not arrays:
        grid = _grid_of_nothing(chunks, known)
    else:
        domain, arrays = match_chunks("map_blocks", arrays)
        domain, arrays = join_chunks("map_blocks", domain, arrays, drop_axis)
        grid, operand_axes = lay_out("map_blocks", domain, arrays, drop_axis, new_axis, chunks)
    if as_arrow(blocks, arrays):
        called = ArrowBlocks(called, label, len(arrays), grid.ndim, known)
    sources = tuple((p, a.expr.grid, w) for p, a, w in zip(places, arrays, operand_axes, strict=True))
    wants = find_wanted(func)
    if known is None:
        first = first_keywords(wants, sources, grid)
        samples = [np.ones((1,) * a.ndim, a.dtype) for a in arrays]
        known, shape = infer_result("map_blocks", called, samples, extra, kwargs | first, label)
        if new_axis is not None and chunks is None:
            grid = lengthen_axes("map_blocks", grid, shape, new_axis)
        if isinstance(called, ArrowBlocks):
            called = replace(called, dtype=known)
    if "block_info" in wants:
        called = Informed(called, sources, grid, known, "block_id" in wants)
    packed = payload("map_blocks", called, extra, kwargs, label, memory)
    adds = name_additions(packed, arrays, grid)
    return make(MapBlocks(packed, tuple(operand_axes), ("block_id",) if wants else (), adds), arrays, grid, known)


def as_arrow(blocks: Any, arrays: list[Array]) -> bool:
    """Tell whether blocks are to come as Arrow, which must have a type for them."""
    if not isinstance(blocks, str) or blocks not in ("numpy", "arrow"):
        raise ArgumentError(bad("map_blocks", "blocks", blocks, "'numpy' or 'arrow'"))
    if blocks == "arrow":
        for array in arrays:
            if value_type(array.dtype) is None:
                raise DTypeError(bad("map_blocks", "blocks", blocks, f"'numpy': Arrow has no type for {array.dtype}"))
    return bool(blocks == "arrow")


def first_keywords(wants: tuple[str, ...], sources: tuple[Place, ...], grid: Grid) -> dict[str, Any]:
    """Return what a function that asks for the block's number, or more about it, gets for the first block."""
    return keywords_at(wants, sources, grid, (0,) * grid.ndim)


def keywords_at(
    wants: tuple[str, ...], sources: tuple[Place, ...], grid: Grid, index: tuple[int, ...]
) -> dict[str, Any]:
    """Return what a function that asks for the block's number, or more about it, gets for a block."""
    keywords = {"block_id": index, "block_info": Informed(None, sources, grid, None, False).describe_blocks(index)}
    return {name: keywords[name] for name in wants}


def join_chunks(
    operation: str, domain: list[Axis], arrays: list[Array], axes: AxisLike
) -> tuple[list[Axis], list[Array]]:
    """Join the chunks along axes that a function drops."""
    dropped = check_axes(operation, axes, len(domain), "drop_axis") if axes is not None else ()
    if not dropped:
        return domain, arrays

    def whole(own: Axis, number: int) -> Axis:
        return Axis.whole(own.length) if number in dropped else own

    fitted = []
    for array in arrays:
        grid = Grid([whole(own, i) for i, own in enumerate(array.expr.grid.axes, len(domain) - array.ndim)])
        fitted.append(regrid(array, grid))
    return [whole(a, i) for i, a in enumerate(domain)], fitted


def target_axes(
    operation: str, ndim: int, drop_axis: Any, new_axis: Any, chunks: ChunksLike
) -> tuple[dict[int, int], int]:
    """Return where each axis that a function keeps stands in the result, and the number of the result's axes."""
    dropped = check_axes(operation, drop_axis, ndim, "drop_axis") if drop_axis is not None else ()
    kept = [i for i in range(ndim) if i not in dropped]
    if new_axis is None and isinstance(chunks, tuple | list) and len(chunks) > len(kept):
        new_axis = range(len(chunks) - len(kept))
    several = new_axis if new_axis is None or is_integer(new_axis) else list(new_axis)
    count = 0 if several is None else len(several) if isinstance(several, list) else 1
    added = check_axes(operation, several, len(kept) + count, "new_axis") if new_axis is not None else ()
    places = [i for i in range(len(kept) + count) if i not in added]
    return dict(zip(kept, places, strict=True)), len(kept) + count


def lay_out(
    operation: str, domain: list[Axis], arrays: list[Array], drop_axis: Any, new_axis: Any, chunks: ChunksLike
) -> tuple[Grid, list[tuple[int | None, ...]]]:
    """Return the result's chunks, and for each array which of the result's axes its own run along."""
    target, ndim = target_axes(operation, len(domain), drop_axis, new_axis, chunks)
    axes = [Axis.whole(1)] * ndim
    for own, place in target.items():
        axes[place] = domain[own]
    grid = Grid(axes) if chunks is None else _grid_of(operation, chunks, axes, set(target.values()))
    operand_axes = [
        tuple(
            None if own.count == 1 and domain[i].count != 1 else target.get(i)
            for i, own in enumerate(a.expr.grid.axes, len(domain) - a.ndim)
        )
        for a in arrays
    ]
    return grid, operand_axes


def lengthen_axes(operation: str, grid: Grid, shape: tuple[int, ...], new_axis: Any) -> Grid:
    """Return the result's chunks with new axes as long as in what a function returned for small arrays."""
    if len(shape) != grid.ndim:
        return grid
    added = check_axes(operation, new_axis if is_integer(new_axis) else list(new_axis), grid.ndim, "new_axis")
    return Grid([Axis.whole(shape[i]) if i in added else own for i, own in enumerate(grid.axes)])


def read_dtype(operation: str, dtype: DTypeLike, meta: object) -> DType | None:
    """Return the dtype that a user gave, by itself or as that of dask's `meta`."""
    if dtype is not None:
        return check_dtype(operation, "dtype", dtype)
    if meta is None:
        return None
    if not isinstance(meta, np.ndarray | np.generic) or isinstance(meta, np.ma.MaskedArray):
        raise ArgumentError(bad(operation, "meta", meta, "an array of NumPy's, since chunks are no others"))
    return check_dtype(operation, "meta", meta.dtype)


def arguments(
    operation: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Array], list[int], Callable[..., Any], tuple[Any, ...]]:
    """Tell arrays from other arguments: return them, their places, and the function with what it takes besides."""
    if not callable(func):
        raise ArgumentError(bad(operation, "func", func, "a function"))
    refuse_captured(operation, func)
    for name, value in kwargs.items():
        if isinstance(value, ArrayBase):
            expected = f"lazy arrays by position, not by keywords of {name_of(func)!r}"
            raise ArgumentError(bad(operation, name, value, expected))
    places = [i for i, value in enumerate(args) if isinstance(value, ArrayBase)]
    places = places or [i for i, value in enumerate(args) if isinstance(value, np.ndarray)]
    arrays = [as_array(operation, f"args[{i}]", args[i]) for i in places]
    if places == list(range(len(places))):
        return arrays, places, func, args[len(places) :]
    mixed = Interleaved(func, tuple((i in places, None if i in places else value) for i, value in enumerate(args)))
    return arrays, places, mixed, ()


def match_chunks(operation: str, arrays: list[Array]) -> tuple[list[Axis], list[Array]]:
    """Return the chunks that arrays have together, and the arrays on them.

    Along an axis where lengths broadcast, arrays get the chunks of the one with most bytes. Where they don't, chunks
    are matched by number: one array's only chunk goes with every chunk of the others.
    """
    ndim = max(a.ndim for a in arrays)
    lengths = [{a.shape[i - ndim + a.ndim] for a in arrays if i - ndim + a.ndim >= 0} - {1} for i in range(ndim)]
    if all(len(n) < 2 for n in lengths):
        axes = common_axes(arrays, tuple(max(n, default=1) for n in lengths))
        axes = [a if a.length != 1 else _largest(arrays, i - ndim, 1) for i, a in enumerate(axes)]
    else:
        numbered = by_number(operation, arrays)
        axes = [
            numbered[i] if len(lengths[i]) > 1 else _largest(arrays, i - ndim, max(lengths[i], default=1))
            for i in range(ndim)
        ]
    fitted = []
    for array in arrays:
        mine = [
            own if len(lengths[i]) > 1 else axes[i] if own.length == axes[i].length else Axis.whole(1)
            for i, own in enumerate(array.expr.grid.axes, ndim - array.ndim)
        ]
        fitted.append(regrid(array, Grid(mine)))
    return axes, fitted


def by_number(operation: str, arrays: list[Array]) -> list[Axis]:
    """Return the chunks along each axis of the array that has most there; others have as many, or one."""
    ndim = max(a.ndim for a in arrays)
    axes = []
    for i in range(-ndim, 0):
        own = [a.expr.grid.axes[i] for a in arrays if i + a.ndim >= 0]
        axes.append(max(own, key=lambda a: a.count))
        if any(a.count not in (1, axes[-1].count) for a in own):
            shapes = ", ".join(f"{a.shape} in {a.numblocks} chunks" for a in arrays)
            raise ShapeError(
                f"{operation}: arrays have shapes {shapes}; expected shapes that broadcast, or as many chunks, or one, "
                f"along axis {i + ndim}"
            )
    return axes


def _largest(arrays: list[Array], axis: int, length: int) -> Axis:
    """Return the chunks along an axis, numbered from the end, of the array with most bytes that has the length."""
    own = [a for a in arrays if axis + a.ndim >= 0 and a.shape[axis] == length]
    return max(own, key=lambda a: a.nbytes).expr.grid.axes[axis]


def _grid_of(operation: str, chunks: Any, axes: list[Axis], kept: set[int]) -> Grid:
    """Read the result's chunks: the number of chunks stays along axes that an argument has."""
    if not isinstance(chunks, tuple | list) or len(chunks) != len(axes):
        raise ChunksError(bad(operation, "chunks", chunks, f"an entry for each of {len(axes)} axes of the result"))
    result_axes = []
    for i, (spec, axis) in enumerate(zip(chunks, axes, strict=True)):
        sizes = (spec,) * axis.count if is_integer(spec) else tuple(spec)
        if any(not is_integer(s) or s < 0 for s in sizes):
            raise ChunksError(bad(operation, "chunks", chunks, "sizes that are not negative"))
        if len(sizes) != axis.count and i in kept:
            raise ChunksError(
                bad(operation, "chunks", chunks, f"{axis.count} sizes along axis {i}, one for each chunk")
            )
        result_axes.append(Axis.of_sizes(int(s) for s in sizes))
    return Grid(result_axes)


def _grid_of_nothing(chunks: Any, dtype: DType | None) -> Grid:
    """Return the chunks of an array that is made from block numbers alone."""
    if chunks is None or dtype is None:
        raise ArgumentError(bad("map_blocks", "chunks", chunks, "chunks= and dtype=, since no argument is an array"))
    if not isinstance(chunks, tuple | list) or not all(isinstance(c, tuple | list) or is_integer(c) for c in chunks):
        raise ChunksError(bad("map_blocks", "chunks", chunks, "a tuple of sizes for each axis"))
    return Grid([Axis.of_sizes(int(s) for s in ((c,) if is_integer(c) else c)) for c in chunks])
