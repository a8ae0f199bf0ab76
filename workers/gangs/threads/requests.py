"""What a call that doesn't wait returns: mpi4py's `Request`, for calls of threads."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ..group import Waitable
from ..mailboxes import Receiving, Sending
from ..payloads import Frozen
from ..values import values
from .status import fill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..group import Group
    from ..meetings import MemberPart


class _AnyOf(Waitable):
    """A wait for the first of several calls."""

    __slots__ = ("call", "parts")
    any_will_do = True

    def __init__(self, call: str, parts: Sequence[Waitable]) -> None:
        super().__init__(parts[0].owner)
        self.call = call
        self.parts = parts

    def needs(self) -> Sequence[int]:
        return sorted({x for part in self.parts for x in part.needs()})

    def describe(self) -> str:
        return f"{self.call} of {', '.join(part.describe() for part in self.parts)}"

    def is_ended_by(self, other: Waitable) -> bool:
        return other in self.parts

    def is_done(self) -> bool:
        return any(part.done for part in self.parts)

    def is_busy(self) -> bool:
        return any(part.busy for part in self.parts)


class Request:
    """A call that goes on.

    The functions of several requests, which mpi4py has as `MPI.Request.Waitall(requests)`, don't take those of threads
    there: `requests[0].Waitall(requests)` is the same function for both.

    Parameters
    ----------
    group
        The threads.
    pending
        What has begun; None for what is over, as all communication with PROC_NULL is.
    """

    __slots__ = ("_group", "_pending")

    def __init__(self, group: Group, pending: Sending | Receiving | MemberPart | None) -> None:
        self._group = group
        self._pending = pending

    def __bool__(self) -> bool:
        return self._pending is not None

    def wait(self, status: Any = None) -> Any:
        """Wait until the call is over; return what was received, if it is an object."""
        pending = self._pending
        if pending is None:
            return nothing_received(status)
        if isinstance(pending, Sending):
            pending.settle()
        self._group.wait(pending.owner, pending)
        self._pending = None
        return result(pending, status)

    def test(self, status: Any = None) -> tuple[bool, Any]:
        """Tell whether the call is over, and what was received."""
        if not self._is_over():
            time.sleep(0)  # a program that asks again and again lets those run for whom it waits
            return False, None
        return True, self.wait(status)

    def Wait(self, status: Any = None) -> bool:
        """Wait until the call is over."""
        self.wait(status)
        return True

    def Test(self, status: Any = None) -> bool:
        """Tell whether the call is over."""
        return self.test(status)[0]

    def Get_status(self, status: Any = None) -> bool:
        """Tell whether the call is over, which a `Wait` will see again."""
        over = self._is_over()
        if over and isinstance(self._pending, Receiving):
            tell(status, self._pending)
        return over

    get_status = Get_status

    def Cancel(self) -> None:
        """Give up a receive to which nothing has come; other calls go on."""
        if isinstance(self._pending, Receiving) and self._pending.withdraw():
            self._pending = None

    def Free(self) -> None:
        """Forget the request; the call goes on."""
        if isinstance(self._pending, Sending):
            self._pending.settle()
        self._pending = None

    cancel = Cancel
    free = Free

    @classmethod
    def waitall(cls, requests: Sequence[Request], statuses: list[Any] | None = None) -> list[Any]:
        """Wait until all are over; return what each has received."""
        # Receives first: while they are waited for, others take what is sent from its buffer.
        received = {i: x.wait(_at(statuses, i)) for i, x in enumerate(requests) if not isinstance(x._pending, Sending)}
        return [received[i] if i in received else x.wait(_at(statuses, i)) for i, x in enumerate(requests)]

    @classmethod
    def waitany(cls, requests: Sequence[Request], status: Any = None) -> tuple[int, Any]:
        """Wait until one is over; return its position and what it has received."""
        going = [x for x in requests if x]
        if not going:
            return values().undefined, None
        while not any(x._is_over() for x in going):
            parts = [x._pending for x in going if x._pending is not None]
            going[0]._group.wait(parts[0].owner, _AnyOf("Waitany", parts))
        i = next(i for i, x in enumerate(requests) if x and x._is_over())
        return i, requests[i].wait(status)

    @classmethod
    def waitsome(
        cls, requests: Sequence[Request], statuses: list[Any] | None = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """Wait until one is over; return the positions of all that are, and what they have received."""
        if not any(requests):
            return None, None
        first, value = cls.waitany(requests, _at(statuses, 0))
        return cls._with_others(requests, statuses, [first], [value])

    @classmethod
    def testall(cls, requests: Sequence[Request], statuses: list[Any] | None = None) -> tuple[bool, list[Any] | None]:
        """Tell whether all are over, and what they have received."""
        if all(x._is_over() for x in requests):
            return True, cls.waitall(requests, statuses)
        time.sleep(0)
        return False, None

    @classmethod
    def testany(cls, requests: Sequence[Request], status: Any = None) -> tuple[int, bool, Any]:
        """Return the position of one that is over, whether there is one, and what it has received."""
        if not any(requests):
            return values().undefined, True, None
        for i, x in enumerate(requests):
            if x and x._is_over():
                return i, True, x.wait(status)
        time.sleep(0)
        return values().undefined, False, None

    @classmethod
    def testsome(
        cls, requests: Sequence[Request], statuses: list[Any] | None = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """Return the positions of those that are over, and what they have received."""
        if not any(requests):
            return None, None
        completed = cls._with_others(requests, statuses, [], [])
        if not completed[0]:
            time.sleep(0)
        return completed

    @classmethod
    def Waitall(cls, requests: Sequence[Request], statuses: list[Any] | None = None) -> bool:
        """Wait until all are over."""
        cls.waitall(requests, statuses)
        return True

    @classmethod
    def Waitany(cls, requests: Sequence[Request], status: Any = None) -> int:
        """Wait until one is over; return its position."""
        return cls.waitany(requests, status)[0]

    @classmethod
    def Waitsome(cls, requests: Sequence[Request], statuses: list[Any] | None = None) -> list[int] | None:
        """Wait until one is over; return the positions of all that are."""
        return cls.waitsome(requests, statuses)[0]

    @classmethod
    def Testall(cls, requests: Sequence[Request], statuses: list[Any] | None = None) -> bool:
        """Tell whether all are over."""
        return cls.testall(requests, statuses)[0]

    @classmethod
    def Testany(cls, requests: Sequence[Request], status: Any = None) -> tuple[int, bool]:
        """Return the position of one that is over, and whether there is one."""
        return cls.testany(requests, status)[:2]

    @classmethod
    def Testsome(cls, requests: Sequence[Request], statuses: list[Any] | None = None) -> list[int] | None:
        """Return the positions of those that are over."""
        return cls.testsome(requests, statuses)[0]

    @classmethod
    def _with_others(
        cls, requests: Sequence[Request], statuses: list[Any] | None, places: list[int], found: list[Any]
    ) -> tuple[list[int], list[Any]]:
        for i, x in enumerate(requests):
            if x and x._is_over():
                found.append(x.wait(_at(statuses, len(places))))
                places.append(i)
        return places, found

    def _is_over(self) -> bool:
        pending = self._pending
        if pending is None:
            return True
        if isinstance(pending, Sending):
            pending.settle()
        if not pending.done:
            self._group.check()
        return pending.done


def result(pending: Sending | Receiving | MemberPart, status: Any = None) -> Any:
    """Return what a call that is over returns, and tell a status of it."""
    if isinstance(pending, Sending):
        return None
    if not isinstance(pending, Receiving):
        return pending.result()
    if pending.message is None:  # withdrawn
        return None
    tell(status, pending)
    if pending.region is not None:
        return pending.region.close()
    return pending.value.take() if isinstance(pending.value, Frozen) else None


def tell(status: Any, receiving: Receiving) -> None:
    """Tell a status what was received or seen."""
    message = receiving.message
    if status is not None and message is not None:
        fill(status, message.source, message.tag, message.nbytes)


def nothing_received(status: Any) -> None:
    """Tell a status of a call that wasn't one, as with PROC_NULL."""
    constants = values()
    fill(status, constants.proc_null, constants.any_tag, 0)


def _at(statuses: list[Any] | None, i: int) -> Any:
    return statuses[i] if statuses and i < len(statuses) else None
