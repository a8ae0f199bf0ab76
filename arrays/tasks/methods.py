"""Methods of arrays that lead to tasks. What they need is loaded when they are called first."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ..base import ArrayBase

if TYPE_CHECKING:
    from collections.abc import Generator

    import numpy as np


class Awaitable(ArrayBase):
    """What hands an array's chunks to lazy calls, and its values to asyncio."""

    __slots__ = ()

    def to_delayed(self) -> np.ndarray[Any, Any]:
        """Return an array of lazy calls, one for each chunk.

        Returns
        -------
        numpy.ndarray
            Of `Delayed`, with the shape of `numblocks`; what a call gives is a NumPy array.

        Notes
        -----
        Persist an array of which many chunks are asked for, one after the other: each computes what it needs.

        >>> parts = wr.arange(5, chunks=2).to_delayed()
        >>> parts.shape, parts[2].compute()
        ((3,), array([4]))
        """
        calls: np.ndarray[Any, Any] = importlib.import_module(f"{__package__}.delayed").to_delayed(self)
        return calls

    def to_dask(self) -> Any:
        """Return a dask array of the same chunks, lazily.

        Returns
        -------
        dask.array.Array
            Each chunk is a node of its graph. Under `windrow.dask.get` the chunks that are asked for are computed
            together, and stay on the ranks; other schedulers of dask's compute each by itself.

        See Also
        --------
        windrow.from_dask : The way back.

        Notes
        -----
        An array of Windrow's is no dask collection itself: `dask.compute(x)` hands it back as it is,
        `dask.compute(x.to_dask())` computes it.

        >>> import dask
        >>> import windrow as wr
        >>> dask.compute(wr.arange(5, chunks=2).to_dask().sum(), scheduler=wr.dask.get)
        (np.int64(10),)
        """
        return importlib.import_module("..interop.dask.arrays", __package__).to_dask(self)

    def __await__(self) -> Generator[Any, None, Any]:
        return importlib.import_module(".awaiting", __package__).compute(self).__await__()  # type: ignore[no-any-return]
