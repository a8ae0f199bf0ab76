"""What a call that doesn't wait returns: mpi4py's `Request`, for messages of threads."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NoReturn

from ..payloads import Frozen
from ..values import absent, constant, tell
from .mailboxes import Sending

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .mailboxes import Receiving


class Request:
    """A message that goes on.

    `MPI.Request.Waitall(requests)` doesn't take those of threads: `requests[0].Waitall(requests)` is the same function
    for both.

    Parameters
    ----------
    pending
        What has begun; None for what is over, as all communication with PROC_NULL is.
    """

    __slots__ = ("_pending",)

    def __init__(self, pending: Sending | Receiving | None) -> None:
        self._pending = pending

    def __bool__(self) -> bool:
        return self._pending is not None

    def __getattr__(self, name: str) -> NoReturn:
        raise absent(self, "request", name)

    def wait(self, status: Any = None) -> Any:
        """Wait until the call is over; return what was received, if it is an object."""
        received = end(self._pending, status)
        self._pending = None
        return received

    def test(self, status: Any = None) -> tuple[bool, Any]:
        """Tell whether the call is over, and what was received."""
        pending = self._pending
        if isinstance(pending, Sending):
            pending.settle()
        if pending is not None and not pending.done:
            pending.context.group.check()
            time.sleep(0)  # a program that asks again and again lets those run for whom it waits
            return False, None
        return True, self.wait(status)

    def Wait(self, status: Any = None) -> bool:
        self.wait(status)
        return True

    def Test(self, status: Any = None) -> bool:
        return self.test(status)[0]

    @classmethod
    def waitall(cls, requests: Sequence[Request], statuses: Sequence[Any] | None = None) -> list[Any]:
        """Wait until all are over; return what each has received."""
        ends: list[Any] = [None] * len(requests)
        # Receives first: while they are waited for, others take what is sent from its buffer.
        for i in sorted(range(len(requests)), key=lambda i: isinstance(requests[i]._pending, Sending)):
            ends[i] = requests[i].wait(statuses[i] if statuses and i < len(statuses) else None)
        return ends

    @classmethod
    def Waitall(cls, requests: Sequence[Request], statuses: Sequence[Any] | None = None) -> bool:
        cls.waitall(requests, statuses)
        return True


def end(pending: Sending | Receiving | None, status: Any = None) -> Any:
    """Wait until a message is sent or received, and tell a status of it; return an object that was received."""
    if pending is None:  # from or to PROC_NULL
        return tell(status, constant("PROC_NULL"), constant("ANY_TAG"), 0)
    if isinstance(pending, Sending):
        pending.settle()
        return pending.context.group.wait(pending)
    pending.context.group.wait(pending)
    message = pending.message
    assert message is not None
    tell(status, message.rank, message.tag, message.content.nbytes)
    return message.content.take() if isinstance(message.content, Frozen) else None
