"""Write locks: of several writers to one path, each checks what is there and replaces it before the next one does."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TURNS = 500
"""How often a writer tries to get the lock, every 20 ms."""


@contextmanager
def turn(name: str) -> Iterator[bool]:
    """Hold a lock on a file of this name while a writer checks and replaces a path.

    The holder removes the file, so that one who waited for it must lock a new one. A writer that has waited for long,
    because the holder is stopped, goes on without a lock, and so does one that can't lock; both get False.
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
    """Return the locked file of this name; None if another writer holds it, or has just removed it."""
    file = open(name, "ab")  # noqa: SIM115
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(file.fileno()), os.stat(name)):
            return file
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError:  # the file system has no locks
        file.close()
        os.unlink(name)
        raise
    file.close()
    return None
