"""What carries messages and bytes between ranks: the interface that every transport keeps.

A transport is driven by one thread of its rank, the I/O thread: only that thread calls `send`, `fetch` and
`poll`. `wake` may be called from any thread. Nothing here waits for a peer: a peer may be dead, stopped or busy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..gangs.member import CommunicatorMaker

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class MpiWindow:
    """The MPI window over a rank's arena, as that rank's MPI describes it.

    `base` is the arena's address in its process, `unit` that of displacements, in bytes. `model` is "unified" where
    loads, stores and Gets see one memory; `flavor` is "create". `seconds` is what making it took. `alone` tells
    whether a Get completes while its target is outside MPI; None where nobody tried, as where all memory is mapped.
    """

    base: int
    size: int
    unit: int
    model: str
    flavor: str
    seconds: float
    alone: bool | None = None


@dataclass(frozen=True, slots=True)
class Peer:
    """A rank as the others see it; `route` is how its chunks are read: own, map, get or service."""

    rank: int
    host: str
    pid: int
    same_node: bool
    route: str
    window: MpiWindow | None = None

    @property
    def in_place(self) -> bool:
        """Whether its memory is read where it lies."""
        return self.route in ("own", "map")


@dataclass(frozen=True, slots=True)
class RanksLost:
    """The transport's own event: these ranks have died. Reported once for each rank."""

    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """A strided rectangle in a rank's arena, in bytes; it arrives packed in C order.

    `source` is -1 for the arena, else the number of one of that rank's spill files (its file descriptor).
    """

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    source: int = -1


class Transport(Protocol):
    """Messages between ranks, and reads of their arenas."""

    rank: int
    size: int
    peers: tuple[Peer, ...]

    @property
    def meeting(self) -> CommunicatorMaker:
        """What makes communicators for gangs."""
        ...

    def send(self, rank: int, message: object) -> None:
        """Queue a message for a rank. Never waits for the receiver; silently dropped when it is dead."""

    def poll(self, timeout: float) -> list[object]:
        """Return what has come: messages and `RanksLost`. Waits up to `timeout` seconds for the first."""
        ...

    def wake(self) -> None:
        """Make the `poll` under way, or the next one, return at once. Callable from any thread."""

    def arena(self, rank: int) -> Bytes | None:
        """The rank's arena where it can be read in place (the own one: written too), else None."""
        ...

    def shared_bytes(self) -> int:
        """Bytes of the own arena that have pages, where these aren't this process's private memory."""
        ...

    def map_spill_file(self, rank: int, source: int) -> Bytes | None:
        """A spill file of a rank, mapped read-only, where that is possible in place, else None."""
        ...

    def forget(self, rank: int, source: int) -> None:
        """Drop the mapping of a rank's spill file: its number may come again for another."""

    def fetch(self, rank: int, region: Region, into: Bytes, done: Callable[[bool], None]) -> None:
        """Read a region of a rank's memory into `into`; `poll` calls `done(ok)` when it is there.

        `ok` is False when the owner died, or did not answer within the watchdog's limit.
        """

    def note(self, slot: int, text: str) -> None:
        """Note what a compute thread of the driver is at, to be told should it end this process; empty: nothing.

        Callable from any thread.
        """

    def declare_dead(self, rank: int) -> int | None:
        """Have a rank that hangs killed, and report it lost like any other; return by which rank, if there is one."""

    def close(self) -> None:
        """Leave: flush what is queued, as far as peers take it, and free what the rank holds."""
