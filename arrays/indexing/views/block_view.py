"""Chunks as arrays: `x.blocks`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.axismap import AxisMap, Slice
from ....graph.chunks.grid import Axis
from ....graph.chunks.positions import Runs
from ....graph.errors import IndexingError, bad
from ...ops.moves.axis_moves import Step, move

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...array import Array
    from ...base import ArrayBase


class BlockView:
    """The chunks of an array; index it by block numbers.

    `x.blocks[i, j]` is the array of the chunks i along the first axis and j along the second: integers,
    slices or lists of block numbers. All axes stay. Iteration goes over single chunks in C order.

    >>> x = wr.arange(6, chunks=2)
    >>> x.blocks[1].compute()
    array([2, 3])
    >>> x.blocks[[2, 0]].compute()
    array([4, 5, 0, 1])
    >>> len(list(x.blocks))
    3
    """

    def __init__(self, array: ArrayBase) -> None:
        self._array = array

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of chunks along each axis."""
        return self._array.numblocks

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._array.ndim

    @property
    def size(self) -> int:
        """Number of chunks."""
        return self._array.npartitions

    def __len__(self) -> int:
        return self.size

    def ravel(self) -> list[Array]:
        """Return an array for each chunk, in C order."""
        return list(self)

    def __iter__(self) -> Iterator[Array]:
        return (self[index] for index in np.ndindex(*self.shape))

    def __getitem__(self, key: Any) -> Array:
        array = self._array
        items = list(key) if isinstance(key, tuple) else [key]
        if items.count(Ellipsis) > 1 or len(items) - items.count(Ellipsis) > array.ndim:
            raise IndexingError(bad("blocks", "key", key, f"at most {array.ndim} indices"))
        at = items.index(Ellipsis) if Ellipsis in items else len(items)
        rest = array.ndim - (len(items) - items.count(Ellipsis))
        items[at : at + 1] = [slice(None)] * rest
        steps: list[Step] = []
        axes: list[Axis] = []
        for i, (item, axis) in enumerate(zip(items, array.expr.grid.axes, strict=True)):
            axis_map, new_axis = _choose_blocks(item, axis, i)
            steps.append((i, axis_map))
            axes.append(new_axis)
        return move("blocks", array, steps, axes)


def _choose_blocks(item: Any, axis: Axis, number: int) -> tuple[AxisMap, Axis]:
    """Return the map and the axis of some blocks."""
    every = np.arange(axis.count)
    try:
        blocks = np.atleast_1d(every[item])
    except (IndexError, TypeError) as error:
        raise IndexingError(bad("blocks", "key", item, f"blocks 0 to {axis.count - 1} of axis {number}")) from error
    if blocks.ndim != 1:
        raise IndexingError(bad("blocks", "key", item, "an integer, a slice or a list of integers for each axis"))
    if len(blocks) == axis.count and bool((blocks == every).all()):
        return Slice(), axis
    new_axis = Axis.of_sizes(axis.size(blocks))
    if len(blocks) and bool((np.diff(blocks) == 1).all()):
        return Slice(axis.start(int(blocks[0]))), new_axis
    return Runs(axis.start(blocks), axis.size(blocks)), new_axis
