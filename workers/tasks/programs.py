"""Programs as tasks: run where the task runs, their output is its result. And how what runs is ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

from ...graph.errors import MissingFile
from ..mpi.deaths.exits import before_end
from ..rank.interrupts import Interrupted
from .current import current_task

if TYPE_CHECKING:
    from collections.abc import Sequence

_running: dict[int, subprocess.Popen[Any]] = {}
_stopped: set[int] = set()
_own = os.getpid()


def stop_program(number: int) -> bool:
    """End the program that a task runs, and what it has begun; tell whether there was one."""
    program = _running.get(number)
    if program is None:
        return False
    _stopped.add(number)
    with contextlib.suppress(OSError):
        os.killpg(program.pid, signal.SIGKILL)
    return True


def stop_all() -> None:
    """End all programs; what forked from this process has none."""
    if os.getpid() == _own:
        for number in list(_running):
            stop_program(number)


before_end.append(stop_all)


def run_program(words: Sequence[str], **options: Any) -> str:
    """Run a program; return its standard output, or raise MissingFile, or CalledProcessError for a status."""
    try:
        program = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            **options,
        )
    except FileNotFoundError as error:
        raise MissingFile(f"submit: the program {words[0]!r} can't be started: {error}") from error
    task = current_task()
    number = 0 if task is None else task.order.number
    _running[number] = program
    try:
        out, err = program.communicate()
    finally:
        _running.pop(number, None)
        was_stopped = number in _stopped
        _stopped.discard(number)
    if was_stopped:
        raise Interrupted
    if program.returncode:
        failed = subprocess.CalledProcessError(program.returncode, list(words), out, err)
        failed.add_note(f"it wrote to its standard error:\n{err[-4000:]}".rstrip())
        raise failed
    return str(out)
