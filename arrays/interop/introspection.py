"""What arrays know of themselves, as NumPy's functions tell it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...scheduler.session.runtime_context import count_scripts
from ..base import ArrayBase, check_axes

if TYPE_CHECKING:
    from ..typing import ArrayLike, AxisLike

__all__ = [
    "isscalar",
    "iterable",
    "ndim",
    "shape",
    "size",
]


def _plain(a: ArrayLike) -> Any:
    """Leave lazy arrays as they are; NumPy tells the rest."""
    return a if isinstance(a, ArrayBase) else np.asarray(a)


def shape(a: ArrayLike) -> tuple[int, ...]:
    """Return the length of each axis.

    Parameters
    ----------
    a : array_like
        The array.

    Returns
    -------
    tuple of int
        The shape; None stands for a length that isn't known yet, see `Array.shape`.

    Raises
    ------
    ValueError
        `a` is a ragged sequence.

    >>> wr.shape(wr.ones((2, 3))), wr.shape([1, 2])
    ((2, 3), (2,))
    """
    lengths: tuple[int, ...] = _plain(a).shape
    return lengths


def ndim(a: ArrayLike) -> int:
    """Return the number of axes.

    Parameters
    ----------
    a : array_like
        The array.

    Returns
    -------
    int
        The number of axes, 0 for a scalar.

    Raises
    ------
    ValueError
        `a` is a ragged sequence.

    >>> wr.ndim(wr.ones((2, 3)))
    2
    """
    count: int = _plain(a).ndim
    return count


def size(a: Any = np._NoValue, axis: AxisLike = None) -> int:
    """Return the number of elements, or the length along axes; without an array how many processes run the script.

    Parameters
    ----------
    a : array_like, optional
        The array. Without it the number of ranks is returned that run the script: those of SPMD mode, lost ones
        included, else 1; in a function of blocks the number of ranks that compute.
    axis : int, tuple of int or None
        The axes; None: all.

    Returns
    -------
    int
        The number of elements along them, or of ranks.

    Raises
    ------
    ArgumentError
        `axis` is not an integer.
    ShapeError
        An axis is named twice.
    AxisError
        `axis` is out of range for the array.
    ValueError
        `a` is a ragged sequence.

    >>> wr.size(wr.ones((2, 3))), wr.size(wr.ones((2, 3)), 1)
    (6, 3)
    >>> wr.size()  # one process runs this
    1
    """
    if a is np._NoValue:
        return count_scripts()
    lengths = shape(a)
    return math.prod(lengths[i] for i in check_axes("size", axis, len(lengths)))


def isscalar(element: object) -> bool:
    """Return whether an object is a scalar; a 0-d array is none.

    Parameters
    ----------
    element : any
        The object.

    Returns
    -------
    bool
        Whether it is a number, a string or a NumPy scalar.

    >>> wr.isscalar(3.0), wr.isscalar(wr.ones(()))
    (True, False)
    """
    return bool(np.isscalar(element))


def iterable(y: object) -> bool:
    """Return whether an object can be iterated over.

    Parameters
    ----------
    y : any
        The object.

    Returns
    -------
    bool
        Whether it can; False for a 0-d array.

    >>> wr.iterable(wr.ones(3)), wr.iterable(wr.ones(()))
    (True, False)
    """
    return y.ndim > 0 if isinstance(y, ArrayBase) else bool(np.iterable(y))
