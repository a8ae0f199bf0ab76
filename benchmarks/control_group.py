"""Run a command in a memory control group of its own, of version 1 or 2, and tell what it took at most.

    python benchmarks/control_group.py 1073741824 python script.py

prints the command's own output, then a line of JSON to standard error: `status`, `peak` and `killed`.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

TOPS = (
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control"),
    (Path("/sys/fs/cgroup"), "memory.max", "memory.peak", "memory.events"),
)


class ControlGroup:
    """A group with a limit, removed at the end; OSError where none can be made."""

    def __init__(self, limit: int) -> None:
        mounted = [names for names in TOPS if (names[0] / "cgroup.procs").exists()]
        if not mounted:
            raise OSError("no memory control groups are mounted")
        top, limited, self._peak, self._deaths = mounted[0]
        self.folder = top / f"windrow-{os.getpid()}-{os.urandom(4).hex()}"
        self.folder.mkdir()
        try:
            (self.folder / limited).write_text(str(limit))
        except OSError:
            self.folder.rmdir()
            raise

    def enter(self) -> None:
        """Have this process belong to it, and what it starts: for `preexec_fn`."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    @property
    def peak(self) -> int:
        """The most bytes that were in use, pages of files included."""
        return int((self.folder / self._peak).read_text())

    @property
    def killed(self) -> int:
        """How many processes the kernel has ended for want of memory."""
        rows = (line.split() for line in (self.folder / self._deaths).read_text().splitlines())
        return sum(int(count) for name, count in rows if name == "oom_kill")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for _ in range(100):  # processes that have ended leave it some time later
            with contextlib.suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(0.1)
        raise OSError(f"processes are left in {self.folder}: {(self.folder / 'cgroup.procs').read_text().split()}")


def run(limit: int, command: list[str]) -> dict[str, int]:
    """Run a command; return its status, its peak and how many processes were killed."""
    with ControlGroup(limit) as group:
        status = subprocess.run(command, preexec_fn=group.enter, check=False).returncode
        return {"status": status, "peak": group.peak, "killed": group.killed}


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]), sys.argv[2:])), file=sys.stderr)
