"""Continuous distributions with a parameter of shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .drawing import Drawing, real_dtype

if TYPE_CHECKING:
    from ..array import Array


class Shaped(Drawing):
    """Gamma numbers, and what follows from them; others with a shape."""

    def standard_gamma(
        self, shape: Any, size: Any = None, dtype: Any = np.float64, out: Any = None, *, chunks: Any = "auto"
    ) -> Array:
        """Draw from the gamma distribution of scale 1.

        Parameters
        ----------
        shape : float or array
            The mean.
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
        Marsaglia and Tsang's method: an attempt takes four draws of the position, and nearly always suffices.

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).standard_gamma(2, 100_000).mean()), 1)
        2.0
        """
        known = real_dtype("standard_gamma", dtype)
        return self._draw("standard_gamma", (("shape", shape, "not negative"),), size, chunks, known, out)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from a gamma distribution.

        Parameters
        ----------
        shape : float or array
            Often called k.
        scale : float or array
            The mean is `shape` times `scale`.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).gamma(2, 3, 100_000).mean()), 1)
        6.0
        """
        return self._draw("gamma", (("shape", shape, "not negative"), ("scale", scale, "not negative")), size, chunks)

    def beta(self, a: Any, b: Any, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from a beta distribution.

        Parameters
        ----------
        a : float or array
            The larger, the nearer to one.
        b : float or array
            The larger, the nearer to zero.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).beta(2, 2, 100_000).mean()), 1)
        0.5
        """
        return self._draw("beta", (("a", a, "positive"), ("b", b, "positive")), size, chunks)

    def chisquare(self, df: Any, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from a chi-square distribution.

        Parameters
        ----------
        df : float or array
            Degrees of freedom, the mean.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).chisquare(3, 100_000).mean()), 1)
        3.0
        """
        return self._draw("chisquare", (("df", df, "positive"),), size, chunks)

    def noncentral_chisquare(self, df: Any, nonc: Any, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from a noncentral chi-square distribution.

        Parameters
        ----------
        df : float or array
            Degrees of freedom.
        nonc : float or array
            Noncentrality; the mean is `df` + `nonc`.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).noncentral_chisquare(3, 2, 100_000).mean()), 1)
        5.0
        """
        return self._draw(
            "noncentral_chisquare", (("df", df, "positive"), ("nonc", nonc, "not negative")), size, chunks
        )

    def f(self, dfnum: Any, dfden: Any, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from an F distribution.

        Parameters
        ----------
        dfnum : float or array
            Degrees of freedom above.
        dfden : float or array
            Degrees of freedom below.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).f(5, 22, 100_000).mean()), 1)
        1.1
        """
        return self._draw("f", (("dfnum", dfnum, "positive"), ("dfden", dfden, "positive")), size, chunks)

    def noncentral_f(self, dfnum: Any, dfden: Any, nonc: Any, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from a noncentral F distribution.

        Parameters
        ----------
        dfnum : float or array
            Degrees of freedom above.
        dfden : float or array
            Degrees of freedom below.
        nonc : float or array
            Noncentrality of what is above.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).noncentral_f(5, 22, 5, 100_000).mean()), 1)
        2.2
        """
        return self._draw(
            "noncentral_f",
            (("dfnum", dfnum, "positive"), ("dfden", dfden, "positive"), ("nonc", nonc, "not negative")),
            size,
            chunks,
        )

    def standard_t(self, df: Any, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw from Student's t distribution.

        Parameters
        ----------
        df : float or array
            Degrees of freedom.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> x = wr.random.default_rng(1).standard_t(10, 100_000)
        >>> round(float((x > 0).mean()), 1)
        0.5
        """
        return self._draw("standard_t", (("df", df, "positive"),), size, chunks)

    def vonmises(self, mu: Any, kappa: Any, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw angles from -pi to pi about a direction.

        Parameters
        ----------
        mu : float or array
            The direction.
        kappa : float or array
            How much they concentrate; zero: not at all.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

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
            Shape.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

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
            Shape.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

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
            Shape.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

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
            The mean.
        scale : float or array
            Shape.
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> round(float(wr.random.default_rng(1).wald(2, 3, 100_000).mean()), 1)
        2.0
        """
        return self._draw("wald", (("mean", mean, "positive"), ("scale", scale, "positive")), size, chunks)
