"""Spill files: slabs on disk, mapped when they are read again; in the mapping, too, each is a valid Arrow buffer.

A file has no name (O_TMPFILE, or unlinked at once), so nothing is left behind by any death. Peers on the node map it
through its owner's file descriptor.
"""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING

import numpy as np

from ..graph.stage import ALIGN

if TYPE_CHECKING:
    from .transport import Bytes


class SpillFile:
    """Slabs written to one nameless file: `offsets` says where each begins in the mapping `memory`."""

    def __init__(self, folder: str | None, slabs: list[Bytes]) -> None:
        padded = np.array([-(-slab.nbytes // ALIGN) * ALIGN for slab in slabs], np.int64)
        ends = np.cumsum(padded)
        self.offsets = ends - padded
        self.descriptor = _nameless(folder)
        try:
            with open(os.dup(self.descriptor), "wb") as file:
                for slab, begin in zip(slabs, self.offsets.tolist(), strict=True):
                    file.seek(begin)
                    file.write(slab.data)
                file.truncate(max(ALIGN, int(ends[-1]) if len(ends) else 0))
            self._map = mmap.mmap(self.descriptor, 0, prot=mmap.PROT_READ)
            self.memory: Bytes = np.frombuffer(self._map, np.uint8)
        except BaseException:
            os.close(self.descriptor)
            raise

    def close(self) -> None:
        """Close the file; the disk has its bytes back when the last mapping is gone."""
        os.close(self.descriptor)


def _nameless(folder: str | None) -> int:
    import tempfile

    folder = folder or tempfile.gettempdir()
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        descriptor, path = tempfile.mkstemp(prefix="windrow-", dir=folder)
        os.unlink(path)
        return descriptor
