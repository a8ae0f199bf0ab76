"""Distributions that are shifted and scaled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..drawing import Drawing

if TYPE_CHECKING:
    from ...array import Array


class Location(Drawing):
    """Uniform numbers, and others by the inverse of a distribution function."""

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from the uniform distribution on [low, high).

        Parameters
        ----------
        low : float or array
            The lower end; a finite number.
        high : float or array
            The upper end, which isn't drawn; finite, and not less than `low`.
        size : int, tuple of int or None
            Shape of the result; None: that to which the parameters broadcast, a single number of numbers.
        chunks : int, str, tuple, dict or None
            Chunk sizes of the result, as for `windrow.zeros`; "auto" chooses them by the setting `chunk_bytes`. The
            numbers don't depend on them.

        Returns
        -------
        Array
            Lazy, of float64: numbers from `low` on below `high`.

        Raises
        ------
        ArgumentError
            `low` or `high` isn't real numbers, or `size` isn't integers.
            A parameter is out of its range (a lazy one: when it is computed).
        ShapeError
            The parameters don't broadcast to `size`.
        DTypeError
            A lazy parameter isn't real numbers.
        ChunksError
            `chunks` can't be read, or doesn't fit the shape.

        Notes
        -----
        The numbers follow from the seed and their position alone, whatever the chunks; they are of NumPy's
        distribution, but not NumPy's numbers.

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).uniform(2, 3, 100_000).mean()), 1)
        2.5
        """
        return self._draw("uniform", (("low", low, "finite"), ("high", high, "finite")), size, chunks)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from the Laplace (double exponential) distribution.

        Parameters
        ----------
        loc : float or array
            The mean; a finite number.
        scale : float or array
            The mean distance from `loc`; not negative.
        size : int, tuple of int or None
            Shape of the result; None: that to which the parameters broadcast, a single number of numbers.
        chunks : int, str, tuple, dict or None
            Chunk sizes of the result, as for `windrow.zeros`; "auto" chooses them by the setting `chunk_bytes`. The
            numbers don't depend on them.

        Returns
        -------
        Array
            Lazy, of float64: numbers about `loc`.

        Raises
        ------
        ArgumentError
            `loc` or `scale` isn't real numbers, or `size` isn't integers.
            A parameter is out of its range (a lazy one: when it is computed).
        ShapeError
            The parameters don't broadcast to `size`.
        DTypeError
            A lazy parameter isn't real numbers.
        ChunksError
            `chunks` can't be read, or doesn't fit the shape.

        Notes
        -----
        The numbers follow from the seed and their position alone, whatever the chunks; they are of NumPy's
        distribution, but not NumPy's numbers.

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
            The mode; a finite number.
        scale : float or array
            How wide it is; not negative.
        size : int, tuple of int or None
            Shape of the result; None: that to which the parameters broadcast, a single number of numbers.
        chunks : int, str, tuple, dict or None
            Chunk sizes of the result, as for `windrow.zeros`; "auto" chooses them by the setting `chunk_bytes`. The
            numbers don't depend on them.

        Returns
        -------
        Array
            Lazy, of float64: numbers about `loc`, larger ones farther away.

        Raises
        ------
        ArgumentError
            `loc` or `scale` isn't real numbers, or `size` isn't integers.
            A parameter is out of its range (a lazy one: when it is computed).
        ShapeError
            The parameters don't broadcast to `size`.
        DTypeError
            A lazy parameter isn't real numbers.
        ChunksError
            `chunks` can't be read, or doesn't fit the shape.

        Notes
        -----
        The numbers follow from the seed and their position alone, whatever the chunks; they are of NumPy's
        distribution, but not NumPy's numbers.

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
            The mean; a finite number.
        scale : float or array
            How wide it is; not negative.
        size : int, tuple of int or None
            Shape of the result; None: that to which the parameters broadcast, a single number of numbers.
        chunks : int, str, tuple, dict or None
            Chunk sizes of the result, as for `windrow.zeros`; "auto" chooses them by the setting `chunk_bytes`. The
            numbers don't depend on them.

        Returns
        -------
        Array
            Lazy, of float64: numbers about `loc`.

        Raises
        ------
        ArgumentError
            `loc` or `scale` isn't real numbers, or `size` isn't integers.
            A parameter is out of its range (a lazy one: when it is computed).
        ShapeError
            The parameters don't broadcast to `size`.
        DTypeError
            A lazy parameter isn't real numbers.
        ChunksError
            `chunks` can't be read, or doesn't fit the shape.

        Notes
        -----
        The numbers follow from the seed and their position alone, whatever the chunks; they are of NumPy's
        distribution, but not NumPy's numbers.

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).logistic(3, 1, 100_000).mean()), 1)
        3.0
        """
        return self._draw("logistic", (("loc", loc, "finite"), ("scale", scale, "not negative")), size, chunks)

    def standard_cauchy(self, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from the Cauchy distribution with mode 0.

        Parameters
        ----------
        size : int, tuple of int or None
            Shape of the result; None: a single number.
        chunks : int, str, tuple, dict or None
            Chunk sizes of the result, as for `windrow.zeros`; "auto" chooses them by the setting `chunk_bytes`. The
            numbers don't depend on them.

        Returns
        -------
        Array
            Lazy, of float64: numbers about 0, of which no mean exists.

        Raises
        ------
        ArgumentError
            `size` isn't integers.
        ShapeError
            `size` has a negative length.
        ChunksError
            `chunks` can't be read, or doesn't fit the shape.

        Notes
        -----
        The numbers follow from the seed and their position alone, whatever the chunks; they are of NumPy's
        distribution, but not NumPy's numbers.

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
            Where it begins; a finite number.
        mode : float or array
            Where it is highest: from `left` to `right`.
        right : float or array
            Where it ends; a finite number.
        size : int, tuple of int or None
            Shape of the result; None: that to which the parameters broadcast, a single number of numbers.
        chunks : int, str, tuple, dict or None
            Chunk sizes of the result, as for `windrow.zeros`; "auto" chooses them by the setting `chunk_bytes`. The
            numbers don't depend on them.

        Returns
        -------
        Array
            Lazy, of float64: numbers from `left` to `right`.

        Raises
        ------
        ArgumentError
            `left` or `mode` or `right` isn't real numbers, or `size` isn't integers.
            A parameter is out of its range (a lazy one: when it is computed).
        ShapeError
            The parameters don't broadcast to `size`.
        DTypeError
            A lazy parameter isn't real numbers.
        ChunksError
            `chunks` can't be read, or doesn't fit the shape.

        Notes
        -----
        The numbers follow from the seed and their position alone, whatever the chunks; they are of NumPy's
        distribution, but not NumPy's numbers.

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).triangular(0, 1, 5, 100_000).mean()), 1)
        2.0
        """
        params = (("left", left, "finite"), ("mode", mode, "finite"), ("right", right, "finite"))
        return self._draw("triangular", params, size, chunks)
