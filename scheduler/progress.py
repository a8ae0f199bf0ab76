"""A progress bar on long work, at a terminal only."""

from __future__ import annotations

import os
import sys
import time

WIDTH = 40
DELAY = 1.0


def wanted(setting: str) -> bool:
    """Whether a bar is to be shown: stderr is a terminal, or, under mpirun, mpirun's own stderr is one."""
    if setting != "auto":
        return setting == "on"
    if sys.stderr is None:
        return False
    if sys.stderr.isatty():
        return True
    if "OMPI_COMM_WORLD_RANK" not in os.environ:
        return False
    try:
        return os.readlink(f"/proc/{os.getppid()}/fd/2").startswith(("/dev/pts/", "/dev/tty"))
    except OSError:
        return False


class Bar:
    """Draws itself on stderr when work takes longer than a second; erased at the end."""

    def __init__(self, setting: str) -> None:
        self._setting = setting
        self._show: bool | None = None
        self._begin = time.monotonic()
        self._drawn = 0.0

    def update(self, done: int, total: int) -> None:
        """Show how many tasks of all are done."""
        now = time.monotonic()
        if self._show is False or now - self._begin < DELAY or now - self._drawn < 0.1:
            return
        if self._show is None:
            self._show = wanted(self._setting)
            if not self._show:
                return
        self._drawn = now
        share = done / max(1, total)
        bar = "#" * int(WIDTH * share)
        sys.stderr.write(f"\r[{bar:<{WIDTH}}] {100 * share:3.0f} % {done}/{total} tasks {now - self._begin:.0f} s ")
        sys.stderr.flush()

    def close(self) -> None:
        """Erase the bar."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
