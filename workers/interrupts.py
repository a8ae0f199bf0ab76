"""Ending users' functions that run, in their threads: at their next line of Python.

An exception is raised in the thread from outside. It reaches users' functions alone, never what Windrow does around
them: only within `interruptible`. A call that isn't Python (a long matrix product, a sleep) takes no notice until it is
through.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading

GRACE = 0.1
"""Seconds after which a call that was interrupted, and goes on, is left to its thread; another one takes its place."""

_TURNS = 100
"""Steps of Python within which what was raised in the thread itself has come."""
_lock = threading.Lock()
_running: dict[int, int] = {}
_asked: dict[int, int] = {}


class Interrupted(BaseException):
    """Ends what a user's function does; a `BaseException`, so that functions don't take it for an error."""


class interruptible:
    """A context in which this thread can be interrupted; it has no frame of its own in tracebacks.

    Parameters
    ----------
    number : int
        What it computes: a batch, or a task.

    Raises
    ------
    Interrupted
        By `interrupt`, now or before; where that comes while the context is left, too.
    """

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> None:
        with _lock:
            if _asked.get(threading.get_ident()) == self._number:
                raise Interrupted
            _running[threading.get_ident()] = self._number

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Let nothing be raised in this thread any more: what was asked for and hasn't come yet comes here.

        To take it back isn't possible: Python 3.11 would look for it at each step from then on, in all threads, and for
        ever where a profiler or debugger follows them.
        """
        thread = threading.get_ident()
        with _lock:
            ran = _running.pop(thread, None)
        if ran is not None and thread in _asked and kind is not Interrupted:
            with contextlib.suppress(Interrupted):
                for _turn in range(_TURNS):
                    pass


def interrupt(thread: int, number: int) -> None:
    """Have a thread raise `Interrupted` in what it calls for a number; at once where it calls it later."""
    with _lock:
        if _asked.get(thread) == number:
            return
        _asked[thread] = number
        if _running.get(thread) == number:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Interrupted))


def forget(thread: int) -> None:
    """Note that a thread is through with what it was interrupted for."""
    with _lock:
        _asked.pop(thread, None)
