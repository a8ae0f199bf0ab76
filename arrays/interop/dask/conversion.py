"""`from_dask`: dask is imported when it is called."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...array import Array

__all__ = ["from_dask"]


def from_dask(x: Any) -> Array:
    """Return a lazy array of the chunks of a dask array.

    Parameters
    ----------
    x : dask.array.Array
        The array. Its chunks' sizes must be known.

    Returns
    -------
    Array
        Lazy, in the same chunks. Each chunk is made by one task on a rank, with all that it takes.

    Raises
    ------
    ArgumentError
        `x` is no dask array, or its graph doesn't pickle.
    ShapeError
        The sizes of chunks aren't known.
    DTypeError
        It has a dtype that Windrow hasn't, like objects.
    ImportError
        The package dask is missing.

    See Also
    --------
    Array.to_dask : The way back.

    Notes
    -----
    What several chunks take is made for each of them; parts that were persisted come through the script's process. For
    graphs that move much between chunks, let dask's graph run by `windrow.dask.get`.

    >>> import dask.array as da
    >>> import windrow as wr
    >>> x = wr.from_dask(da.arange(6, chunks=4) * 2)
    >>> x.chunks, x.sum().compute()
    (((4, 2),), np.int64(30))
    """
    array: Array = importlib.import_module(f"{__package__}.arrays").from_dask(x)
    return array
