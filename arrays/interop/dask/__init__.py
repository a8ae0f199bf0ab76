"""dask's collections on Windrow's ranks: `windrow.dask`, loaded when it is first needed.

`dask.config.set(scheduler=wr.dask.get)` has arrays, dataframes, bags and lazy calls of dask's computed by the ranks.
"""

from __future__ import annotations

from .scheduling import get, persist

__all__ = [
    "get",
    "persist",
]
