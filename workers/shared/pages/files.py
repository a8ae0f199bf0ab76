"""Files without names that hold pages, and arrays over the pages of several of them.

The driver writes; processes of its host map its files through ``/proc/PID/fd/FD`` and read in place. A version whose
pages lie in several files is one range of addresses all the same: pages are mapped over each other.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from ...wire.transport import Bytes

UNIT = mmap.ALLOCATIONGRANULARITY
"""Pages are multiples of it."""
MOST_PIECES = 8192
"""A process may have some 65,000 mappings; a version whose pages are strewn over more pieces is copied."""
_PUNCH = 0x02 | 0x01  # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
_FIXED = 0x10
_FAILED = ctypes.c_void_p(-1).value
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long)
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class FileName:
    """A file of pages: the process that has it, its descriptor there, the name that the kernel lists, its size."""

    pid: int
    descriptor: int
    name: str
    nbytes: int

    def open(self, *, write: bool = False) -> int:
        """Return a descriptor of this process's own.

        Raises
        ------
        OSError
            The process, or its file, can't be seen from here.
        """
        path = f"/proc/{self.pid}/fd/{self.descriptor}"
        if os.readlink(path) != f"/memfd:{self.name} (deleted)":
            raise FileNotFoundError(path)
        return os.open(path, (os.O_RDWR if write else os.O_RDONLY) | os.O_CLOEXEC)


class PageFile:
    """A file of this process's own; its memory is given back when it goes, though others have mapped it."""

    own: ClassVar[weakref.WeakValueDictionary[str, PageFile]] = weakref.WeakValueDictionary()
    """Those of this process, by the name that the kernel lists."""

    def __init__(self, name: str, nbytes: int) -> None:
        self.descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
        self._close = weakref.finalize(self, _drop, self.descriptor, nbytes)
        os.ftruncate(self.descriptor, nbytes)
        self.number = next(_numbers)
        self.freed: np.ndarray[Any, Any] | None = None
        """Which pages have been given back."""
        self.name = FileName(os.getpid(), self.descriptor, name, nbytes)
        self.own[name] = self

    def write(self, data: Bytes, offset: int) -> None:
        """Write some bytes."""
        done = 0
        while done < data.nbytes:
            done += os.pwrite(self.descriptor, data[done:].data, offset + done)

    def free(self, offset: int, nbytes: int) -> None:
        """Give the memory of a part back."""
        _libc.fallocate(self.descriptor, _PUNCH, offset, nbytes)

    @property
    def used(self) -> int:
        """Bytes of memory that it takes."""
        return os.fstat(self.descriptor).st_blocks * 512

    def close(self) -> None:
        """Give all back."""
        self._close()


def _drop(descriptor: int, nbytes: int) -> None:
    _libc.fallocate(descriptor, _PUNCH, 0, max(nbytes, 1))
    os.close(descriptor)


class AddressRange:
    """A range of addresses over which files' parts are mapped; it goes with the last array over it."""

    def __init__(self, nbytes: int, *, write: bool = False, private: bool = False) -> None:
        self.nbytes = nbytes
        self._protection = mmap.PROT_READ | (mmap.PROT_WRITE if write or private else 0)
        whole = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
        self._address = _checked(
            _libc.mmap(None, nbytes, self._protection if private else mmap.PROT_READ, whole, -1, 0)
        )
        memory = (ctypes.c_char * nbytes).from_address(self._address)
        weakref.finalize(memory, _libc.munmap, self._address, nbytes)
        self.bytes: Bytes = np.frombuffer(memoryview(memory).cast("B"), np.uint8)
        self.bytes.flags.writeable = write or private

    def map(self, at: int, nbytes: int, descriptor: int, offset: int, *, private: bool = False) -> None:
        """Map a part of a file; what is written to a `private` one doesn't reach the file."""
        flags = (mmap.MAP_PRIVATE if private else mmap.MAP_SHARED) | _FIXED
        _checked(_libc.mmap(self._address + at, nbytes, self._protection, flags, descriptor, offset))


def _checked(address: int | None) -> int:
    if address is None or address == _FAILED:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return address


def pieces(files: np.ndarray[Any, Any], slots: np.ndarray[Any, Any]) -> list[tuple[int, int, int, int]]:
    """Return runs of pages that follow each other in one file: (first page, number, file, first slot)."""
    if not len(files):
        return []
    breaks = np.flatnonzero((np.diff(files) != 0) | (np.diff(slots) != 1)) + 1
    first = np.concatenate([[0], breaks])
    count = np.diff(np.append(first, len(files)))
    return list(zip(first.tolist(), count.tolist(), files[first].tolist(), slots[first].tolist(), strict=True))


def runs(numbers: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
    """Return where numbers follow each other: place of the first one, and how many."""
    breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
    first = np.concatenate([[0], breaks]) if len(numbers) else np.zeros(0, np.int64)
    return list(
        zip(first.astype(int).tolist(), np.diff(np.append(first, len(numbers))).astype(int).tolist(), strict=True)
    )
