"""Normal and exponential distributions, and those that follow from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..drawing import Drawing, check_method, real_dtype

if TYPE_CHECKING:
    from ...array import Array


class Normals(Drawing):
    """Normal numbers and exponential ones."""

    def standard_normal(
        self, size: Any = None, dtype: Any = np.float64, out: Any = None, *, chunks: Any = "auto"
    ) -> Array:
        """Draw from the normal distribution with mean 0 and standard deviation 1.

        Parameters
        ----------
        size : int, tuple of int or None
            Shape of the result; None: a single number.
        dtype : float64 or float32
            float64 or float32: what is drawn.
        out : Array, optional
            Stands for the result from then on, in chunks of its own; has the shape `size`, or gives it.
        chunks : int, str, tuple, dict or None
            Chunk sizes of the result, as for `windrow.zeros`; "auto" chooses them by the setting `chunk_bytes`. The
            numbers don't depend on them.

        Returns
        -------
        Array
            Lazy, of `dtype`: numbers about 0.

        Raises
        ------
        ArgumentError
            `size` isn't integers, or `out` is no lazy array.
        ShapeError
            `size` has a negative length; or `out` has another shape or dtype.
        DTypeError
            `dtype` is neither float64 nor float32.
        ChunksError
            `chunks` can't be read, or doesn't fit the shape.

        Notes
        -----
        Box and Muller's method: the draws of an even position and of the next one give the numbers of both.

        The numbers follow from the seed and their position alone, whatever the chunks; they are of NumPy's
        distribution, but not NumPy's numbers.

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).standard_normal(100_000).mean()), 1)
        0.0
        """
        known = real_dtype("standard_normal", dtype)
        return self._draw("standard_normal", (), size, chunks, known, out)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from a normal distribution.

        Parameters
        ----------
        loc : float or array
            Mean; a finite number.
        scale : float or array
            Standard deviation; not negative.
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
        Box and Muller's method; see `standard_normal`.

        The numbers follow from the seed and their position alone, whatever the chunks; they are of NumPy's
        distribution, but not NumPy's numbers.

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
            Mean of the logarithm; a finite number.
        sigma : float or array
            Standard deviation of the logarithm; not negative.
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
            `mean` or `sigma` isn't real numbers, or `size` isn't integers.
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
            Shape of the result; None: a single number.
        dtype : float64 or float32
            float64 or float32: what is drawn.
        method : 'zig' or 'inv'
            NumPy's names; both are by the inverse, -log(1 - u), and an element has one draw.
        out : Array, optional
            Stands for the result from then on, in chunks of its own; has the shape `size`, or gives it.
        chunks : int, str, tuple, dict or None
            Chunk sizes of the result, as for `windrow.zeros`; "auto" chooses them by the setting `chunk_bytes`. The
            numbers don't depend on them.

        Returns
        -------
        Array
            Lazy, of `dtype`: numbers from 0 on.

        Raises
        ------
        ArgumentError
            `size` isn't integers, or `out` is no lazy array.
        ShapeError
            `size` has a negative length; or `out` has another shape or dtype.
        DTypeError
            `dtype` is neither float64 nor float32.
        ChunksError
            `chunks` can't be read, or doesn't fit the shape.

        Notes
        -----
        The numbers follow from the seed and their position alone, whatever the chunks; they are of NumPy's
        distribution, but not NumPy's numbers.

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
            The mean, the inverse of the rate; not negative.
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
            `scale` isn't real numbers, or `size` isn't integers.
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
        >>> round(float(wr.random.default_rng(1).exponential(2, 100_000).mean()), 1)
        2.0
        """
        return self._draw("exponential", (("scale", scale, "not negative"),), size, chunks)

    def rayleigh(self, scale: Any = 1.0, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from the Rayleigh distribution.

        Parameters
        ----------
        scale : float or array
            The mode; not negative.
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
            `scale` isn't real numbers, or `size` isn't integers.
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
        >>> round(float(wr.random.default_rng(1).rayleigh(2, 100_000).mean()), 1)
        2.5
        """
        return self._draw("rayleigh", (("scale", scale, "not negative"),), size, chunks)
