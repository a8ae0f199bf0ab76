"""Distributions of vectors: the last axis of a block holds whole vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError
from ...public_api import warn
from .discrete import binomial
from .urns import hypergeometric

if TYPE_CHECKING:
    from .draws import Draws

Array = np.ndarray[Any, Any]


def multinomial(draws: Draws, n: Array, pvals: Array) -> Array:
    """Return (m, k) counts: one category after the other is binomial in what is left; the last takes the rest."""
    out = np.empty(pvals.shape)
    left, rest = n, np.ones(len(n))
    for j in range(pvals.shape[1] - 1):
        p = np.where(rest > 0, np.clip(pvals[:, j] / rest, 0.0, 1.0), 0.0)
        out[:, j] = binomial(draws.at_lane(j + 1), left, p)
        left = left - out[:, j]
        rest = rest - pvals[:, j]
    out[:, -1] = left
    return out


def multivariate_hypergeometric(draws: Draws, colors: Array, sample: Array) -> Array:
    """Return (m, k) counts: one colour after the other is hypergeometric in what is left."""
    out = np.empty(colors.shape)
    left, others = sample, colors.sum(axis=1)
    for j in range(colors.shape[1] - 1):
        others = others - colors[:, j]
        out[:, j] = hypergeometric(draws.at_lane(j + 1), colors[:, j], others, left)
        left = left - out[:, j]
    out[:, -1] = left
    return out


def normalise(logarithms: Array) -> Array:
    """Return (m, k) shares: exponentials over their sum, which is added up in order."""
    shares = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    total = shares[:, 0].copy()
    for j in range(1, shares.shape[1]):
        total += shares[:, j]
    return np.asarray(shares / total[:, None])


def correlate(z: Array, mean: Array, factor: Array) -> Array:
    """Return mean + z @ factor for (m, k) numbers z, added up in order, so that a row doesn't depend on the others."""
    out = np.zeros((len(z), factor.shape[1]))
    part = np.empty_like(out)
    for j in range(factor.shape[0]):
        np.multiply(z[:, j, None], factor[j], out=part)
        out += part
    out += mean
    return out


def covariance_factor(cov: Array, method: str, check_valid: str, tol: float) -> Array:
    """Return f with f.T @ f = cov, as NumPy finds it.

    Negative eigenvalues of cov are an ArgumentError if `check_valid` is "raise", or with Cholesky's method.
    """
    try:
        if method == "cholesky":
            return np.ascontiguousarray(np.linalg.cholesky(cov).T)
        if method == "eigh":
            values, vectors = np.linalg.eigh(cov)
            valid = bool((values >= -tol).all())
            factor = vectors.T * np.sqrt(np.abs(values))[:, None]
        else:
            _, values, right = np.linalg.svd(cov)
            valid = bool(np.allclose(np.dot(right.T * values, right), cov, rtol=tol, atol=tol))
            factor = np.sqrt(values)[:, None] * right
    except np.linalg.LinAlgError as error:
        raise ArgumentError(f"multivariate_normal: argument 'cov': {error}") from error
    if not valid and check_valid == "raise":
        raise ArgumentError("multivariate_normal: argument 'cov' is not symmetric positive-semidefinite")
    if not valid and check_valid == "warn":
        text = "multivariate_normal: argument 'cov' is not symmetric positive-semidefinite"
        warn(text, RuntimeWarning)
    return np.ascontiguousarray(factor)
