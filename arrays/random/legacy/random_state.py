"""What `numpy.random` has besides generators: `RandomState`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError, bad
from ...base import check_shape
from ..distributions.continuous import Continuous
from ..distributions.counts import Counts
from ..distributions.gammas import Gammas
from ..distributions.plain import Plain
from ..distributions.vectors import Vectors
from ..docstrings import RANDOM
from ..orders import Orders
from ..state import stream

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, ChunksLike, ShapeLike

__all__ = [
    "RandomState",
]


class RandomState(Plain, Continuous, Gammas, Counts, Vectors, Orders):
    """A stream of random numbers under the names that NumPy's `RandomState` has.

    It is a `Generator` with other names: the same seed gives the same numbers in whatever chunks, NumPy's
    distributions, and not NumPy's own numbers (but `random_sample` has those of
    `numpy.random.Generator(numpy.random.Philox(seed)).random`). The functions of `windrow.random` draw from one stream
    that the whole program shares. `windrow.random.seed` seeds it; before that it is seeded by entropy of the system.

    Parameters
    ----------
    seed : int, sequence of int, numpy.random.SeedSequence, Philox or None
        Where the stream begins; None: entropy of the system, drawn once.

    Raises
    ------
    ArgumentError
        `seed` can't be read.

    >>> wr.random.seed(7)
    >>> x = wr.random.normal(size=(3, 4), chunks=2)
    >>> bool((x == wr.random.RandomState(7).normal(size=(3, 4))).all())
    True
    """

    def __init__(self, seed: object = None) -> None:
        super().__init__(stream("RandomState", seed))

    def seed(self, seed: object = None) -> None:
        """Begin a new stream; arrays that were made before stay as they are.

        Parameters
        ----------
        seed : int, sequence of int or None
            None: entropy of the system, drawn once.

        Raises
        ------
        ArgumentError
            `seed` can't be read.

        >>> wr.random.seed(1)
        >>> x = wr.random.rand(3)
        >>> wr.random.seed(1)
        >>> bool((x == wr.random.rand(3)).all())
        True
        """
        self._bits = stream("seed", seed)

    def get_state(self, legacy: bool = False) -> dict[str, Any]:
        """Return the state of the stream, for `set_state`.

        Parameters
        ----------
        legacy : bool
            False: NumPy's tuple is of its Mersenne Twister, and isn't there.

        Returns
        -------
        dict
            Key, jumps and position of the stream.

        Raises
        ------
        ArgumentError
            `legacy` is true.

        >>> state = wr.random.get_state()
        >>> x = wr.random.rand(3)
        >>> wr.random.set_state(state)
        >>> bool((x == wr.random.rand(3)).all())
        True
        """
        if legacy:
            raise ArgumentError(bad("get_state", "legacy", legacy, "False: the stream is no Mersenne Twister"))
        return self._bits.state

    def set_state(self, state: Any) -> None:
        """Set the state of the stream; see `get_state`.

        Parameters
        ----------
        state : dict
            What `get_state` returned.

        Raises
        ------
        ArgumentError
            It isn't such a state, or its key or position is out of range.

        >>> stream = wr.random.RandomState(1)
        >>> stream.set_state(wr.random.RandomState(7).get_state())
        >>> bool((stream.rand(3) == wr.random.RandomState(7).rand(3)).all())
        True
        """
        self._bits.state = state

    def random_sample(self, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw from the uniform distribution on [0, 1).

        Parameters
        ----------
        {size, chunks}

        Returns
        -------
        Array
            Lazy, of float64: numbers from 0 on below 1.

        Raises
        ------
        {size_errors}

        Notes
        -----
        The numbers are those of `numpy.random.Generator(numpy.random.Philox(seed)).random`, not of NumPy's Mersenne
        Twister.

        >>> wr.random.random_sample((3, 4), chunks=2).shape
        (3, 4)
        """
        return self._uniform("random_sample", size, np.float64, None, chunks)

    def random(self, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:  # type: ignore[override]
        """Draw from the uniform distribution on [0, 1), as `random_sample` does.

        {Parameters, Returns, Raises of RandomState.random_sample}

        >>> wr.random.random((3, 4), chunks=2).shape
        (3, 4)
        """
        return super().random(size, chunks=chunks)

    def rand(self, *shape: Any, chunks: ChunksLike = "auto") -> Array:
        """Draw from the uniform distribution on [0, 1), with the shape as arguments.

        Parameters
        ----------
        *shape : int
            Lengths of the axes; none: a single number.
        {chunks}

        Returns
        -------
        Array
            Lazy, of float64: numbers from 0 on below 1.

        Raises
        ------
        ArgumentError
            A length isn't an integer.
        ShapeError
            A length is negative.
        {ChunksError}

        >>> wr.random.rand(3, 4, chunks=2).shape
        (3, 4)
        """
        return self._uniform("rand", check_shape("rand", shape), np.float64, None, chunks)

    def randn(self, *shape: Any, chunks: ChunksLike = "auto") -> Array:
        """Draw from the normal distribution with mean 0 and standard deviation 1, with the shape as arguments.

        {Parameters of RandomState.rand}

        Returns
        -------
        Array
            Lazy, of float64: numbers about 0.

        {Raises of RandomState.rand}

        >>> wr.random.randn(3, 4, chunks=2).shape
        (3, 4)
        """
        return self._draw("randn", (), check_shape("randn", shape), chunks, name="standard_normal")

    def standard_normal(self, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:  # type: ignore[override]
        """Draw from the normal distribution with mean 0 and standard deviation 1.

        Parameters
        ----------
        {size, chunks}

        Returns
        -------
        Array
            Lazy, of float64: numbers about 0.

        Raises
        ------
        {size_errors}

        >>> wr.random.standard_normal((3, 4), chunks=2).shape
        (3, 4)
        """
        return super().standard_normal(size, chunks=chunks)

    def standard_exponential(self, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:  # type: ignore[override]
        """Draw from the exponential distribution with mean 1.

        Parameters
        ----------
        {size, chunks}

        Returns
        -------
        Array
            Lazy, of float64: numbers from 0 on.

        Raises
        ------
        {size_errors}

        >>> bool((wr.random.standard_exponential(100) >= 0).all())
        True
        """
        return super().standard_exponential(size, chunks=chunks)

    def standard_gamma(self, shape: ShapeLike, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:  # type: ignore[override]
        """Draw from the gamma distribution of scale 1.

        Parameters
        ----------
        shape : float or array
            Often called k, which is the mean; not negative.
        {size, chunks}

        Returns
        -------
        Array
            Lazy, of float64: numbers from 0 on.

        {errors_and_numbers}

        >>> wr.random.standard_gamma([1.0, 2.0], size=(3, 2)).shape
        (3, 2)
        """
        return super().standard_gamma(shape, size, chunks=chunks)

    def randint(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = int,
        chunks: Any = "auto",
    ) -> Array:
        """Draw integers from `low` up to `high`, which isn't drawn; with one number: from 0 up to it.

        Parameters
        ----------
        {bounds, size, integer_dtype, chunks}

        Returns
        -------
        {equally_likely}

        Raises
        ------
        {integer_errors, integer_dtype_error, ChunksError}

        >>> x = wr.random.RandomState(1).randint(1, 7, 1000)
        >>> int(x.min()), int(x.max())
        (1, 6)
        """
        return self._integers("randint", low, high, size, dtype, False, chunks)

    def random_integers(self, low: Any, high: Any = None, size: Any = None, chunks: Any = "auto") -> Array:
        """Draw integers from `low` to `high`, which is drawn too; with one number: from 1 to it.

        Parameters
        ----------
        low, high : int or array of int
            The first and the last one; `high` left out: from 1 to `low`. Arrays broadcast.
        {size, chunks}

        Returns
        -------
        Array
            Lazy, of int64: integers, each equally likely.

        Raises
        ------
        {integer_errors, ChunksError}

        >>> x = wr.random.RandomState(1).random_integers(6, size=1000)
        >>> int(x.min()), int(x.max())
        (1, 6)
        """
        return self._integers("random_integers", low, high, size, int, True, chunks, least=1)

    def tomaxint(self, size: ShapeLike = None, chunks: ChunksLike = "auto") -> Array:
        """Draw integers that are not negative, of all that an int64 holds.

        Parameters
        ----------
        {size, chunks}

        Returns
        -------
        Array
            Lazy, of int64: integers from 0 to 2**63 - 1.

        Raises
        ------
        {size_errors}

        >>> wr.random.RandomState(1).tomaxint(3).dtype
        dtype('int64')
        """
        return self._integers("tomaxint", 0, np.iinfo(np.int64).max, size, int, True, chunks)

    def choice(  # type: ignore[override]
        self,
        a: ArrayLike,
        size: ShapeLike = None,
        replace: bool = True,
        p: ArrayLike | None = None,
        chunks: ChunksLike = "auto",
    ) -> Array:
        """Choose integers below a number, or elements of a 1-D array.

        Parameters
        ----------
        a : int or array_like
            Choose from the integers from 0 on below it, or from the elements of an array.
        size : int, tuple of int or None
            Shape of what is chosen; None: a single one.
        replace : bool
            Whether one may be chosen again.
        p : array_like, optional
            How likely each is, adding up to 1, 1-D; None: equally. It is brought into one chunk.
        chunks : int, str, tuple, dict or None
            Chunk sizes of what is chosen.

        Returns
        -------
        Array
            Lazy, in the shape `size`: int64, or elements of `a`.

        Raises
        ------
        ArgumentError
            `a` or `p` can't be read as numbers or an array.
            There is nothing to choose from, or too little without replacement; `p` has a number outside 0 to 1, or
            another sum than 1.
        ShapeError
            `p` has another length than `a`.
        {ChunksError}

        Notes
        -----
        See `Generator.choice`; what is chosen isn't what NumPy chooses.

        >>> x = wr.random.choice(["a", "b"], 1000, p=[0.1, 0.9])
        >>> int((x == "a").sum()) < 200
        True
        """
        return super().choice(a, size, replace, p, chunks=chunks)

    def __reduce__(self) -> Any:
        return RandomState, (self._bits,)

    def __repr__(self) -> str:
        return f"RandomState({self._bits!r})"


RANDOM.fill(__name__)
