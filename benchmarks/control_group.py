"""Limits of memory that hold: a control group of version 1 or 2, else the limit of each process's address space.

    python benchmarks/control_group.py 1073741824 python script.py

runs a command in a group of its own, which is removed at the end. It prints the command's output, then a line of JSON
to standard error: `status`, `peak`, `held` and `killed`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

STEP = 0.05
PATIENCE = 5.0
"""Seconds that processes have to end by themselves."""
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
    """Where commands and what they start run; without a folder each process has the limit for itself.

    `held` is the most bytes that were in use without files' pages. Once the file `measured` is there nothing counts any
    more.
    """

    kind: Kind | None
    folder: Path | None
    limit: int
    measured: Path | None
    held: int = 0
    _most: int = 0
    _end: Event = field(default_factory=Event)

    @property
    def name(self) -> str:
        """What limits, for tables."""
        return self.kind.name if self.kind else "RLIMIT_AS of each process"

    def wrap(self, command: Sequence[str]) -> list[str]:
        """Return the command that runs a command under the limit."""
        if self.folder is None:
            return ["sh", "-c", 'ulimit -v "$0" && exec "$@"', str(self.limit >> 10), *command]
        return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self.folder / "cgroup.procs"), *command]

    @property
    def peak_file(self) -> Path | None:
        """Where the kernel tells the most bytes that were charged to it."""
        return self.folder / self.kind.peak if self.folder is not None and self.kind is not None else None

    @property
    def peak(self) -> int:
        """The most bytes that were charged to it, files' pages among them; 0 without a group."""
        with suppress(OSError):
            return int(self.peak_file.read_text()) if self.peak_file is not None else 0
        return self._most

    @property
    def killed(self) -> int:
        """How many of its processes the kernel killed for memory."""
        if self.folder is None or self.kind is None:
            return 0
        return _numbers(self.folder / self.kind.events).get("oom_kill", 0)

    def watch(self, folder: Path, kind: Kind) -> None:
        """Look at what is in use until the runs are over."""
        while not self._end.wait(STEP) and not (self.measured is not None and self.measured.exists()):
            figures = _numbers(folder / "memory.stat")
            self.held = max(self.held, sum(figures.get(name, 0) for name in kind.held))
            with suppress(OSError, ValueError):
                self._most = max(self._most, int((folder / kind.now).read_text()))

    def close(self) -> None:
        """Remove it, when who tidies up after a job has had the time to; what is left then is ended."""
        self._end.set()
        if self.folder is None:
            return
        for k in range(200):
            for pid in (self.folder / "cgroup.procs").read_text().split() if k * STEP >= PATIENCE else ():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            with suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(STEP)


@contextmanager
def limited(limit: int, measured: Path | None = None) -> Iterator[Group]:
    """Give a group with a limit of so many bytes; whoever makes the file `measured` says that the runs are over."""
    group = next(filter(None, (_make(kind, limit, measured) for kind in (V1, V2))), Group(None, None, limit, measured))
    if group.folder is not None and group.kind is not None:
        Thread(target=group.watch, args=(group.folder, group.kind), daemon=True).start()
    try:
        yield group
    finally:
        group.close()


def _make(kind: Kind, limit: int, measured: Path | None) -> Group | None:
    """Make a group of this kind below this process's own, or above it where that may not be."""
    for parent in _parents(kind):
        folder = parent / f"windrow-{os.getpid()}-{next(_NUMBERS)}"
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


def main() -> None:
    """Run the command of the command line."""
    with limited(int(sys.argv[1])) as group:
        if group.folder is None:
            sys.exit("no memory control groups can be made here")
        status = subprocess.run(group.wrap(sys.argv[2:]), check=False).returncode
        found = {"status": status, "peak": group.peak, "held": group.held, "killed": group.killed}
    print(json.dumps(found), file=sys.stderr)


if __name__ == "__main__":
    main()
