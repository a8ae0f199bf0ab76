"""Continuous distributions with a parameter of shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..drawing import Drawing

if TYPE_CHECKING:
    from ...array import Array


class Shaped(Drawing):
    """What has a shape, and doesn't follow from gamma numbers."""

    def vonmises(self, mu: Any, kappa: Any, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw angles about a direction, from the von Mises distribution.

        Parameters
        ----------
        mu : float or array
            The direction; a finite number.
        kappa : float or array
            How near angles are to it; not negative, 0 is uniform.
        size : int, tuple of int or None
            Shape of the result; None: that to which the parameters broadcast, a single number of numbers.
        chunks : int, str, tuple, dict or None
            Chunk sizes of the result, as for `windrow.zeros`; "auto" chooses them by the setting `chunk_bytes`. The
            numbers don't depend on them.

        Returns
        -------
        Array
            Lazy, of float64: angles from -pi to pi.

        Raises
        ------
        ArgumentError
            `mu` or `kappa` isn't real numbers, or `size` isn't integers.
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
        >>> round(float(wr.random.default_rng(1).vonmises(1, 4, 100_000).mean()), 1)
        1.0
        """
        return self._draw("vonmises", (("mu", mu, "finite"), ("kappa", kappa, "not negative")), size, chunks)

    def pareto(self, a: Any, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from the Pareto II (Lomax) distribution.

        Parameters
        ----------
        a : float or array
            Shape; positive: the larger, the smaller the numbers.
        size : int, tuple of int or None
            Shape of the result; None: that to which the parameters broadcast, a single number of numbers.
        chunks : int, str, tuple, dict or None
            Chunk sizes of the result, as for `windrow.zeros`; "auto" chooses them by the setting `chunk_bytes`. The
            numbers don't depend on them.

        Returns
        -------
        Array
            Lazy, of float64: numbers from 0 on.

        Raises
        ------
        ArgumentError
            `a` isn't real numbers, or `size` isn't integers.
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
        >>> round(float(wr.random.default_rng(1).pareto(3, 100_000).mean()), 1)
        0.5
        """
        return self._draw("pareto", (("a", a, "positive"),), size, chunks)

    def weibull(self, a: Any, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from a Weibull distribution of scale 1.

        Parameters
        ----------
        a : float or array
            Shape; not negative: 1 is exponential.
        size : int, tuple of int or None
            Shape of the result; None: that to which the parameters broadcast, a single number of numbers.
        chunks : int, str, tuple, dict or None
            Chunk sizes of the result, as for `windrow.zeros`; "auto" chooses them by the setting `chunk_bytes`. The
            numbers don't depend on them.

        Returns
        -------
        Array
            Lazy, of float64: numbers from 0 on.

        Raises
        ------
        ArgumentError
            `a` isn't real numbers, or `size` isn't integers.
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
        >>> round(float(wr.random.default_rng(1).weibull(1, 100_000).mean()), 1)
        1.0
        """
        return self._draw("weibull", (("a", a, "not negative"),), size, chunks)

    def power(self, a: Any, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from [0, 1] with a density like x to the power of a - 1.

        Parameters
        ----------
        a : float or array
            Shape; positive: 1 is uniform.
        size : int, tuple of int or None
            Shape of the result; None: that to which the parameters broadcast, a single number of numbers.
        chunks : int, str, tuple, dict or None
            Chunk sizes of the result, as for `windrow.zeros`; "auto" chooses them by the setting `chunk_bytes`. The
            numbers don't depend on them.

        Returns
        -------
        Array
            Lazy, of float64: numbers from 0 to 1.

        Raises
        ------
        ArgumentError
            `a` isn't real numbers, or `size` isn't integers.
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
        >>> round(float(wr.random.default_rng(1).power(4, 100_000).mean()), 1)
        0.8
        """
        return self._draw("power", (("a", a, "positive"),), size, chunks)

    def wald(self, mean: Any, scale: Any, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from the Wald (inverse Gaussian) distribution.

        Parameters
        ----------
        mean : float or array
            The mean; positive.
        scale : float or array
            Shape, often called lambda; positive.
        size : int, tuple of int or None
            Shape of the result; None: that to which the parameters broadcast, a single number of numbers.
        chunks : int, str, tuple, dict or None
            Chunk sizes of the result, as for `windrow.zeros`; "auto" chooses them by the setting `chunk_bytes`. The
            numbers don't depend on them.

        Returns
        -------
        Array
            Lazy, of float64: positive numbers.

        Raises
        ------
        ArgumentError
            `mean` or `scale` isn't real numbers, or `size` isn't integers.
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
        >>> round(float(wr.random.default_rng(1).wald(2, 3, 100_000).mean()), 1)
        2.0
        """
        return self._draw("wald", (("mean", mean, "positive"), ("scale", scale, "positive")), size, chunks)
