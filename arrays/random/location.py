"""Distributions that are shifted and scaled, and those that follow from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ShapeError, bad
from .drawing import Drawing, check_method, real_dtype

if TYPE_CHECKING:
    from ..array import Array


class Location(Drawing):
    """Normal numbers, exponential ones, and others by the inverse of a distribution function."""

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from the uniform distribution on [low, high).

        Parameters
        ----------
        low : float or array
            The lower end.
        high : float or array
            The upper end; two numbers must be in order.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).uniform(2, 3, 100_000).mean()), 1)
        2.5
        """
        if all(isinstance(x, int | float | np.number) for x in (low, high)) and high < low:
            raise ShapeError(bad("uniform", "high", high, f"a number that is not below low={low}"))
        return self._draw("uniform", (("low", low, "finite"), ("high", high, "finite")), size, chunks)

    def standard_normal(
        self, size: Any = None, dtype: Any = np.float64, out: Any = None, *, chunks: Any = "auto"
    ) -> Array:
        """Draw from the normal distribution with mean 0 and standard deviation 1.

        Parameters
        ----------
        size : int, tuple of int or None
        dtype : float64 or float32
        out : Array, optional
            Stands for the result from then on.
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Notes
        -----
        Box and Muller's method: the draws of an even position and of the next one give the numbers of both.

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).standard_normal(100_000).mean()), 1)
        0.0
        """
        known = real_dtype("standard_normal", dtype)
        return self._draw("standard_normal", (), size, chunks, known, out)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from a normal distribution, by Box and Muller's method.

        Parameters
        ----------
        loc : float or array
            Mean.
        scale : float or array
            Standard deviation.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> x = wr.random.default_rng(1).normal(10, 2, 100_000)
        >>> round(float(x.mean()), 1), round(float(x.std()), 1)
        (10.0, 2.0)
        """
        return self._draw("normal", (("loc", loc, "finite"), ("scale", scale, "not negative")), size, chunks)

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw numbers whose logarithms are normal.

        Parameters
        ----------
        mean : float or array
            Mean of the logarithm.
        sigma : float or array
            Standard deviation of the logarithm.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).lognormal(0, 0.5, 100_000).mean()), 1)
        1.1
        """
        return self._draw("lognormal", (("mean", mean, "finite"), ("sigma", sigma, "not negative")), size, chunks)

    def standard_exponential(
        self, size: Any = None, dtype: Any = np.float64, method: str = "zig", out: Any = None, *, chunks: Any = "auto"
    ) -> Array:
        """Draw from the exponential distribution with mean 1.

        Parameters
        ----------
        size : int, tuple of int or None
        dtype : float64 or float32
        method : 'zig' or 'inv'
            Both are by the inverse, -log(1 - u): an element has one draw.
        out : Array, optional
            Stands for the result from then on.
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).standard_exponential(100_000).mean()), 1)
        1.0
        """
        known = real_dtype("standard_exponential", dtype)
        check_method("standard_exponential", method, ("zig", "inv"))
        return self._draw("standard_exponential", (), size, chunks, known, out)

    def exponential(self, scale: Any = 1.0, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from an exponential distribution.

        Parameters
        ----------
        scale : float or array
            The mean.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).exponential(2, 100_000).mean()), 1)
        2.0
        """
        return self._draw("exponential", (("scale", scale, "not negative"),), size, chunks)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from the Laplace (double exponential) distribution.

        Parameters
        ----------
        loc : float or array
            Where the middle lies.
        scale : float or array
            Not negative.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).laplace(3, 1, 100_000).mean()), 1)
        3.0
        """
        return self._draw("laplace", (("loc", loc, "finite"), ("scale", scale, "not negative")), size, chunks)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from the Gumbel distribution of largest values.

        Parameters
        ----------
        loc : float or array
            The mode.
        scale : float or array
            Not negative.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).gumbel(1, 1, 100_000).mean()), 1)
        1.6
        """
        return self._draw("gumbel", (("loc", loc, "finite"), ("scale", scale, "not negative")), size, chunks)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from the logistic distribution.

        Parameters
        ----------
        loc : float or array
            Where the middle lies.
        scale : float or array
            Not negative.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).logistic(3, 1, 100_000).mean()), 1)
        3.0
        """
        return self._draw("logistic", (("loc", loc, "finite"), ("scale", scale, "not negative")), size, chunks)

    def rayleigh(self, scale: Any = 1.0, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from the Rayleigh distribution.

        Parameters
        ----------
        scale : float or array
            The mode.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).rayleigh(2, 100_000).mean()), 1)
        2.5
        """
        return self._draw("rayleigh", (("scale", scale, "not negative"),), size, chunks)

    def standard_cauchy(self, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from the Cauchy distribution with mode 0.

        Parameters
        ----------
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> x = wr.random.default_rng(1).standard_cauchy(100_000)
        >>> round(float((x > 0).mean()), 1)
        0.5
        """
        return self._draw("standard_cauchy", (), size, chunks)

    def triangular(self, left: Any, mode: Any, right: Any, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from the triangular distribution.

        Parameters
        ----------
        left : float or array
            Where it begins.
        mode : float or array
            Where it is highest.
        right : float or array
            Where it ends.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).triangular(0, 1, 5, 100_000).mean()), 1)
        2.0
        """
        if all(isinstance(x, int | float | np.number) for x in (left, mode, right)) and not left <= mode <= right:
            raise ShapeError(bad("triangular", "mode", mode, f"a number from left={left} to right={right}"))
        params = (("left", left, "finite"), ("mode", mode, "finite"), ("right", right, "finite"))
        return self._draw("triangular", params, size, chunks)
