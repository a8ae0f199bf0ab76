"""Ending users' functions that run, in their threads: at their next line of Python.

An exception is raised in the thread from outside. It reaches users' functions alone, never what Windrow does around
them: only within `interruptible`. A call that isn't Python (a long matrix product, a sleep) takes no notice until it is
through. Nor does what users' functions call of Windrow's engine, of locks or of the import of modules: an exception
amid `Condition.__enter__` would leave the lock of a future closed for ever, one amid an import half a module. It comes
when that is through.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import opcode
import operator
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

GRACE = 0.1
"""Seconds after which a call that was interrupted, and goes on, is left to its thread; another one takes its place."""

_TURNS = 100
"""Steps of Python within which what was raised in the thread itself has come."""
_PAUSES = 0.001, 0.02
"""Seconds between looks at a thread that can't be interrupted where it is: the first, and the most."""
_WHOLE = {"windrow.workers", "windrow.scheduler", "windrow.arrays.tasks", "windrow.arrays.shared"} | {
    "_frozen_importlib",
    "concurrent.futures",
    "importlib._bootstrap",
    "logging",
    "queue",
    "threading",
}
"""Modules and packages whose functions are never interrupted, nor what they call."""
_BROKEN_OFF = {"windrow.workers.kernels", "windrow.workers.public_api", "windrow.arrays.tasks.delayed"}
"""Those among them that are: they call what users want called."""
_BEGIN = bytes([opcode.opmap["RESUME"], 0])
_place = operator.attrgetter("f_back", "f_code", "f_lasti")
_set_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
_lock = threading.Lock()
_running: dict[int, tuple[int, FrameType]] = {}
"""What each thread computes, and the frame that calls it."""
_asked: dict[int, int] = {}


class Interrupted(BaseException):
    """Ends what a user's function does; a `BaseException`, so that functions don't take it for an error."""


class interruptible:
    """A context in which this thread can be interrupted; it has no frame of its own in tracebacks.

    What it computes has a number: that of a batch, or a task. `interrupt` has it raise Interrupted, called now or
    before; where that comes while the context is left, too.
    """

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> None:
        with _lock:
            if _asked.get(threading.get_ident()) == self._number:
                raise Interrupted
            _running[threading.get_ident()] = self._number, sys._getframe(1)

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
    if not _try(thread, number):
        with contextlib.suppress(RuntimeError):  # no thread more is to be had: the call goes on
            threading.Thread(target=_insist, args=(thread, number), name="windrow-interrupt", daemon=True).start()


def forget(thread: int) -> None:
    """Note that a thread is through with what it was interrupted for."""
    with _lock:
        _asked.pop(thread, None)
        _running.pop(thread, None)  # where the interrupt came as the first thing while the context was left


def _insist(thread: int, number: int) -> None:
    """Interrupt a thread as soon as it is where it can be."""
    pause, most = _PAUSES
    while not _try(thread, number):
        time.sleep(pause)
        pause = min(most, pause * 1.2)


def _try(thread: int, number: int) -> bool:
    """Interrupt a thread if it is where it can be; tell whether no more is to be done."""
    with _lock:
        ran, base = _running.get(thread, (None, None))
        if ran != number or _asked.get(thread) != number:
            return True
        frame = sys._current_frames().get(thread)
        return frame is not None and _may_end(frame, base) and _raise_at(thread, _place(frame))


def _may_end(frame: FrameType, base: FrameType | None) -> bool:
    """Whether all that a thread has called since `base` may end amid its work; what has only just begun may."""
    own: FrameType | None = frame.f_back if _has_just_begun(frame) else frame
    while own is not None and own is not base:
        if _is_whole(str(own.f_globals.get("__name__"))):
            return False
        own = own.f_back
    return own is not None


def _has_just_begun(frame: FrameType) -> bool:
    """Whether a function is at its first step; one that is to undo something isn't left out there."""
    code, at = frame.f_code, frame.f_lasti
    return at >= 0 and code.co_code[at : at + 2] == _BEGIN and code.co_name != "__exit__"


@functools.cache
def _is_whole(module: str) -> bool:
    above = set(itertools.accumulate(module.split("."), "{}.{}".format))
    return not _WHOLE.isdisjoint(above) and _BROKEN_OFF.isdisjoint(above)


def _raise_at(thread: int, place: object) -> bool:
    """Have a thread raise `Interrupted` if it is still at a place; tell whether it is.

    To look and to raise is one call without a line of Python, so that the thread doesn't move in between.
    """
    act = functools.partial(_set_exception, ctypes.c_ulong(thread), ctypes.py_object(Interrupted))
    present = map(_place, map(operator.itemgetter(thread), itertools.starmap(sys._current_frames, [()])))
    is_there = map(functools.partial(operator.eq, place), present)
    return next(itertools.starmap(act, itertools.compress([()], is_there)), 0) > 0
