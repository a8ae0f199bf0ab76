"""Estimates of good widths of a histogram's bins, by NumPy's formulas."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.kinds.source import Host, Source
from ..base import as_array
from ..ops.elementwise.ufuncs import greater_equal, less_equal, logical_and
from ..ops.reductions import extremes, spreads
from ..ops.reductions import sums as red
from ..sorting.quantiles import percentile

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..array import Array

    Asked = Generator[Any, Any, float]

BATCH = 64
"""So many histograms are counted in one computation."""


def estimate_edges(x: Array, name: str, between: tuple[Any, Any] | None) -> Generator[Any, Any, Array]:
    """Recipe of the edges: compute the width, and from it the number of bins."""
    if x.expr.pin is None and not isinstance(x.expr.op, Host | Source):
        x = x.persist()
    x = x.reshape(-1)
    if between is not None:
        x = x[logical_and(greater_equal(x, between[0]), less_equal(x, between[1]))]
    if x.expr.grid.size == 0:
        return as_array("histogram", "range", np.histogram_bin_edges(np.zeros(0, x.dtype), 1, between))
    low, high = yield extremes.min(x), extremes.max(x)
    span = np.array([low, high], x.dtype)
    first, last = np.histogram_bin_edges(span, 1, between)
    extent = float(np.ptp(span.astype(object))) if x.dtype.kind in "iu" else float(high - low)
    width = yield from ESTIMATORS[name](x, extent, (first, last))
    if width and x.dtype.kind in "iu":
        width = max(width, 1)
    bins = math.ceil((float(last) - float(first)) / width) if width else 1
    return as_array("histogram", "range", np.histogram_bin_edges(span, bins, between))


def _sqrt(x: Array, extent: float, ends: tuple[Any, Any]) -> Asked:
    yield from ()
    return extent / math.sqrt(x.size)


def _sturges(x: Array, extent: float, ends: tuple[Any, Any]) -> Asked:
    yield from ()
    return extent / (math.log2(x.size) + 1.0)


def _rice(x: Array, extent: float, ends: tuple[Any, Any]) -> Asked:
    yield from ()
    return extent / float(2.0 * x.size ** (1.0 / 3))


def _scott(x: Array, extent: float, ends: tuple[Any, Any]) -> Asked:
    spread = yield spreads.std(x)
    return float((24.0 * math.pi**0.5 / x.size) ** (1.0 / 3.0) * spread)


def _doane(x: Array, extent: float, ends: tuple[Any, Any]) -> Asked:
    if x.size <= 2:
        return 0.0
    mean, spread = yield red.mean(x), spreads.std(x)
    if not spread > 0:
        return 0.0
    skewness = yield red.mean(((x - mean) / spread) ** 3)
    usual = math.sqrt(6.0 * (x.size - 2) / ((x.size + 1.0) * (x.size + 3)))
    return extent / (1.0 + math.log2(x.size) + math.log2(1.0 + abs(float(skewness)) / usual))


def _fd(x: Array, extent: float, ends: tuple[Any, Any]) -> Asked:
    quarters = yield percentile(x, [75, 25])
    return float(2.0 * (quarters[0] - quarters[1]) * x.size ** (-1.0 / 3.0))


def _auto(x: Array, extent: float, ends: tuple[Any, Any]) -> Asked:
    middle = yield from _fd(x, extent, ends)
    root = yield from _sqrt(x, extent, ends)
    sturges = yield from _sturges(x, extent, ends)
    return min(max(middle, root / 2), sturges)


def _stone(x: Array, extent: float, ends: tuple[Any, Any]) -> Asked:
    from .histograms import histogram

    n = x.size
    if n <= 1 or extent == 0:
        return 0.0
    most = max(100, math.isqrt(n))
    best, chosen = math.inf, 1
    for begin in range(1, most + 1, BATCH):
        tried = range(begin, min(begin + BATCH, most + 1))
        counts = yield tuple(histogram(x, bins, ends)[0] for bins in tried)
        for bins, count in zip(tried, counts, strict=True):
            share = count / n
            error = (2 - (n + 1) * share.dot(share)) / (extent / bins)
            if error < best:
                best, chosen = error, bins
    return extent / chosen


ESTIMATORS = {
    "auto": _auto,
    "doane": _doane,
    "fd": _fd,
    "rice": _rice,
    "scott": _scott,
    "sqrt": _sqrt,
    "stone": _stone,
    "sturges": _sturges,
}
