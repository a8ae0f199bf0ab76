"""Reshaping each chunk by itself."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import ChunksError, ShapeError, bad
from ....graph.kinds.reshape import ReshapeBlocks
from ...base import as_array, check_shape, make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...array import Array
    from ...typing import ArrayLike, ChunksLike

    Sizes = tuple[tuple[int, ...], ...]

__all__ = [
    "reshape_blockwise",
]


def reshape_blockwise(x: ArrayLike, shape: int | Sequence[int], chunks: ChunksLike = None) -> Array:
    """Reshape each chunk by itself, so that nothing moves between chunks.

    Parameters
    ----------
    x : array_like
        The array.
    shape : int or tuple of int
        Shape of the result: neighbouring axes become one, or with `chunks` one becomes several. -1: 1-D.
    chunks : tuple of tuple of int, optional
        Chunks of the result, needed where it has more axes than `x`: as many chunks, of as many elements each.

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array. `shape` is neither an
        integer nor a tuple of integers.
    ShapeError
        `shape` has another number of elements, or merges axes that aren't neighbours.
    DTypeError
        `x` holds Python objects.
    ChunksError
        `chunks` is missing, given where axes become fewer, or doesn't match the chunks of `x`.

    Notes
    -----
    As in dask, elements come in the order of the chunks, not in the C order of `reshape`.

    >>> x = wr.arange(8).reshape(2, 4).rechunk((2, 2))
    >>> wr.reshape_blockwise(x, 8).compute()
    array([0, 1, 4, 5, 2, 3, 6, 7])
    >>> wr.reshape_blockwise(wr.reshape_blockwise(x, 8), (2, 4), x.chunks).compute()
    array([[0, 1, 2, 3],
           [4, 5, 6, 7]])
    """
    array = as_array("reshape_blockwise", "x", x)
    lengths = (array.size,) if shape in (-1, (-1,)) else check_shape("reshape_blockwise", shape)
    if math.prod(lengths) != array.size:
        raise ShapeError(bad("reshape_blockwise", "shape", shape, f"a shape of {array.size} elements"))
    if lengths == array.shape:
        return array
    if len(lengths) > array.ndim:
        sizes = _read_chunks(chunks, lengths)
    elif chunks is not None:
        raise ChunksError(bad("reshape_blockwise", "chunks", chunks, "None, since axes become fewer"))
    else:
        sizes = _merge_chunks(array, lengths)
    if array.size == 0:
        return array.reshape(lengths).rechunk(sizes)
    grid = Grid([Axis.of_sizes(each) for each in sizes])
    numbers = np.arange(grid.nblocks)
    own = array.expr.grid
    if grid.nblocks != own.nblocks or (grid.block_sizes(numbers) != own.block_sizes(numbers)).any():
        raise ChunksError(
            bad("reshape_blockwise", "chunks", sizes, f"chunks of as many elements as those of {array.chunks}")
        )
    return make(ReshapeBlocks(), (array,), grid, array.dtype)


def _read_chunks(chunks: Any, lengths: tuple[int, ...]) -> Sizes:
    if not isinstance(chunks, tuple | list) or [sum(np.atleast_1d(c)) for c in chunks] != list(lengths):
        raise ChunksError(bad("reshape_blockwise", "chunks", chunks, f"sizes for each axis that add up to {lengths}"))
    return tuple(tuple(int(n) for n in np.atleast_1d(c)) for c in chunks)


def _merge_chunks(array: Array, lengths: tuple[int, ...]) -> Sizes:
    """Return the chunks along axes of the result, each of which merges several neighbouring axes."""
    chunks, left = [], list(zip(array.shape, array.chunks, strict=True))
    for i, n in enumerate(lengths):
        total = 1
        mine: list[tuple[int, ...]] = []
        last = i == len(lengths) - 1
        while left and (total != n or last or (not mine and left[0][0] == n)):
            length, sizes = left.pop(0)
            total *= length
            mine.append(sizes)
        if total != n:
            raise ShapeError(
                bad(
                    "reshape_blockwise",
                    "shape",
                    lengths,
                    f"neighbouring axes of {array.shape} multiplied with each other",
                )
            )
        chunks.append(tuple(math.prod(each) for each in itertools.product(*mine)))
    return tuple(chunks)
