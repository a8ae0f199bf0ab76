"""Looks after a Spawn under way: MPI waits for ever for ranks that ended before they joined.

Nothing can interrupt that wait from inside, but it ends with an error when the launcher is killed. After that
this process can spawn no more: its MPI has lost its launcher. Where the launcher isn't this process's own (it is
`mpirun`'s, say) the wait is left to its thread.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_LAUNCHER = "prte"
_LOOK_EVERY = 0.003  # an interpreter that fails at once is there for some ten milliseconds
_NOBODY_FOR = 5.0  # seconds: a launcher without any child has had them, between two looks
_MISSING = 15  # looks in a row: the kernel's list may lack a process while a sibling of it ends
_LAST_WORDS = 0.3  # until what the ranks said before they ended has been passed on


def children(pid: int) -> dict[int, str]:
    """Return the children of a process and their programs' names; nothing where the kernel does not tell."""
    found = {}
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                for child in map(int, file.read().split()):
                    found[child] = _name(child)
    return found


def _name(pid: int) -> str:
    """Return the name of a process's program; empty when it is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read().strip()
    return ""


def launchers() -> list[int]:
    """Return the launchers that this process's MPI has started."""
    return [pid for pid, name in children(os.getpid()).items() if name == _LAUNCHER]


def limited(call: Callable[[], T], limit: float, name: str) -> T:
    """Return what a call of MPI returns, which may never do so: it is made in a thread of its own.

    Parameters
    ----------
    call
        What to call; what it raises is raised.
    limit
        Seconds that it may take.
    name
        The thread's name.

    Raises
    ------
    TimeoutError
        After the limit. The thread stays behind, for nothing can end it.
    """
    results: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)
        done.set()

    threading.Thread(target=run, name=name, daemon=True).start()
    try:
        over = done.wait(limit)
    except KeyboardInterrupt:  # ranks that are about to join shall not be left halfway, unless one insists
        done.wait(limit)
        raise
    if not over:
        raise TimeoutError(f"no end within {limit:g} s")
    if errors:
        raise errors[0]
    return results[0]


class SpawnWatch:
    """A context around Spawn, in which a thread looks for ranks that will never come.

    Parameters
    ----------
    limit
        Seconds that all of it may take.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.reason = ""
        self._over = threading.Event()
        self._before = {child for pid in launchers() for child in children(pid)}

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, name="windrow-spawn-watch", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _watch(self) -> None:
        """End the launcher when all new ranks have ended, or time is over."""
        deadline = time.monotonic() + self.limit
        seen, missing = False, 0
        alone = time.monotonic()
        while not self._over.wait(_LOOK_EVERY):
            found = launchers()
            there = {child for pid in found for child in children(pid)} - self._before
            if there or not found:
                alone = time.monotonic()
            gone = bool(found) and not there and (seen or time.monotonic() - alone > _NOBODY_FOR)
            missing = missing + 1 if gone else 0
            if missing >= _MISSING:
                self._end("the spawned ranks ended before they joined; what they said stands above")
                return
            seen = seen or bool(there)
            if time.monotonic() > deadline:
                self._end(f"the spawned ranks did not join within {self.limit:g} s")
                return

    def _end(self, reason: str) -> None:
        """Kill the launcher, unless Spawn has returned meanwhile."""
        if self._over.wait(_LAST_WORDS):
            return
        self.reason = reason
        for pid in launchers():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
