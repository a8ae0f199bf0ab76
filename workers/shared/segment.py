"""Memory with a file descriptor and no name: one process makes it, others of its host map it or take it over.

What processes share lies in such segments, so whatever dies, nothing stays behind. Others find one by its name,
through ``/proc/PID/fd/FD``. A mapping outlives the death of who made the segment.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import weakref
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from ..wire.transport import Bytes, Peer

_SIZE = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW  # who has mapped a file that shrinks is ended by the kernel
_CONTENT = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
_PUNCH = 0x02 | 0x01  # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
_FIXED = 0x10
_ANY_FILE = os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
"""How a file is opened that may be something else by now, such as a pipe or a terminal."""
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)
_FAILED = ctypes.c_void_p(-1).value
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long)


@dataclass(frozen=True, slots=True)
class SegmentName:
    """Where others of the host find a segment: a process, and its descriptor there.

    Both numbers may be somebody else's by now, or in another container: `token` tells a segment, and copies of it, from
    all others. `kind` is for people.
    """

    kind: str
    token: bytes
    pid: int
    descriptor: int
    nbytes: int

    @property
    def listed(self) -> str:
        """How the kernel lists it."""
        return f"windrow-{self.kind}-{self.token.hex()}"

    def open(self, *, write: bool = False) -> int:
        """Return a descriptor of this process's own; OSError where the process can't be seen from here."""
        path = f"/proc/{self.pid}/fd/{self.descriptor}"
        descriptor = os.open(path, (os.O_RDWR if write else os.O_RDONLY) | _ANY_FILE)
        # What was opened is looked at, since the number may come to mean another file at any moment.
        if os.readlink(f"/proc/self/fd/{descriptor}") != f"/memfd:{self.listed} (deleted)":
            os.close(descriptor)
            raise FileNotFoundError(path)
        return descriptor

    def map(self, *, write: bool = False, private: bool = False) -> Bytes:
        """Return the bytes, mapped; what is written to `private` ones nobody else sees."""
        descriptor = self.open(write=write)
        try:
            return _map(descriptor, self.nbytes, write, private)
        finally:
            os.close(descriptor)

    def map_from(self, peer: Peer, *, write: bool = False) -> Bytes | None:
        """Return the bytes of a rank's segment, mapped; None where its memory is out of reach."""
        try:
            return self.map(write=write) if peer.in_place else None
        except OSError:
            return None


class SharedSegment:
    """A segment of this process's own, which others find as long as this lives; its size never changes."""

    _writable = True

    def __init__(self, name: SegmentName) -> None:
        self.name = name
        self._end = weakref.finalize(self, self._let_go, name)
        self._end.atexit = False

    @classmethod
    def create(cls, kind: str, nbytes: int, token: bytes | None = None) -> Self:
        """Return a new one, of zeros; with a `token` it is to be a copy of the segment that has it."""
        name = SegmentName(kind, token or os.urandom(16), os.getpid(), -1, nbytes)
        descriptor = os.memfd_create(name.listed, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        segment = cls(replace(name, descriptor=descriptor))
        os.ftruncate(descriptor, max(nbytes, 1))
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SIZE)
        return segment

    @classmethod
    def adopt(cls, name: SegmentName) -> Self:
        """Take another process's segment over, to be read: it stays, whatever becomes of that process."""
        segment = cls(replace(name, pid=os.getpid(), descriptor=name.open()))
        segment._writable = False
        return segment

    @property
    def descriptor(self) -> int:
        """Its descriptor; OSError where it is closed, since the number may be another file's by now."""
        if not self._end.alive:
            raise OSError(errno.EBADF, f"{self.name.listed} is closed")
        return self.name.descriptor

    @cached_property
    def memory(self) -> Bytes:
        """Its bytes, to be written unless it was taken over or sealed: mapped when they are first asked for."""
        return self.map(write=self._writable)

    def map(self, *, write: bool = False, private: bool = False) -> Bytes:
        """Return its bytes, mapped anew."""
        return _map(self.descriptor, self.name.nbytes, write, private)

    def write(self, data: memoryview, offset: int = 0) -> None:
        """Write some bytes, without mapping them."""
        done = 0
        while done < data.nbytes:
            done += os.pwrite(self.descriptor, data[done:], offset + done)

    def seal(self) -> None:
        """Have nobody write to it any more."""
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _CONTENT)
        self._writable = False

    def free(self, offset: int, nbytes: int) -> None:
        """Give the memory of a part back, though others have mapped it: it is zeros then."""
        punch(self.descriptor, offset, nbytes)

    @property
    def used(self) -> int:
        """Bytes of memory that it takes."""
        return os.fstat(self.descriptor).st_blocks * 512

    def close(self) -> None:
        """Let nobody else find it; the memory goes with the last that has it mapped."""
        self.memory = np.empty(0, np.uint8)
        self._end()

    @staticmethod
    def _let_go(name: SegmentName) -> None:
        os.close(name.descriptor)


class AddressRange:
    """A range of addresses over which files' parts are mapped, at first one whole file or nothing.

    It goes with the last array over it. What is written to a `private` one stays this process's own.
    """

    def __init__(self, nbytes: int, descriptor: int = -1, *, write: bool = False, private: bool = False) -> None:
        self.nbytes, self._private = nbytes, private
        self._protection = mmap.PROT_READ | (mmap.PROT_WRITE if write or private else 0)
        flags = mmap.MAP_PRIVATE if private else mmap.MAP_SHARED
        if descriptor < 0:
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
        self.address = _checked(_libc.mmap(None, nbytes, self._protection, flags, descriptor, 0))
        weakref.finalize(self, _libc.munmap, self.address, nbytes).atexit = False

    @property
    def __array_interface__(self) -> dict[str, object]:
        data = self.address, not self._protection & mmap.PROT_WRITE
        return {"version": 3, "typestr": "|u1", "shape": (self.nbytes,), "data": data}

    @property
    def bytes(self) -> Bytes:
        return np.asarray(self)

    def map(self, at: int, nbytes: int, descriptor: int, offset: int) -> None:
        flags = (mmap.MAP_PRIVATE if self._private else mmap.MAP_SHARED) | _FIXED
        _checked(_libc.mmap(self.address + at, nbytes, self._protection, flags, descriptor, offset))


def punch(descriptor: int, offset: int, nbytes: int) -> None:
    """Give the memory of a part of a file back, where the system can."""
    _libc.fallocate(descriptor, _PUNCH, offset, nbytes)


def _map(descriptor: int, nbytes: int, write: bool, private: bool) -> Bytes:
    whole = AddressRange(max(nbytes, 1), descriptor, write=write, private=private)
    if write:  # random positions need fewer entries of the page tables so
        _libc.madvise(whole.address, whole.nbytes, mmap.MADV_HUGEPAGE)
    return whole.bytes[:nbytes]


def _checked(address: int | None) -> int:
    if address is None or address == _FAILED:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return address
