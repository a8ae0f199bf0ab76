"""How a rank's end counts: `mpirun` ends with the highest status of any of its processes, though a death was recovered
from; and the launcher of spawned ranks ends the others when one has ended with a status.
"""

from __future__ import annotations

import os
import signal
from typing import NoReturn

_exit = os._exit


def end_rank(status: int) -> NoReturn:
    """End this process with a status."""
    _exit(status)


def die() -> NoReturn:
    """End this process by a signal: what has been recovered from is no failure of the job, as a status would be."""
    os.kill(os.getpid(), signal.SIGKILL)
    _exit(1)


def die_instead_of_exiting() -> None:
    """Have `os._exit` in a user's function end this rank as `die` does; a child that it forks exits as it says."""
    own = os.getpid()

    def exit_or_die(status: int) -> NoReturn:
        if os.getpid() == own:
            die()
        _exit(status)

    os._exit = exit_or_die
