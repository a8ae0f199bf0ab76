"""Which chunks a function makes of others, found by calling it on small arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.grid import Axis, Grid

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Call = Callable[[Sequence[np.ndarray[Any, Any]], tuple[int, ...]], Any]

LARGER = (0, 15, 63)
"""By so much samples are longer, where a function doesn't take smaller ones."""


def find_changed_grid(grid: Grid, call: Call, samples: list[np.ndarray[Any, Any]], everywhere: bool) -> Grid:
    """Return the chunks that a function makes of others: longer or shorter by as much, or of one length whatever came.

    Parameters
    ----------
    grid : Grid
        The chunks that it is given.
    call : callable
        `call(arrays, index)` calls it for the block of an index.
    samples : list of array
        The smallest arrays that it may be given.
    everywhere : bool
        Whether it does the same to all blocks; else the first and last ones along each axis are tried, too.

    Returns
    -------
    Grid
        The chunks as they were where the function doesn't take such arrays.
    """
    axes = []
    middle = tuple(min(1, axis.count - 1) for axis in grid.axes)
    for a, axis in enumerate(grid.axes):
        sizes = axis.size(np.arange(axis.count))
        places = [slice(None)] if everywhere else [slice(1, -1), slice(0, 1), slice(axis.count - 1, axis.count)]
        new_sizes = sizes.copy()
        for place in places:
            numbers = np.arange(axis.count)[place]
            if not len(numbers):
                continue
            index = tuple(int(numbers[0]) if k == a else m for k, m in enumerate(middle))
            change = _change(call, samples, index, a, grid.ndim)
            if change is None:
                return grid
            more, length = change
            new_sizes[place] = np.maximum(sizes[place] + more, 0) if length is None else length
        axes.append(axis if np.array_equal(new_sizes, sizes) else Axis.of_sizes(new_sizes))
    return Grid(axes)


def _change(
    call: Call, samples: list[np.ndarray[Any, Any]], index: tuple[int, ...], axis: int, ndim: int
) -> tuple[int, int | None] | None:
    """Return by how much a block grows along an axis, and its length if that is always one; None: nobody can tell."""
    for longer in LARGER:
        try:
            with np.errstate(all="ignore"):
                came, small = _try(call, samples, index, longer)
                _, large = _try(call, samples, index, longer + 1)
        except Exception:
            continue
        if len(small) != ndim or len(large) != ndim or len(came) != ndim:
            return None
        one, other, n = small[axis], large[axis], came[axis]
        return (one - n, None) if other == one + 1 else (0, one) if other == one else (0, None)
    return None


def _try(
    call: Call, samples: list[np.ndarray[Any, Any]], index: tuple[int, ...], longer: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape of what a function is given, and of what it makes of it."""
    blocks = [np.ones([n + longer for n in s.shape], s.dtype) for s in samples]
    return max((g.shape for g in blocks), key=len), np.shape(call(blocks, index))
