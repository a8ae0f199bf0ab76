"""How a rank's end counts: `mpirun` ends with the highest status of any of its processes, though a death was recovered
from; and the launcher of spawned ranks ends the others when one has ended with a status.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

_exit = os._exit
before_end: list[Callable[[], None]] = []
"""What a rank does before it ends by itself, quickly."""


def end_rank(status: int) -> NoReturn:
    """End this process with a status."""
    _prepare()
    _exit(status)


def die() -> NoReturn:
    """End this process by a signal: what has been recovered from is no failure of the job, as a status would be."""
    _prepare()
    os.kill(os.getpid(), signal.SIGKILL)
    _exit(1)


def _prepare() -> None:
    for act in before_end:
        with contextlib.suppress(Exception):
            act()


def die_instead_of_exiting() -> None:
    """Have `os._exit` in a user's function end this rank as `die` does; a child that it forks exits as it says."""
    own = os.getpid()

    def exit_or_die(status: int) -> NoReturn:
        if os.getpid() == own:
            die()
        _exit(status)

    os._exit = exit_or_die
