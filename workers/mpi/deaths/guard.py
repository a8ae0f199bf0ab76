"""Rank 0's side of the janitor: starts it before MPI, and tells it what to guard. One for each process."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .janitor import NOTE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable

SLOTS = 256
"""Threads that can note what they are at."""

_guard: Guard | None = None


class Notes:
    """Memory that outlives this process: what each of its threads is at, for the janitor to tell."""

    def __init__(self) -> None:
        # Numbers below 5 are where the janitor expects its own.
        low = os.memfd_create("windrow-notes")
        self.descriptor = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, 10)
        os.close(low)
        os.ftruncate(self.descriptor, SLOTS * NOTE_BYTES)
        self._memory = mmap.mmap(self.descriptor, SLOTS * NOTE_BYTES)

    def write(self, slot: int, text: str) -> None:
        """Note what a thread is at; an empty text: nothing."""
        if slot < SLOTS:
            raw = text.encode("utf-8", "replace")[: NOTE_BYTES - 2]
            at = slot * NOTE_BYTES
            self._memory[at : at + 2 + len(raw)] = len(raw).to_bytes(2, "little") + raw


class Guard:
    """The pipe to this process's janitor, with which the ranks of this host may end, as they do with the driver."""

    def __init__(self, kill_ranks: bool = True) -> None:
        read, self._write = os.pipe()
        self.notes = Notes() if kill_ranks else None
        self._signals: tuple[int, int] | None = None
        flags: list[str] = []
        actions: list[Any] = []
        stderr = -1
        if self.notes is not None:
            flags.append("tell")
            stderr = _lasting_stderr()
            self._signals = _high_pipe()
            kept = (stderr, self.notes.descriptor, self._signals[0])
            actions += [(os.POSIX_SPAWN_DUP2, own, number) for number, own in enumerate(kept, 3)]
        self.owner = os.getpid()
        script = str(Path(__file__).with_name("janitor.py"))
        # Its output goes nowhere: it lives longer than the driver, and who reads the driver's pipes waits for
        # their end. What it has to tell it tells at once, and closes what it was given for it.
        self.pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", "-E", script, str(self.owner), "kill" if kill_ranks else "wait", *flags],
            {"PATH": os.defpath},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, read, 0),
                *actions,
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
            setsid=True,
        )
        os.close(read)
        if self.notes is not None:
            os.close(stderr)

    def processes(self, pids: Iterable[int]) -> None:
        self._tell(*(f"guard {pid}" for pid in pids))

    def daemon(self, pid: int) -> None:
        self._tell(f"daemon {pid}")

    def launcher(self, pid: int, grace: float) -> None:
        """End the launcher too, seconds after this process has ended: it may wait for ranks that it can't reach."""
        self._tell(f"launcher {pid} {grace}")

    def folders(self, paths: Iterable[str]) -> None:
        """Delete these in the end."""
        self._tell(*(f"folder {path}" for path in paths))

    def tell_signals(self) -> None:
        """Have the janitor told of each signal as it comes, by C code: Python may have no time to.

        For the main thread. Where somebody else, such as an event loop, is told already nothing is changed.
        """
        if self._signals is not None:
            before = signal.set_wakeup_fd(self._signals[1], warn_on_full_buffer=False)
            if before >= 0:
                signal.set_wakeup_fd(before)
            else:
                os.register_at_fork(after_in_child=partial(_forget_signals, self._signals[1]))

    def quiet(self) -> None:
        """Tell that this process is about to leave in good order."""
        self._tell("quiet")

    def leaving(self, pids: Iterable[int], limit: float) -> None:
        """Tell that these ranks were asked to stop: what is left after `limit` seconds is killed."""
        self._tell("leave " + " ".join([str(limit), *map(str, pids)]))

    def _tell(self, *lines: str) -> None:
        """Write to the janitor; without one (killed by somebody) the rest of the job goes on unguarded."""
        with contextlib.suppress(OSError):
            os.write(self._write, "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))


def _lasting_stderr() -> int:
    """Return a descriptor of what shows errors when this process is gone: mpirun drops what it has said by then."""
    descriptor = -1
    if "OMPI_COMM_WORLD_RANK" in os.environ:
        with contextlib.suppress(OSError):
            descriptor = os.open(f"/proc/{os.getppid()}/fd/2", os.O_WRONLY | os.O_APPEND | os.O_NOCTTY | os.O_CLOEXEC)
    if descriptor < 0:
        descriptor = os.dup(2) if _is_open(2) else os.open(os.devnull, os.O_WRONLY)
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return high


def _high_pipe() -> tuple[int, int]:
    """Return a pipe that never blocks its writer, with numbers that a janitor has no use for."""
    low = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low]
    for end in low:
        os.close(end)
    return high[0], high[1]


def _forget_signals(own: int) -> None:
    """In a forked child: what it gets isn't the driver's."""
    if threading.current_thread() is threading.main_thread():
        wakeup_fd = signal.set_wakeup_fd(-1)
        if wakeup_fd != own:
            signal.set_wakeup_fd(wakeup_fd)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def guard(kill_ranks: bool = True) -> Guard:
    """Return this process's janitor, started at the first call (and again in a forked child)."""
    global _guard
    if _guard is None or _guard.owner != os.getpid():
        _guard = Guard(kill_ranks)
    return _guard
