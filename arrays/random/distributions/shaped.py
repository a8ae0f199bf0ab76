"""Continuous distributions with a shape parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..docstrings import RANDOM
from ..drawing import Drawing

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, ChunksLike, ShapeLike


class Shaped(Drawing):
    """Distributions with a shape parameter that aren't made from gamma numbers."""

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

        Raises
        ------
        {parameter_errors}

        Notes
        -----
        {numbers}

        Examples
        --------
        >>> import windrow as wr
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

        Returns
        -------
        Array
            Lazy, of float64: numbers from 0 on.

        Raises
        ------
        {parameter_errors}

        Notes
        -----
        {numbers}

        Examples
        --------
        >>> import windrow as wr
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

        Returns
        -------
        Array
            Lazy, of float64: numbers from 0 on.

        Raises
        ------
        {parameter_errors}

        Notes
        -----
        {numbers}

        Examples
        --------
        >>> import windrow as wr
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

        Raises
        ------
        {parameter_errors}

        Notes
        -----
        {numbers}

        Examples
        --------
        >>> import windrow as wr
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

        Raises
        ------
        {parameter_errors}

        Notes
        -----
        {numbers}

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).wald(2, 3, 100_000).mean()), 1)
        2.0
        """
        return self._draw("wald", (("mean", mean, "positive"), ("scale", scale, "positive")), size, chunks)


RANDOM.fill(__name__)
