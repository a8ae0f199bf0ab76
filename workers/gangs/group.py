"""The threads that run one rank program: how they sleep and wake, and how all of them end when one can't go on.

A member that waits is told when what it waits for is there; nobody polls. So a group knows at any time who runs, who
waits for whom, and who has returned, and a wait that nobody can end is found when it begins.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, ClassVar

from ...graph.errors import WindrowError

if TYPE_CHECKING:
    from collections.abc import Sequence

_TURN = 0.5
"""Seconds after which a wait is begun anew: an interrupt that comes just before a wait doesn't end it."""


class Revoked(WindrowError, RuntimeError):
    """The rank program can't go on, as another member has failed or the computation was cancelled."""


class Deadlock(Revoked):
    """Members wait for each other, for one that has returned, or in different calls."""


class Overdue(Revoked, TimeoutError):
    """A member has waited longer than the group's limit allows."""


class Waitable:
    """What a member can wait for; changed with the group's lock held.

    Attributes
    ----------
    owner
        The member, a position in the group.
    done
        Whether it is over.
    busy
        Whether it has found its partners: another member, which runs, completes it in any case.
    error
        What the owner's call raises.
    """

    __slots__ = ("busy", "done", "error", "owner")
    any_will_do: ClassVar[bool] = False

    def __init__(self, owner: int) -> None:
        self.owner = owner
        self.done = False
        self.busy = False
        self.error: BaseException | None = None

    def needs(self) -> Sequence[int]:
        """Return who must act before this is over: all of them or, with `any_will_do`, one of them."""
        raise NotImplementedError

    def describe(self) -> str:
        """Return the call in which the owner waits."""
        raise NotImplementedError

    def is_ended_by(self, other: Waitable) -> bool:
        """Tell whether the owner, who waits for this, may go on once `other` is done."""
        return other is self

    def is_done(self) -> bool:
        """Tell whether the owner, who waits for this, may go on."""
        return self.done

    def is_busy(self) -> bool:
        """Tell whether another member completes this in any case, and uses the owner's buffers until then."""
        return self.busy


class Group:
    """The members of one rank program.

    Parameters
    ----------
    size
        The number of members.
    limit
        The seconds after which a wait is an error, which ends the program for all; None for no limit.
    """

    def __init__(self, size: int, limit: float | None = None) -> None:
        self.size = size
        self.lock = threading.Lock()
        self.failure: BaseException | None = None
        self._limit = limit
        self._ended = [False] * size
        self._waits: list[Waitable | None] = [None] * size
        self._bells = [threading.Lock() for _ in range(size)]
        for bell in self._bells:
            bell.acquire()

    def check(self) -> None:
        """Raise where the group is revoked."""
        if self.failure is not None:
            raise self._error()

    def wait(self, member: int, pending: Waitable) -> None:
        """Sleep until something is done, and raise what it ended with. The lock is not held."""
        if not pending.done:
            with self.lock:
                asleep = not pending.is_done()
                if asleep:
                    if self.failure is not None and not pending.is_busy():
                        raise self._error()
                    self._waits[member] = pending
                    if not self._is_quick(pending):
                        self._find_deadlock()
            if asleep:
                self._sleep(member, pending)
            if not pending.is_done():
                raise self._error()
        if pending.error is not None:
            raise pending.error

    def complete(self, pending: Waitable) -> None:
        """Note that something is over, and wake the member that waits for it. The lock is held."""
        pending.done = True
        wait = self._waits[pending.owner]
        if wait is not None and wait.is_ended_by(pending):
            self._wake(pending.owner)

    def finish(self, member: int) -> None:
        """Note that a member's function has returned: it ends nobody's wait any more."""
        with self.lock:
            self._ended[member] = True
            if any(self._waits):
                self._find_deadlock()

    def revoke(self, error: BaseException) -> None:
        """End all members' waits, now and later, because of an error; the first one stays the reason."""
        with self.lock:
            self._revoke(error)

    def _revoke(self, error: BaseException) -> None:
        if self.failure is None:
            self.failure = error
        for member, wait in enumerate(self._waits):
            # What is busy ends by itself: its buffers are in use until then.
            if wait is not None and not wait.is_busy():
                self._wake(member)

    def _wake(self, member: int) -> None:
        self._waits[member] = None
        self._bells[member].release()

    def _sleep(self, member: int, pending: Waitable) -> None:
        bell = self._bells[member]
        try:
            if not _hear(bell, self._limit):
                self._tell_overdue(member, pending)
                _hear(bell, None)
        except BaseException:  # Ctrl-C in the main thread
            with self.lock:
                if self._waits[member] is pending:
                    self._waits[member] = None
                else:
                    bell.acquire(blocking=False)  # it has rung
            raise

    def _tell_overdue(self, member: int, pending: Waitable) -> None:
        with self.lock:
            if self._waits[member] is pending:
                others = sorted({x for x in pending.needs() if self._is_free(x)})
                computing = f"; {_members(others)} computed all the while" if others else ""
                text = f"{self._tell(member, pending)}, for more than {self._limit} s{computing}"
                self._revoke(Overdue(text))

    def _error(self) -> Revoked:
        """Return an exception of its own for each member."""
        reason = self.failure
        if isinstance(reason, Revoked):
            return type(reason)(*reason.args)
        error = Revoked(f"the rank program was ended by {type(reason).__name__}: {reason}")
        error.__cause__ = reason
        return error

    def _is_free(self, member: int) -> bool:
        return self._waits[member] is None and not self._ended[member]

    def _is_quick(self, pending: Waitable) -> bool:
        """Tell whether those who must act run, so that nobody needs to think about who waits for whom."""
        are_free = map(self._is_free, pending.needs())
        return any(are_free) if pending.any_will_do else all(are_free)

    def _find_deadlock(self) -> None:
        """Revoke the group where members wait for what none can bring any more."""
        free = set(filter(self._is_free, range(self.size)))
        stuck = {member: wait for member, wait in enumerate(self._waits) if wait is not None}
        freed = True
        while freed and stuck:
            freed = False
            for member, wait in list(stuck.items()):
                are_free = (x in free for x in wait.needs())
                if wait.is_busy() or (any(are_free) if wait.any_will_do else all(are_free)):
                    free.add(member)
                    del stuck[member]
                    freed = True
        if stuck:
            reasons = [self._tell(member, wait) for member, wait in stuck.items()]
            gone = {x for wait in stuck.values() for x in wait.needs() if self._ended[x]}
            reasons = [f"{_members([x])} has returned" for x in sorted(gone)] + reasons
            self._revoke(Deadlock("deadlock: " + "; ".join(reasons)))

    def _tell(self, member: int, wait: Waitable) -> str:
        needs = sorted(set(wait.needs()))
        link = " or " if wait.any_will_do else ", "
        return f"member {member} waits in {wait.describe()} for {_members(needs, link)}"


def _hear(bell: threading.Lock, limit: float | None) -> bool:
    """Wait until a bell has rung, for so many seconds at most; tell whether it has."""
    left = math.inf if limit is None else limit
    while not bell.acquire(timeout=max(0.0, min(_TURN, left))):
        left -= _TURN
        if left <= 0:
            return False
    return True


def _members(numbers: Sequence[int], link: str = ", ") -> str:
    """Return how a message names members."""
    if not numbers:
        return "nobody"
    return f"member{'s' if len(numbers) > 1 else ''} {link.join(map(str, numbers))}"
