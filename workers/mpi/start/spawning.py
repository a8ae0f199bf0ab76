"""Looks after a Spawn under way: MPI waits for ever for ranks that ended before they joined.

Nothing can interrupt that wait from inside, but it ends with an error when the launcher is killed. After that this
process can spawn no more: its MPI has lost its launcher. Once Spawn has returned, MPI would end this process with the
launcher; but then it reports the deaths of ranks, so those that are left are killed instead. Where the launcher isn't
this process's own (it is `mpirun`'s, say) the wait is left to its thread.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from typing import TYPE_CHECKING, Self, TypeVar

from ..deaths.processes import children, open_process, state_of

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_LAUNCHER = "prte"
_LOOK_EVERY = 0.003  # an interpreter that fails at once is there for some ten milliseconds
_LACKING_FOR = 5.0  # seconds: a launcher that has fewer children than ranks has had them, between two looks
_LAST_WORDS = 0.3  # until what the ranks said before they ended has been passed on
_GRACE = 1.0  # until Spawn has noticed that its launcher is gone


def launchers() -> list[int]:
    """Return the launchers that this process's MPI has started."""
    return [pid for pid, name in children(os.getpid()).items() if name == _LAUNCHER]


class SpawnWatch:
    """Looks for ranks that will never come, until all are joined; `spawned` is set when Spawn has returned."""

    def __init__(self, ranks: int, limit: float) -> None:
        self.ranks, self.limit = ranks, limit
        self.reason = ""
        self.spawned = False
        self._over = threading.Event()
        self._before = {child for pid in launchers() for child in children(pid)}
        self._seen: dict[int, int | None] = {}

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, name="windrow-spawn-watch", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def call(self, what: Callable[[], T], name: str) -> T:
        """Return what a call of MPI returns, which may never do so: it is made in a thread of its own.

        What it raises is raised, and TimeoutError when a rank is missing. The thread may stay behind, for nothing can
        end it.
        """
        results: list[T] = []
        errors: list[BaseException] = []
        done = threading.Event()

        def run() -> None:
            try:
                results.append(what())
            except BaseException as error:
                errors.append(error)
            done.set()

        threading.Thread(target=run, name=name, daemon=True).start()
        try:
            self._await(done)
        except KeyboardInterrupt:  # ranks that are about to join shall not be left halfway, unless one insists
            self._await(done)
            raise
        if errors and not self._await_cause():
            raise errors[0]
        if self.reason:
            raise TimeoutError(self.reason)
        return results[0]

    def _await_cause(self) -> bool:
        """Tell whether it is known, or will be in a moment, why a call failed: MPI only says that somebody died."""
        deadline = time.monotonic() + 2 * _LAST_WORDS
        while not self.reason and time.monotonic() < deadline:
            time.sleep(0.02)
        return bool(self.reason)

    def _await(self, done: threading.Event) -> None:
        while not done.wait(0.02):
            if self.reason:
                done.wait(_GRACE)
                return

    def _watch(self) -> None:
        try:
            self._look()
        finally:
            for fd in self._seen.values():
                if fd is not None:
                    os.close(fd)

    def _look(self) -> None:
        """End the launcher when a new rank has ended, or time is over."""
        begin = lacking = time.monotonic()
        while not self._over.wait(_LOOK_EVERY):
            now = time.monotonic()
            launcher_pids = launchers()
            there = {child: name for pid in launcher_pids for child, name in children(pid).items() if name != _LAUNCHER}
            for pid in there.keys() - self._before - self._seen.keys():
                self._seen[pid] = open_process(pid)
            ended = [pid for pid, fd in self._seen.items() if fd is None or select.select([fd], [], [], 0)[0]]
            if not launcher_pids or len(self._seen) >= self.ranks:
                lacking = now
            if ended:
                pids = ", ".join(map(str, sorted(ended)))
                self._end(f"spawned ranks ended before they joined (pid {pids}); what they said stands above")
                return
            if now - lacking > _LACKING_FOR:
                self._end("spawned ranks ended before they joined; what they said stands above")
                return
            if now - begin > self.limit:
                late = f"the spawned ranks did not join within {self.limit:g} s (the setting start_limit)"
                self._end(late + self._describe_stop())
                return

    def _describe_stop(self) -> str:
        stopped = [str(pid) for pid in self._seen if state_of(pid) in ("T", "t")]
        return f"; stopped: pid {', '.join(stopped)}" if stopped else ""

    def _end(self, reason: str) -> None:
        """Kill the ranks, and the launcher if Spawn waits for it, unless all have joined meanwhile."""
        if self._over.wait(_LAST_WORDS):
            return
        self.reason = reason
        for pid in () if self.spawned else launchers():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for fd in self._seen.values():
            if fd is not None:
                with contextlib.suppress(OSError):
                    signal.pidfd_send_signal(fd, signal.SIGKILL)
