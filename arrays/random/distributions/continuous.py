"""Continuous distributions, but for those made from gamma numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..docstrings import RANDOM, draws
from ..drawing import Drawing, check_method, real_dtype

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, ChunksLike, DTypeLike, OutLike, ShapeLike


class Continuous(Drawing):
    """Normal and exponential numbers, what is shifted and scaled, what has a shape."""

    @draws(
        "numbers from `low` on below `high`.",
        low="The lower end; a finite number.",
        high="The upper end, which isn't drawn; finite, and not less than `low`.",
    )
    def uniform(
        self, low: ArrayLike = 0.0, high: ArrayLike = 1.0, size: ShapeLike = None, chunks: ChunksLike = "auto"
    ) -> Array:
        """Draw from the uniform distribution on [low, high).

        >>> round(float(wr.random.default_rng(1).uniform(2, 3, 100_000).mean()), 1)
        2.5
        """
        return self._draw("uniform", (("low", low, "finite"), ("high", high, "finite")), size, chunks)

    @draws(
        "numbers about `loc`.", loc="The mean; a finite number.", scale="The mean distance from `loc`; not negative."
    )
    def laplace(
        self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: ShapeLike = None, chunks: ChunksLike = "auto"
    ) -> Array:
        """Draw from the Laplace (double exponential) distribution.

        >>> round(float(wr.random.default_rng(1).laplace(3, 1, 100_000).mean()), 1)
        3.0
        """
        return self._draw("laplace", (("loc", loc, "finite"), ("scale", scale, "not negative")), size, chunks)

    @draws(
        "numbers about `loc`, larger ones farther away.",
        loc="The mode; a finite number.",
        scale="How wide it is; not negative.",
    )
    def gumbel(
        self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: ShapeLike = None, chunks: ChunksLike = "auto"
    ) -> Array:
        """Draw from the Gumbel distribution of largest values.

        >>> round(float(wr.random.default_rng(1).gumbel(1, 1, 100_000).mean()), 1)
        1.6
        """
        return self._draw("gumbel", (("loc", loc, "finite"), ("scale", scale, "not negative")), size, chunks)

    @draws("numbers about `loc`.", loc="The mean; a finite number.", scale="How wide it is; not negative.")
    def logistic(
        self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: ShapeLike = None, chunks: ChunksLike = "auto"
    ) -> Array:
        """Draw from the logistic distribution.

        >>> round(float(wr.random.default_rng(1).logistic(3, 1, 100_000).mean()), 1)
        3.0
        """
        return self._draw("logistic", (("loc", loc, "finite"), ("scale", scale, "not negative")), size, chunks)

    def standard_cauchy(self, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from the Cauchy distribution with mode 0.

        Parameters
        ----------
        {size, chunks}

        Returns
        -------
        Array
            Lazy, of float64: numbers about 0, of which no mean exists.

        Raises
        ------
        {size_errors}

        Notes
        -----
        {numbers}

        >>> x = wr.random.default_rng(1).standard_cauchy(100_000)
        >>> round(float((x > 0).mean()), 1)
        0.5
        """
        return self._draw("standard_cauchy", (), size, chunks)

    @draws(
        "numbers from `left` to `right`.",
        left="Where it begins; a finite number.",
        mode="Where it is highest: from `left` to `right`.",
        right="Where it ends; a finite number.",
    )
    def triangular(
        self, left: ArrayLike, mode: Any, right: ArrayLike, size: ShapeLike = None, chunks: ChunksLike = "auto"
    ) -> Array:
        """Draw from the triangular distribution.

        >>> round(float(wr.random.default_rng(1).triangular(0, 1, 5, 100_000).mean()), 1)
        2.0
        """
        params = (("left", left, "finite"), ("mode", mode, "finite"), ("right", right, "finite"))
        return self._draw("triangular", params, size, chunks)

    def standard_normal(
        self, size: ShapeLike = None, dtype: DTypeLike = np.float64, out: OutLike = None, *, chunks: ChunksLike = "auto"
    ) -> Array:
        """Draw from the normal distribution with mean 0 and standard deviation 1.

        Parameters
        ----------
        {size, dtype, out, chunks}

        Returns
        -------
        Array
            Lazy, of `dtype`: numbers about 0.

        Raises
        ------
        {out_errors}

        Notes
        -----
        Box and Muller's method: the draws of an even position and of the next one give the numbers of both.

        {numbers}

        >>> round(float(wr.random.default_rng(1).standard_normal(100_000).mean()), 1)
        0.0
        """
        known = real_dtype("standard_normal", dtype)
        return self._draw("standard_normal", (), size, chunks, known, out)

    def normal(
        self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: ShapeLike = None, chunks: ChunksLike = "auto"
    ) -> Array:
        """Draw from a normal distribution.

        Parameters
        ----------
        loc : float or array
            Mean; a finite number.
        scale : float or array
            Standard deviation; not negative.
        {size, chunks}

        Returns
        -------
        Array
            Lazy, of float64: numbers about `loc`.

        {errors_and_numbers}

        Box and Muller's method; see `standard_normal`.

        >>> x = wr.random.default_rng(1).normal(10, 2, 100_000)
        >>> round(float(x.mean()), 1), round(float(x.std()), 1)
        (10.0, 2.0)
        """
        return self._draw("normal", (("loc", loc, "finite"), ("scale", scale, "not negative")), size, chunks)

    @draws(
        "positive numbers.",
        mean="Mean of the logarithm; a finite number.",
        sigma="Standard deviation of the logarithm; not negative.",
    )
    def lognormal(
        self, mean: ArrayLike = 0.0, sigma: ArrayLike = 1.0, size: ShapeLike = None, chunks: ChunksLike = "auto"
    ) -> Array:
        """Draw numbers whose logarithms are normal.

        >>> round(float(wr.random.default_rng(1).lognormal(0, 0.5, 100_000).mean()), 1)
        1.1
        """
        return self._draw("lognormal", (("mean", mean, "finite"), ("sigma", sigma, "not negative")), size, chunks)

    def standard_exponential(
        self,
        size: ShapeLike = None,
        dtype: DTypeLike = np.float64,
        method: str = "zig",
        out: OutLike = None,
        *,
        chunks: ChunksLike = "auto",
    ) -> Array:
        """Draw from the exponential distribution with mean 1.

        Parameters
        ----------
        {size, dtype}
        method : 'zig' or 'inv'
            NumPy's names; both are by the inverse, -log(1 - u), and an element has one draw.
        {out, chunks}

        Returns
        -------
        Array
            Lazy, of `dtype`: numbers from 0 on.

        Raises
        ------
        {out_errors}

        Notes
        -----
        {numbers}

        >>> round(float(wr.random.default_rng(1).standard_exponential(100_000).mean()), 1)
        1.0
        """
        known = real_dtype("standard_exponential", dtype)
        check_method("standard_exponential", method, ("zig", "inv"))
        return self._draw("standard_exponential", (), size, chunks, known, out)

    @draws("numbers from 0 on.", scale="The mean, the inverse of the rate; not negative.")
    def exponential(self, scale: ArrayLike = 1.0, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from an exponential distribution.

        >>> round(float(wr.random.default_rng(1).exponential(2, 100_000).mean()), 1)
        2.0
        """
        return self._draw("exponential", (("scale", scale, "not negative"),), size, chunks)

    @draws("numbers from 0 on.", scale="The mode; not negative.")
    def rayleigh(self, scale: ArrayLike = 1.0, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from the Rayleigh distribution.

        >>> round(float(wr.random.default_rng(1).rayleigh(2, 100_000).mean()), 1)
        2.5
        """
        return self._draw("rayleigh", (("scale", scale, "not negative"),), size, chunks)

    @draws(
        "angles from -pi to pi.",
        mu="The direction; a finite number.",
        kappa="How near angles are to it; not negative, 0 is uniform.",
    )
    def vonmises(self, mu: Any, kappa: Any, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw angles about a direction, from the von Mises distribution.

        >>> round(float(wr.random.default_rng(1).vonmises(1, 4, 100_000).mean()), 1)
        1.0
        """
        return self._draw("vonmises", (("mu", mu, "finite"), ("kappa", kappa, "not negative")), size, chunks)

    @draws("numbers from 0 on.", a="Shape; positive: the larger, the smaller the numbers.")
    def pareto(self, a: ArrayLike, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from the Pareto II (Lomax) distribution.

        >>> round(float(wr.random.default_rng(1).pareto(3, 100_000).mean()), 1)
        0.5
        """
        return self._draw("pareto", (("a", a, "positive"),), size, chunks)

    @draws("numbers from 0 on.", a="Shape; not negative: 1 is exponential.")
    def weibull(self, a: ArrayLike, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from a Weibull distribution of scale 1.

        >>> round(float(wr.random.default_rng(1).weibull(1, 100_000).mean()), 1)
        1.0
        """
        return self._draw("weibull", (("a", a, "not negative"),), size, chunks)

    @draws("numbers from 0 to 1.", a="Shape; positive: 1 is uniform.")
    def power(self, a: ArrayLike, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from [0, 1] with a density proportional to x to the power of a - 1.

        >>> round(float(wr.random.default_rng(1).power(4, 100_000).mean()), 1)
        0.8
        """
        return self._draw("power", (("a", a, "positive"),), size, chunks)

    @draws("positive numbers.", mean="The mean; positive.", scale="Shape, often called lambda; positive.")
    def wald(self, mean: ArrayLike, scale: ArrayLike, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from the Wald (inverse Gaussian) distribution.

        >>> round(float(wr.random.default_rng(1).wald(2, 3, 100_000).mean()), 1)
        2.0
        """
        return self._draw("wald", (("mean", mean, "positive"), ("scale", scale, "positive")), size, chunks)


RANDOM.fill(__name__)
