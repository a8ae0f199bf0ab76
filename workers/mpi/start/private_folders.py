"""The folders that belong to this process's MPI alone, to be deleted when the process ends.

Open MPI leaves its shared memory segments and session folders behind when it is killed. Where they lie in
folders of their own, the janitor deletes those and nothing else. Where somebody has killed the janitor too, as a batch
system does, the next job on the host deletes them: each process of a job holds a lock in its folder of shared memory.

The folder also holds a `prte` of two lines, found first on PATH while ranks are spawned. It starts the real
one in a session of its own: a Ctrl-C in the driver's terminal (or a notebook's interrupt, which goes to the
kernel's process group) would otherwise reach the launcher too, and it would abort the job.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shlex
import shutil
import sys
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..deaths.janitor import remove

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SHARED_MEMORY = "/dev/shm"
_PREFIX, _LOCK = "windrow-", "lock"
_TRIES = 5  # at making a folder that another job deletes as one that nobody holds yet
_SEGMENTS = ("OMPI_MCA_btl_sm_backing_directory", "OMPI_MCA_osc_rdma_backing_directory")


@dataclass(frozen=True, slots=True)
class Folders:
    """The private folders: of shared memory segments, session files, and the launcher, if any."""

    segments: str
    sessions: str
    launcher: str

    def all(self) -> tuple[str, ...]:
        """Return every folder to delete, each once."""
        return tuple(dict.fromkeys(x for x in (self.segments, self.sessions, self.launcher) if x))


def remove_mapped_segments() -> None:
    """Remove the files of MPI's shared memory that this process has mapped, which nobody else can have: it is alone.

    Open MPI leaves the file of a process that no launcher of its own has started, whether it finalizes or not.
    """
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        paths = {line.split(maxsplit=5)[-1].strip() for line in maps if f"{SHARED_MEMORY}/sm_segment." in line}
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)


def segment_settings(folder: str) -> dict[str, str]:
    """Return what has MPI make the files of its shared memory in a folder, those of windows too."""
    return dict.fromkeys(_SEGMENTS, folder)


def make(name: str, guarded: Callable[[Iterable[str]], None]) -> Folders:
    """Make the folders of a driver that starts MPI itself; their names begin with `name`.

    `guarded` is told of them before they are made, so that they go whenever this process dies.
    """
    word = f"{name}-{secrets.token_hex(6)}"
    sessions = os.path.join(tempfile.gettempdir(), word)
    memory = os.access(SHARED_MEMORY, os.W_OK)
    segments = os.path.join(SHARED_MEMORY, word) if memory else sessions
    guarded(dict.fromkeys((segments, sessions)))
    sweep()
    for folder in dict.fromkeys((segments, sessions)):
        os.mkdir(folder, 0o700)
    hold(segments)
    # A temporary folder may be mounted noexec: then the other one may serve.
    launcher = next((x for x in dict.fromkeys((sessions, segments)) if _write_launcher(x)), "")
    return Folders(segments, sessions, launcher)


def job_folder(job: str) -> str:
    """Return the path of a launched job's folder on this host, where its shared memory segments lie; empty for none.

    The launcher's name of the job is unique on the host: all ranks find the same folder.
    """
    if not job or not os.access(SHARED_MEMORY, os.W_OK):
        return ""
    name = "".join(c if c.isalnum() else "-" for c in job)
    return os.path.join(SHARED_MEMORY, f"{_PREFIX}{os.geteuid()}-{name}")


def make_job_folder(path: str) -> bool:
    """Make the folder of a launched job, as the first rank of a host does; False when that is impossible."""
    sweep()
    with contextlib.suppress(OSError):
        for _ in range(_TRIES):
            os.makedirs(path, mode=0o700, exist_ok=True)
            if os.stat(path).st_uid != os.geteuid():
                return False
            if hold(path):
                return True
    return False


def hold(folder: str) -> bool:
    """Lock a folder while this process lives, so that no other job deletes it; False when one just has."""
    with contextlib.suppress(OSError):
        held = os.open(os.path.join(folder, _LOCK), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(held, fcntl.LOCK_SH)
        if os.fstat(held).st_nlink:
            return True
        os.close(held)
    return False


def sweep() -> None:
    """Delete the folders in shared memory of this user's jobs in which nobody lives any more."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(SHARED_MEMORY):
            if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
                _sweep(entry.path)


def _sweep(folder: str) -> None:
    """Delete a folder unless somebody holds it, or it is none of ours."""
    with contextlib.suppress(OSError):
        if os.stat(folder).st_uid != os.geteuid():
            return
        lock = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(folder)
        finally:
            os.close(lock)


@contextlib.contextmanager
def in_force(folders: Folders) -> Iterator[None]:
    """Make MPI use the folders inside the block, where it is initialised and spawns.

    `TMPDIR` is the exception: it would reach the ranks, and the user's code in them, so it is set by
    `initialising`.
    """
    settings = {
        **segment_settings(folders.segments),
        "PRTE_MCA_prte_tmpdir_base": folders.sessions,
    }
    if folders.launcher:
        settings["PATH"] = os.pathsep.join([folders.launcher, os.environ.get("PATH", os.defpath)])
    with environment_with(settings):
        yield


@contextlib.contextmanager
def initialising(folders: Folders) -> Iterator[None]:
    """Point `TMPDIR` at the folder of sessions, for `MPI_Init` only."""
    with environment_with({"TMPDIR": folders.sessions}):
        yield


@contextlib.contextmanager
def environment_with(settings: dict[str, str]) -> Iterator[None]:
    """Set variables of the environment for the time of the block."""
    before = {key: os.environ.get(key) for key in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


def _write_launcher(folder: str) -> bool:
    """Write the `prte` that starts the real one in its own session; False when it could not be executed."""
    real = shutil.which("prte")
    if real is None:
        return False
    code = "import os,sys; os.setsid(); os.execv(sys.argv[1], sys.argv[1:])"
    call = [sys.executable, "-I", "-S", "-E", "-c", code, real]
    path = os.path.join(folder, "prte")
    with open(path, "w", encoding="utf-8") as file:
        # In another session it could read the driver's terminal, and take away what is typed there.
        file.write(f'#!/bin/sh\nexec {shlex.join(call)} "$@" </dev/null\n')
    os.chmod(path, 0o700)
    return os.access(path, os.X_OK)
