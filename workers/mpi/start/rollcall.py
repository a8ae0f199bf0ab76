"""Who of this host's ranks has come, while a launched job starts: MPI itself waits for ever for one that won't.

Each rank leaves a file in the job's folder on its host before `MPI_Init`, and renames it once it has joined all
others. Until then a thread of its own looks at the others' processes: one that has ended, or time that is over, ends
the start, for all ranks of the host, with a line that names who is missing. Ranks of another host are told of there.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, Self

from ..deaths.processes import children, name_of, state_of

if TYPE_CHECKING:
    from types import TracebackType

    from .environment import LaunchedJob

JOB_LAUNCHERS = ("prterun", "mpirun")
"""Programs that launch one job and end with it."""
LAUNCHERS = (*JOB_LAUNCHERS, "prted", "prte")
"""Programs that launch ranks, and may be ended with them."""
_PARENTS = (*LAUNCHERS, "slurmstepd")
"""Programs whose children are the ranks, all of which they start at once."""
_FIRST_LOOK = 0.1
_EACH = 0.005  # seconds between looks, for each rank of the host: all look at all
_MOVED = 2.0  # seconds that a launcher lacks a child before that is one that will never come
_PREFIX = "rank-"
_JOINED = "-joined"
STATUS = 1
_SILENCE = 1.0  # seconds in which the other ranks of the host find out that it has been told


@dataclass(frozen=True, slots=True)
class RankEntry:
    """A rank of this host that has come; `state` is its process's as the kernel tells it, empty when it is gone."""

    rank: int
    pid: int
    joined: bool
    state: str

    @property
    def ended(self) -> bool:
        """Whether it will never join."""
        return not self.joined and self.state in ("", "Z", "X")

    @property
    def stopped(self) -> bool:
        """Whether it can't join as it is."""
        return not self.joined and self.state in ("T", "t")


def describe_missing(entries: list[RankEntry], here: int, processes: int | None) -> str:
    """Tell which ranks of this host, of whom there should be `here`, will never come; empty while all may.

    `processes` is how many children their launcher has had for a while; None where that isn't known.
    """
    gone = [x for x in entries if x.ended]
    if gone:
        return f"{_list_entries(gone)} ended before joining the other ranks"
    lost = 0 if processes is None else here - processes
    if lost > 0 and len(entries) < here:
        return f"{lost} of the {here} ranks of this host ended before {'they were' if lost > 1 else 'it was'} heard of"
    return ""


def still_missing(entries: list[RankEntry], here: int, size: int) -> str:
    """Tell who keeps the others waiting when time is over."""
    reasons = []
    stopped = [x for x in entries if x.stopped]
    if stopped:
        reasons.append(f"{_list_entries(stopped)} {'is' if len(stopped) == 1 else 'are'} stopped")
    if len(entries) < here:
        there = {x.rank for x in entries}
        names = [str(r) for r in range(size) if r not in there] if here == size else []
        which = f" (rank {', '.join(names)})" if names else ""
        reasons.append(f"{here - len(entries)} of the {here} ranks of this host never began{which}")
    if reasons:
        return "; ".join(reasons)
    if here < size:
        return f"all {here} ranks of this host are there, so ranks of other hosts are missing"
    return "all ranks are there, and MPI did not bring them together"


def _list_entries(entries: list[RankEntry]) -> str:
    return ", ".join(f"rank {x.rank} (pid {x.pid})" for x in sorted(entries, key=lambda x: x.rank))


class RollCall:
    """A context around a rank's start, from before `MPI_Init` until it has joined all others; at most `limit` seconds.

    `folder` is the job's on this host, which the first rank of the host makes; empty where there is none. `here` is the
    number of the job's ranks on this host.
    """

    def __init__(self, job: LaunchedJob, folder: str, here: int, limit: float) -> None:
        self.job, self.folder, self.here, self.limit = job, folder, here, limit
        self._name = os.path.join(folder, f"{_PREFIX}{job.rank}-{os.getpid()}")
        self._entered = False
        self._over = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, name="windrow-roll-call", daemon=True).start()
        if self.folder:
            self._enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self.folder:
            with contextlib.suppress(OSError):
                os.rename(self._name, self._name + _JOINED)
        self._over.set()

    def _enter(self) -> None:
        """Leave this rank's file, once the first rank of the host has made the folder."""
        while True:
            try:
                os.close(os.open(self._name, os.O_CREAT | os.O_WRONLY, 0o600))
            except FileNotFoundError:
                time.sleep(0.001)
            else:
                self._entered = True
                return

    def _watch(self) -> None:
        """Look at the others until all have joined; time in which this process was stopped doesn't count."""
        pause = max(_FIRST_LOOK, _EACH * self.here)
        waited = lacking = 0.0
        before = time.monotonic()
        while not self._over.wait(pause):
            now = time.monotonic()
            passed, before = min(now - before, 2 * pause), now
            waited += passed
            entries = self._entries()
            processes = siblings()
            lacking = lacking + passed if processes is not None and processes < self.here else 0.0
            reason = describe_missing(entries, self.here, processes if lacking > _MOVED else None)
            if self._entered and not os.path.exists(self.folder):  # a janitor removes it after the first rank's end
                first = "rank 0" if self.here == self.job.size else "the first rank of this host"
                reason = f"{first} ended before joining the other ranks"
            if not reason and waited > self.limit:
                reason = f"the ranks did not come together within {self.limit:g} s (the setting start_limit): " + (
                    still_missing(entries, self.here, self.job.size)
                    if entries
                    else "the first of this host never began"
                )
            if reason and not self._over.is_set():
                self._end(reason, entries)

    def _entries(self) -> list[RankEntry]:
        entries = []
        with contextlib.suppress(OSError):
            for name in os.listdir(self.folder) if self.folder else []:
                if name.startswith(_PREFIX):
                    rank, pid = map(int, name.removeprefix(_PREFIX).removesuffix(_JOINED).split("-"))
                    entries.append(RankEntry(rank, pid, name.endswith(_JOINED), state_of(pid)))
        return entries

    def _end(self, reason: str, entries: list[RankEntry]) -> NoReturn:
        """Say so once for this host, and end this rank and those that can't end themselves."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as lock_socket:
            try:
                lock_socket.bind(f"\0windrow-told-{os.geteuid()}-{self.job.name}".encode())
            except OSError:  # another rank has it
                os._exit(STATUS)
            host = os.uname().nodename
            print(f"windrow: on host {host}: {reason}; the job ends", file=sys.stderr, flush=True)
            for entry in entries:
                if entry.stopped:
                    with contextlib.suppress(OSError):
                        os.kill(entry.pid, signal.SIGKILL)
            time.sleep(_SILENCE)
            os._exit(STATUS)


def siblings() -> int | None:
    """Return how many processes this one's launcher has on this host; None where the parent is no launcher."""
    parent = os.getppid()
    if name_of(parent) not in _PARENTS:
        return None
    return len(children(parent)) or None
