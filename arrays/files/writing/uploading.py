"""Writing to URLs, by fsspec: new files take their place when they are complete, as local ones do."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

from ....graph.errors import FileError, FileExists
from ....workers.sources.formats.places import file_system
from ....workers.sources.formats.uploads import MOVING, PARTIAL, Upload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

    from ..glob import Options

BLOCK = 1 << 24
"""Bytes of a file made here that are sent at once."""


@contextmanager
def upload_folder(
    operation: str, url: str, options: Options, overwrite: bool, ours: Callable[[list[str]], bool]
) -> Iterator[Upload]:
    """Give a folder at a URL to put files into, which take their places at the end, or none does.

    `ours(names)` tells whether a folder that has these files may be replaced.
    """
    upload = Upload(url.rstrip("/"), os.urandom(4).hex(), operation, options)
    with _named_errors(operation, url):
        system, inner = file_system(upload.url, options)
        _refuse(operation, url, _list(system, inner), overwrite, ours)
    hidden = f"{inner}/_{upload.tag}{PARTIAL}"
    try:
        yield upload
        with _named_errors(operation, url):
            there = _list(system, inner)
            _refuse(operation, url, there, overwrite, ours)
            _move(system, inner, hidden, there)
    finally:
        _remove_folder(system, hidden)


def check_uploaded(upload: Upload, names: list[str], sizes: np.ndarray[Any, Any]) -> None:
    """Raise if a file that a task has sent isn't visible here with the same size."""
    system, hidden = file_system(upload.hidden, upload.options)
    system.invalidate_cache()
    stored_sizes = {path.rpartition("/")[2]: info["size"] for path, info in system.find(hidden, detail=True).items()}
    for name, size in zip(names, sizes.reshape(-1).tolist(), strict=True):
        if stored_sizes.get(name) != size:
            what = "isn't there" if name not in stored_sizes else f"has {stored_sizes[name]} bytes"
            raise FileError(f"{upload.operation}: {upload.hidden}/{name} {what}; {size} were written")


def _list(system: Any, inner: str) -> list[str]:
    """Return the files of a folder by their names within it."""
    system.invalidate_cache()
    return [path[len(inner) :].lstrip("/") for path in system.find(inner)] if system.exists(inner) else []


def _refuse(operation: str, url: str, there: list[str], overwrite: bool, ours: Callable[[list[str]], bool]) -> None:
    """Raise if something at a URL mustn't be replaced; files that a killed writer has left don't count."""
    entries = [name for name in there if not _is_left(name)]
    if entries and not overwrite:
        raise FileExists(f"{operation}: argument 'path' is {url!r}, which exists; expected a new one or overwrite=True")
    if entries and not ours(entries):
        raise FileExists(f"{operation}: argument 'path' is {url!r}, which {operation} didn't make; it stays as it is")


def _is_left(name: str) -> bool:
    head, within, _ = name.partition("/")
    return name == MOVING or bool(within and head.startswith("_") and head.endswith(PARTIAL))


def _move(system: Any, inner: str, hidden: str, there: list[str]) -> None:
    """Move the new files to their place, and remove the old ones; `MOVING` marks the time between."""
    names = _list(system, hidden)
    system.makedirs(inner, exist_ok=True)  # on file systems without folders
    system.pipe_file(f"{inner}/{MOVING}", b"")
    for name in names:
        system.cp_file(f"{hidden}/{name}", f"{inner}/{name}")
    stay = {MOVING, *names}
    for path in (f"{inner}/{name}" for name in there if name not in stay):
        if not path.startswith(f"{hidden}/"):
            system.rm_file(path)
    system.rm_file(f"{inner}/{MOVING}")


def _remove_folder(system: Any, path: str) -> None:
    with suppress(Exception):
        system.invalidate_cache()
        if system.exists(path):
            system.rm(path, recursive=True)


@contextmanager
def upload_file(
    operation: str, url: str, options: Options, overwrite: bool
) -> Iterator[Callable[[bytes | memoryview], None]]:
    """Give what writes the next bytes of a file, which takes its place at a URL when it is whole, or nothing does."""
    with _named_errors(operation, url):
        system, inner = file_system(url, options)
        _refuse_file(operation, url, system, inner, overwrite)
        folder, _, name = inner.rpartition("/")
        hidden = f"{folder}/_{name}.{os.urandom(4).hex()}{PARTIAL}"
        file = system.open(hidden, "wb", block_size=BLOCK)

    def write(raw: bytes | memoryview) -> None:
        with _named_errors(operation, url):
            file.write(raw)

    try:
        yield write
        with _named_errors(operation, url):
            file.close()
            _refuse_file(operation, url, system, inner, overwrite)
            system.cp_file(hidden, inner)
            system.invalidate_cache()
            for left in system.glob(f"{glob.escape(f'{folder}/_{name}.')}*{PARTIAL}"):  # those of killed writers, too
                system.rm_file(left)
    finally:
        with suppress(Exception):
            file.close()
        with suppress(Exception):
            system.rm_file(hidden)


def _refuse_file(operation: str, url: str, system: Any, inner: str, overwrite: bool) -> None:
    system.invalidate_cache()
    if system.isdir(inner):
        raise FileExists(f"{operation}: argument 'path' is {url!r}, which is a folder; it stays as it is")
    if system.exists(inner) and not overwrite:
        raise FileExists(f"{operation}: argument 'path' is {url!r}, which exists; expected a new one or overwrite=True")


@contextmanager
def local_copy(operation: str, url: str, options: Options) -> Iterator[tuple[Any, bool]]:
    """Give an unnamed local copy of the file at a URL, and whether there is one; it is always removed at the end."""
    with tempfile.TemporaryFile() as file:
        with _named_errors(operation, url):
            system, inner = file_system(url, options)
            system.invalidate_cache()
            there = system.exists(inner)
            if there:
                with system.open(inner, "rb") as remote:
                    shutil.copyfileobj(remote, file, BLOCK)
                file.seek(0)
        yield file, there


@contextmanager
def _named_errors(operation: str, url: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, FileError):
            raise
        _raise(operation, url, error)
    except Exception as error:  # each file system has its own
        _raise(operation, url, error)


def _raise(operation: str, url: str, error: Exception) -> NoReturn:
    raise FileError(f"{operation}: {url!r} could not be written: {type(error).__name__}: {error}") from error
