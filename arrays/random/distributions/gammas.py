"""The gamma distribution, and those that follow from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..docstrings import RANDOM, draws
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

    @draws(
        "numbers from 0 on.",
        shape="Often called k; not negative.",
        scale="The mean is `shape` times `scale`; not negative.",
    )
    def gamma(
        self, shape: ShapeLike, scale: ArrayLike = 1.0, size: ShapeLike = None, chunks: ChunksLike = "auto"
    ) -> Array:
        """Draw from a gamma distribution.

        >>> round(float(wr.random.default_rng(1).gamma(2, 3, 100_000).mean()), 1)
        6.0
        """
        return self._draw("gamma", (("shape", shape, "not negative"), ("scale", scale, "not negative")), size, chunks)

    @draws(
        "numbers from 0 to 1, with mean `a / (a + b)`.",
        a="First shape, alpha; positive.",
        b="Second shape, beta; positive.",
    )
    def beta(self, a: ArrayLike, b: ArrayLike, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from a beta distribution.

        >>> round(float(wr.random.default_rng(1).beta(2, 2, 100_000).mean()), 1)
        0.5
        """
        return self._draw("beta", (("a", a, "positive"), ("b", b, "positive")), size, chunks)

    @draws("numbers from 0 on.", df="Degrees of freedom, which are the mean; positive.")
    def chisquare(self, df: Any, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from a chi-square distribution.

        >>> round(float(wr.random.default_rng(1).chisquare(3, 100_000).mean()), 1)
        3.0
        """
        return self._draw("chisquare", (("df", df, "positive"),), size, chunks)

    @draws(
        "numbers from 0 on, with mean `df + nonc`.",
        df="Degrees of freedom; positive.",
        nonc="Noncentrality, the sum of squared means; not negative.",
    )
    def noncentral_chisquare(self, df: Any, nonc: Any, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from a noncentral chi-square distribution.

        >>> round(float(wr.random.default_rng(1).noncentral_chisquare(3, 2, 100_000).mean()), 1)
        5.0
        """
        return self._draw(
            "noncentral_chisquare", (("df", df, "positive"), ("nonc", nonc, "not negative")), size, chunks
        )

    @draws(
        "numbers from 0 on.",
        dfnum="Degrees of freedom of the numerator; positive.",
        dfden="Degrees of freedom of the denominator; positive.",
    )
    def f(self, dfnum: Any, dfden: Any, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from an F distribution.

        >>> round(float(wr.random.default_rng(1).f(5, 22, 100_000).mean()), 1)
        1.1
        """
        return self._draw("f", (("dfnum", dfnum, "positive"), ("dfden", dfden, "positive")), size, chunks)

    @draws(
        "numbers from 0 on.",
        dfnum="Degrees of freedom of the numerator; positive.",
        dfden="Degrees of freedom of the denominator; positive.",
        nonc="Noncentrality of the numerator; not negative.",
    )
    def noncentral_f(
        self, dfnum: Any, dfden: Any, nonc: Any, size: ShapeLike = None, chunks: ChunksLike = "auto"
    ) -> Array:
        """Draw from a noncentral F distribution.

        >>> round(float(wr.random.default_rng(1).noncentral_f(5, 22, 5, 100_000).mean()), 1)
        2.2
        """
        return self._draw(
            "noncentral_f",
            (("dfnum", dfnum, "positive"), ("dfden", dfden, "positive"), ("nonc", nonc, "not negative")),
            size,
            chunks,
        )

    @draws("numbers about 0.", df="Degrees of freedom; positive.")
    def standard_t(self, df: Any, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from Student's t distribution.

        >>> x = wr.random.default_rng(1).standard_t(10, 100_000)
        >>> round(float((x > 0).mean()), 1)
        0.5
        """
        return self._draw("standard_t", (("df", df, "positive"),), size, chunks)


RANDOM.fill(__name__)
