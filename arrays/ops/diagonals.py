"""Diagonals of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...graph.errors import ShapeError, bad
from ..core import as_array

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "diagonal",
    "trace",
]


def trace(x: Any) -> Array:
    """Add up the main diagonal of a matrix.

    Parameters
    ----------
    x : array of two axes

    Returns
    -------
    Array without axes

    Examples
    --------
    >>> import windrow as wr
    >>> wr.trace(wr.eye(3)).compute()
    np.float64(3.0)
    """
    return diagonal(as_array("trace", "x", x)).sum()


def diagonal(x: Any) -> Array:
    """Return the main diagonal of a matrix.

    Parameters
    ----------
    x : array of two axes

    Returns
    -------
    Array of one axis

    Examples
    --------
    >>> import windrow as wr
    >>> wr.diagonal(wr.eye(3)).compute()
    array([1., 1., 1.])
    """
    array = as_array("diagonal", "x", x)
    if array.ndim != 2:
        raise ShapeError(bad("diagonal", "x", array.shape, "two axes"))
    n = min(array.shape)
    return array.reshape(-1)[: n * array.shape[1] : array.shape[1] + 1]
