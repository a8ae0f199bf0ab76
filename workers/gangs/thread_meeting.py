"""Communicators for gangs of the embedded engine, whose members are threads."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..protocol import GangOrder


class ThreadMeeting:
    """Makes the communicators of all members, which run in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._comms: list[Any] = []

    def join(self, order: GangOrder) -> list[Any]:
        """See `workers.gangs.member.Meeting`."""
        from .thread_comm import make_comms

        comms: list[Any] = list(make_comms(order.members))
        with self._lock:
            self._comms = comms
        return comms

    def unsettled(self) -> float:
        """See `workers.gangs.member.Meeting`."""
        return 0.0

    def revoke(self, error: BaseException | None = None) -> None:
        """See `workers.gangs.member.Meeting`."""
        from .group import Revoked

        with self._lock:
            comms = self._comms
        if comms:
            comms[0].gang.revoke(error or Revoked("the computation was cancelled"))

    def is_loss(self, error: BaseException) -> bool | None:
        """See `workers.gangs.member.Meeting`."""
        from .group import Deadlock, Overdue, Revoked

        return isinstance(error, Revoked) and not isinstance(error, Deadlock | Overdue)

    def leave(self, comms: list[Any], harmed: bool) -> None:
        """See `workers.gangs.member.Meeting`."""
        with self._lock:
            self._comms = []
