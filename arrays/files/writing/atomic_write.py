"""Atomic writes: new files lie in a hidden folder beside their path until they are complete, and are then renamed.

They are exchanged with old ones atomically, or, if the file system can't exchange two folders, after the old ones were
moved into the hidden folder. A writer holds a lock on a file in the hidden folder. If nobody holds it any more, the
writer was killed, and the next one to write to the same path puts back what was moved, and removes the rest.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import glob
import hashlib
import os
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from ....graph.arguments import check_flag
from ....graph.errors import ArgumentError, FileError, FileExists, MissingFile, bad
from ....scheduler.session.cluster import session
from ....workers.sources.arrow_folder import ChunkRuns
from ...base import wrap
from ...execution.deferred import expand_recipes
from .write_locks import turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np

    from ....graph.chunks.grid import Grid
    from ...array import Array
    from ...typing import PathLike

FILE_BYTES = 1 << 24
"""Consecutive chunks share a file up to this many bytes, or an eighth of the arena, which holds them together."""

MODE = "mode"
"""A hidden folder's empty file, which its writer has locked, and whose permissions are those of new files."""

LOOKS, QUIET = 250, 10
"""A removed folder is looked for at most so often, every 20 ms, until it was missing so often in a row."""

OLD = "old"
"""The old folder, in the hidden folder of the one that replaces it."""

_HERE, _EXCHANGE = -100, 2
"""Linux's AT_FDCWD and RENAME_EXCHANGE."""

LONGEST = 224
"""Longest name, in bytes, to which a hidden folder's ending can be added within the 255 of file systems."""

CHUNK_COST = 1 << 13
"""Small chunks count as this many bytes, so that a few thousand at most share a file."""


def path_of(operation: str, path: PathLike) -> str:
    """Return an absolute path; what is none is refused, such as an open file, which ranks can't use."""
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError(bad(operation, "path", path, "a path: text, or a pathlib.Path"))
    text = os.fspath(path)
    if not isinstance(text, str) or not text:
        raise ArgumentError(bad(operation, "path", path, "a path: text, or a pathlib.Path"))
    return os.path.abspath(text)


@contextmanager
def aside(
    operation: str,
    path: str,
    overwrite: bool,
    ours: Callable[[str], bool],
    check: Callable[[], None] = lambda: None,
    place: Callable[[str], None] | None = None,
) -> Iterator[str]:
    """Give a hidden folder; what is made as `data` in it takes the place of `path` at the end, or nothing does.

    `ours(path)` tells whether what is there now may be replaced at all; `check()` raises at the end where it may not,
    after all, and no other writer takes the place between that and the end. `place(data)`, where it is given, is what
    puts `data` in its place. Failures of the file system become `FileError`; the hidden folder is removed however it
    ends.
    """

    def take_place() -> None:
        data = os.path.join(hidden, "data")
        if place is not None:
            place(data)
            return
        with turn(lock):
            _refuse(operation, path, overwrite, ours)
            check()
            _swap(alone, path, data)

    def begin() -> None:
        with turn(lock) as alone_here:
            _set_aside_left(path, alone_here)
            _refuse(operation, path, overwrite, ours)
            with suppress(FileNotFoundError):
                os.lstat(path)  # raises for a name that is too long, before anything is computed
            begun.append(_begin(hidden))
        for gone in glob.glob(f"{glob.escape(_stem(path))}.????????.partial.gone"):
            _remove_folder(gone)

    lock, hidden = f"{_stem(path)}.lock", f"{_stem(path)}.{os.urandom(4).hex()}.partial"
    alone = threading.Lock()  # after two Ctrl-C the folder may be removed while the swap still runs
    begun: list[IO[bytes]] = []
    whole = False
    try:
        call_undisturbed(begin)
        yield hidden
        call_undisturbed(take_place)
        whole = True
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise _name_error(operation, path, error) from error
    finally:
        for file in begun:
            file.close()
            call_undisturbed(partial(_remove, alone, hidden, path, whole))


def write_once(operation: str, path: str, overwrite: bool, arrays: Sequence[Array], write: Callable[..., None]) -> None:
    """Call `write(*arrays)`; in SPMD mode on rank 0 alone, when all ranks have arrived and agree on values.

    Raises
    ------
    ArgumentError
        `overwrite` isn't True or False: a text such as "no" would replace what is there.
    """
    check_flag(operation, "overwrite", overwrite)
    active = session()
    if active.place[1] > 1:
        arrays = [wrap(expr) for expr in expand_recipes([a.expr for a in arrays])]
    about = (path, overwrite, *(a.expr.token for a in arrays))
    active.once(operation, about, lambda: write(*arrays))


def _stem(path: str) -> str:
    """Return the prefix of the paths of hidden folders for a path; a name that is too long becomes a number."""
    parent, name = os.path.split(path)
    raw = os.fsencode(name)
    return os.path.join(parent, f".{name if len(raw) <= LONGEST else hashlib.blake2b(raw, digest_size=16).hexdigest()}")


