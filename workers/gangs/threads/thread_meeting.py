"""Communicators for gangs of the embedded engine, whose members are threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...wire.protocol import GangOrder


class ThreadMeeting:
    """Makes the communicators of all members, which run in this process."""

    def join(self, order: GangOrder) -> list[Any]:
        from .thread_comm import make_comms

        return list(make_comms(order.members))

    def give_up(self) -> None:
        """See `workers.gangs.member.CommunicatorMaker`."""

    def unsettled(self) -> float:
        return 0.0

    def revoke(self, comms: list[Any], error: BaseException | None = None) -> None:
        from .group import Revoked

        if comms:
            comms[0].gang.revoke(error or Revoked("the computation was cancelled"))

    def is_loss(self, error: BaseException) -> bool | None:
        from .group import Deadlock, Revoked

        return isinstance(error, Revoked) and not isinstance(error, Deadlock)

    def leave(self, comms: list[Any], harmed: bool) -> None:
        """See `workers.gangs.member.CommunicatorMaker`."""
