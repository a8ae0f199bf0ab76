"""Continuous distributions, but for those made from gamma numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..docstrings import RANDOM
from ..drawing import Drawing, check_method, real_dtype

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, ChunksLike, DTypeLike, OutLike, ShapeLike


class Continuous(Drawing):
    """Normal and exponential numbers, what is shifted and scaled, what has a shape."""

    def uniform(
        self, low: ArrayLike = 0.0, high: ArrayLike = 1.0, size: ShapeLike = None, chunks: ChunksLike = "auto"
    ) -> Array:
        """Draw from the uniform distribution on [low, high).

        Parameters
        ----------
        low : float or array
            The lower end; a finite number.
        high : float or array
            The upper end, which isn't drawn; finite, and not less than `low`.
        {size, chunks}

        Returns
        -------
        Array
            Lazy, of float64: numbers from `low` on below `high`.

        {errors_and_numbers}

        >>> round(float(wr.random.default_rng(1).uniform(2, 3, 100_000).mean()), 1)
        2.5
        """
        return self._draw("uniform", (("low", low, "finite"), ("high", high, "finite")), size, chunks)

    def laplace(
        self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: ShapeLike = None, chunks: ChunksLike = "auto"
    ) -> Array:
        """Draw from the Laplace (double exponential) distribution.

        Parameters
        ----------
        loc : float or array
            The mean; a finite number.
        scale : float or array
            The mean distance from `loc`; not negative.
        {size, chunks}

        {numbers_about_loc}

        >>> round(float(wr.random.default_rng(1).laplace(3, 1, 100_000).mean()), 1)
        3.0
        """
        return self._draw("laplace", (("loc", loc, "finite"), ("scale", scale, "not negative")), size, chunks)

    def gumbel(
        self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: ShapeLike = None, chunks: ChunksLike = "auto"
    ) -> Array:
        """Draw from the Gumbel distribution of largest values.

        Parameters
        ----------
        loc : float or array
            The mode; a finite number.
        scale : float or array
            How wide it is; not negative.
        {size, chunks}

        Returns
        -------
        Array
            Lazy, of float64: numbers about `loc`, larger ones farther away.

        {errors_and_numbers}

        >>> round(float(wr.random.default_rng(1).gumbel(1, 1, 100_000).mean()), 1)
        1.6
        """
        return self._draw("gumbel", (("loc", loc, "finite"), ("scale", scale, "not negative")), size, chunks)

    def logistic(
        self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: ShapeLike = None, chunks: ChunksLike = "auto"
    ) -> Array:
        """Draw from the logistic distribution.

        Parameters
        ----------
        loc : float or array
            The mean; a finite number.
        scale : float or array
            How wide it is; not negative.
        {size, chunks}

        {numbers_about_loc}

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

    def triangular(
        self, left: ArrayLike, mode: Any, right: ArrayLike, size: ShapeLike = None, chunks: ChunksLike = "auto"
    ) -> Array:
        """Draw from the triangular distribution.

        Parameters
        ----------
        left : float or array
            Where it begins; a finite number.
        mode : float or array
            Where it is highest: from `left` to `right`.
        right : float or array
            Where it ends; a finite number.
        {size, chunks}

        Returns
        -------
        Array
            Lazy, of float64: numbers from `left` to `right`.

        {errors_and_numbers}

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

        {numbers_about_loc}

        Box and Muller's method; see `standard_normal`.

        >>> x = wr.random.default_rng(1).normal(10, 2, 100_000)
        >>> round(float(x.mean()), 1), round(float(x.std()), 1)
        (10.0, 2.0)
        """
        return self._draw("normal", (("loc", loc, "finite"), ("scale", scale, "not negative")), size, chunks)

    def lognormal(
        self, mean: ArrayLike = 0.0, sigma: ArrayLike = 1.0, size: ShapeLike = None, chunks: ChunksLike = "auto"
    ) -> Array:
        """Draw numbers whose logarithms are normal.

        Parameters
        ----------
        mean : float or array
            Mean of the logarithm; a finite number.
        sigma : float or array
            Standard deviation of the logarithm; not negative.
        {size, chunks}

        Returns
        -------
        Array
            Lazy, of float64: positive numbers.

        {errors_and_numbers}

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

    def exponential(self, scale: ArrayLike = 1.0, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from an exponential distribution.

        Parameters
        ----------
        scale : float or array
            The mean, the inverse of the rate; not negative.
        {size, chunks}

        {numbers_from_zero}

        >>> round(float(wr.random.default_rng(1).exponential(2, 100_000).mean()), 1)
        2.0
        """
        return self._draw("exponential", (("scale", scale, "not negative"),), size, chunks)

    def rayleigh(self, scale: ArrayLike = 1.0, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from the Rayleigh distribution.

        Parameters
        ----------
        scale : float or array
            The mode; not negative.
        {size, chunks}

        {numbers_from_zero}

        >>> round(float(wr.random.default_rng(1).rayleigh(2, 100_000).mean()), 1)
        2.5
        """
        return self._draw("rayleigh", (("scale", scale, "not negative"),), size, chunks)

    def vonmises(self, mu: Any, kappa: Any, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw angles about a direction, from the von Mises distribution.

        Parameters
        ----------
        mu : float or array
            The direction; a finite number.
        kappa : float or array
            How near angles are to it; not negative, 0 is uniform.
        {size, chunks}

        Returns
        -------
        Array
            Lazy, of float64: angles from -pi to pi.

        {errors_and_numbers}

        >>> round(float(wr.random.default_rng(1).vonmises(1, 4, 100_000).mean()), 1)
        1.0
        """
        return self._draw("vonmises", (("mu", mu, "finite"), ("kappa", kappa, "not negative")), size, chunks)

    def pareto(self, a: ArrayLike, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from the Pareto II (Lomax) distribution.

        Parameters
        ----------
        a : float or array
            Shape; positive: the larger, the smaller the numbers.
        {size, chunks}

        {numbers_from_zero}

        >>> round(float(wr.random.default_rng(1).pareto(3, 100_000).mean()), 1)
        0.5
        """
        return self._draw("pareto", (("a", a, "positive"),), size, chunks)

    def weibull(self, a: ArrayLike, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from a Weibull distribution of scale 1.

        Parameters
        ----------
        a : float or array
            Shape; not negative: 1 is exponential.
        {size, chunks}

        {numbers_from_zero}

        >>> round(float(wr.random.default_rng(1).weibull(1, 100_000).mean()), 1)
        1.0
        """
        return self._draw("weibull", (("a", a, "not negative"),), size, chunks)

    def power(self, a: ArrayLike, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from [0, 1] with a density proportional to x to the power of a - 1.

        Parameters
        ----------
        a : float or array
            Shape; positive: 1 is uniform.
        {size, chunks}

        Returns
        -------
        Array
            Lazy, of float64: numbers from 0 to 1.

        {errors_and_numbers}

        >>> round(float(wr.random.default_rng(1).power(4, 100_000).mean()), 1)
        0.8
        """
        return self._draw("power", (("a", a, "positive"),), size, chunks)

    def wald(self, mean: ArrayLike, scale: ArrayLike, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from the Wald (inverse Gaussian) distribution.

        Parameters
        ----------
        mean : float or array
            The mean; positive.
        scale : float or array
            Shape, often called lambda; positive.
        {size, chunks}

        Returns
        -------
        Array
            Lazy, of float64: positive numbers.

        {errors_and_numbers}

        >>> round(float(wr.random.default_rng(1).wald(2, 3, 100_000).mean()), 1)
        2.0
        """
        return self._draw("wald", (("mean", mean, "positive"), ("scale", scale, "positive")), size, chunks)


RANDOM.fill(__name__)
