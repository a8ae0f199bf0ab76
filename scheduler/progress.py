"""A progress bar on long work, at a terminal only."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WIDTH = 40
DELAY = 1.0
EVERY = 0.1


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


_covers: list[Callable[[], None]] = []


@contextmanager
def covering(tick: Callable[[], None]) -> Iterator[None]:
    """While many computations are parts of one work, call `tick` where their own bars would be drawn.

    Works may be parts of others, or run side by side: the one that began first is told of all.
    """
    _covers.append(tick)
    try:
        yield
    finally:
        _covers.remove(tick)


def foremost(tick: Callable[[], None]) -> bool:
    """Tell whether no other work covers the one that `tick` belongs to."""
    return _covers[:1] in ([], [tick])


class Line:
    """A line on stderr that is written over, and erased at the end; from any thread."""

    def __init__(self, setting: str, delay: float) -> None:
        self._setting = setting
        self._show: bool | None = None
        self._begin = time.monotonic()
        self._delay = delay
        self._drawn = 0.0
        self._lock = threading.Lock()

    def write(self, text: Callable[[float], str]) -> None:
        """Show what `text` gives for the seconds since the beginning, once these are enough, and not too often."""
        now = time.monotonic()
        if self._show is False or now - self._begin < self._delay or now - self._drawn < EVERY:
            return
        with self._lock:
            if self._show is None:
                self._show = wanted(self._setting)
            if not self._show:
                return
            self._drawn = now
            room = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r{text(now - self._begin)[:room]}\x1b[K")
            sys.stderr.flush()

    def hide(self) -> None:
        """Erase the line until it is written again."""
        with self._lock:
            if self._drawn:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()

    def close(self) -> None:
        """Erase the line; it is not written again."""
        self._show = False
        self.hide()


def drawn(share: float, width: int = WIDTH) -> str:
    """Return a bar."""
    return f"[{'#' * int(width * share):<{width}}] {100 * share:3.0f} %"


class Bar:
    """Shows how many tasks of all are done, when work takes longer than a second; erased at the end."""

    def __init__(self, setting: str) -> None:
        self._line = Line(setting, DELAY)

    def update(self, done: int, total: int) -> None:
        """Show how many tasks of all are done."""
        for tick in _covers[:1]:
            tick()
            return
        self._line.write(lambda seconds: f"{drawn(done / max(1, total))} {done}/{total} tasks {seconds:.0f} s ")

    def close(self) -> None:
        """Erase the bar."""
        self._line.close()
