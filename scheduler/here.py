"""Which rank, arena and window code runs with, in functions of blocks and in the driver."""

from __future__ import annotations

from ..workers.own_arena import OwnArena, own_transport, view
from .cluster import session

__all__ = ["arena"]


def arena() -> OwnArena:
    """Return the arena of the rank that runs this: the memory of its chunks, and the MPI window that exposes it.

    Returns
    -------
    OwnArena
        With `rank`, `address` (in this process), `size` in bytes, `window` (its `base`, `size`, `unit`, `model`,
        `flavor` and `alone`; None on the embedded engine), and `locate(block)`: in which rank's arena a block lies, and
        at which offset; None where it lies in none.

    Raises
    ------
    ClusterError
        In a process of an mpirun job that was not started as ``python -m windrow``.

    See Also
    --------
    owners : Tells the rank of each chunk.

    Notes
    -----
    In a function of blocks it is the arena of the rank that computes the block, else that of rank 0 of the present
    cluster. As `(rank, offset)`, target and displacement of a `Get`, a place means the same on all ranks; addresses
    differ.

    Examples
    --------
    >>> import numpy as np
    >>> import windrow as wr
    >>> def place(block):
    ...     return np.array([wr.arena().locate(block)])
    >>> x = wr.ones(2000, chunks=1000).persist()
    >>> places = wr.map_blocks(place, x, dtype=np.int64, chunks=((1, 1), (2,)), new_axis=1).compute()
    >>> places[:, 0], places[1, 1] - places[0, 1]  # the ranks; small chunks lie side by side
    (array([0, 0]), np.int64(8000))
    >>> print(wr.arena().window)  # without MPI
    None
    """
    transport = own_transport()
    return view(session().engine.transport if transport is None else transport)
