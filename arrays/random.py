"""Random numbers: the element at a position follows from the seed and the position, whatever the chunks."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ..graph.kinds.source import Random
from .core import check_dtype, check_shape, grid_for, make
from .ops.ufuncs import add, multiply

if TYPE_CHECKING:
    from .array import Array


class Generator:
    """A stream of random numbers; make one by `default_rng`.

    The element at flat C-order position p of a call is a function of the seed and (offset + p), where the
    offset is the number of elements of all calls before. So values don't depend on chunks or ranks, and two
    calls differ.

    Examples
    --------
    >>> import numpy as np
    >>> import windrow as wr
    >>> x = wr.random.default_rng(7).random((3, 4), chunks=2)
    >>> bool((x.compute() == np.random.Generator(np.random.Philox(7)).random((3, 4))).all())
    True
    """

    def __init__(self, key: tuple[int, int], offset: int = 0) -> None:
        self._key = key
        self._offset = offset
        self._lock = threading.Lock()

    def _draw(
        self,
        operation: str,
        distribution: str,
        size: Any,
        dtype: Any,
        chunks: Any,
        params: tuple[Any, ...] = (),
    ) -> Array:
        shape = check_shape(operation, () if size is None else size, "size")
        grid = grid_for(operation, chunks, shape, dtype)
        with self._lock:
            offset, self._offset = self._offset, self._offset + math.prod(shape)
        return make(Random(distribution, self._key, offset, params), (), grid, dtype)

    def random(self, size: Any = None, dtype: Any = np.float64, *, chunks: Any = "auto") -> Array:
        """Draw from the uniform distribution on [0, 1).

        Parameters
        ----------
        size : int, tuple of int or None
            The shape; None: a single number.
        dtype : float64 or float32
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> wr.random.default_rng(1).random(3).shape
        (3,)
        """
        known = check_dtype("random", "dtype", dtype)
        if known not in (np.float64, np.float32):
            raise DTypeError(bad("random", "dtype", known, "float64 or float32"))
        return self._draw("random", "random", size, known, chunks)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Draw from the uniform distribution on [low, high).

        Parameters
        ----------
        low, high : float
        size : int, tuple of int or None
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> x = wr.random.default_rng(1).uniform(2, 3, 100)
        >>> bool(x.min() >= 2 and x.max() < 3)
        True
        """
        drawn = self._draw("uniform", "random", size, np.dtype(np.float64), chunks)
        return _scaled(drawn, low, high - low)

    def standard_normal(self, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Draw from the normal distribution with mean 0 and standard deviation 1.

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
        >>> wr.random.default_rng(1).standard_normal((2, 2)).shape
        (2, 2)
        """
        return self._draw("standard_normal", "normal", size, np.dtype(np.float64), chunks)

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Draw from a normal distribution, by Box and Muller's method.

        Parameters
        ----------
        loc, scale : float
            Mean and standard deviation.
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
        for name, value in (("loc", loc), ("scale", scale)):
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                raise ArgumentError(bad("normal", name, value, "a number"))
        if scale < 0:
            raise ShapeError(bad("normal", "scale", scale, "a number that is not negative"))
        return _scaled(self._draw("normal", "normal", size, np.dtype(np.float64), chunks), loc, scale)

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: bool = False,
        *,
        chunks: Any = "auto",
    ) -> Array:
        """Draw integers from `low` up to `high`; with one number: from 0 up to it.

        Parameters
        ----------
        low, high : int
        size : int, tuple of int or None
        dtype : dtype of integers
        endpoint : bool
            Whether `high` itself is drawn too.
        chunks : int, str, tuple, dict or None

        Returns
        -------
        Array

        Examples
        --------
        >>> import windrow as wr
        >>> x = wr.random.default_rng(1).integers(1, 7, 1000)
        >>> int(x.min()), int(x.max())
        (1, 6)
        """
        known = check_dtype("integers", "dtype", dtype)
        if known.kind not in "iu":
            raise DTypeError(bad("integers", "dtype", known, "a dtype of integers"))
        first, last = (0, low) if high is None else (low, high)
        for name, value in (("low", first), ("high", last)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer):
                raise ArgumentError(bad("integers", name, value, "an integer"))
        span = int(last) - int(first) + bool(endpoint)
        limits = np.iinfo(known)
        if span < 1 or first < limits.min or int(first) + span - 1 > limits.max:
            raise ShapeError(bad("integers", "high", last, f"a range from low={first} on that {known} can hold"))
        return self._draw("integers", "integers", size, known, chunks, (int(first), span))


def _scaled(x: Array, loc: float, scale: float) -> Array:
    found = x if scale == 1 else multiply(x, float(scale))
    return found if loc == 0 else add(found, float(loc))


def default_rng(seed: Any = None) -> Generator:
    """Make a generator of random numbers.

    Parameters
    ----------
    seed : int, sequence of int, numpy.random.SeedSequence or None
        None: entropy of the system, drawn once.

    Returns
    -------
    Generator

    Examples
    --------
    >>> import windrow as wr
    >>> rng = wr.random.default_rng(42)
    >>> bool((rng.random(3) == rng.random(3)).any())
    False
    """
    if isinstance(seed, Generator):
        return seed
    try:
        state: Any = np.random.Philox(seed).state
    except (TypeError, ValueError) as error:
        raise ArgumentError(bad("default_rng", "seed", seed, "an integer or None")) from error
    key = state["state"]["key"]
    return Generator((int(key[0]), int(key[1])))
