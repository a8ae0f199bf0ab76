"""Ending users' functions that run, in their threads: at their next line of Python.

An exception is raised in the thread from outside. It reaches users' functions alone, never what Windrow does around
them: only within `interruptible`. A call that isn't Python (a long matrix product, a sleep) takes no notice until it is
through.
"""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

GRACE = 0.1
"""Seconds after which a call that was interrupted, and goes on, is left to its thread; another one takes its place."""

_lock = threading.Lock()
_running: dict[int, int] = {}
_asked: dict[int, int] = {}


class Interrupted(BaseException):
    """Ends what a user's function does; a `BaseException`, so that functions don't take it for an error."""


def interruptible(number: int, function: Callable[[], T]) -> T:
    """Return what a function returns, unless this thread is interrupted meanwhile.

    Parameters
    ----------
    number : int
        What the function is called for: a batch, or a task.
    function : callable
        The function.

    Raises
    ------
    Interrupted
        By `interrupt`, now or before.
    """
    try:
        _enter(number)
        return function()
    finally:
        left = False
        while not left:
            try:
                left = _leave()
            except Interrupted:  # it came when the function was through
                continue


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


def _enter(number: int) -> None:
    thread = threading.get_ident()
    with _lock:
        if _asked.get(thread) == number:
            raise Interrupted
        _running[thread] = number


def _leave() -> bool:
    """Let nothing be raised in this thread any more, also not what was asked for and hasn't come yet."""
    thread = threading.get_ident()
    with _lock:
        if _running.pop(thread, None) is not None and thread in _asked:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None)
    return True
