"""Spill files: slabs on disk as Arrow files, mapped when they are read again.

A file has no name (O_TMPFILE, or unlinked at once), so nothing is left behind by any death. Peers on the node map it
through its owner's file descriptor.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .transport import Bytes


class SpillFile:
    """Slabs written to one nameless file: `offsets` says where each begins in the mapping `memory`."""

    def __init__(self, folder: str | None, slabs: list[Bytes]) -> None:
        import pyarrow as pa

        self.descriptor = _nameless(folder or tempfile.gettempdir())
        try:
            with pa.PythonFile(os.fdopen(os.dup(self.descriptor), "wb"), "w") as sink:
                schema = pa.schema([("slab", pa.uint8())])
                with pa.ipc.new_file(sink, schema) as writer:
                    for slab in slabs:
                        column = pa.Array.from_buffers(pa.uint8(), slab.nbytes, [None, pa.py_buffer(slab)])
                        writer.write_batch(pa.record_batch([column], schema=schema))
            self._map = mmap.mmap(self.descriptor, 0, prot=mmap.PROT_READ)
            self.memory: Bytes = np.frombuffer(self._map, np.uint8)
            batches = pa.ipc.open_file(pa.py_buffer(self._map))
            base = self.memory.ctypes.data
            places = [batches.get_batch(i).column(0).buffers()[1].address - base for i in range(len(slabs))]
            self.offsets = np.array(places, np.int64)
        except BaseException:
            os.close(self.descriptor)
            raise

    def close(self) -> None:
        """Close the file; the disk has its bytes back when the last mapping is gone."""
        os.close(self.descriptor)


def _nameless(folder: str) -> int:
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        descriptor, path = tempfile.mkstemp(prefix="windrow-", dir=folder)
        os.unlink(path)
        return descriptor
