"""Spreads, medians and places of extremes in windows of lines: in one pass, and in memory of a few lines."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray[Any, Any]
State = tuple[Array, ...]
"""What is known of windows, along the first axis of each array."""

TILE = 1 << 18
"""Elements of windows that are sorted at a time."""


def spread(x: Array, lost: Array | None, window: int) -> Array:
    """Return the squares about their mean of what is there in each window along the first axis.

    Nothing outside of a window leaves a trace in its digits, as it does where windows are added to and taken from.
    That of an infinite number is NaN, as NumPy's is: it is NaN away from itself.
    """
    wide = x.astype(np.float64)
    if lost is not None:
        wide[lost] = 0
    number = np.ones((len(x), *(1,) * (x.ndim - 1))) if lost is None else (~lost).astype(np.float64)
    return _by_doubling((number, wide, wide - wide), window, _join)[2]


def _join(left: State, right: State, _: int) -> State:
    """Return the number, the mean and the squares about it of two windows together."""
    number = left[0] + right[0]
    share = right[0] / np.maximum(number, 1)
    apart = right[1] - left[1]
    mean = apart * share
    mean += left[1]
    apart *= apart
    apart *= left[0] * share
    apart += left[2]
    apart += right[2]
    return number, mean, apart


def place_of_extreme(x: Array, window: int, name: str) -> Array:
    """Return where in each window along the first axis its extreme is, the first one if there are several."""
    is_better, better = (np.less, np.minimum) if name == "argmin" else (np.greater, np.maximum)

    def choose(left: State, right: State, apart: int) -> State:
        places = right[1] + np.int64(apart)
        np.copyto(places, left[1], where=~is_better(right[0], left[0]))
        return better(left[0], right[0]), places

    return _by_doubling((x, np.zeros(x.shape, np.int64)), window, choose)[1]


def _by_doubling(part: State, window: int, join: Callable[[State, State, int], State]) -> State:
    """Put windows together from two of half the length; `join` is told by how much the second ones begin later."""
    size, at, count = 1, 0, len(part[0]) - window + 1
    joined: State | None = None
    while True:
        if window & size:
            piece = _cut(part, at, count)
            joined = piece if joined is None else join(joined, piece, at)
            at += size
        if 2 * size > window:
            return joined or part
        count_of_two = len(part[0]) - size
        part, size = join(_cut(part, 0, count_of_two), _cut(part, size, count_of_two), size), 2 * size


def _cut(state: State, begin: int, count: int) -> State:
    return tuple([each[begin : begin + count] for each in state])


def medians(x: Array, lost: Array | None, window: int) -> Array:
    """Return the median of what is there in each window along the first axis, NaN where nothing is.

    The elements in the middle are the same ones whoever finds them: bottleneck, if it is installed, or a sort.
    """
    wide = x if x.dtype.kind == "f" else x.astype(np.float64)
    try:
        move: Any = importlib.import_module("bottleneck").move_median
    except ImportError:
        return _sorted_medians(wide, lost, window)
    return np.asarray(move(wide, window, min_count=1, axis=0))[window - 1 :]


def _sorted_medians(x: Array, lost: Array | None, window: int) -> Array:
    count = len(x) - window + 1
    medians = np.empty((count, *x.shape[1:]), x.dtype)
    step = max(1, TILE // max(1, window * (x.size // max(1, len(x)))))
    for at in range(0, count, step):
        stop = min(count, at + step)
        ordered = np.sort(np.lib.stride_tricks.sliding_window_view(x[at : stop + window - 1], window, 0), -1)
        there = np.full((1,) * x.ndim, window) if lost is None else window - np.isnan(ordered).sum(-1)  # NaN is last
        below, above = np.maximum(there - 1, 0) // 2, np.minimum(there // 2, window - 1)
        low, high = (np.take_along_axis(ordered, each[..., None], -1)[..., 0] for each in (below, above))
        medians[at:stop] = (low + high) * x.dtype.type(0.5)
    return medians
