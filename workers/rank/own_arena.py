"""Where code runs: its rank, that rank's arena, and what lies in it or in those that are mapped here."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, bad
from .task_context import computing_rank

if TYPE_CHECKING:
    from ..wire.transport import MpiWindow, Transport


@dataclass(frozen=True)
class OwnArena:
    """The memory that holds a rank's chunks, as the process sees it that has it; `windrow.arena` returns it.

    Attributes
    ----------
    rank : int
        The rank of this process.
    address : int
        Where the arena begins in this process.
    size : int
        Its bytes.
    window : MpiWindow or None
        The MPI window that exposes it to all ranks, as this rank's MPI describes it: `base` (the arena's address),
        `size`, `unit` (of displacements, in bytes), `model` ("unified": loads, stores and Gets see one memory),
        `flavor` ("create": made over memory that was there), `seconds` (what making it took) and `alone` (whether a
        Get completes while its target is outside of MPI; None: not tried, since nothing is read so). The embedded
        engine has none.
    """

    rank: int
    address: int
    size: int
    window: MpiWindow | None
    _mapped: tuple[tuple[int, int, int], ...] = field(default=(), repr=False)

    def locate(self, block: Any) -> tuple[int, int] | None:
        """Return in which rank's arena a block lies, and at which offset: its displacement in that rank's window.

        Nothing is read or computed.

        Parameters
        ----------
        block : numpy.ndarray or pyarrow.Array
            Such as a function of blocks is given.

        Returns
        -------
        tuple of int or None
            The rank, and the offset of the block's first byte. Ranks of one host have each other's arenas in memory,
            each at addresses of its own. None: the block lies in no arena; it is a copy, a chunk on disk, was made in
            the same pass as the function runs in, or has no elements.

        Raises
        ------
        ArgumentError
            `block` is neither.

        Examples
        --------
        >>> import numpy as np
        >>> import windrow as wr
        >>> print(wr.arena().locate(np.ones(3)))
        None
        """
        begin, end = _find_bytes(block)
        for rank, address, size in ((self.rank, self.address, self.size), *self._mapped):
            if address <= begin < end <= address + size:
                return rank, begin - address
        return None


def _find_bytes(block: Any) -> tuple[int, int]:
    """Return where a block's memory begins and ends."""
    if isinstance(block, np.ndarray):
        begin, end = np.lib.array_utils.byte_bounds(block)
        return (begin, end) if block.size else (begin, begin)
    if "pyarrow" in sys.modules:  # else it is none of Arrow's
        from ..sources.arrow import find_bytes, is_plain

        if is_plain(block):
            return find_bytes(block)
    raise ArgumentError(
        bad("locate", "block", block, "a NumPy array or a pyarrow.Array, as functions of blocks get them")
    )


def own_transport() -> Transport | None:
    """Return the transport of the rank that this thread, or else this process, computes for; None in others."""
    rank = computing_rank()
    return None if rank is None else rank.transport


def view(transport: Transport) -> OwnArena:
    places = []
    for rank in range(transport.size):
        memory = transport.arena(rank)
        if memory is not None:
            places.append((rank, int(memory.__array_interface__["data"][0]), memory.nbytes))
    ((rank, address, size),) = (place for place in places if place[0] == transport.rank)
    window = transport.peers[rank].window
    return OwnArena(rank, address, size, window, tuple(place for place in places if place[0] != rank))
