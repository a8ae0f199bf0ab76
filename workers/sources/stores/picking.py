"""What to ask a chunked store for, and what to take of its answer, where positions along axes are picked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..file_arrays import GAP

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..source_reader import Picks

Array = np.ndarray[Any, Any]
DENSE = 4
"""One position in so many is wanted at least, where all between the first and the last are read."""
SPARSE = 2
"""What takes one position in so many, or fewer, of all that was read is copied, so that the rest can go."""


def read_picked(
    fetch: Callable[[tuple[slice, ...]], Array],
    where: tuple[slice, ...],
    picks: Picks,
    chunks: Sequence[int] | None,
    dtype: np.dtype[Any],
) -> Array:
    """Return what is picked of a rectangle of a store, without steps, along each axis; `fetch` returns a rectangle.

    `chunks` are what the store reads at once along each axis: runs of positions nearer than this are one. None where it
    can read any element alone: then runs are one between which few bytes lie. `dtype` is that of stored elements.
    """
    shape = tuple(len(p) for p in picks)
    if 0 in shape:
        return np.empty(shape, dtype)
    near = [max(DENSE, chunk) for chunk in chunks or ()]
    if chunks is None:
        spans = [abs(int(p[-1]) - int(p[0])) + 1 if isinstance(p, range) else int(np.ptp(p)) + 1 for p in picks]
        near = [max(DENSE, GAP // (dtype.itemsize * math.prod(spans[axis + 1 :]) or 1)) for axis in range(len(spans))]
    runs = [_runs(pick, most) for pick, most in zip(picks, near, strict=True)]
    if all(len(each) == 1 for each in runs):
        return np.asarray(_take(fetch, where, tuple(each[0] for each in runs)), dtype)  # scalars lose orders of bytes
    values = np.empty(shape, dtype)
    for index in np.ndindex(*(len(each) for each in runs)):
        parts = tuple(each[k] for each, k in zip(runs, index, strict=True))
        values[np.ix_(*(part[2] for part in parts))] = _take(fetch, where, parts)
    return values


_Run = tuple[int, int, Any, Any]
"""First position and one past the last, where in the result they go, which of those read are taken."""


def _runs(pick: range | Array, near: int) -> list[_Run]:
    """Cut positions into runs, within which they are no further apart than `near`."""
    if isinstance(pick, range):
        least, most = min(pick[0], pick[-1]), max(pick[0], pick[-1])
        if abs(pick.step) <= near:
            taken = slice(None, None, pick.step) if len(pick) > 1 else slice(None)
            return [(least, most + 1, np.arange(len(pick)), taken)]
        pick = np.arange(pick.start, pick.stop, pick.step)
    order = np.argsort(pick, kind="stable")
    ordered = pick[order]
    cuts = np.flatnonzero(np.diff(ordered) > near) + 1
    runs: list[_Run] = []
    for places, positions in zip(np.split(order, cuts), np.split(ordered, cuts), strict=True):
        first = int(positions[0])
        runs.append((first, int(positions[-1]) + 1, places, positions - first))
    if len(runs) == 1:  # in the order that was asked for
        first = runs[0][0]
        return [(first, runs[0][1], np.arange(len(pick)), pick - first)]
    return runs


def _take(fetch: Callable[[tuple[slice, ...]], Array], where: tuple[slice, ...], parts: tuple[_Run, ...]) -> Array:
    whole = read = fetch(tuple(slice(s.start + p[0], s.start + p[1]) for s, p in zip(where, parts, strict=True)))
    for axis, (_, _, _, taken) in enumerate(parts):
        if isinstance(taken, slice):
            read = read[(*(slice(None),) * axis, taken)] if taken != slice(None) else read
        else:
            read = np.take(read, taken, axis)
    held = whole if whole.base is None else whole.base  # what a view keeps
    sparse = SPARSE * read.nbytes <= getattr(held, "nbytes", whole.nbytes)
    return read.copy() if sparse and read.base is not None else read
