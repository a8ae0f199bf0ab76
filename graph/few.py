"""What NumPy does with few elements, without letting go of Python's lock.

Each thread that computes has to take the lock again after NumPy let go of it, which takes some 20 us where many threads
want it: longer than the work itself. NumPy's sums and the like keep it for up to 500 elements; `arange`, `sort`,
`searchsorted`, `add.at` and `may_share_memory` let go of it for one.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .chunks.grid import Index

Array = NDArray[Any]
FEW = 32
"""So many elements are gone through one by one in Python."""
KEPT = 500
"""For so many elements NumPy keeps the lock, in what lets go of it for many."""
LITTLE = 1 << 17
"""Bytes that are copied in less time than a thread waits for the lock."""

_numbers = np.arange(1 << 14)
_numbers.flags.writeable = False


def ascending(start: int, stop: int) -> Index:
    """Return the numbers from `start` on, before `stop`; they can't be written."""
    if start >= 0 and stop <= len(_numbers):
        return _numbers[start : max(start, stop)]
    return _numbers[: stop - start] + start if start < stop <= start + KEPT else np.arange(start, stop)


def positions_in(ordered: Index, values: Index) -> Index:
    """Return where values first are, or would be, in numbers that ascend: `numpy.searchsorted`."""
    if len(values) > FEW:
        return np.searchsorted(ordered, values)
    known = ordered.tolist() if len(ordered) <= KEPT else ordered
    return np.array([bisect_left(known, value) for value in values.tolist()], np.int64)


def ascends(values: Index) -> bool:
    """Whether each number is above the one before."""
    return bool((values[1:] > values[:-1]).all())


def distinct(values: Index) -> Index:
    """Return the values in order, each once; what is so already is returned itself."""
    if ascends(values):
        return values
    if len(values) <= FEW:
        return np.array(sorted(set(values.tolist())), values.dtype)
    ordered = np.sort(values)
    first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def add_each(column: NDArray[np.int32], rows: Index, amount: int) -> None:
    """Add to the rows of a column, as often as each is named."""
    if ascends(rows):
        column[rows] += amount
    elif len(rows) > FEW:
        np.add.at(column, rows, amount)
    else:
        for row in rows.tolist():
            column[row] += amount


def put(into: Array, part: Array) -> None:
    """Copy a part to where it belongs, as `numpy.copyto` does for any types; little at once, as a single element."""
    if part.size > KEPT and part.nbytes <= LITTLE and _are_alike(into, part):
        whole = np.dtype((np.void, part.nbytes))
        into.reshape(-1).view(whole)[:] = part.reshape(-1).view(whole)
    else:
        np.copyto(into, part, casting="unsafe")


def stack(parts: Sequence[Array]) -> Array:
    """Return arrays of one shape and type as one, like `numpy.stack`."""
    stacked = np.empty((len(parts), *parts[0].shape), parts[0].dtype)
    for k, part in enumerate(parts):
        put(stacked[k, ...], part)
    return stacked


def _are_alike(into: Array, part: Array) -> bool:
    """Whether two arrays lie in memory as one another, in one piece each."""
    in_order = into.flags.c_contiguous and part.flags.c_contiguous
    return in_order and into.shape == part.shape and into.dtype == part.dtype and not part.dtype.hasobject
