"""Limits of memory that hold: a control group for each process, else the limit of its address space."""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

STEP = 0.05
_NUMBERS = count()


@dataclass(frozen=True)
class Kind:
    """What the files of a version of control groups are called."""

    name: str
    filesystem: str
    limit: str
    peak: str
    now: str
    events: str
    held: tuple[str, ...]


V1 = Kind(
    "cgroup v1",
    "cgroup",
    "memory.limit_in_bytes",
    "memory.max_usage_in_bytes",
    "memory.usage_in_bytes",
    "memory.oom_control",
    ("total_rss", "total_shmem"),
)
V2 = Kind("cgroup v2", "cgroup2", "memory.max", "memory.peak", "memory.current", "memory.events", ("anon", "shmem"))


@dataclass
class Group:
    """Where a process and its children run; without a folder each process has the limit for itself.

    The file `measured` is there when the runs are over: what comes then is the check's.
    """

    kind: Kind | None
    folder: Path | None
    limit: int
    measured: Path
    held: int = 0
    most: int = 0
    _end: Event = field(default_factory=Event)

    @property
    def name(self) -> str:
        """What limits, for the table."""
        return self.kind.name if self.kind else "RLIMIT_AS of each process"

    def environment(self) -> dict[str, str]:
        """What tells the worker where to go."""
        own = {"ARENA_LIMIT": str(self.limit)}
        if self.folder is not None and self.kind is not None:
            own |= {"ARENA_GROUP": str(self.folder), "ARENA_PEAK": self.kind.peak, "ARENA_MEASURED": str(self.measured)}
        return own

    def peak(self) -> int:
        """Return the most bytes that were charged to it, files' pages among them."""
        if self.folder is None or self.kind is None:
            return 0
        with suppress(OSError):
            return int((self.folder / self.kind.peak).read_text())
        return self.most

    def kills(self) -> int:
        """Return how many of its processes the kernel killed for memory."""
        if self.folder is None or self.kind is None:
            return 0
        return _numbers(self.folder / self.kind.events).get("oom_kill", 0)

    def watch(self) -> None:
        """Look at what is held, without files' pages, until the runs are over."""
        assert self.folder is not None
        assert self.kind is not None
        while not self._end.wait(STEP) and not self.measured.exists():
            figures = _numbers(self.folder / "memory.stat")
            self.held = max(self.held, sum(figures.get(name, 0) for name in self.kind.held))
            with suppress(OSError, ValueError):
                self.most = max(self.most, int((self.folder / self.kind.now).read_text()))

    def close(self) -> None:
        """End what is left in it, and remove it."""
        self._end.set()
        if self.folder is None:
            return
        for _ in range(200):
            for pid in (self.folder / "cgroup.procs").read_text().split():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            with suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(STEP)


@contextmanager
def limited(limit: int, measured: Path) -> Iterator[Group]:
    """Give a group with a limit of so many bytes; the worker makes the file `measured` when its runs are over."""
    group = next(filter(None, (_make(kind, limit, measured) for kind in (V1, V2))), Group(None, None, limit, measured))
    if group.folder is not None:
        Thread(target=group.watch, daemon=True).start()
    try:
        yield group
    finally:
        group.close()


def _make(kind: Kind, limit: int, measured: Path) -> Group | None:
    """Make a group of this kind below this process's own, or above it where that may not be."""
    for parent in _parents(kind):
        folder = parent / f"arena-{os.getpid()}-{next(_NUMBERS)}"
        with suppress(OSError):
            folder.mkdir()
            try:
                if kind is V2 and not (folder / kind.limit).exists():
                    (parent / "cgroup.subtree_control").write_text("+memory")
                (folder / kind.limit).write_text(str(limit))
                for swap in ("memory.memsw.limit_in_bytes", "memory.swap.max"):
                    with suppress(OSError):
                        (folder / swap).write_text(str(limit) if kind is V1 else "0")
                return Group(kind, folder, limit, measured)
            except OSError:
                folder.rmdir()
    return None


def _parents(kind: Kind) -> Iterator[Path]:
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, mount, filesystem, options, *_ = line.split()
        if filesystem != kind.filesystem or (kind is V1 and "memory" not in options.split(",")):
            continue
        for own in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = own.split(":", 2)
            if controllers == ("" if kind is V2 else "memory"):
                folder = Path(mount, path.lstrip("/"))
                yield folder
                yield from (up for up in folder.parents if up.is_relative_to(mount))


def _numbers(file: Path) -> dict[str, int]:
    """Return the figures of a file of words and numbers."""
    with suppress(OSError):
        words = [line.split() for line in file.read_text().splitlines()]
        return {name: int(value) for name, value in words if value.isdigit()}
    return {}
