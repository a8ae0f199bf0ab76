"""A rank's arena, and its view of the arenas and spill files of the ranks on its host.

The arena is a memfd: memory with a file descriptor and no name, so nothing stays behind, and others on the
host map it through ``/proc/PID/fd/FD``. A mapping outlives the death of its owner.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...memory.memory_limit import unmappable

if TYPE_CHECKING:
    from ...wire.transport import Bytes

# The time since boot differs between hosts, and two containers on one host may still bear different names.
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


def boot_id() -> str:
    """Return what tells this kernel's run from all others; empty when it cannot be read."""
    with contextlib.suppress(OSError), open(_BOOT_ID, encoding="ascii") as file:
        return file.read().strip()
    return ""


def arena_name(token: str, rank: int) -> str:
    """Return the name under which the kernel lists a rank's arena."""
    return f"windrow-{token}-{rank}"


class Arena:
    """The own arena: shared memory of a fixed size, writable here, mapped read-only by others."""

    def __init__(self, name: str, size: int) -> None:
        self.size = size
        self.fd = os.memfd_create(name, os.MFD_CLOEXEC)
        try:
            os.ftruncate(self.fd, size)
            self._map = mmap.mmap(self.fd, size)
        except OSError as error:
            os.close(self.fd)
            raise unmappable(size, error) from error
        with contextlib.suppress(OSError, AttributeError):  # some kernels give shared memory huge pages when asked
            self._map.madvise(mmap.MADV_HUGEPAGE)
        self.bytes: Bytes = np.frombuffer(self._map, np.uint8)

    @property
    def address(self) -> int:
        """Where the arena begins in this process."""
        return int(self.bytes.ctypes.data)

    def close(self) -> None:
        """Give the memory back, unless somebody still holds a view of it."""
        self.bytes = np.empty(0, np.uint8)
        with contextlib.suppress(BufferError):
            self._map.close()
        with contextlib.suppress(OSError):
            os.close(self.fd)


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

    def map_arena(self, rank: int, pid: int, fd: int, size: int, name: str) -> bool:
        """Map a rank's arena; False when its process cannot be seen (another PID namespace, other rights)."""
        path = f"/proc/{pid}/fd/{fd}"
        try:
            # In another namespace the number may be some other process: the name has the job's random word.
            if os.readlink(path) != f"/memfd:{name} (deleted)":
                return False
            self._arenas[rank] = _map(path, size)
        except (OSError, ValueError):
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
        """Drop all mappings."""
        self._arenas.clear()
        self._files.clear()


def _map(path: str, size: int) -> Bytes:
    """Map a file read-only."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return np.frombuffer(mmap.mmap(fd, size, prot=mmap.PROT_READ), np.uint8)
    finally:
        os.close(fd)
