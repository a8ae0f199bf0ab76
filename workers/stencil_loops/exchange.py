"""How slabs learn of their neighbours' rims: through mapped memory and flags on a node, by messages elsewhere.

Each slab has a counter of its own cache line in the memory that holds its buffers. When a state is complete there, its
margins along later axes included, the counter is set; a neighbour waits for it and copies the rows it needs. As there
are two buffers, and a slab waits for its neighbours' counters before it writes over a state, nobody reads what is being
written. Who waits spins, then yields, then sleeps, and looks now and then whether the gang has been revoked.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .regions import PlacedArray

Array = np.ndarray[Any, Any]
SPINS, YIELDS = 50, 300
NAP, LOOK = 1e-4, 0.02
"""Seconds of a nap, and between looks at the gang."""
_locks = threading.Lock(), threading.Lock()


def fence() -> None:
    """Keep what was stored before from being seen after what is stored later: a release, then an acquire."""
    for lock in _locks:
        with lock:
            pass


class GangWatch:
    """Looks whether a gang goes on."""

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self._looked = time.monotonic()

    def look(self) -> None:
        """Raise what ends the gang, if it is time to look."""
        now = time.monotonic()
        if now - self._looked > LOOK:
            self._looked = now
            self._comm.check_revoked()

    def wait(self, flag: Array, wanted: int) -> None:
        """Wait until a counter has come to a number."""
        for _ in range(SPINS):
            if flag[0] >= wanted:
                fence()
                return
        for _ in range(YIELDS):
            os.sched_yield()
            if flag[0] >= wanted:
                fence()
                return
        while flag[0] < wanted:
            time.sleep(NAP)
            self.look()
        fence()


@dataclass
class MappedNeighbour:
    """A neighbour whose memory is mapped: its counter, and its two states of each leaf."""

    flag: Array
    states: dict[int, tuple[PlacedArray, ...]]


@dataclass
class Far:
    """A neighbour that only messages reach: its member of the gang, and its number."""

    member: int
    slab: int


Neighbour = MappedNeighbour | Far | None
