"""Distributions of vectors, which lie along the last axis, in one chunk there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import ArgumentError, ShapeError, bad
from ....graph.kinds.mapping import BlockFunction
from ....workers.kernels.randoms.vectors import covariance_factor
from ...base import ArrayBase, as_array, broadcast_shape, check_shape, grid_for, make
from ...chunking.coalesce import whole
from ..docstrings import RANDOM
from ..drawing import F8, I8, Drawing, check_method, fit_chunks, operand_axes, parameter

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, ChunksLike, ShapeLike


class Vectors(Drawing):
    """Counts of categories, correlated normal numbers, shares of a whole."""

    def multinomial(self, n: Any, pvals: Any, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from the multinomial distribution: how often each of several outcomes comes up.

        Parameters
        ----------
        n : int or array of int
            Number of trials, from 0 on; broadcasts with the vectors of `pvals`.
        pvals : array_like
            Probabilities along the last axis; the last one is one less the sum of the others.
        {size_of_vectors, chunks_of_vectors}

        Returns
        -------
        Array
            Lazy, of int64: counts that add up to `n` along the last axis. Each vector takes one position of the
            generator.

        Raises
        ------
        ArgumentError
            `n` or `pvals` isn't real numbers, or `pvals` has no categories.
            `n` isn't integers from 0 on, a probability isn't from 0 to 1, or they add up to more than 1 (lazy ones:
            when they are computed).
        ShapeError
            The parameters don't broadcast to `size`.
        {DTypeError, ChunksError}

        Notes
        -----
        {numbers}

        >>> x = wr.random.default_rng(1).multinomial(20, [0.2, 0.3, 0.5], 1000)
        >>> bool((x.sum(axis=1) == 20).all())
        True
        """
        weights = parameter("multinomial", "pvals", pvals, "share")
        if not isinstance(weights, ArrayBase) or not weights.shape[-1]:
            raise ArgumentError(bad("multinomial", "pvals", pvals, "an array with an axis of categories"))
        if not isinstance(pvals, ArrayBase) and bool((np.asarray(pvals)[..., :-1].sum(-1) > 1.0 + 1e-12).any()):
            raise ArgumentError(bad("multinomial", "pvals", pvals, "sum(pvals[..., :-1]) <= 1.0"))
        tried = as_array("multinomial", "n", parameter("multinomial", "n", n, "whole"))
        return self._rows("multinomial", tried, whole(weights, [weights.ndim - 1]), size, chunks)

    def multivariate_hypergeometric(
        self,
        colors: Any,
        nsample: Any,
        size: ShapeLike = None,
        method: str = "marginals",
        *,
        chunks: ChunksLike = "auto",
    ) -> Array:
        """Draw from the multivariate hypergeometric distribution: the number of each kind in a sample.

        Parameters
        ----------
        colors : sequence of int
            Number of elements of each kind: integers from 0 on, fewer than 10**9 in all.
        nsample : int
            Size of the sample: at most `sum(colors)`.
        {size_of_vectors}
        method : 'marginals' or 'count'
            NumPy's names; both are done as 'marginals': one kind after the other.
        {chunks_of_vectors}

        Returns
        -------
        Array
            Lazy, of int64: counts that add up to `nsample` along the last axis. Each vector takes one position of the
            generator.

        Raises
        ------
        ArgumentError
            `colors` isn't a 1-D sequence of numbers, or `method` is unknown.
            `colors` or `nsample` isn't integers from 0 on, or too large (lazy ones: when they are computed).
        ShapeError
            `nsample` doesn't broadcast to `size`.
        {DTypeError, ChunksError}

        Notes
        -----
        {numbers}

        >>> x = wr.random.default_rng(1).multivariate_hypergeometric([16, 8, 4], 6, 1000)
        >>> bool((x.sum(axis=1) == 6).all())
        True
        """
        name = "multivariate_hypergeometric"
        check_method(name, method, ("marginals", "count"))
        kinds = parameter(name, "colors", colors, "whole and small")
        if not isinstance(kinds, ArrayBase) or kinds.ndim != 1 or not kinds.size:
            raise ArgumentError(bad(name, "colors", colors, "a sequence of whole numbers"))
        sample = parameter(name, "nsample", nsample, "whole")
        if not isinstance(colors, ArrayBase):
            total = int(np.asarray(colors).sum())
            if total >= 10**9:
                raise ArgumentError(bad(name, "colors", colors, "fewer than 10**9 in all"))
            if not isinstance(sample, ArrayBase) and sample > total:
                raise ArgumentError(bad(name, "nsample", nsample, f"at most sum(colors) = {total}"))
        return self._rows(name, as_array(name, "nsample", sample), whole(kinds, [0]), size, chunks)

    def _rows(self, operation: str, number: Array, last: Array, size: ShapeLike, chunks: ChunksLike) -> Array:
        wide = broadcast_shape(operation, number.shape, last.shape[:-1])
        shape = wide if size is None else check_shape(operation, size, "size")
        if broadcast_shape(operation, wide, shape) != shape:
            raise ShapeError(bad(operation, "size", size, f"a size to which the parameters' shape {wide} broadcasts"))
        k = last.shape[-1]
        grid = Grid([*_first(operation, chunks, shape, k).axes, Axis.whole(k)])
        operands = [fit_chunks(number, Grid(grid.axes[:-1])), fit_chunks(last, grid)]
        count = grid.size // k
        ahead = operand_axes([number], grid.ndim - 1) + operand_axes([last], grid.ndim)
        op = BlockFunction(
            f"elements.draws:{operation}", (self._stream(operation, count), grid.shape), ahead, where=True
        )
        return make(op, operands, grid, I8)

    def dirichlet(self, alpha: Any, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from the Dirichlet distribution: shares that add up to one.

        Parameters
        ----------
        alpha : sequence of float
            How large each share is: the mean is `alpha / alpha.sum()`; not negative.
        {size_of_vectors, chunks_of_vectors}

        Returns
        -------
        Array
            Lazy, of float64: shares that add up to 1 along the last axis. Each share takes one position of the
            generator.

        Raises
        ------
        ArgumentError
            `alpha` isn't a 1-D sequence of numbers, or a number is negative (lazy ones: when they are computed).
        ShapeError
            `size` has a negative length.
        {DTypeError, ChunksError}

        Notes
        -----
        Gamma numbers are divided by their sum, by way of logarithms, so that small `alpha` give no NaN.

        {numbers}

        >>> x = wr.random.default_rng(1).dirichlet([1, 2, 3], 1000)
        >>> bool((abs(x.sum(axis=1) - 1) < 1e-12).all())
        True
        """
        known = parameter("dirichlet", "alpha", alpha, "not negative")
        if not isinstance(known, ArrayBase) or known.ndim != 1 or not known.size:
            raise ArgumentError(bad("dirichlet", "alpha", alpha, "a sequence of numbers"))
        shape = () if size is None else check_shape("dirichlet", size, "size")
        grid = Grid([*_first("dirichlet", chunks, shape, known.size).axes, Axis.whole(known.size)])
        params = (self._stream("dirichlet", grid.size), grid.shape, F8)
        drawn = BlockFunction("elements.draws:log_gamma", params, operand_axes([known], grid.ndim), where=True)
        logarithms = make(drawn, [fit_chunks(known, grid)], grid, F8)
        return make(BlockFunction("elements.draws:normalise"), [logarithms], grid, F8)

    def multivariate_normal(
        self,
        mean: ArrayLike,
        cov: ArrayLike,
        size: ShapeLike = None,
        check_valid: str = "warn",
        tol: float = 1e-8,
        *,
        method: str = "svd",
        chunks: ChunksLike = "auto",
    ) -> Array:
        """Draw from the multivariate normal distribution.

        Parameters
        ----------
        mean : sequence of float
            The means of d variables.
        cov : array_like (d, d)
            Their covariances: symmetric, no eigenvalue negative. Lazy ones are brought into one chunk.
        {size_of_vectors}
        check_valid : 'warn', 'raise' or 'ignore'
            What is done if `cov` isn't a covariance matrix.
        tol : float
            Tolerance of the check that `cov` is a covariance matrix.
        method : 'svd', 'eigh' or 'cholesky'
            How `cov` is decomposed: at the call, or when the result is computed if `cov` is lazy.
        {chunks_of_vectors}

        Returns
        -------
        Array
            Lazy, of float64: a vector along the last axis. Each number takes one position of the generator.

        Raises
        ------
        ArgumentError
            `mean` or `cov` isn't real numbers, or `check_valid` or `method` is unknown. `cov` isn't a covariance
            matrix, and `check_valid` is 'raise'.
        ShapeError
            `mean` isn't 1-D, or `cov` hasn't its shape twice.
        {DTypeError, ChunksError}

        Notes
        -----
        {numbers}

        >>> x = wr.random.default_rng(1).multivariate_normal([0, 5], [[1, 0.5], [0.5, 2]], 100_000)
        >>> x.mean(axis=0).compute().round(1)
        array([0., 5.])
        """
        name = "multivariate_normal"
        check_method(name, method, ("svd", "eigh", "cholesky"))
        if check_valid not in ("warn", "raise", "ignore"):
            raise ArgumentError(bad(name, "check_valid", check_valid, "'warn', 'raise' or 'ignore'"))
        middle, spread = (parameter(name, n, v, "finite") for n, v in (("mean", mean), ("cov", cov)))
        if not isinstance(middle, ArrayBase) or middle.ndim != 1:
            raise ShapeError(f"{name}: argument 'mean' must be 1 dimensional")
        d = middle.shape[0]
        if not isinstance(spread, ArrayBase) or spread.shape != (d, d):
            raise ShapeError(f"{name}: argument 'cov' must be 2 dimensional and square, as 'mean' has {d} elements")
        shape = () if size is None else check_shape(name, size, "size")
        grid = Grid([*_first(name, chunks, shape, d).axes, Axis.whole(d)])
        z = self._plain(name, "standard_normal", (), grid, F8)
        whole_cov = whole(spread, [0, 1])
        if not isinstance(cov, ArrayBase):  # errors are raised at the call
            factor = as_array(name, "cov", covariance_factor(np.asarray(cov, np.float64), method, check_valid, tol))
        else:
            params = (method, check_valid, float(tol))
            factor = make(
                BlockFunction("elements.draws:covariance_factor", params), [whole_cov], whole_cov.expr.grid, F8
            )
        op = BlockFunction("elements.draws:correlate", (), (tuple(range(grid.ndim)), (None,), (None, None)))
        return make(op, [z, whole(middle, [0]), whole(factor, [0, 1])], grid, F8)


def _first(operation: str, chunks: ChunksLike, shape: tuple[int, ...], k: int) -> Grid:
    """Return the grid of the first axes, with chunks for vectors of k numbers."""
    row = np.dtype((np.void, 8 * max(1, k)))
    return grid_for(operation, chunks, shape, row)


RANDOM.fill(__name__)
