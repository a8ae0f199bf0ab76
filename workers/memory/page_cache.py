"""Pages of files that the kernel keeps in memory: asked for ahead, and given back where they would fill it.

The kernel counts them with a control group's memory, and takes them back only when it is full, while who writes or
reads waits. So what is large beside the memory that is left goes again as soon as it was read or written; what fits
stays, for the next time.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import threading
from collections import deque
from functools import cache
from typing import TYPE_CHECKING, Any

from .memory_limit import room

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..wire.transport import Bytes

LARGE = 1 << 27
"""Bytes below which a file is never too large to be kept."""
PAGE = mmap.PAGESIZE
STEP = 1 << 20
BEHIND = 1 << 28
"""Bytes that may be on their way to disk, of what this process has written; and a quarter of what is left."""
LAST = 1.0
"""Seconds after which what is still on its way is waited for, by a thread of its own."""
FOLIO = 1 << 21
"""Bytes of the largest unit of the page cache, which goes when all of it is on disk: ranges may share one."""
RUN = 1 << 16
"""Bytes that follow each other in a file, below which others soon read or write the pages at their ends."""
_START_WRITING, _WRITE_AND_WAIT = 2, 7


def fits(nbytes: int) -> bool:
    """Whether files of so many bytes may stay in memory beside what is in use."""
    return nbytes < LARGE or 2 * nbytes <= room()


def ask_ahead(memory: Bytes) -> None:
    """Have the kernel read a part of a file's mapping; it isn't waited for."""
    for begin in range(0, memory.nbytes, STEP):
        advise(memory[begin : begin + STEP], mmap.MADV_WILLNEED)


def let_go(memory: Bytes) -> None:
    """Let go of a part of a file's mapping: what the kernel still has of it, it can take back without a search."""
    advise(memory, mmap.MADV_DONTNEED)


def drop(descriptor: int, at: int, count: int) -> None:
    """Let go of part of a file that was read, or is on disk; ends of pages stay, since what lies beside may be read."""
    with contextlib.suppress(OSError):
        os.posix_fadvise(descriptor, at, count, os.POSIX_FADV_DONTNEED)


def read_exactly(descriptor: int) -> None:
    """Have the kernel read what is asked for and nothing ahead: what it reads ahead lies across what is let go of."""
    with contextlib.suppress(OSError):
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)


def drop_file(path: str, ranges: Sequence[tuple[int, int]] = ((0, 0),)) -> None:
    """Let go of a file that was read, or of ranges of it, each by its begin and end."""
    with contextlib.suppress(OSError), open(path, "rb", buffering=0) as file:
        for begin, end in ranges:
            drop(file.fileno(), begin, end - begin)


class Behind:
    """What was written and is on its way to disk: some MiB at most, which go from memory when they are there."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ranges: deque[tuple[int, int, int]] = deque()
        self._bytes = 0
        self._timer: threading.Timer | None = None

    def wrote(self, descriptor: int, at: int, count: int) -> None:
        """Note that part of a file was written; wait for what was written some time before."""
        _sync_range(descriptor, at, count, _START_WRITING)
        with self._lock:
            self._ranges.append((os.dup(descriptor), at, count))
            self._bytes += count
            if self._timer is None:  # the last ones have nothing behind them
                self._timer = threading.Timer(LAST, self._end)
                self._timer.daemon = True
                self._timer.start()
        self._settle(min(BEHIND, room() // 4))

    def wrote_file(self, path: str) -> None:
        with contextlib.suppress(OSError), open(path, "rb", buffering=0) as file:
            self.wrote(file.fileno(), 0, os.fstat(file.fileno()).st_size)

    def _settle(self, left: int) -> None:
        """Wait until no more than so many bytes are on their way."""
        while True:
            with self._lock:
                if self._bytes <= left or not self._ranges:
                    return
                descriptor, at, count = self._ranges.popleft()
                self._bytes -= count
            try:
                _sync_range(descriptor, at, count, _WRITE_AND_WAIT)
                begin = max(0, at - FOLIO)
                drop(descriptor, begin, at + count + FOLIO - begin)
            finally:
                os.close(descriptor)

    def _end(self) -> None:
        while True:
            self._settle(0)
            with self._lock:
                if not self._ranges:
                    self._timer = None  # only now: whoever joins it waits for the last range, too
                    return

    def forget(self) -> None:
        """Leave to the parent what it has written; in a process that was forked."""
        for descriptor, _, _ in self._ranges:
            os.close(descriptor)
        self.__init__()  # type: ignore[misc]


behind = Behind()
"""Of this process."""
os.register_at_fork(after_in_child=behind.forget)


def advise(memory: Bytes, advice: int) -> bool:
    """Tell the kernel what is to become of whole pages of a mapping; tell whether it has taken the advice."""
    address = int(memory.__array_interface__["data"][0])
    end = address + memory.nbytes
    if advice == mmap.MADV_WILLNEED:
        address -= address % PAGE
    else:  # the pages at its ends are others', too
        address += -address % PAGE
        end -= end % PAGE
    return end <= address or not _library().madvise(ctypes.c_void_p(address), ctypes.c_size_t(end - address), advice)


def _sync_range(descriptor: int, at: int, count: int, what: int) -> None:
    sync = getattr(_library(), "sync_file_range", None)
    if sync is not None:
        sync(descriptor, ctypes.c_int64(at), ctypes.c_int64(count), ctypes.c_uint(what))
    elif what == _WRITE_AND_WAIT:
        os.fdatasync(descriptor)


@cache
def _library() -> Any:
    return ctypes.CDLL(None, use_errno=True)
