"""Objects of this process that blocks are written into where they are computed, by whichever thread computed one."""

from __future__ import annotations

import itertools
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....graph.chunks.grid import Grid

Array = np.ndarray[Any, Any]
COPYING = ("h5py", "netCDF4", "zarr")
"""Libraries whose arrays keep nothing of what is written into them."""
_numbers = itertools.count()
_writers: dict[int, HandedWriter] = {}


class HandedWriter:
    """Writes blocks of a grid into an object, one at a time where it has a lock; `with` it may be found by its number.

    The target takes `target[slices] = values`; `spans` say for each axis where its positions go in it.
    """

    def __init__(self, target: Any, grid: Grid, spans: Any, lock: Any) -> None:
        self._target, self._grid, self._spans = target, grid, spans
        self._lock = nullcontext() if lock is None else lock
        self._copies = isinstance(target, np.ndarray) or type(target).__module__.partition(".")[0] in COPYING
        self.number = next(_numbers)

    def __enter__(self) -> Self:
        _writers[self.number] = self
        return self

    def __exit__(self, *error: object) -> None:
        del _writers[self.number]

    def write(self, block: Array, index: tuple[int, ...]) -> None:
        self.write_at(self._grid.block_slices(int(self._grid.number(index))), block)

    def write_at(self, where: Sequence[slice], block: Array) -> None:
        """Write a block of any grid, whose positions are told."""
        region = tuple(slices_of(r[w]) for r, w in zip(self._spans, where, strict=True))
        values = block if self._copies or _owned(block) else block.copy()
        with self._lock:
            self._target[region] = values


def _owned(block: Array) -> bool:
    """Tell whether a block may be kept by whoever gets it: its memory isn't the arena's, which is used again."""
    root: Any = block
    while isinstance(root.base, np.ndarray):
        root = root.base
    return root.base is None


def slices_of(span: range) -> slice:
    """Return the slice that takes the positions of a range."""
    return slice(span.start, None if span.stop < 0 else span.stop, span.step)


def write(block: Array, number: int, *, block_id: tuple[int, ...]) -> Array:
    """Write a block into what a writer of this process writes to; return how many bytes these are."""
    _writers[number].write(block, block_id)
    return np.full((1,) * block.ndim, block.nbytes)
