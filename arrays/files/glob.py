"""The files that a path, a pattern, a folder or a URL stands for, found by the driver, in the order of their names."""

from __future__ import annotations

import fnmatch
import glob
import importlib
import os
import re
import stat
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ...graph.errors import ArgumentError, FileError, MissingFile, bad
from ...scheduler.session.cluster import session
from ...workers.sources.formats.places import FilePlace, describe, file_system, is_url
from ...workers.sources.formats.uploads import MOVING
from .writing.atomic_write import path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..typing import PathLike

Options = tuple[tuple[str, Any], ...]
_KINDS = {
    stat.S_IFIFO: "a pipe (FIFO)",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def need(operation: str, package: str, what: str) -> Any:
    """Import and return a library's module; raise with its name if it isn't installed."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        name = package.partition(".")[0]
        raise ImportError(f'{operation}: {what} needs {name}; install it by pip install "{name}"') from error


def read_options(operation: str, storage_options: Mapping[str, Any] | None) -> Options:
    """Return the options that are passed to fsspec."""
    if storage_options is None:
        return ()
    if not isinstance(storage_options, dict) or not all(isinstance(k, str) for k in storage_options):
        raise ArgumentError(bad(operation, "storage_options", storage_options, "a dict of fsspec's options, or None"))
    return tuple(sorted(storage_options.items()))


def location(operation: str, path: PathLike, options: Options = ()) -> str:
    """Return an absolute path, or a URL as it was given; `file://` is a path."""
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str) or not is_url(text):
        return path_of(operation, path)
    if text.startswith("file://"):
        return path_of(operation, unquote(text[len("file://") :]))
    need(operation, "fsspec", f"the URL {text!r}")
    if text.startswith("memory://") and session().ranks > 1:
        raise ArgumentError(bad(operation, "path", text, "a place that all ranks see; each has a memory of its own"))
    try:
        file_system(text, options)
    except ImportError as error:
        raise ImportError(f"{operation}: the URL {text!r} needs another package: {error}") from error
    except ValueError as error:
        raise ArgumentError(bad(operation, "path", text, f"a URL that fsspec opens ({error})")) from error
    return text


def find_one(operation: str, path: PathLike, storage_options: Mapping[str, Any] | None = None) -> FilePlace:
    """Return one file."""
    options = read_options(operation, storage_options)
    return _describe(operation, location(operation, path, options), options)


def find_files(
    operation: str,
    path: PathLike,
    storage_options: Mapping[str, Any] | None = None,
    *,
    endings: Sequence[str] = (),
    argument: str = "path",
) -> list[FilePlace]:
    """Return the files that a path, a pattern, a folder, or a list of such stands for.

    Of a folder and its subfolders, the files with one of some endings; names that begin with "." or "_" are left out.
    """
    options = read_options(operation, storage_options)
    entries = list(path) if isinstance(path, list | tuple) else [path]
    if not entries:
        raise ArgumentError(bad(operation, argument, path, "a path, or a list of at least one"))
    paths: list[str] = []
    for each in entries:
        one = location(operation, each, options)
        refuse_moving(operation, one, options) if not _is_pattern(one) else None
        listed = _list_url(one, options, endings) if is_url(one) else _list(one, endings)
        if not listed:
            what = "nothing" if not endings else f"no file that ends with {' or '.join(endings)}"
            what = "no file that it matches" if _is_pattern(one) else what
            raise MissingFile(f"{operation}: argument {argument!r} is {each!r}; there is {what}")
        paths += listed
    return [_describe(operation, one, options) for one in paths]


def refuse_special(operation: str, path: str) -> None:
    """Raise for a path that is neither a file nor a folder: opening a pipe waits until somebody writes to it."""
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        kind = _KINDS.get(stat.S_IFMT(mode), "neither a file nor a folder")
        raise FileError(f"{operation}: argument 'path' is {path!r}, which is {kind}; expected a regular file")


def refuse_moving(operation: str, folder: str, options: Options) -> None:
    """Raise if the files of a folder at a URL are being moved to their paths, or a writer was killed meanwhile."""
    if not is_url(folder):
        return
    system, inner = file_system(folder, options)
    try:
        system.invalidate_cache()
        moving = system.exists(f"{inner}/{MOVING}")
    except Exception as error:
        raise FileError(f"{operation}: {folder!r} could not be read: {type(error).__name__}: {error}") from error
    if moving:
        raise FileError(
            f"{operation}: files of {folder!r} are being moved to their places, or who wrote them was killed amid that "
            f"({MOVING} is there); write it again with overwrite=True"
        )


def natural(name: str) -> list[Any]:
    """Return the sort key of a name: digits in it count as numbers."""
    return [(0, int(part), part) if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name) if part]


def _describe(operation: str, path: str, options: Options) -> FilePlace:
    try:
        if not is_url(path):
            refuse_special(operation, path)
        return describe(operation, path, options)
    except FileNotFoundError as error:
        raise MissingFile(f"{operation}: argument 'path' is {path!r}; there is nothing") from error
    except FileError:
        raise
    except Exception as error:
        raise FileError(f"{operation}: {path!r} could not be read: {type(error).__name__}: {error}") from error


def _is_pattern(path: str) -> bool:
    return glob.has_magic(path)


def _list(path: str, endings: Sequence[str]) -> list[str]:
    if os.path.isfile(path):
        return [path]
    if os.path.isdir(path):
        inside = (os.path.join(root, name) for root, _, names in os.walk(path) for name in names)
        return _choose(inside, path, endings)
    if not _is_pattern(path):
        return [path]
    return _expand(glob.glob(path, recursive=True), os.path.isfile, lambda one: _list(one, endings), endings)


def _list_url(path: str, options: Options, endings: Sequence[str]) -> list[str]:
    system, inner = file_system(path, options)
    system.invalidate_cache()
    if _is_pattern(inner):

        def within(one: str) -> list[str]:
            return _choose(system.find(one), one, endings)

        return [system.unstrip_protocol(one) for one in _expand(system.glob(inner), system.isfile, within, endings)]
    if not system.isdir(inner):
        return [path]
    return [system.unstrip_protocol(name) for name in _choose(system.find(inner), inner, endings)]


def _expand(
    matches: Sequence[str], is_file: Callable[[str], bool], within: Callable[[str], list[str]], endings: Sequence[str]
) -> list[str]:
    """Return the files that a pattern matches, each once; in matched folders those with one of the endings."""
    paths: dict[str, None] = {}
    for one in sorted(matches, key=natural):
        if is_file(one):
            paths[one] = None
        elif endings and not os.path.basename(one.rstrip("/")).startswith((".", "_")):
            paths |= dict.fromkeys(within(one))
    return sorted(paths, key=natural)


def _choose(paths: Any, root: str, endings: Sequence[str]) -> list[str]:
    """Return the paths of files below a folder that have one of the endings, in order."""
    matches = []
    for path in paths:
        below = path[len(root) :].strip("/").split("/")
        hidden = any(part.startswith((".", "_")) for part in below)
        if not hidden and any(fnmatch.fnmatch(below[-1].lower(), f"*{end}") for end in endings):
            matches.append(path)
    return sorted(matches, key=natural)
