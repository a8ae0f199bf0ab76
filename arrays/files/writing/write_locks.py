"""Turns: of several that write to one place each looks at what is there, and takes it, before the next one does."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TURNS = 500
"""Looks, 20 ms apart, whether another writer has taken its place."""


@contextmanager
def turn(name: str) -> Iterator[bool]:
    """Hold a lock, on a file of this name, while a writer looks at a place and takes it.

    Its file is removed by whoever had it, so that one who waited for it meanwhile has to take a new one. Who has waited
    for long, since the one that has it was stopped, goes on without, and so does who can't lock; they are told False.
    """
    held = None
    with suppress(OSError):  # a file system without locks, or another user's file
        for _ in range(TURNS):
            held = _try(name)
            if held is not None:
                break
            time.sleep(0.02)
    try:
        yield held is not None
    finally:
        if held is not None:
            with suppress(OSError):
                os.unlink(name)
            held.close()


def _try(name: str) -> IO[bytes] | None:
    """Return a locked file that is the one of this name; None where another has it, or has just removed it."""
    file = open(name, "ab")  # noqa: SIM115
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(file.fileno()), os.stat(name)):
            return file
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError:  # nothing can be locked here
        file.close()
        os.unlink(name)
        raise
    file.close()
    return None
