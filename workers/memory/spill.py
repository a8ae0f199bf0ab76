"""Spill files: slabs on disk, mapped when they are read again; in the mapping, too, each is a valid Arrow buffer.

A file has no name (O_TMPFILE, or unlinked at once), so nothing is left behind by any death. Peers on the node map it
through its owner's file descriptor. Slabs follow each other, and are written in pieces of some MiB that know no borders
of slabs, past the kernel's cache where they wouldn't fit it beside what is in use.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING

import numpy as np

from ...graph.lowering.stage import ALIGN
from ..wire.protocol import Spill, Spilled
from .page_cache import PAGE, drop, fits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..wire.protocol import Event
    from ..wire.transport import Bytes

PIECE = 1 << 22
"""Bytes that are written at once; two are on their way."""
DIRECT = getattr(os, "O_DIRECT", 0)


class SpillFile:
    """Slabs written to one nameless file: `offsets` says where each begins in the mapping `memory`.

    It lies in a folder, or the system's temporary directory; the kernel's cache may keep what is written if it is
    `cached`.
    """

    def __init__(self, folder: str | None, slabs: Sequence[Bytes], cached: bool = True) -> None:
        padded = np.array([-(-slab.nbytes // ALIGN) * ALIGN for slab in slabs], np.int64)
        ends = np.cumsum(padded)
        self.offsets = ends - padded
        self.size = max(ALIGN, int(ends[-1]) if len(ends) else 0)
        self.cached = cached
        self.descriptor = _nameless(folder)
        try:
            if not cached:
                _write_past_cache(self.descriptor)
            os.ftruncate(self.descriptor, self.size)
            self._write(slabs)
            os.ftruncate(self.descriptor, self.size)  # the last piece is whole pages
            self._map = mmap.mmap(self.descriptor, 0, prot=mmap.PROT_READ)
            self.memory: Bytes = np.frombuffer(self._map, np.uint8)
        except BaseException:
            os.close(self.descriptor)
            raise

    def _write(self, slabs: Sequence[Bytes]) -> None:
        """Write the pieces, every other one by another thread: one is put together while one is written."""
        errors: list[BaseException] = []
        other = threading.Thread(target=self._write_pieces, args=(slabs, 1, errors), name="windrow-spill", daemon=True)
        try:
            if self.size > PIECE:
                other.start()
        except RuntimeError:  # Python ends, and begins no threads any more
            self._write_pieces(slabs, 1, errors)
        self._write_pieces(slabs, 0, errors)
        if other.ident is not None:
            other.join()
        if errors:
            raise errors[0]

    def _write_pieces(self, slabs: Sequence[Bytes], first: int, errors: list[BaseException]) -> None:
        try:
            piece: Bytes = np.frombuffer(mmap.mmap(-1, PIECE), np.uint8)
            for begin in range(first * PIECE, self.size, 2 * PIECE):
                count = self._gather(slabs, begin, piece)
                _write_at(self.descriptor, piece[: -(-count // PAGE) * PAGE], begin)
        except BaseException as error:
            errors.append(error)

    def _gather(self, slabs: Sequence[Bytes], begin: int, piece: Bytes) -> int:
        """Fill a piece with the bytes of the file from `begin` on; return how many there are."""
        end = min(begin + PIECE, self.size)
        first = max(0, int(np.searchsorted(self.offsets, begin, "right")) - 1)
        for slab, offset in zip(slabs[first:], self.offsets[first:].tolist(), strict=True):
            if offset >= end:
                break
            lo, hi = max(begin, offset), min(end, offset + slab.nbytes)
            if lo < hi:
                piece[lo - begin : hi - begin] = slab[lo - offset : hi - offset]
        return end - begin

    def uncache(self) -> None:
        """Have the kernel's cache keep no more of it; on disk it is then."""
        os.fdatasync(self.descriptor)
        drop(self.descriptor, 0, 0)
        self.cached = False

    def close(self) -> None:
        """Close the file; the disk has its bytes back when the last mapping is gone."""
        os.close(self.descriptor)


class Spills:
    """A rank's spill files, by their descriptors, and the thread that writes them beside what computes."""

    def __init__(self, folder: str | None, emit: Callable[[Event], None], rank: int, sharers: int = 1) -> None:
        self._folder, self._emit, self._rank, self._sharers = folder, emit, rank, sharers
        self._files: dict[int, SpillFile] = {}
        self._work: SimpleQueue[tuple[Spill, list[Bytes]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = False

    def __len__(self) -> int:
        return len(self._files)

    def write(self, command: Spill, arena: Bytes) -> None:
        """Have slabs of an arena written; what comes of it is told by an event."""
        places = zip(command.offsets.tolist(), command.sizes.tolist(), strict=True)
        self._work.put((command, [arena[offset : offset + count] for offset, count in places]))
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop, name="windrow-spiller", daemon=True)
            self._thread.start()

    def fit(self, more: int = 0) -> bool:
        """Whether the kernel's cache has room for the files of all ranks here, which have as much as this one."""
        return fits(self._sharers * (sum(file.size for file in list(self._files.values())) + more))

    def memory(self, source: int) -> Bytes:
        return self._files[source].memory

    def drop(self, source: int) -> None:
        self._files.pop(source).close()

    def close(self) -> None:
        """Close all files; what is being written is closed when it is written."""
        self._work.put(None)
        with self._lock:
            self._closed = True
        for source in list(self._files):
            self.drop(source)

    def _loop(self) -> None:
        while (task := self._work.get()) is not None:
            self._emit(self._spill(*task))
            del task

    def _spill(self, command: Spill, slabs: list[Bytes]) -> Spilled:
        cached = self.fit(int(command.sizes.sum()))
        try:
            file = SpillFile(self._folder, slabs, cached)
        except OSError as error:
            return Spilled(self._rank, command.number, -1, command.offsets, str(error))
        if not cached:
            self._uncache()
        with self._lock:
            if self._closed:
                file.close()
            else:
                self._files[file.descriptor] = file
        return Spilled(self._rank, command.number, file.descriptor, file.offsets)

    def _uncache(self) -> None:
        """Take from the kernel's cache what was written while there was room for it."""
        for file in list(self._files.values()):
            if file.cached:
                with contextlib.suppress(OSError):
                    file.uncache()


def _write_at(descriptor: int, values: Bytes, at: int) -> None:
    left = values.data
    while left:
        try:
            count = os.pwrite(descriptor, left, at)
        except OSError as error:
            if error.errno != errno.EINVAL or not fcntl.fcntl(descriptor, fcntl.F_GETFL) & DIRECT:
                raise
            _write_past_cache(descriptor, False)  # a file system that can't after all
            continue
        left, at = left[count:], at + count


def _write_past_cache(descriptor: int, past: bool = True) -> None:
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | DIRECT if past else flags & ~DIRECT)
    except OSError:  # a file system that can't
        return


def _nameless(folder: str | None) -> int:
    import tempfile

    folder = folder or tempfile.gettempdir()
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        descriptor, path = tempfile.mkstemp(prefix="windrow-", dir=folder)
        os.unlink(path)
        return descriptor
