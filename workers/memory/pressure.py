"""Whether memory is about to run out: looked at some twenty times a second by the thread that does a rank's I/O."""

from __future__ import annotations

import ctypes
import mmap
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from .memory_limit import Limit, Machine, memory_limit, own_groups, read_status
from .page_cache import advise
from .read_buffers import drop_read_buffers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...graph.chunks.grid import Index
    from ..wire.transport import Bytes, Transport

PERIOD = 0.05
"""Seconds between two looks."""
NEAR, FAR = 8, 6
"""Memory is short from when an eighth of a limit is left, until a sixth is; and never while more than `MOST` is."""
MOST = 1 << 31


class Limited(Protocol):
    """What has a limit, and tells how much of it is in use."""

    @property
    def limit(self) -> Limit:
        """The limit."""
        ...

    def used(self) -> int | None:
        """Return the bytes in use; None where that can't be told."""
        ...


@dataclass(frozen=True)
class Share:
    """A rank's share of what is granted without a control group that would tell how much is in use."""

    limit: Limit
    transport: Transport

    def used(self) -> int:
        """Return what is this process's own: its private memory, and its arena where others map it."""
        return read_status("RssAnon") + self.transport.shared_bytes()


@dataclass(frozen=True, slots=True)
class Shortage:
    """How near a limit is."""

    limit: Limit
    used: int


class PressureWatch:
    """Tells when memory gets short, and when it is no longer."""

    def __init__(self, limited: Sequence[Limited]) -> None:
        self._limited = limited
        self._looked = 0.0
        self.shortage: Shortage | None = None

    def look(self, now: float) -> bool:
        """Look, unless somebody has just done so; tell whether it is otherwise than before."""
        if now - self._looked < PERIOD:
            return False
        self._looked = now
        before, parts = self.shortage, FAR if self.shortage else NEAR
        self.shortage = None
        for each in self._limited:
            used = each.used()
            if used is not None and each.limit.nbytes - used < min(each.limit.nbytes // parts, MOST * NEAR // parts):
                self.shortage = Shortage(each.limit, used)
                break
        return (before is None) != (self.shortage is None)


def watch(transport: Transport) -> PressureWatch:
    """Return what looks at all that limits a rank."""
    limit = memory_limit()
    limited: list[Limited] = [*own_groups(), Machine()]
    if all(limit != each.limit for each in limited):
        here = sum(peer.same_node for peer in transport.peers)
        limited.append(Share(Limit(limit.nbytes // here, limit.who), transport))
    return PressureWatch(limited)


def trim(arena: Bytes, offsets: Index, sizes: Index, shared: bool) -> None:
    """Give the system back what is free: ranges of the arena, and what allocators keep."""
    for offset, size in zip(offsets.tolist(), sizes.tolist(), strict=True):
        advise(arena[offset : offset + size], mmap.MADV_REMOVE if shared else mmap.MADV_DONTNEED)
    drop_read_buffers()
    release = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if release is not None:
        release(0)
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
