"""Files at paths and at URLs, as they were when an array was made of them: what has changed since is an error.

A path is read by the system's own calls, a URL by fsspec, which is loaded for it. Neither is kept open between reads
by more than the reader of one array.
"""

from __future__ import annotations

import io
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import FileError, SourceChanged
from ..file_arrays import OpenFile, Stamp, elements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..file_arrays import Array
    from ..source_reader import Picks

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(::|://)")
_MARKS = ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "created")
"""What file systems call the mark of a version, the surest first."""


def is_url(path: str) -> bool:
    """Tell whether a text is a URL, or a chain of them, and no path."""
    return _URL.match(path) is not None


def file_system(path: str, options: tuple[tuple[str, Any], ...]) -> tuple[Any, str]:
    """Return fsspec's file system for a URL, and the path in it."""
    import fsspec

    resolved: tuple[Any, str] = fsspec.core.url_to_fs(path, **dict(options))
    return resolved


def mark_of(told: dict[str, Any]) -> str:
    """Return what tells a version of a file from another, as a file system tells it; "" where it doesn't."""
    return next((str(told[name]) for name in _MARKS if told.get(name) is not None), "")


@dataclass(frozen=True)
class FilePlace:
    """A file at an absolute path or a URL: its size, and its time of change in ns or another mark of its version.

    `label` names what made the array; `options` are fsspec's, and no part of its name.
    """

    path: str
    size: int
    mark: Any
    label: str
    options: tuple[tuple[str, Any], ...] = field(default=(), metadata={"token": False}, repr=False, compare=False)

    @property
    def is_local(self) -> bool:
        """Whether it is a path."""
        return not is_url(self.path)

    @property
    def stamp(self) -> Stamp:
        """The same of a local file."""
        return Stamp(self.path, self.size, self.mark, self.label)

    def check(self) -> None:
        """Raise where the file isn't what it was."""
        if self.is_local:
            self.stamp.check()
            return
        system, path = file_system(self.path, self.options)
        try:
            system.invalidate_cache()
            info = system.info(path)
        except Exception as error:
            raise SourceChanged(f"{self.label}: the file {self.path} of the array is gone: {error}") from error
        if (info["size"], mark_of(info)) != (self.size, self.mark):
            raise SourceChanged(
                f"{self.label}: the file {self.path} changed underneath the array: it has {info['size']} bytes; it had "
                f"{self.size}"
            )

    def open(self) -> OpenFile | OpenUrl:
        """Return what fills arrays with bytes of the file."""
        return OpenFile(self.stamp) if self.is_local else OpenUrl(self)

    def stream(self) -> Any:
        """Return the file, open for reading: what libraries take."""
        self.check()
        try:
            if self.is_local:
                return io.BufferedReader(LocalStream(self))
            system, path = file_system(self.path, self.options)
            return system.open(path, "rb")
        except Exception as error:
            raise SourceChanged(f"{self.label}: the file {self.path} can't be opened any more: {error}") from error

    def read_bytes(self, start: int = 0, stop: int | None = None) -> bytes:
        stop = self.size if stop is None else stop
        with self.stream() as file:
            file.seek(start)
            raw = bytes(file.read(stop - start))
        if len(raw) < stop - start:
            self.check()
            raise FileError(f"{self.label}: {self.path} ends at {start + len(raw)}; expected {stop} bytes")
        return raw


class LocalStream(io.RawIOBase):
    """A local file that is open for reading; one that is cut short meanwhile is an error."""

    def __init__(self, place: FilePlace) -> None:
        super().__init__()
        self._file, self._size, self._at = OpenFile(place.stamp), place.size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, target: Any) -> int:
        """Read as many bytes as there are, and fit."""
        count = max(0, min(len(target), self._size - self._at))
        if count:
            self._file.fill(np.frombuffer(memoryview(target)[:count], np.uint8), self._at)
        self._at += count
        return count


class OpenUrl:
    """A file at a URL: each read asks for a range of its bytes."""

    def __init__(self, stamp: FilePlace) -> None:
        self.stamp = stamp
        stamp.check()

    def fill(self, target: Array, at: int) -> None:
        """Read as many bytes as a contiguous target has."""
        left = memoryview(target.reshape(-1).data).cast("B") if target.nbytes else memoryview(b"")
        if not len(left):
            return
        system, path = file_system(self.stamp.path, self.stamp.options)
        try:
            raw = system.cat_file(path, start=at, end=at + len(left))
        except Exception as error:
            raise SourceChanged(f"{self.stamp.label}: {self.stamp.path} can't be read: {error}") from error
        if len(raw) < len(left):
            self.stamp.check()
            raise SourceChanged(f"{self.stamp.label}: the file {self.stamp.path} ends before the array does")
        left[:] = raw

    def read(self, dtype: np.dtype[Any], offset: int, strides: Sequence[int], picks: Picks) -> Array:
        """Return elements of a strided array in the file, as `OpenFile.read` does."""
        array = elements(self, dtype, offset, strides, picks)
        self.stamp.check()
        return array


def describe(label: str, path: str, options: tuple[tuple[str, Any], ...] = ()) -> FilePlace:
    """Return a file as it is now, or raise FileNotFoundError."""
    if not is_url(path):
        status = os.stat(path)
        return FilePlace(path, status.st_size, status.st_mtime_ns, label)
    system, inner = file_system(path, options)
    info = system.info(inner)
    if info["type"] == "directory":
        raise IsADirectoryError(path)
    return FilePlace(path, info["size"], mark_of(info), label, options)
