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

        Examples
        --------
        >>> import windrow as wr
        >>> parts = wr.arange(5, chunks=2).to_delayed()
        >>> parts.shape, parts[2].compute()
        ((3,), array([4]))
        """
        found: np.ndarray[Any, Any] = importlib.import_module(f"{__package__}.delayed").to_delayed(self)
        return found

    def __await__(self) -> Generator[Any, None, Any]:
        asyncio = importlib.import_module("asyncio")
        compute = importlib.import_module("..execution.compute", __package__).compute
        return asyncio.to_thread(compute, self).__await__()  # type: ignore[no-any-return]
