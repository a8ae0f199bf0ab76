"""A rank's arena, and its view of the arenas and spill files of the ranks on its host."""

from __future__ import annotations

import contextlib
import mmap
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...memory.memory_limit import unmappable
from ...shared.segment import SharedSegment

if TYPE_CHECKING:
    from ...shared.segment import SegmentName
    from ...wire.transport import Bytes

# The time since boot differs between hosts, and two containers on one host may still bear different names.
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


def boot_id() -> str:
    """Return what tells this kernel's run from all others; empty when it cannot be read."""
    with contextlib.suppress(OSError), open(_BOOT_ID, encoding="ascii") as file:
        return file.read().strip()
    return ""


def make_arena(rank: int, nbytes: int) -> SharedSegment:
    """Return a rank's own arena: shared memory of a fixed size, writable here alone; or raise OutOfMemory."""
    try:
        arena = SharedSegment.create(f"arena-{rank}", nbytes)
        _ = arena.memory  # so that it is mapped
    except OSError as error:
        raise unmappable(nbytes, error) from error
    return arena


@dataclass(frozen=True, slots=True)
class _File:
    """A mapped spill file, with what tells it from a later one of the same number."""

    device: int
    inode: int
    size: int
    bytes: Bytes


class PeerMemory:
    """The arenas and spill files of other ranks, as far as they can be mapped."""

    def __init__(self) -> None:
        self._arenas: dict[int, Bytes] = {}
        self._files: dict[tuple[int, int], _File] = {}

    def map_arena(self, rank: int, name: SegmentName) -> bool:
        """Map a rank's arena; False when its process cannot be seen (another PID namespace, other rights)."""
        try:
            self._arenas[rank] = name.map()
        except OSError:
            return False
        return True

    def arena(self, rank: int) -> Bytes | None:
        """Return a mapped arena, also of a rank that has died."""
        return self._arenas.get(rank)

    def map_spill_file(self, rank: int, pid: int, fd: int) -> Bytes | None:
        """Return a spill file of a rank, or None when it is not to be had.

        A number may be used again for another file. A file that is mapped keeps its inode, so device and
        inode tell; when the owner is dead, the number means what it meant.
        """
        path = f"/proc/{pid}/fd/{fd}"
        known = self._files.get((rank, fd))
        try:
            now = os.stat(path)
        except OSError:
            gone = not os.path.exists(f"/proc/{pid}")
            if known is not None and not gone:
                self.forget(rank, fd)
            return known.bytes if known is not None and gone else None
        identity = (now.st_dev, now.st_ino, now.st_size)
        if known is not None and (known.device, known.inode, known.size) == identity:
            return known.bytes
        try:
            view = _map(path, now.st_size)
        except (OSError, ValueError):
            return None
        self._files[rank, fd] = _File(*identity, view)
        return view

    def forget(self, rank: int, fd: int) -> None:
        """Drop the mapping of a spill file; the memory goes when no view of it is left."""
        self._files.pop((rank, fd), None)

    def close(self) -> None:
        self._arenas.clear()
        self._files.clear()


def _map(path: str, size: int) -> Bytes:
    """Map a file read-only."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return np.frombuffer(mmap.mmap(fd, size, prot=mmap.PROT_READ), np.uint8)
    finally:
        os.close(fd)
