"""What the kernel tells of processes: their children, names and states."""

from __future__ import annotations

import contextlib
import os


def children(pid: int) -> dict[int, str]:
    """Return the children of a process and their programs' names; nothing where the kernel does not tell."""
    names = {}
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                for child in map(int, file.read().split()):
                    names[child] = name_of(child)
    return names


def name_of(pid: int) -> str:
    """Return the name of a process's program; empty when it is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read().strip()
    return ""


def words_of(pid: int) -> list[str]:
    """Return the words of a process's command line; none when it is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
        return file.read().split("\0")
    return []


def state_of(pid: int) -> str:
    """Return the letter of a process's state, such as R, S, T (stopped) or Z (ended); empty when it is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0]
    return ""


def open_process(pid: int) -> int | None:
    """Return a pidfd: it means this process for ever, even when its number is used again; None when it is gone."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None
