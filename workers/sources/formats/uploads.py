"""Files that are being written at a URL: until all are there they lie where readers of tables don't look.

Object stores put one object in its place at once, and know no change of several. So a file that is the whole result is
written beside its place and copied there when it is whole; the files of a folder are written to one within it whose
name begins with "_", which our readers leave out, as others do. They are moved when all are there, and while they are,
`MOVING` says so: who reads the folder then is told, by an error, and sees no half of it.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ....graph.errors import FileError
from .places import file_system

if TYPE_CHECKING:
    from collections.abc import Iterator

MOVING = "_windrow_moving"
"""What a folder holds while its files are moved to their places."""

PARTIAL = ".partial"


@dataclass(frozen=True)
class Upload:
    """A folder at a URL, and where its files lie until they are all there; `options` are fsspec's."""

    url: str
    tag: str
    operation: str
    options: tuple[tuple[str, Any], ...] = field(default=(), metadata={"token": False}, repr=False, compare=False)

    @property
    def hidden(self) -> str:
        """The URL of the folder within."""
        return f"{self.url}/_{self.tag}{PARTIAL}"

    @contextmanager
    def file(self, name: str) -> Iterator[str]:
        """Give a path in memory to write to; what was written is sent at once."""
        descriptor = os.memfd_create(name)
        try:
            yield f"/proc/self/fd/{descriptor}"
            raw = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        finally:
            os.close(descriptor)
        self.put(name, raw)

    def put(self, name: str, raw: bytes) -> None:
        """Send a file of the folder, as one object."""
        place = f"{self.hidden}/{name}"
        try:
            system, path = file_system(place, self.options)
            system.pipe_file(path, raw)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise FileError(f"{self.operation}: {place} could not be written: {reason}") from error
