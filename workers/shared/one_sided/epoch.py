"""When what a thread computes has begun, by deaths: see held.py."""

from __future__ import annotations

import math
import threading


class _Threads(threading.local):
    """When what a thread computes has begun; which of the rank's members it is, of how many."""

    epoch: float = math.inf
    member: int = 0
    members: int = 1


threads = _Threads()


def enter(epoch: float, member: int = 0, members: int = 1) -> None:
    """Note when what this thread computes has begun: by the number of the last death that its rank had heard of."""
    threads.epoch, threads.member, threads.members = epoch, member, members
