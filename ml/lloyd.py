"""Blocks of rows and k centres: nearest centres, sums, distances, by products of small tiles that stay in the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["costs", "distances", "farthest", "nearest", "sums"]

Values = np.ndarray[Any, Any]
ROWS = 4096


def _factors(centres: Values, dtype: Any) -> Values:
    """Return -2c beside c'c, whose product with (x, 1) is the squared distance less the row's own square."""
    made = np.concatenate([-2.0 * centres, (centres**2).sum(axis=1)[:, None]], axis=1)
    return np.ascontiguousarray(made, dtype)


def _tiles(X: Values, centres: Values, origin: Values) -> Iterator[tuple[int, Values, Values]]:
    """Yield (row, tile of centred rows as columns over a line of ones, its products with the factors).

    Both are written over by what follows. Rows are centred so that a mean far from zero costs no digits.
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
    """Return the number of each row's nearest centre; centres are told from the origin."""
    labels = np.empty(len(X), np.intp)
    for at, _, products in _tiles(X, centres, origin):
        labels[at : at + ROWS] = products.argmin(axis=0)
    return labels


def sums(X: Values, *more: Values) -> Values:
    """Return for each centre the sum of its rows, and their number, of a block; `more`: weights, centres, origin."""
    *weights, centres, origin = more
    out = np.zeros((len(centres), X.shape[1] + 1))
    numbers = np.arange(len(centres))[:, None]
    for at, tile, products in _tiles(X, centres, origin):
        count = products.shape[1]
        mine = (products == products.min(axis=0)).astype(products.dtype)
        if np.count_nonzero(mine) != count:  # equally far from several: the first one's
            np.equal(products.argmin(axis=0), numbers, out=mine, casting="unsafe")
        if weights:
            mine = mine * weights[0][at : at + ROWS]
            tile = tile.astype(np.float64, copy=False)
        out += mine @ tile.T
    return out


def distances(X: Values, centres: Values, origin: Values) -> Values:
    """Return each row's squared distance from its nearest centre, from differences, in float64."""
    out = np.empty(len(X))
    labels = nearest(X, centres, origin)
    absolute = centres + origin
    for at in range(0, len(X), ROWS):
        apart = X[at : at + ROWS] - absolute[labels[at : at + ROWS]]
        out[at : at + ROWS] = np.einsum("ij,ij->i", apart, apart)
    return out


def costs(X: Values, *more: Values) -> Values:
    """Return the sum of squared distances of a block's rows; `more`: weights, centres, origin."""
    *weights, centres, origin = more
    found = distances(X, centres, origin)
    return np.asarray(weights[0] @ found if weights else found.sum())


def farthest(X: Values, centres: Values, origin: Values, count: int) -> Values:
    """Return the rows of a block that are farthest from their centres: distance, centre, row; NaN where none is."""
    found, labels = distances(X, centres, origin), nearest(X, centres, origin)
    chosen = np.argsort(-found, kind="stable")[:count]
    out = np.full((count, 2 + X.shape[1]), np.nan)
    out[: len(chosen), 0], out[: len(chosen), 1], out[: len(chosen), 2:] = found[chosen], labels[chosen], X[chosen]
    return out
