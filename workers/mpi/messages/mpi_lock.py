"""Who may enter MPI: for the time of an agreement, the gang's thread alone.

Open MPI's agreements (5.0.11), of which `Comm_shrink` is made, are not safe with threads. A message of an agreement
that one thread takes in while another one begins or handles one is put aside in a structure whose last fields lie over
what it carries: its value and its list of newly dead ranks are then parts of a pointer. The list is used as indices:
the process ends, or a byte somewhere is zeroed, and it ends later. `Comm_agree` by one thread while another one probes
shows it: 39 of 600,000 answers of 8 ranks on 2 cores were wrong; 0 of 600,000 when they took turns.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 0.25
"""Seconds for which one waits for the other: who is in an agreement may wait for a rank that is late, or dead."""


class MpiLock:
    """Two threads that take turns in MPI: the engine's, briefly and often, and the gang's, for an agreement."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._depth = 0  # of the engine's thread, which alone writes it
        self._until = 0.0  # when the agreement's time alone ends; 0: nobody is in one

    def __enter__(self) -> None:
        """Be in MPI for a moment; may be nested. Of the engine's thread only."""
        self._depth += 1
        while self._depth == 1 and self._until and (left := self._until - time.monotonic()) > 0:
            self._depth = 0
            with self._changed:
                self._changed.notify_all()
                self._changed.wait_for(lambda: not self._until, left)
            self._depth = 1  # before one looks again: one of the two sees that the other is there

    def __exit__(self, *_: object) -> None:
        """Leave MPI."""
        self._depth -= 1
        if self._until and not self._depth:
            with self._changed:
                self._changed.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep the other thread out of MPI, for `LIMIT` at most."""
        with self._changed:
            self._until = time.monotonic() + LIMIT
            self._changed.wait_for(lambda: not self._depth, LIMIT)
        try:
            yield
        finally:
            with self._changed:
                self._until = 0.0
                self._changed.notify_all()
