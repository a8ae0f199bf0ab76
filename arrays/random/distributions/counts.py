"""Discrete distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError, bad
from ....workers.kernels.randoms.checks import LARGEST_MEAN
from ...base import ArrayBase
from ..docstrings import RANDOM, draws
from ..drawing import I8, Drawing

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, ChunksLike, ShapeLike


class Counts(Drawing):
    """Counts, as int64."""

    @draws(
        "numbers from 0 to `n`.",
        n="Number of trials: an integer from 0 to 2**53.",
        p="Probability of a success, from 0 to 1.",
        of="int64",
    )
    def binomial(self, n: Any, p: ArrayLike, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from the binomial distribution: the number of successes in independent trials.

        >>> round(float(wr.random.default_rng(1).binomial(10, 0.5, 100_000).mean()), 1)
        5.0
        """
        return self._draw("binomial", (("n", n, "whole"), ("p", p, "share")), size, chunks, I8)

    @draws(
        "numbers from 0 on.",
        n="Number of successes; positive, may be a fraction.",
        p="Probability of a success, more than 0 and at most 1.",
        of="int64",
    )
    def negative_binomial(self, n: Any, p: ArrayLike, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from the negative binomial distribution: the number of failures before `n` successes.

        >>> round(float(wr.random.default_rng(1).negative_binomial(5, 0.5, 100_000).mean()), 1)
        5.0
        """
        _few_enough(n, p)
        return self._draw("negative_binomial", (("n", n, "positive"), ("p", p, "positive share")), size, chunks, I8)

    def poisson(self, lam: Any = 1.0, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from the Poisson distribution.

        Parameters
        ----------
        lam : float or array
            The mean, from 0 to 9.2e18.
        {size, chunks}

        Returns
        -------
        Array
            Lazy, of int64: numbers from 0 on.

        {errors_and_numbers}

        Below a mean of 10 the distribution function is inverted; above, Hörmann's transformed rejection takes two draws
        an attempt.

        >>> round(float(wr.random.default_rng(1).poisson(3, 100_000).mean()), 1)
        3.0
        """
        return self._draw("poisson", (("lam", lam, "expectation"),), size, chunks, I8)

    @draws("numbers from 1 on.", p="Probability of a success, more than 0 and at most 1.", of="int64")
    def geometric(self, p: ArrayLike, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from the geometric distribution: the number of trials up to the first success.

        >>> round(float(wr.random.default_rng(1).geometric(0.5, 100_000).mean()), 1)
        2.0
        """
        return self._draw("geometric", (("p", p, "positive share"),), size, chunks, I8)

    @draws(
        "numbers from 0 to `nsample`.",
        ngood="Number of good elements in the population: an integer from 0 to 10**9 - 1.",
        nbad="Number of other elements: an integer from 0 to 10**9 - 1.",
        nsample="Size of the sample: an integer, at most `ngood + nbad`.",
        of="int64",
    )
    def hypergeometric(
        self, ngood: Any, nbad: Any, nsample: Any, size: ShapeLike = None, chunks: ChunksLike = "auto"
    ) -> Array:
        """Draw from the hypergeometric distribution: the number of good elements in a sample without replacement.

        >>> round(float(wr.random.default_rng(1).hypergeometric(20, 20, 10, 100_000).mean()), 1)
        5.0
        """
        _enough("hypergeometric", nsample, (ngood, nbad))
        params = (("ngood", ngood, "whole and small"), ("nbad", nbad, "whole and small"), ("nsample", nsample, "whole"))
        return self._draw("hypergeometric", params, size, chunks, I8)

    @draws(
        "numbers from 1 on.",
        a="Exponent, larger than 1: k is drawn with a probability like k to the power of -a.",
        of="int64",
    )
    def zipf(self, a: ArrayLike, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from the Zipf distribution.

        >>> round(float(wr.random.default_rng(1).zipf(8, 100_000).mean()), 1)
        1.0
        """
        return self._draw("zipf", (("a", a, "more than one"),), size, chunks, I8)

    @draws("numbers from 1 on.", p="Shape, between 0 and 1: k is drawn with a probability like `p**k / k`.", of="int64")
    def logseries(self, p: ArrayLike, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from the logarithmic series distribution.

        >>> round(float(wr.random.default_rng(1).logseries(0.5, 100_000).mean()), 1)
        1.4
        """
        return self._draw("logseries", (("p", p, "share below one"),), size, chunks, I8)


def _enough(operation: str, nsample: Any, kinds: tuple[Any, ...]) -> None:
    """Raise if a sample is larger than the population; lazy arguments are checked when they are computed."""
    if any(isinstance(x, ArrayBase) for x in (nsample, *kinds)):
        return
    try:
        total = sum(np.asarray(x) for x in kinds)
        enough = bool((np.asarray(nsample) <= total).all())
    except (TypeError, ValueError):  # not numbers, or shapes that don't broadcast: reading the parameters raises
        return
    if not enough:
        raise ArgumentError(bad(operation, "nsample", nsample, f"at most as many as there are: {total}"))


def _few_enough(n: Any, p: ArrayLike) -> None:
    """Raise if counts might not fit int64; lazy arguments are checked when they are computed."""
    if isinstance(n, ArrayBase) or isinstance(p, ArrayBase):
        return
    try:
        with np.errstate(all="ignore"):
            successes, share = np.asarray(n, np.float64), np.asarray(p, np.float64)
            expected = (successes + 10 * np.sqrt(successes)) * ((1 - share) / share)
    except (TypeError, ValueError):  # not numbers, or shapes that don't broadcast: reading the parameters raises
        return
    if ((share > 0) & (share <= 1) & (expected > LARGEST_MEAN)).any():
        raise ArgumentError("negative_binomial: argument 'n' is too large or 'p' too small: counts leave int64")


RANDOM.fill(__name__)
