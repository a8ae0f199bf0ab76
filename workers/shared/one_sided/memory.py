"""Memory that all ranks of a host write: files without names, mapped by each, that outlive their makers."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ...wire.transport import Bytes

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
_PAGE = mmap.PAGESIZE


@dataclass(frozen=True, slots=True)
class PartPlace:
    """Where others find a part: a process's file descriptor, whose name has a word that nobody else uses."""

    pid: int
    descriptor: int
    name: str
    nbytes: int


class OwnPart:
    """A rank's own part, of a fixed size; zeros at first.

    Parameters
    ----------
    word
        Tells it from all others of the host.
    nbytes
        Its size.
    """

    def __init__(self, word: str, nbytes: int) -> None:
        name = f"windrow-symmetric-{word}"
        size = max(_PAGE, -(-nbytes // _PAGE) * _PAGE)
        self._descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self._descriptor, size)
            fcntl.fcntl(self._descriptor, fcntl.F_ADD_SEALS, _SEALS)
            self.bytes: Bytes = _map(self._descriptor, size)[:nbytes]
        except BaseException:
            os.close(self._descriptor)
            raise
        self.place = PartPlace(os.getpid(), self._descriptor, name, nbytes)

    def close(self) -> None:
        """Let nobody else find it; the memory goes with the last that has it mapped."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            self.close()


def find(place: PartPlace) -> Bytes | None:
    """Map another rank's part, to be read and written; None where its process can't be seen."""
    path = f"/proc/{place.pid}/fd/{place.descriptor}"
    try:
        # In another namespace the number may be some other process.
        if os.readlink(path) != f"/memfd:{place.name} (deleted)":
            return None
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _map(descriptor, os.fstat(descriptor).st_size)[: place.nbytes]
    except (OSError, ValueError):
        return None
    finally:
        os.close(descriptor)


def _map(descriptor: int, size: int) -> Bytes:
    mapped = mmap.mmap(descriptor, size)
    with contextlib.suppress(OSError, AttributeError):  # random positions need fewer entries of the page tables so
        mapped.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(mapped, np.uint8)
