"""Where and when threads run: those that must answer soon, and those that wait for each other all the time."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform

_SLICE = 100_000
"""Nanoseconds: the shortest slice that Linux knows."""
_NUMBERS = {"x86_64": 314, "aarch64": 274}
"""The system call sched_setattr, for which older C libraries have no name."""


class _Attributes(ctypes.Structure):
    """Linux's `struct sched_attr`."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    )


def request_short_timeslices() -> bool:
    """Ask for short time slices for the calling thread; return whether the system took note.

    Linux (6.12 and later) gives a thread with shorter slices a core as soon as it wakes up; else it waits until the
    slice of a thread that computes is over, some milliseconds. It gets no more time than others, and needs no rights.
    """
    number = _NUMBERS.get(platform.machine())
    if number is None or not hasattr(os, "SCHED_OTHER") or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return False
    attributes = _Attributes(ctypes.sizeof(_Attributes), os.SCHED_OTHER, 0, os.getpriority(os.PRIO_PROCESS, 0))
    attributes.runtime = _SLICE
    status: int = ctypes.CDLL(None).syscall(number, 0, ctypes.byref(attributes), 0)
    return status == 0


def begin_apart(number: int) -> None:
    """Move the calling thread to the core of this number among those that it may use; it may use all of them as before.

    Threads of several processes that talk all the time do best on cores of their own. Linux lets one begin where who
    woke it runs, and needs some milliseconds to move it: until then two that share a core take turns in each call.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    with contextlib.suppress(OSError):
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {sorted(allowed)[number % len(allowed)]})
        os.sched_setaffinity(0, allowed)
