"""Selecting elements of a 1-D array by their ranks, without sorting it.

A sample gives borders between which an element of a given rank must lie. All elements are compared with these borders,
and the few between them come to the driver. A border lies before or after all elements of one value, so that many equal
elements lie between two borders, and need not be read.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.grid import Axis, Grid
from ...graph.kinds.mapping import BlockFunction
from ...workers.kernels.blocks.order import quantiles as blocks
from ...workers.kernels.blocks.order.sorting import sort
from ..base import as_array, make
from ..chunking import coalesce
from .samples import keep_readable

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..array import Array
    from ..typing import ArrayLike, DTypeLike

    Steps = Generator[Any, Any, Array]

Values = np.ndarray[Any, Any]

FEW = 1 << 20
"""This many elements come to the driver."""

SPREAD = 4
"""Borders lie this many standard deviations of the sample's ranks before and after the expected rank."""


def select_quantiles(x: Array, q: ArrayLike, method: str, skip: bool, dtype: DTypeLike) -> Steps:
    """Recipe of quantiles of a 1-D array."""
    x = keep_readable(coalesce.merge_small_chunks(x))
    (axis,) = x.expr.grid.axes
    share = _share(axis.length) / max(1, axis.length)
    size = max(1, round(share * axis.largest))
    taken = Grid([Axis.of_sizes(np.minimum(axis.sizes(), size))])
    sample: Array = make(BlockFunction("order.quantiles:sample", (size,)), (x,), taken, x.dtype)
    if blocks.may_be_lost(x.dtype):
        each = make(BlockFunction("order.quantiles:count_nan"), (x,), Grid([Axis.regular(axis.count, 1)]), "i8")
        first, lost = yield sample, each
        first = first[~np.isnan(first)]
    else:
        first, lost = (yield sample), np.zeros(axis.count, np.int64)
    sizes = np.asarray(axis.sizes()) - lost
    n = int(sizes.sum())
    if n == 0 or (lost.any() and not skip):
        return as_array("quantile", "a", np.full(np.shape(q), blocks.missing(np.dtype(dtype)), dtype))
    needed: list[Values] = []

    def add_asked(rank: Values) -> Values:
        needed.append(rank)
        return np.zeros(rank.shape, x.dtype)

    blocks.combine_ranks(add_asked, n, q, method)
    ranks = np.unique(np.concatenate([r.reshape(-1) for r in needed]))
    values = yield from _at_ranks(x, ranks, sizes, first)
    quantiles = blocks.combine_ranks(lambda rank: values[np.searchsorted(ranks, rank)], n, q, method)
    return as_array("quantile", "a", np.array(quantiles.astype(dtype, copy=False)))


def _share(n: int) -> float:
    """Size of a sample: the larger it is, the fewer elements lie between borders."""
    return min(n, 4 * math.pow(n, 2 / 3), FEW / 2)


class _Borders:
    """Borders in order, and how many elements of each chunk come before them."""

    def __init__(self, chunks: Values, dtype: np.dtype[Any]) -> None:
        self.values, self.after = np.empty(0, dtype), np.empty(0, bool)
        self.below = np.empty((len(chunks), 0), np.int64)
        self.chunks = chunks

    def counts(self) -> Values:
        """Elements of each chunk in each part."""
        ends = np.concatenate([0 * self.chunks[:, None], self.below, self.chunks[:, None]], 1)
        return np.diff(ends, axis=1)

    def parts(self, ranks: Values) -> tuple[Values, Values]:
        """Return the part that each rank lies in, and its rank there."""
        starts = np.concatenate([[0], self.below.sum(0)])
        part = np.searchsorted(starts, ranks, "right") - 1
        return part, ranks - starts[part]

    def find_equal(self) -> Values:
        """Tell for each part whether all its elements are equal."""
        same = (self.values[1:] == self.values[:-1]) & self.after[1:] & ~self.after[:-1]
        return np.concatenate([[False], same, [False]]) if len(self.values) else np.zeros(1, bool)

    def add(self, x: Array, values: Values, after: Values) -> Generator[Any, Any, None]:
        """Add borders, and count the elements before them."""
        values, after = np.concatenate([self.values, values]), np.concatenate([self.after, after])
        order = np.lexsort((after, values))
        values, after = values[order], after[order]
        fresh = np.ones(len(values), bool)
        fresh[1:] = (values[1:] != values[:-1]) | (after[1:] != after[:-1])
        self.values, self.after = values[fresh], after[fresh]
        grid = Grid([Axis.regular(len(self.chunks), 1), Axis.whole(len(self.values))])
        op = BlockFunction("order.quantiles:below", (self.values, self.after), axes=((0,),))
        self.below = yield make(op, (x,), grid, "i8")


def _at_ranks(x: Array, ranks: Values, sizes: Values, sample: Values) -> Generator[Any, Any, Values]:
    """Give the elements of an array at sorted ranks, by a sample of it.

    `sizes` has for each chunk how many of its elements count.
    """
    borders = _Borders(sizes, x.dtype)
    n, s = int(sizes.sum()), len(sample)
    center = (ranks + 0.5) / n
    reach = SPREAD * np.sqrt(s * center * (1 - center)) + 2
    low, high = np.floor(center * s - reach).astype(np.int64), np.ceil(center * s + reach).astype(np.int64)
    low, high = np.unique(low[low >= 0]), np.unique(high[high < s])
    after = np.arange(len(low) + len(high)) >= len(low)
    yield from borders.add(x, blocks.at_ranks(sample, np.concatenate([low, high])), after)
    while True:
        part, rank = borders.parts(ranks)
        open_ = np.unique(part[~borders.find_equal()[part]])
        each = borders.counts()[:, open_].sum(1)
        if each.sum() <= FEW:
            break
        yield from _refine(x, borders, open_, each)
    elements = np.empty(len(ranks), x.dtype)
    sure = borders.find_equal()[part]
    elements[sure] = borders.values[part[sure] - 1]
    if len(open_):
        between = yield _inside(x, borders, open_, each)
        sizes = borders.counts()[:, open_].sum(0)
        begin = np.cumsum(sizes) - sizes
        elements[~sure] = blocks.at_ranks(between, begin[np.searchsorted(open_, part[~sure])] + rank[~sure])
    return elements


def _inside(x: Array, borders: _Borders, parts: Values, sizes: Values) -> Array:
    op = BlockFunction("order.quantiles:inside", (borders.values, borders.after, parts))
    return make(op, (x,), Grid([Axis.of_sizes(sizes)]), x.dtype)


def _refine(x: Array, borders: _Borders, parts: Values, sizes: Values) -> Generator[Any, Any, None]:
    """Add borders within parts that hold too many elements, around elements of a sample of each part."""
    size = max(64, FEW // 8 // len(sizes))
    op = BlockFunction("order.quantiles:inside_sample", (borders.values, borders.after, parts, size))
    taken = Grid([Axis.of_sizes(np.minimum(sizes, size))])
    sample = sort((yield make(op, (x,), taken, x.dtype)))
    at = np.unique(np.linspace(0, len(sample) - 1, 65).round().astype(np.int64))
    values = np.repeat(sample[at], 2)
    yield from borders.add(x, values, np.arange(len(values)) % 2 == 1)
