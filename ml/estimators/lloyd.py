"""Nearest centres, sums and distances of a block of rows, by products of small tiles that stay in the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csc_array

from ...workers.kernels.compiled.fixed.assigning import add_by_label, find_least

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["costs", "distances", "farthest", "nearest", "sums"]

Values = np.ndarray[Any, Any]
ROWS, TURN = 6144, 49152


def _factors(centres: Values, dtype: Any) -> Values:
    """Return -2c beside c'c: its product with (x, 1) is the squared distance of x from c, minus x'x."""
    factors = np.concatenate([-2.0 * centres, (centres**2).sum(axis=1)[:, None]], axis=1)
    return np.ascontiguousarray(factors, dtype)


def _tiles(X: Values, centres: Values, origin: Values) -> Iterator[tuple[int, Values, Values]]:
    """Yield (first row, tile, products): a tile has centred rows as columns above a line of ones.

    The next tile overwrites both arrays. Rows are centred so that a mean far from zero costs no digits.
    """
    dtype = X.dtype if X.dtype == np.float32 else np.dtype(np.float64)
    factors, at_zero = _factors(centres, dtype), origin.astype(dtype)[:, None]
    tile, products = np.ones((X.shape[1] + 1, ROWS), dtype), np.empty((len(centres), ROWS), dtype)
    for at in range(0, len(X), ROWS):
        rows = X[at : at + ROWS]
        if len(rows) < ROWS:
            tile, products = np.ones((tile.shape[0], len(rows)), dtype), np.empty((len(centres), len(rows)), dtype)
        np.subtract(rows.T, at_zero, out=tile[:-1], casting="same_kind")
        yield at, tile, np.matmul(factors, tile, out=products)


def nearest(X: Values, centres: Values, origin: Values) -> Values:
    """Return the number of each row's nearest centre, the first of equals; `centres` are relative to `origin`."""
    labels, numbers = np.empty(len(X), np.int32), np.arange(len(centres), dtype=np.float64)
    for at, _, products in _tiles(X, centres, origin):
        if find_least(products, labels[at : at + ROWS]):
            continue
        # For few centres this finds the least several times faster than argmin does.
        mine = products == products.min(axis=0)
        one = np.count_nonzero(mine) == products.shape[1]
        labels[at : at + ROWS] = numbers @ mine if one else products.argmin(axis=0)
    return labels


def sums(X: Values, *more: Values) -> Values:
    """Return the sum and the number of each centre's rows in a block; `more`: weights (optional), centres, origin."""
    *weights, centres, origin = more
    count = len(centres)
    out = np.zeros((count, X.shape[1] + 1))
    for at in range(0, len(X), TURN):
        rows = X[at : at + TURN]
        labels = nearest(rows, centres, origin)
        weight = weights[0][at : at + TURN] if weights else None
        partial_sums = np.zeros_like(out)
        if not add_by_label(rows, labels, weight, partial_sums):
            weight, ends = np.ones(len(rows)) if weight is None else weight, np.arange(len(rows) + 1, dtype=np.int32)
            # A sparse matrix with a one in each column adds rows several times faster than a dense product.
            partial_sums[:, :-1] = csc_array((weight, labels, ends), shape=(count, len(rows))) @ rows
            partial_sums[:, -1] = np.bincount(labels, weight, count)
        out += partial_sums
    out[:, :-1] -= out[:, -1:] * origin
    return out


def distances(X: Values, centres: Values, origin: Values) -> Values:
    """Return each row's squared distance from its nearest centre, computed by differences in float64."""
    out = np.empty(len(X))
    labels = nearest(X, centres, origin)
    absolute = centres + origin
    for at in range(0, len(X), ROWS):
        apart = X[at : at + ROWS] - absolute[labels[at : at + ROWS]]
        out[at : at + ROWS] = np.einsum("ij,ij->i", apart, apart)
    return out


def costs(X: Values, *more: Values) -> Values:
    """Return the sum of squared distances of a block's rows; `more`: weights (optional), centres, origin."""
    *weights, centres, origin = more
    squared_distances = distances(X, centres, origin)
    return np.asarray(weights[0] @ squared_distances if weights else squared_distances.sum())


def farthest(X: Values, *more: Any) -> Values:
    """Return the rows of a block that are farthest from their centres: distance, centre, weight, row.

    `more`: weights (optional), centres, origin, how many. Unused places are NaN; rows of weight zero don't count.
    """
    *weights, centres, origin, count = more
    weight = weights[0] if weights else np.ones(len(X))
    squared_distances, labels = distances(X, centres, origin), nearest(X, centres, origin)
    chosen = np.argsort(-squared_distances, kind="stable")
    chosen = chosen[weight[chosen] > 0][:count]
    out = np.full((count, 3 + X.shape[1]), np.nan)
    out[: len(chosen)] = np.column_stack([squared_distances[chosen], labels[chosen], weight[chosen], X[chosen]])
    return out
