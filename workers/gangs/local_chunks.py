"""What a member of a gang is handed of each array: its own chunks, where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ...graph.errors import ShapeError

if TYPE_CHECKING:
    from ...graph.chunks.grid import Grid

__all__ = ["LocalChunks"]

Array = np.ndarray[Any, Any]


class LocalChunks(Sequence[Array]):
    """A member's chunks of an array, as NumPy arrays in the order of blocks: views of the memory that holds them.

    Those of the operands are read-only; those of results begin as zeros and are there to be written.

    Parameters
    ----------
    chunks : sequence of numpy.ndarray
        The chunks.
    grid : Grid
        That of the whole array.
    numbers : sequence of int
        The chunks' numbers in C order.

    Attributes
    ----------
    shape : tuple of int
        Of the whole array.
    dtype : numpy.dtype
        Of the array.
    blocks : tuple of tuple of int
        Each chunk's index among the array's chunks.
    slices : tuple of tuple of slice
        Where each chunk lies in the whole array.
    """

    def __init__(self, chunks: Sequence[Array], grid: Grid, numbers: Sequence[int], dtype: np.dtype[Any]) -> None:
        self._chunks = tuple(chunks)
        self.shape, self.dtype = grid.shape, dtype
        self.blocks = tuple(grid.index(number) for number in numbers)
        self.slices = tuple(grid.block_slices(number) for number in numbers)

    @overload
    def __getitem__(self, index: int) -> Array: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Array]: ...

    def __getitem__(self, index: int | slice) -> Array | Sequence[Array]:
        return self._chunks[index]

    def __len__(self) -> int:
        return len(self._chunks)

    def __repr__(self) -> str:
        where = ", ".join(map(str, self.blocks[:4])) + (", …" if len(self) > 4 else "")
        return f"<{len(self)} chunks of {self.dtype} {self.shape}: {where}>"

    def bounds(self) -> tuple[slice, ...]:
        """Return where the chunks lie in the whole array together, which they must fill.

        Returns
        -------
        tuple of slice
            A slice for each axis; empty ones where there is no chunk.

        Raises
        ------
        ShapeError
            The chunks leave gaps in the smallest rectangle that holds them.

        Examples
        --------
        >>> import windrow as wr
        >>> wr.spmd(lambda comm, x: x.bounds(), wr.ones(6, chunks=2), members=1)
        [(slice(0, 6, None),)]
        """
        if not self.slices:
            return (slice(0, 0),) * len(self.shape)
        axes = list(zip(*self.slices, strict=True))
        bounds = tuple(slice(min(s.start for s in own), max(s.stop for s in own)) for own in axes)
        size = int(np.prod([s.stop - s.start for s in bounds], dtype=np.int64))
        if size != sum(chunk.size for chunk in self._chunks):
            raise ShapeError(
                f"LocalChunks.joined: chunks {', '.join(map(str, self.blocks))} don't make up a rectangle; "
                "expected chunks along the first axis alone, or use them one by one"
            )
        return bounds

    def joined(self) -> Array:
        """Return the chunks as one array: in place where there is one, or they lie one behind the other; else a copy.

        A copy is read-only: what is written to it would not reach the chunks.

        Returns
        -------
        numpy.ndarray
            Of the shape of `bounds()`.

        Raises
        ------
        ShapeError
            The chunks don't make up a rectangle.

        Examples
        --------
        >>> import windrow as wr
        >>> wr.spmd(lambda comm, x: float(x.joined().sum()), wr.ones((6, 4), chunks=(2, 4)), members=1)
        [24.0]
        """
        where = self.bounds()
        if len(self) == 1:
            return self._chunks[0]
        shape = tuple(s.stop - s.start for s in where)
        if (adjoining := self._adjoining(shape)) is not None:
            return adjoining
        out = np.empty(shape, self.dtype)
        for chunk, slices in zip(self._chunks, self.slices, strict=True):
            out[tuple(slice(s.start - w.start, s.stop - w.start) for s, w in zip(slices, where, strict=True))] = chunk
        out.flags.writeable = False
        return out

    def arrow(self) -> tuple[Any, ...]:
        """Return the chunks as Arrow arrays over the same bytes, as `map_blocks(blocks="arrow")` hands them out.

        Returns
        -------
        tuple of pyarrow.Array
            A chunk with several axes is an array of tensors, its rows. What Arrow has in another form is converted.

        Examples
        --------
        >>> import windrow as wr
        >>> x = wr.arange(6, chunks=3).persist()
        >>> [chunk.to_pylist() for chunk in x.local.arrow()]
        [[0, 1, 2], [3, 4, 5]]
        """
        from ..sources.arrow import give_block  # pyarrow is loaded when somebody asks for it

        return tuple(give_block(chunk) for chunk in self._chunks)

    def _adjoining(self, shape: tuple[int, ...]) -> Array | None:
        """Return the array whose bytes are the chunks', where these follow each other without a gap."""
        if not self._chunks or any(chunk.shape[1:] != shape[1:] or not chunk.size for chunk in self._chunks):
            return None
        first = self._chunks[0]
        at = first.ctypes.data
        for chunk in self._chunks:
            if not chunk.flags.c_contiguous or chunk.ctypes.data != at or _owner(chunk) is not _owner(first):
                return None
            at += chunk.nbytes
        return np.lib.stride_tricks.as_strided(first, shape, subok=False, writeable=first.flags.writeable)


def _owner(array: Array) -> Any:
    """Return what an array's memory belongs to."""
    owner: Any = array
    while isinstance(owner, np.ndarray) and owner.base is not None:
        owner = owner.base
    return owner
