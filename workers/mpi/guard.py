"""Rank 0's side of the janitor: starts it before MPI, and tells it what to guard. One for each process."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_guard: Guard | None = None


class Guard:
    """The pipe to this process's janitor.

    Parameters
    ----------
    kill_ranks
        Whether the ranks of this host end with this process, as they do with the driver.
    """

    def __init__(self, kill_ranks: bool = True) -> None:
        read, self._write = os.pipe()
        self.owner = os.getpid()
        script = str(Path(__file__).with_name("janitor.py"))
        # Its output goes nowhere: it lives longer than the driver, and who reads the driver's pipes waits for
        # their end.
        self.pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", "-E", script, str(self.owner), "kill" if kill_ranks else "wait"],
            {"PATH": os.defpath},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, read, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
            setsid=True,
        )
        os.close(read)

    def processes(self, pids: Iterable[int]) -> None:
        """Guard ranks on this host."""
        self._tell(*(f"guard {pid}" for pid in pids))

    def daemon(self, pid: int) -> None:
        """Guard the launcher."""
        self._tell(f"daemon {pid}")

    def launcher(self, pid: int) -> None:
        """End the launcher too, when this process has ended: it would wait for ranks that it can't reach."""
        self._tell(f"launcher {pid}")

    def folders(self, paths: Iterable[str]) -> None:
        """Delete these in the end."""
        self._tell(*(f"folder {path}" for path in paths))

    def leaving(self, pids: Iterable[int], limit: float) -> None:
        """Tell that these ranks were asked to stop: what is left after `limit` seconds is killed."""
        self._tell("leave " + " ".join([str(limit), *map(str, pids)]))

    def _tell(self, *lines: str) -> None:
        """Write to the janitor; without one (killed by somebody) the rest of the job goes on unguarded."""
        with contextlib.suppress(OSError):
            os.write(self._write, "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))


def guard(kill_ranks: bool = True) -> Guard:
    """Return this process's janitor, started at the first call (and again in a forked child)."""
    global _guard
    if _guard is None or _guard.owner != os.getpid():
        _guard = Guard(kill_ranks)
    return _guard
