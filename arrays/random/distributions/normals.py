"""Normal and exponential distributions, and those that follow from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..docstrings import RANDOM
from ..drawing import Drawing, check_method, real_dtype

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, ChunksLike, DTypeLike, OutLike, ShapeLike


class Normals(Drawing):
    """Normal numbers and exponential ones."""

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

        Examples
        --------
        >>> import windrow as wr
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

        Raises
        ------
        {parameter_errors}

        Notes
        -----
        Box and Muller's method; see `standard_normal`.

        {numbers}

        Examples
        --------
        >>> import windrow as wr
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

        Raises
        ------
        {parameter_errors}

        Notes
        -----
        {numbers}

        Examples
        --------
        >>> import windrow as wr
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

        Examples
        --------
        >>> import windrow as wr
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
        >>> round(float(wr.random.default_rng(1).rayleigh(2, 100_000).mean()), 1)
        2.5
        """
        return self._draw("rayleigh", (("scale", scale, "not negative"),), size, chunks)


RANDOM.fill(__name__)
