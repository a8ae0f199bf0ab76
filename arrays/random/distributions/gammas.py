"""The gamma distribution, and those that follow from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..docstrings import RANDOM
from ..drawing import Drawing, real_dtype

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, ChunksLike, DTypeLike, OutLike, ShapeLike


class Gammas(Drawing):
    """Gamma numbers, their ratios and sums."""

    def standard_gamma(
        self,
        shape: ShapeLike,
        size: ShapeLike = None,
        dtype: DTypeLike = np.float64,
        out: OutLike = None,
        *,
        chunks: ChunksLike = "auto",
    ) -> Array:
        """Draw from the gamma distribution of scale 1.

        Parameters
        ----------
        shape : float or array
            Often called k, which is the mean; not negative.
        {size, dtype, out, chunks}

        Returns
        -------
        Array
            Lazy, of `dtype`: numbers from 0 on.

        Raises
        ------
        ArgumentError
            `shape` isn't real numbers, or `size` isn't integers, or `out` is no lazy array.
            A parameter is out of its range (a lazy one: when it is computed).
        ShapeError
            The parameters don't broadcast to `size`; or `out` has another shape or dtype.
        DTypeError
            A lazy parameter isn't real numbers, or `dtype` is neither float64 nor float32.
        {ChunksError}

        Notes
        -----
        Marsaglia and Tsang's method: an attempt takes four draws of the position, and nearly always suffices.

        {numbers}

        >>> round(float(wr.random.default_rng(1).standard_gamma(2, 100_000).mean()), 1)
        2.0
        """
        known = real_dtype("standard_gamma", dtype)
        return self._draw("standard_gamma", (("shape", shape, "not negative"),), size, chunks, known, out)

    def gamma(
        self, shape: ShapeLike, scale: ArrayLike = 1.0, size: ShapeLike = None, chunks: ChunksLike = "auto"
    ) -> Array:
        """Draw from a gamma distribution.

        Parameters
        ----------
        shape : float or array
            Often called k; not negative.
        scale : float or array
            The mean is `shape` times `scale`; not negative.
        {size, chunks}

        {numbers_from_zero}

        >>> round(float(wr.random.default_rng(1).gamma(2, 3, 100_000).mean()), 1)
        6.0
        """
        return self._draw("gamma", (("shape", shape, "not negative"), ("scale", scale, "not negative")), size, chunks)

    def beta(self, a: ArrayLike, b: ArrayLike, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from a beta distribution.

        Parameters
        ----------
        a : float or array
            First shape, alpha; positive.
        b : float or array
            Second shape, beta; positive.
        {size, chunks}

        Returns
        -------
        Array
            Lazy, of float64: numbers from 0 to 1, with mean `a / (a + b)`.

        {errors_and_numbers}

        >>> round(float(wr.random.default_rng(1).beta(2, 2, 100_000).mean()), 1)
        0.5
        """
        return self._draw("beta", (("a", a, "positive"), ("b", b, "positive")), size, chunks)

    def chisquare(self, df: Any, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from a chi-square distribution.

        Parameters
        ----------
        df : float or array
            Degrees of freedom, which are the mean; positive.
        {size, chunks}

        {numbers_from_zero}

        >>> round(float(wr.random.default_rng(1).chisquare(3, 100_000).mean()), 1)
        3.0
        """
        return self._draw("chisquare", (("df", df, "positive"),), size, chunks)

    def noncentral_chisquare(self, df: Any, nonc: Any, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from a noncentral chi-square distribution.

        Parameters
        ----------
        df : float or array
            Degrees of freedom; positive.
        nonc : float or array
            Noncentrality, the sum of squared means; not negative.
        {size, chunks}

        Returns
        -------
        Array
            Lazy, of float64: numbers from 0 on, with mean `df + nonc`.

        {errors_and_numbers}

        >>> round(float(wr.random.default_rng(1).noncentral_chisquare(3, 2, 100_000).mean()), 1)
        5.0
        """
        return self._draw(
            "noncentral_chisquare", (("df", df, "positive"), ("nonc", nonc, "not negative")), size, chunks
        )

    def f(self, dfnum: Any, dfden: Any, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from an F distribution.

        Parameters
        ----------
        dfnum : float or array
            Degrees of freedom of the numerator; positive.
        dfden : float or array
            Degrees of freedom of the denominator; positive.
        {size, chunks}

        {numbers_from_zero}

        >>> round(float(wr.random.default_rng(1).f(5, 22, 100_000).mean()), 1)
        1.1
        """
        return self._draw("f", (("dfnum", dfnum, "positive"), ("dfden", dfden, "positive")), size, chunks)

    def noncentral_f(
        self, dfnum: Any, dfden: Any, nonc: Any, size: ShapeLike = None, chunks: ChunksLike = "auto"
    ) -> Array:
        """Draw from a noncentral F distribution.

        Parameters
        ----------
        dfnum : float or array
            Degrees of freedom of the numerator; positive.
        dfden : float or array
            Degrees of freedom of the denominator; positive.
        nonc : float or array
            Noncentrality of the numerator; not negative.
        {size, chunks}

        {numbers_from_zero}

        >>> round(float(wr.random.default_rng(1).noncentral_f(5, 22, 5, 100_000).mean()), 1)
        2.2
        """
        return self._draw(
            "noncentral_f",
            (("dfnum", dfnum, "positive"), ("dfden", dfden, "positive"), ("nonc", nonc, "not negative")),
            size,
            chunks,
        )

    def standard_t(self, df: Any, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from Student's t distribution.

        Parameters
        ----------
        df : float or array
            Degrees of freedom; positive.
        {size, chunks}

        Returns
        -------
        Array
            Lazy, of float64: numbers about 0.

        {errors_and_numbers}

        >>> x = wr.random.default_rng(1).standard_t(10, 100_000)
        >>> round(float((x > 0).mean()), 1)
        0.5
        """
        return self._draw("standard_t", (("df", df, "positive"),), size, chunks)


RANDOM.fill(__name__)
