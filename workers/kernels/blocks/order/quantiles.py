"""Quantiles of whole axes, and what selecting some ranks of a long axis asks of its blocks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import sorts
from ...compiled.fixed import bracketing
from .ranks import between, ranks
from .sorting import sort

Array = np.ndarray[Any, Any]

SEVERAL = 16
"""With so many borders or more a block is sorted, rather than compared with each."""


def along(x: Array, axes: tuple[int, ...], q: Any, method: str, skip: bool, dtype: Any) -> Array:
    """Return quantiles over axes; the axes of `q` come first. With `skip` NaN doesn't count."""
    kept = [i for i in range(x.ndim) if i not in axes]
    rows = x.transpose(*kept, *axes).reshape(*(x.shape[i] for i in kept), math.prod(x.shape[i] for i in axes))
    ordered = sort(rows)
    lost = np.isnan(ordered).sum(-1) if may_be_lost(x.dtype) else np.zeros(ordered.shape[:-1], np.int64)
    count = ordered.shape[-1] - lost
    usable = np.maximum(count, 1)

    def element(rank: Array) -> Array:
        wide = np.moveaxis(rank.reshape(math.prod(rank.shape[: rank.ndim - count.ndim]), *count.shape), 0, -1)
        return np.moveaxis(np.take_along_axis(ordered, wide, -1), -1, 0).reshape(rank.shape)

    quantiles = combine_ranks(element, usable, q, method).astype(dtype, copy=False)
    bad = (count == 0) | ((lost > 0) & (not skip))
    if bad.any():
        quantiles[..., bad] = missing(np.dtype(dtype))
    return quantiles


def combine_ranks(element: Any, n: Any, q: Any, method: str) -> Array:
    """Return quantiles among n elements, a number or an array of them; `element(ranks)` returns those at ranks."""
    n = np.asarray(n)
    if method == "median":
        low, high = element(((n - 1) // 2)[None])[0], element((n // 2)[None])[0]
        with np.errstate(all="ignore"):
            both, one = np.mean(np.stack([low, high]), 0), np.mean(low[None], 0)
        return np.asarray(np.where(n % 2 == 0, both, one))
    weak = isinstance(q, float)
    wanted = np.asarray(q)
    before, after, weight = ranks(method, n, wanted.reshape(wanted.shape + (1,) * n.ndim))
    if weight is None:
        return np.asarray(element(before))
    low, high = element(before), element(after)
    with np.errstate(all="ignore"):  # a Python number as weight doesn't widen the elements' dtype
        return np.asarray(between(low, high, weight, low.dtype if weak and low.dtype.kind == "f" else weight.dtype))


def may_be_lost(dtype: np.dtype[Any]) -> bool:
    """Tell whether a dtype has NaN or NaT."""
    return dtype.kind in "fcmM"


def missing(dtype: np.dtype[Any]) -> Any:
    """Return NaN or NaT of a dtype."""
    return np.array("NaT", dtype) if dtype.kind in "mM" else np.array(np.nan, dtype)


def weighted_quantile(x: Array, weights: Array, axes: tuple[int, ...], q: Any, skip: bool, dtype: Any) -> Array:
    function = np.nanquantile if skip else np.quantile
    if weights.ndim < x.ndim:  # np.nanquantile takes them for those of a line
        weights = np.broadcast_to(np.expand_dims(weights, [i for i in range(x.ndim) if i not in axes]), x.shape)
    quantiles = function(x, q, axis=axes if x.ndim > 1 else 0, weights=weights, method="inverted_cdf")
    return np.asarray(quantiles, dtype)


def at_ranks(x: Array, ranks: Array) -> Array:
    """Return what sorting a row without NaN puts at some ranks."""
    plain = x.dtype.kind in "iuf" and x.dtype.itemsize in (4, 8)
    if not plain or not 0 < len(ranks) < SEVERAL or sorts.pays(x):
        return np.asarray(sort(x)[ranks])
    elements = np.asarray(np.partition(x, ranks)[ranks])
    zero = elements == 0
    if x.dtype.kind == "f" and zero.any():  # those of both signs stay as they came
        elements[zero] = x[x == 0][ranks[zero] - np.count_nonzero(x < 0)]
    return elements


def count_nan(x: Array) -> Array:
    """Return the number of NaN or NaT, as an array of one."""
    return np.array([np.count_nonzero(np.isnan(x))])


def sample(x: Array, size: int) -> Array:
    """Return one element of each of `size` equal parts of a block, all where there are fewer."""
    return x[_places(len(x), size)]


def _places(n: int, size: int) -> Array:
    if n <= size:
        return np.arange(n)
    return ((np.arange(size) + np.random.default_rng(0).random(size)) * (n / size)).astype(np.int64)


def below(x: Array, values: Array, after: Array) -> Array:
    """Return how many elements are less than each value, or, where `after` holds, not greater."""
    if len(values) >= SEVERAL:
        ordered = sort(x)
        left, right = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
        return np.asarray(np.where(after, right, left))[None]
    bracket_counts = bracketing.count_below(x, values, after)
    if bracket_counts is not None:
        return bracket_counts[None]
    counts = [np.count_nonzero(x <= v if a else x < v) for v, a in zip(values, after, strict=True)]
    return np.array(counts, np.int64)[None]


def inside(x: Array, values: Array, after: Array, chosen: Array) -> Array:
    """Return the elements that lie in some of the parts that borders cut the order into: part i ends at border i."""
    if len(values) >= SEVERAL:
        ordered = sort(x)
        left, right = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
        end = len(x) - (int(count_nan(x).sum()) if may_be_lost(x.dtype) else 0)
        at = np.concatenate([[0], np.where(after, right, left), [end]])
        return np.concatenate([ordered[at[i] : at[i + 1]] for i in chosen.tolist()])
    marks = bracketing.mark_inside(x, values, after, chosen)
    if marks is not None:
        return x[marks]
    mask = np.zeros(len(x), bool)
    for i in chosen.tolist():
        part = np.ones(len(x), bool) if i < len(values) else x == x
        if i > 0:
            part &= x > values[i - 1] if after[i - 1] else x >= values[i - 1]
        if i < len(values):
            part &= x <= values[i] if after[i] else x < values[i]
        mask |= part
    return x[mask]


def inside_sample(x: Array, values: Array, after: Array, chosen: Array, size: int) -> Array:
    """Return a sample of what `inside` returns."""
    elements = inside(x, values, after, chosen)
    return elements[_places(len(elements), size)]
