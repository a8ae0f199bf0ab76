"""Chunk grids: how an array's axes are cut, in a form whose size doesn't grow with the number of chunks.

An `Axis` is regular (one step, the last chunk may be shorter), which takes two integers, or irregular, which takes
one array of bounds. All arithmetic takes arrays of chunk indices as well as single ones.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..arguments import is_array
from ..errors import ChunksError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Index = NDArray[np.int64]
Positions = TypeVar("Positions", int, Index)
"""One chunk or position, or an array of them."""
TABLE = 1 << 14
"""Grids of at most so many blocks remember their blocks' shapes."""
MANY = 32
TINY = 1 << 16
"""See `merge_tiny_chunks`."""


class Axis:
    """One axis of a chunk grid: `count` chunks that cover `length` elements."""

    __slots__ = ("_bounds", "_chosen", "count", "is_free", "length", "step")

    def __init__(self, length: int, step: int, bounds: Index | None = None) -> None:
        self.length = length
        self.step = step
        self._bounds = bounds
        self._chosen: int | None = None
        self.is_free = False
        """Whether nobody gave its chunks: "auto" did, or an operation that made it whole or cut it; see `freed`."""
        self.count = len(bounds) - 1 if bounds is not None else max(1, -(-length // step))

    @classmethod
    def regular(cls, length: int, step: int) -> Axis:
        """An axis of chunks of `step` elements; the last one holds what is left."""
        return cls(length, max(1, min(step, length) if length else 1))

    @classmethod
    def whole(cls, length: int) -> Axis:
        """An axis of one chunk."""
        return cls.regular(length, length)

    @classmethod
    def of_sizes(cls, sizes: Iterable[int]) -> Axis:
        """An axis of chunks of the given sizes; regular sizes are recognised."""
        array = sizes.astype(np.int64) if is_array(sizes) else np.fromiter(sizes, np.int64)
        if array.size == 0:
            return cls.regular(0, 1)
        bounds = np.concatenate([[0], np.cumsum(array)])
        step, length = int(array[0]), int(bounds[-1])
        if step > 0 and bool((array[:-1] == step).all()) and 0 < array[-1] <= step:
            return cls.regular(length, step)
        if length == 0 and array.size == 1:
            return cls.regular(0, 1)
        return cls(length, 0, bounds)

    def start(self, chunk: Positions) -> Positions:
        if self._bounds is None:
            return chunk * self.step
        bound: Any = self._bounds[chunk]
        first: Positions = bound.item() if isinstance(chunk, int) else bound
        return first

    def stop(self, chunk: Positions) -> Positions:
        if self._bounds is not None:
            return self.start(chunk + 1)
        if isinstance(chunk, int):
            return min((chunk + 1) * self.step, self.length)
        return np.minimum((chunk + 1) * self.step, self.length)

    def size(self, chunk: Positions) -> Positions:
        return self.stop(chunk) - self.start(chunk)

    def find(self, position: Positions) -> Positions:
        """The chunk that holds a position."""
        if self._bounds is None:
            return position // self.step
        above: Any = np.searchsorted(self._bounds, position, side="right") - 1
        chunk: Positions = above.item() if isinstance(position, int) else above
        return chunk

    @property
    def largest(self) -> int:
        if self._bounds is None:
            return min(self.step, self.length)
        return int(np.diff(self._bounds).max())

    @property
    def chosen(self) -> int:
        """Size of the largest chunk that someone chose; 0 for none, as in a single chunk or a join of single chunks."""
        if self._chosen is not None:
            return self._chosen
        return self.largest if self.count > 1 else 0

    def freed(self, free: bool = True) -> Axis:
        """Return this axis with a mark that other chunks may be chosen in place of its own; it is equal to this one."""
        if free == self.is_free:
            return self
        axis = Axis(self.length, self.step, self._bounds)
        axis._chosen, axis.is_free = self._chosen, free
        return axis

    def cut(self, pieces: int) -> Axis:
        """Return this axis with each chunk cut into so many, as even as may be."""
        if pieces == 1:
            return self
        if self._bounds is None and (self.count == 1 or self.step % pieces == 0):
            return Axis.regular(self.length, -(-self.step // pieces))
        sizes = np.diff(np.append(self.start(np.arange(self.count)), self.length))
        each = -(-sizes // pieces)[:, None]
        parts = np.clip(sizes[:, None] - each * np.arange(pieces), 0, each).ravel()
        return Axis.of_sizes(parts[parts > 0])

    def with_chosen(self, size: int) -> Axis:
        """Return this axis, and the size of what was chosen in what it is joined from."""
        axis = Axis(self.length, self.step, self._bounds)
        axis._chosen, axis.is_free = size, self.is_free
        return axis

    @property
    def is_marked(self) -> bool:
        """Whether it remembers what was chosen; see `with_chosen`."""
        return self._chosen is not None

    @property
    def is_regular(self) -> bool:
        """Whether all chunks but the last have one size."""
        return self._bounds is None

    def sizes(self) -> tuple[int, ...]:
        """Sizes of all chunks, dask's spelling of an axis."""
        if self._bounds is not None:
            return tuple(np.diff(self._bounds).tolist())
        return (self.step,) * (self.count - 1) + (self.length - (self.count - 1) * self.step,)

    def key(self) -> tuple[int, int, bytes]:
        """What tells this axis from another."""
        return (self.length, self.step, b"" if self._bounds is None else self._bounds.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axis) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def __repr__(self) -> str:
        if self._bounds is None:
            return f"Axis({self.length} by {self.step})"
        return f"Axis({self.length} in {self.count})"


class Grid:
    """A chunk grid: an axis for each dimension. Blocks are numbered in C order."""

    def __init__(self, axes: Sequence[Axis]) -> None:
        self.axes = tuple(axes)

    @classmethod
    def single(cls, shape: Sequence[int]) -> Grid:
        """The grid of one chunk."""
        return cls([Axis.whole(n) for n in shape])

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(a.length for a in self.axes)

    @property
    def ndim(self) -> int:
        return len(self.axes)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        return tuple(a.count for a in self.axes)

    @cached_property
    def nblocks(self) -> int:
        return math.prod(self.counts)

    @cached_property
    def size(self) -> int:
        return math.prod(self.shape)

    @cached_property
    def largest(self) -> int:
        """Number of elements in the largest chunk."""
        return math.prod(a.largest for a in self.axes)

    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """Sizes of the chunks along each axis, dask's `chunks`."""
        return tuple(a.sizes() for a in self.axes)

    def index(self, block: int) -> tuple[int, ...]:
        """Block number to block index."""
        out: list[int] = []
        for count in reversed(self.counts):
            block, k = divmod(block, count)
            out.append(k)
        return tuple(reversed(out))

    def indices(self, blocks: Index) -> list[Index]:
        """Block numbers to block indices, an array for each axis."""
        out: list[Index] = []
        for count in reversed(self.counts):
            out.append(blocks % count)
            blocks = blocks // count
        return out[::-1]

    def number(self, index: Sequence[Any]) -> Any:
        """Block index (integers, or arrays that broadcast) to block number."""
        block: Any = 0
        for count, k in zip(self.counts, index, strict=True):
            block = block * count + k
        return block

    @cached_property
    def _shape_table(self) -> list[tuple[int, ...]] | None:
        """Shapes of all blocks, where they are few enough to be remembered."""
        if self.nblocks > TABLE:
            return None
        return [tuple(row) for row in self.block_shapes(np.arange(self.nblocks)).tolist()]

    @cached_property
    def is_even(self) -> bool:
        """Whether all blocks have one shape."""
        return all(axis.is_regular and axis.length % axis.step == 0 for axis in self.axes)

    def block_shape(self, block: int) -> tuple[int, ...]:
        if self._shape_table is not None:
            return self._shape_table[block]
        return tuple(a.size(k) for a, k in zip(self.axes, self.index(block), strict=True))

    def block_origin(self, block: int) -> tuple[int, ...]:
        """Position of a block's first element."""
        return tuple(a.start(k) for a, k in zip(self.axes, self.index(block), strict=True))

    def block_slices(self, block: int) -> tuple[slice, ...]:
        """Where a block lies in the array."""
        return tuple(slice(a.start(k), a.stop(k)) for a, k in zip(self.axes, self.index(block), strict=True))

    def view(self, array: NDArray[Any], block: int) -> NDArray[Any]:
        """Return the part of a whole array that is a block."""
        where: tuple[Any, ...] = (..., *self.block_slices(block))
        part: NDArray[Any] = array[where]
        return part

    def block_origins(self, blocks: Index) -> Index:
        """Positions of the blocks' first elements, (blocks, ndim)."""
        columns = [a.start(k) for a, k in zip(self.axes, self.indices(blocks), strict=True)]
        return np.stack(columns, 1) if columns else np.zeros((len(blocks), 0), np.int64)

    def block_shapes(self, blocks: Index) -> Index:
        """Shapes of the blocks, (blocks, ndim)."""
        columns = [a.size(k) for a, k in zip(self.axes, self.indices(blocks), strict=True)]
        return np.stack(columns, 1) if columns else np.zeros((len(blocks), 0), np.int64)

    def block_sizes(self, blocks: Index) -> Index:
        """Number of elements of each of the blocks."""
        out = np.ones(len(blocks), np.int64)
        for axis, k in zip(self.axes, self.indices(blocks), strict=True):
            out *= axis.size(k)
        return out

    def key(self) -> tuple[tuple[int, int, bytes], ...]:
        """What tells this grid from another."""
        return tuple(a.key() for a in self.axes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grid) and self.axes == other.axes

    def __hash__(self) -> int:
        return hash(self.axes)

    def __repr__(self) -> str:
        return f"Grid({' x '.join(map(repr, self.axes))})"


def merge_tiny_chunks(axis: Axis, regular: int, unit: int) -> Axis:
    """Return an axis with tiny neighbouring chunks merged, where a result would else have very many of them.

    An axis of at most 32 chunks stays as it is. In a longer one chunks that follow each other are one chunk, as long as
    it has at most 64 KiB, and no more positions than `regular`: the largest chunk along the axis of what it is made
    from, so that chunks that were chosen stay (0: none was). `unit` is the bytes of one position of the largest chunk.
    """
    limit = TINY // max(1, unit) if not regular else min(regular, TINY // max(1, unit))
    if axis.count <= MANY or limit < 2:
        return axis
    if axis.is_regular:
        return Axis.regular(axis.length, max(axis.step, limit // axis.step * axis.step))
    bounds = axis.start(np.arange(axis.count))
    if (bounds[2:] - bounds[:-2] > limit).all() and axis.length - int(bounds[-2]) > limit:
        return axis
    ends, kept, at = [*bounds.tolist(), axis.length], [0], 0
    while at < axis.count:
        at = max(at + 1, bisect_right(ends, ends[at] + limit) - 1)
        kept.append(ends[at])
    return Axis.of_sizes(np.diff(kept))


def check_sizes(operation: str, sizes: Sequence[int], length: int, axis: int) -> None:
    """Raise when chunk sizes don't cover an axis."""
    if any(s < 0 for s in sizes) or sum(sizes) != length:
        raise ChunksError(
            f"{operation}: argument 'chunks' has sizes {tuple(sizes)!r} for axis {axis}, which add up to "
            f"{sum(sizes)}; expected non-negative sizes that add up to the axis' length {length}"
        )