def call_undisturbed(function: Callable[[], None]) -> None:
    """Call a function without interruption: a Ctrl-C meanwhile is raised afterwards, a second one at once.

    Python raises them in the main thread only, so the function runs in another one.
    """
    failed: list[BaseException] = []
    taken, done = threading.Lock(), threading.Event()

    def run() -> None:
        if not taken.acquire(blocking=False):
            return
        try:
            function()
        except BaseException as error:
            failed.append(error)
        finally:
            done.set()

    try:
        threading.Thread(target=run, name="windrow-files").start()
        done.wait()  # once interrupted, a thread's `join` may not wait any more
    except KeyboardInterrupt:
        run()  # here, where the thread hasn't begun, or never will: `start` may be interrupted as well
        done.wait()
        raise
    if failed:
        raise failed[0]


def _swap(alone: threading.Lock, path: str, data: str) -> None:
    """Move the new files to their path; if that fails, the old ones come back."""
    hidden = os.path.dirname(data)
    with alone:
        if os.path.isfile(data):
            os.replace(data, path)
            return
        if os.path.lexists(path):
            if _exchange(data, path):
                return
            os.rename(path, os.path.join(hidden, OLD))
        try:
            os.rename(data, path)
        except BaseException:
            _put_back(hidden, path)
            raise


def _exchange(one: str, other: str) -> bool:
    """Exchange two paths atomically; False if the system or the file system can't, or one is gone."""
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return False
    if not function(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE):
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOENT):
        return False
    raise OSError(number, os.strerror(number), other)


def _put_back(hidden: str, path: str) -> None:
    """Put back what a failed swap had moved away, if the new files are still in the hidden folder."""
    old = os.path.join(hidden, OLD)
    if os.path.lexists(old) and os.path.lexists(os.path.join(hidden, "data")) and not os.path.lexists(path):
        os.rename(old, path)


def _begin(hidden: str) -> IO[bytes]:
    """Make a hidden folder and lock it, in one turn: the next writer finds it locked, unless this one was killed."""
    os.mkdir(hidden, 0o700)
    file = open(os.path.join(hidden, MODE), "xb")  # noqa: SIM115  # has the permissions that the user's umask leaves
    with suppress(OSError):  # a file system without locks
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return file


def _set_aside_left(path: str, alone: bool) -> None:
    """Rename this path's hidden folders whose writers were killed; what they had moved away comes back.

    One without a file to lock, if nobody else begins now, had its writer killed as it began, or came again after it was
    removed: stores make folders that are missing.
    """
    for hidden in glob.glob(f"{glob.escape(_stem(path))}.????????.partial"):
        with suppress(OSError):
            mode = os.path.join(hidden, MODE)
            if alone and not os.path.exists(mode):
                os.rename(hidden, f"{hidden}.gone")
                continue
            with open(mode, "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _put_back(hidden, path)
                os.rename(hidden, f"{hidden}.gone")


def _remove_folder(path: str) -> None:
    import shutil

    shutil.rmtree(path, ignore_errors=True)


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


def _name_error(operation: str, path: str, error: OSError) -> FileError:
    file_error = FileError(f"{operation}: {path!r} could not be written: {type(error).__name__}: {error}")
    file_error.errno = error.errno
    for note in getattr(error, "__notes__", ()):
        file_error.add_note(note)
    return file_error


def _remove(alone: threading.Lock, hidden: str, path: str, whole: bool) -> None:
    """Remove a folder in which an abandoned task may still be writing; the task can't find it any more.

    The folder stays if it holds all that is left of the old files. If the write failed, it is checked whether the
    folder reappears: stores make missing folders, and have threads that outlive a task's error.
    """
    gone = f"{hidden}.gone"
    with alone:
        try:
            _put_back(hidden, path)
        except OSError:
            return
        try:
            os.rename(hidden, gone)
        except OSError:
            gone = hidden
    for _ in range(100):
        _remove_folder(gone)
        if not os.path.exists(gone):
            break
        time.sleep(0.02)
    quiet = QUIET if whole else 0
    for _ in range(LOOKS):
        if quiet >= QUIET:
            break
        time.sleep(0.02)
        quiet = 0 if os.path.exists(hidden) else quiet + 1
        _remove_folder(hidden)


def runs_of(grid: Grid, itemsize: int) -> ChunkRuns:
    """Return which chunks share a file: whole rows of chunks while they are small."""
    each = max(CHUNK_COST, grid.largest * itemsize)
    groups, most = [1] * grid.ndim, min(FILE_BYTES, session().room // 8)
    for i in reversed(range(grid.ndim)):
        fit = max(1, most // each)
        groups[i] = int(min(fit, grid.counts[i]))
        each *= groups[i]
        if fit < grid.counts[i]:
            break
    return ChunkRuns(grid, tuple(groups))


def check_sizes(operation: str, folder: str, names: list[str], sizes: np.ndarray[Any, Any]) -> None:
    """Raise if a file that a task has written isn't visible here with the same size."""
    for name, size in zip(names, sizes.reshape(-1).tolist(), strict=True):
        path = os.path.join(folder, "data", name)
        try:
            actual_size = os.stat(path).st_size
        except OSError as error:
            raise FileError(
                f"{operation}: {path} isn't seen by the driver; expected a folder that all hosts share"
            ) from error
        if actual_size != size:
            raise FileError(f"{operation}: {path} has {actual_size} bytes; {size} were written")
