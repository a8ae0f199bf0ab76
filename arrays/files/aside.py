"""Writing aside: what is made lies in a hidden folder beside its place until it is whole, and is then renamed."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...graph.errors import ArgumentError, FileError, FileExists, MissingFile, bad
from ...workers.stored import Runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

    from ...graph.grid import Grid

FILE_BYTES = 1 << 24
"""Consecutive chunks share a file up to so many bytes."""

CHUNK_COST = 1 << 13
"""Small chunks count as so many bytes, so that few thousand of them share a file."""


def path_of(operation: str, path: Any) -> str:
    """Return an absolute path.

    Raises
    ------
    ArgumentError
        For what is neither text nor a path, such as an open file: ranks have no part in that.
    """
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError(bad(operation, "path", path, "a path: text, or a pathlib.Path"))
    found = os.fspath(path)
    if not isinstance(found, str) or not found:
        raise ArgumentError(bad(operation, "path", path, "a path: text, or a pathlib.Path"))
    return os.path.abspath(found)


@contextmanager
def aside(operation: str, path: str, overwrite: bool, ours: Callable[[str], bool]) -> Iterator[str]:
    """Give a hidden folder; what is made as `data` in it takes the place of `path` at the end, or nothing does.

    `ours(path)` tells whether what is there now may be replaced at all. Failures of the file system become
    `FileError`; the hidden folder is removed however it ends.
    """
    _refuse(operation, path, overwrite, ours)
    parent, name = os.path.split(path)
    try:
        hidden = tempfile.mkdtemp(prefix=f".{name}.", suffix=".partial", dir=parent)
    except OSError as error:
        raise _named(operation, path, error) from error
    try:
        open(os.path.join(hidden, "mode"), "xb").close()  # has the rights that the user's mask leaves
        yield hidden
        _refuse(operation, path, overwrite, ours)
        if os.path.lexists(path):
            os.rename(path, os.path.join(hidden, "old"))
        os.rename(os.path.join(hidden, "data"), path)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise _named(operation, path, error) from error
    finally:
        _remove(hidden)


def _refuse(operation: str, path: str, overwrite: bool, ours: Callable[[str], bool]) -> None:
    parent = os.path.dirname(path)
    if not os.path.isdir(parent):
        raise MissingFile(f"{operation}: argument 'path' is {path!r}; there is no folder {parent!r} to write it in")
    if not os.path.lexists(path):
        return
    if not overwrite:
        raise FileExists(
            f"{operation}: argument 'path' is {path!r}, which exists; expected a new path or overwrite=True"
        )
    if not ours(path):
        raise FileExists(f"{operation}: argument 'path' is {path!r}, which {operation} didn't make; it stays as it is")


def _named(operation: str, path: str, error: OSError) -> FileError:
    found = FileError(f"{operation}: {path!r} could not be written: {type(error).__name__}: {error}")
    found.errno = error.errno
    for note in getattr(error, "__notes__", ()):
        found.add_note(note)
    return found


def _remove(hidden: str) -> None:
    """Remove a folder in which a task that nobody wants any more may still be writing: it can't find it any more."""
    gone = f"{hidden}.gone"
    try:
        os.rename(hidden, gone)
    except OSError:
        gone = hidden
    for _ in range(100):
        shutil.rmtree(gone, ignore_errors=True)
        if not os.path.exists(gone):
            return
        time.sleep(0.02)


def runs_of(grid: Grid, itemsize: int) -> Runs:
    """Return which chunks share a file: whole rows of chunks while they are small; it follows from the grid alone."""
    each = max(CHUNK_COST, grid.largest * itemsize)
    groups = [1] * grid.ndim
    for i in reversed(range(grid.ndim)):
        fit = max(1, FILE_BYTES // each)
        groups[i] = int(min(fit, grid.counts[i]))
        each *= groups[i]
        if fit < grid.counts[i]:
            break
    return Runs(grid, tuple(groups))


def check_sizes(operation: str, folder: str, names: list[str], sizes: np.ndarray[Any, Any]) -> None:
    """Raise where a file that a task has written isn't seen from here as it was written."""
    for name, size in zip(names, sizes.reshape(-1).tolist(), strict=True):
        path = os.path.join(folder, "data", name)
        try:
            found = os.stat(path).st_size
        except OSError as error:
            raise FileError(
                f"{operation}: {path} isn't seen by the driver; expected a folder that all hosts share"
            ) from error
        if found != size:
            raise FileError(f"{operation}: {path} has {found} bytes; {size} were written")
