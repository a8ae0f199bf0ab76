"""Which rank, arena and window code runs with, in functions of blocks and in the driver."""

from __future__ import annotations

from typing import Any

from ...workers.rank.own_arena import OwnArena, own_transport, view
from .cluster import session

__all__ = ["arena", "comm", "rank"]


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
    return view(session().transport if transport is None else transport)


def rank() -> int:
    """Return which of the processes this is that run the script; in SPMD mode each rank runs it.

    Returns
    -------
    int
        In SPMD mode (``mpirun -n 4 python -m windrow --spmd script.py``) 0 to 3; else 0. In a function of blocks the
        rank that computes the block.

    Raises
    ------
    ClusterError
        In a process of an mpirun job that was not started as ``python -m windrow``.

    See Also
    --------
    size : How many they are.
    comm : Their communicator.

    >>> if wr.rank() == 0:
    ...     print("once, however many ranks run the script")
    once, however many ranks run the script
    """
    transport = own_transport()
    return session().place[0] if transport is None else transport.rank


def count_scripts() -> int:
    """Return how many processes run the script, or in a function of blocks how many ranks there are."""
    transport = own_transport()
    return session().place[1] if transport is None else transport.size


def comm() -> Any:
    """Return a communicator of all processes that run the script, for the script's own messages.

    Returns
    -------
    mpi4py.MPI.Intracomm
        In SPMD mode of all ranks. Else of one: it needs no MPI, and has those of mpi4py's calls that threads have.

    Raises
    ------
    ClusterError
        In a function of blocks; in a process of an mpirun job that was not started as ``python -m windrow``.

    See Also
    --------
    spmd : Hands a function a communicator, inside a computation.

    Notes
    -----
    Windrow's own messages don't go by it. After a rank's death its calls raise, until the script leaves the dead behind
    by ``comm.Shrink()``. When a rank's script fails its calls end with an error on all others.

    >>> wr.comm().allreduce(wr.rank() + 1)
    1
    """
    return session().comm
