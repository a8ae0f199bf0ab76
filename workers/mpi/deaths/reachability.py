"""Whether rank 0 can still be reached from a rank of another host: behind a cut link MPI notices nothing for long.

Rank 0 speaks to ranks of other hosts now and then, whatever they do. One that hears nothing for the limit sends a word
itself, and looks whether the kernel gets it through: a process that is stopped, or is busy, has its words taken in all
the same, while those behind a cut link are sent again and again.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_UNHEARD = 1500
"""Milliseconds since the other side's kernel has acknowledged anything, of words that are being sent again."""
_INFO = struct.Struct("=8B13I")  # the kernel's tcp_info, up to what is read of it
_SENT_AGAIN, _ASKED_AGAIN, _LAST_ACKNOWLEDGED = 2, 3, 20


def is_stalled() -> bool:
    """Tell whether one of this process's connections gets nothing through."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(name))) as each:
                if each.family in (socket.AF_INET, socket.AF_INET6) and each.type == socket.SOCK_STREAM:
                    info = _INFO.unpack(each.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size))
                    if (info[_SENT_AGAIN] or info[_ASKED_AGAIN]) and info[_LAST_ACKNOWLEDGED] > _UNHEARD:
                        return True
    return False


class Reach:
    """When rank 0 was last heard of, and how many seconds of silence may pass; `stalled` tells of connections."""

    def __init__(self, limit: float, stalled: Callable[[], bool] = is_stalled) -> None:
        self.limit = limit
        self._stalled = stalled
        self._heard = self._looked = self._spoken = time.monotonic()

    def heard(self) -> None:
        """Note that rank 0 has spoken."""
        self._heard = time.monotonic()

    def check(self, speak: Callable[[], None]) -> bool:
        """Tell whether rank 0 is out of reach; `speak` sends it a word, which is done after half of the limit."""
        now = time.monotonic()
        missed, self._looked = now - self._looked, now
        if missed > self.limit / 6:  # we did not listen ourselves (stopped, or a call kept Python's lock)
            self._heard += missed
        quiet = now - self._heard
        if quiet > self.limit / 2 and now - self._spoken > self.limit / 6:
            self._spoken = now
            speak()
        return quiet > self.limit and self._stalled()
