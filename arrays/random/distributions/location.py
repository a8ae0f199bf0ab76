"""Distributions that are shifted and scaled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..docstrings import RANDOM
from ..drawing import Drawing

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, ChunksLike, ShapeLike


class Location(Drawing):
    """Uniform numbers, and others by the inverse of a distribution function."""

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

        Raises
        ------
        {parameter_errors}

        Notes
        -----
        {numbers}

        Examples
        --------
        >>> import windrow as wr
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

        Returns
        -------
        Array
            Lazy, of float64: numbers about `loc`.

        Raises
        ------
        {parameter_errors}

        Notes
        -----
        {numbers}

        Examples
        --------
        >>> import windrow as wr
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

        Raises
        ------
        {parameter_errors}

        Notes
        -----
        {numbers}

        Examples
        --------
        >>> import windrow as wr
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

        Returns
        -------
        Array
            Lazy, of float64: numbers about `loc`.

        Raises
        ------
        {parameter_errors}

        Notes
        -----
        {numbers}

        Examples
        --------
        >>> import windrow as wr
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

        Examples
        --------
        >>> import windrow as wr
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

        Raises
        ------
        {parameter_errors}

        Notes
        -----
        {numbers}

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).triangular(0, 1, 5, 100_000).mean()), 1)
        2.0
        """
        params = (("left", left, "finite"), ("mode", mode, "finite"), ("right", right, "finite"))
        return self._draw("triangular", params, size, chunks)


RANDOM.fill(__name__)
