"""Integers under the names that `numpy.random.RandomState` has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..distributions.plain import Plain
from ..docstrings import RANDOM

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ChunksLike, ShapeLike

__all__ = [
    "LegacyIntegers",
]


class LegacyIntegers(Plain):
    """Draws integers."""

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
        low, high : int or array of int
            The first integer, and the end, which isn't drawn; `high` left out: from 0 up to `low`. Arrays broadcast.
        {size}
        dtype : dtype of integers, or bool
            What is drawn: integers, or bool.
        {chunks}

        Returns
        -------
        Array
            Lazy, of `dtype`: integers, each equally likely.

        Raises
        ------
        {integer_errors}
        DTypeError
            `dtype` isn't of integers or bool.
        {ChunksError}

        Examples
        --------
        >>> import windrow as wr
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

        Examples
        --------
        >>> import windrow as wr
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

        Examples
        --------
        >>> import windrow as wr
        >>> wr.random.RandomState(1).tomaxint(3).dtype
        dtype('int64')
        """
        return self._integers("tomaxint", 0, np.iinfo(np.int64).max, size, int, True, chunks)


RANDOM.fill(__name__)
