"""Principal directions of rows: by eigenvectors of X'X or XX', whichever is smaller, or by a randomized method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
from sklearn.utils.extmath import svd_flip

from ...arrays.creation.from_data import from_array
from ..rows import finite, total

if TYPE_CHECKING:
    from ...arrays.array import Array

__all__ = ["Directions", "RandomDirections", "exact_directions", "random_directions"]

Values = np.ndarray[Any, Any]
EXACT = 2048
"""The smaller of both numbers of rows and features, up to which directions are exact by default."""


@dataclass(frozen=True)
class Directions:
    """Unit vectors as rows, in descending order of `squares`, with scikit-learn's signs.

    `squares` are the sums of squares of the rows' components along each vector, `total` that of all components.
    """

    squares: Values
    vectors: Values
    total: float

    @classmethod
    def of(cls, squares: Values, vectors: Values, total: float) -> Directions:
        """Return directions, with signs that don't depend on the method."""
        svd_flip(None, vectors, u_based_decision=False)
        return cls(np.maximum(squares, 0.0), vectors, total)


@dataclass(frozen=True)
class RandomDirections:
    """Parameters of the randomized method: powers of X'X, vectors besides the wanted ones, the seed."""

    powers: int
    more: int
    seed: int


def exact_directions(operation: str, rows: Array, centre: Values, count: int) -> Directions:
    """Return `count` directions of rows about a centre, by eigenvectors of X'X or XX', whichever is smaller."""
    n, d = rows.shape
    if count > n or n >= d:
        squares = total(_square, [rows], (d, d), centre)
        finite(operation, X=squares)
        values, vectors = _largest(squares, count)
        return Directions.of(values, np.ascontiguousarray(vectors.T), float(np.trace(squares)))
    centred = rows.astype(np.float64) - centre
    products = np.asarray((centred @ centred.T).compute())
    finite(operation, X=products)
    values, vectors = _largest(products, count)
    weights = from_array(np.ascontiguousarray(vectors.T))
    along = np.asarray((weights @ centred).compute())
    return Directions.of(values, _orthonormal(along), float(np.trace(products)))


def random_directions(operation: str, rows: Array, centre: Values, count: int, how: RandomDirections) -> Directions:
    """Return approximations of `count` directions, from the space of random vectors multiplied by powers of X'X.

    N. Halko, P. G. Martinsson, J. A. Tropp: Finding structure with randomness, SIAM Review 53 (2011).
    """
    n, d = rows.shape
    whole = float(total(_length, [rows], (), centre))
    finite(operation, X=np.array(whole))
    width = min(count + how.more, n, d)
    turned = np.random.default_rng(how.seed).normal(size=(d, width))
    basis = turned
    for _ in range(how.powers + 1):
        basis = np.linalg.qr(turned)[0]
        turned = total(_turn, [rows], (d, width), centre, basis)
    inner = basis.T @ turned
    values, vectors = _largest((inner + inner.T) / 2, count)
    return Directions.of(values, np.ascontiguousarray((basis @ vectors).T), whole)


def _largest(matrix: Values, count: int) -> tuple[Values, Values]:
    """Return the largest eigenvalues of a symmetric matrix, in descending order, and eigenvectors as columns."""
    if count < len(matrix):
        chosen = (len(matrix) - count, len(matrix) - 1)
        values, vectors = scipy.linalg.eigh(matrix, subset_by_index=chosen, check_finite=False)
    else:
        values, vectors = np.linalg.eigh(matrix)
    return values[::-1], vectors[:, ::-1]


def _orthonormal(vectors: Values) -> Values:
    """Return unit vectors of the same directions; zero vectors become any that are orthogonal to the others."""
    columns, upper = np.linalg.qr(vectors.T)
    return np.ascontiguousarray((columns * np.where(np.diag(upper) < 0, -1.0, 1.0)).T)


def _square(X: Values, centre: Values) -> Values:
    """Return X'X of centred columns."""
    columns = X - centre
    return np.asarray(np.dot(columns.T, columns))


def _turn(X: Values, centre: Values, basis: Values) -> Values:
    """Return X'X times a basis, of centred columns."""
    columns = X - centre
    return np.asarray(np.dot(columns.T, columns @ basis))


def _length(X: Values, centre: Values) -> Values:
    columns = (X - centre).ravel()
    return np.asarray(np.dot(columns, columns))
