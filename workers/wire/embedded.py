"""The embedded engine's transport: one rank, in the driver's own process; no MPI, nothing to send."""

from __future__ import annotations

import contextlib
import mmap
import os
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

import numpy as np

from ..gangs.threads.thread_meeting import ThreadMeeting
from ..memory.memory_limit import unmappable
from .transport import Bytes, Peer, Region

if TYPE_CHECKING:
    from collections.abc import Callable

NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)
"""Python before 3.13 has no name for it."""


class EmbeddedTransport:
    """Implements `Transport` for a single rank. Its arena is private memory, which gets huge pages."""

    rank = 0
    size = 1

    def __init__(self, arena_bytes: int) -> None:
        self.peers: tuple[Peer, ...] = (Peer(0, os.uname().nodename, os.getpid(), True, "own"),)
        self.meeting = ThreadMeeting()
        self._wakes: SimpleQueue[None] = SimpleQueue()
        self._spills: dict[int, Bytes] = {}
        try:
            memory = mmap.mmap(-1, arena_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE)
        except OSError as error:
            raise unmappable(arena_bytes, error) from error
        with contextlib.suppress(OSError):  # a kernel without them
            memory.madvise(mmap.MADV_HUGEPAGE)
        self._arena: Bytes = np.frombuffer(memory, np.uint8)

    def send(self, rank: int, message: object) -> None:
        """There is nobody to send to."""
        raise ValueError(f"the embedded engine has no rank {rank}")

    def poll(self, timeout: float) -> list[object]:
        try:
            self._wakes.get(timeout=timeout) if timeout > 0 else self._wakes.get_nowait()
            while True:
                self._wakes.get_nowait()
        except Empty:
            return []

    def wake(self) -> None:
        self._wakes.put(None)

    def arena(self, rank: int) -> Bytes | None:
        return self._arena

    def shared_bytes(self) -> int:
        """The arena is this process's own."""
        return 0

    def map_spill_file(self, rank: int, source: int) -> Bytes | None:
        """A spill file is mapped by who wrote it: see `workers.memory.spill`."""
        return None

    def forget(self, rank: int, source: int) -> None:
        """There is no other rank."""

    def fetch(self, rank: int, region: Region, into: Bytes, done: Callable[[bool], None]) -> None:
        """Everything is in place."""
        done(False)

    def note(self, slot: int, text: str) -> None:
        """What ends this process ends the user's own."""

    def declare_dead(self, rank: int) -> int | None:
        return None

    def close(self) -> None:
        """Drop the arena; arrays that still look into it keep it alive."""
        self._arena = np.zeros(0, np.uint8)
