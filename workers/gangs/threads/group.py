"""The threads that run one rank program: how they sleep and wake, and how all of them end when one can't go on.

A member that waits is told when what it waits for is there; nobody polls. So a group knows at any time who runs, who
waits for whom, and who has returned, and a wait that nobody can end is found when it begins.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from ....graph.errors import WindrowError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .mailboxes import Context

_TURN = 0.5
"""Seconds after which a wait is begun anew: an interrupt that comes just before a wait doesn't end it."""


class Revoked(WindrowError, RuntimeError):
    """The rank program can't go on, as another member has failed or the computation was cancelled."""


class Deadlock(Revoked):
    """Members wait for each other, for one that has returned, or in different calls."""


@dataclass(eq=False, repr=False, slots=True)
class Waitable:
    """What a member can wait for; changed with the group's lock held.

    `rank` is the owner's in a context. What is `busy` has found its partners: another member, which runs, completes it
    in any case, and uses the owner's buffers until then. The owner's call raises `error`.
    """

    context: Context
    rank: int
    done: bool = field(default=False, init=False)
    busy: bool = field(default=False, init=False)
    error: BaseException | None = field(default=None, init=False)
    any_will_do: ClassVar[bool] = False

    @property
    def owner(self) -> int:
        """The owner's position in the group."""
        return self.context.members[self.rank]

    def needs(self) -> Sequence[int]:
        """Return who must act before this is over: all of them or, with `any_will_do`, one of them."""
        raise NotImplementedError

    def describe(self) -> str:
        """Return the call in which the owner waits."""
        raise NotImplementedError


class Group:
    """The members of one rank program."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.lock = threading.Lock()
        self.failure: BaseException | None = None
        self._ended = [False] * size
        self._waits: list[Waitable | None] = [None] * size
        self._bells = [threading.Lock() for _ in range(size)]
        for bell in self._bells:
            bell.acquire()

    def check(self) -> None:
        """Raise where the group is revoked."""
        if self.failure is not None:
            raise self._error()

    def wait(self, pending: Waitable) -> None:
        """Have the owner sleep until something is done, and raise what it ended with. The lock is not held."""
        if not pending.done:
            with self.lock:
                asleep = not pending.done
                if asleep:
                    if self.failure is not None and not pending.busy:
                        raise self._error()
                    self._waits[pending.owner] = pending
                    # Where those who must act run, nobody needs to think about who waits for whom.
                    if not _can_end(pending, self._is_free):
                        self._find_deadlock()
            if asleep:
                self._sleep(pending)
            if not pending.done:
                raise self._error()
        if pending.error is not None:
            raise pending.error

    def complete(self, pending: Waitable) -> None:
        """Note that something is over, and wake the member that waits for it. The lock is held."""
        pending.done = True
        if self._waits[pending.owner] is pending:
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
            if wait is not None and not wait.busy:
                self._wake(member)

    def _wake(self, member: int) -> None:
        self._waits[member] = None
        self._bells[member].release()

    def _sleep(self, pending: Waitable) -> None:
        bell = self._bells[pending.owner]
        try:
            while not bell.acquire(timeout=_TURN):
                pass
        except BaseException:  # Ctrl-C in the main thread
            with self.lock:
                if self._waits[pending.owner] is pending:
                    self._waits[pending.owner] = None
                else:
                    bell.acquire(blocking=False)  # it has rung
            raise

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

    def _find_deadlock(self) -> None:
        """Revoke the group where members wait for what none can bring any more."""
        free = set(filter(self._is_free, range(self.size)))
        stuck = {member: wait for member, wait in enumerate(self._waits) if wait is not None}
        freed = True
        while freed and stuck:
            freed = False
            for member, wait in list(stuck.items()):
                if wait.busy or _can_end(wait, free.__contains__):
                    free.add(member)
                    del stuck[member]
                    freed = True
        if stuck:
            reasons = [_tell(wait) for wait in stuck.values()]
            gone = {x for wait in stuck.values() for x in wait.needs() if self._ended[x]}
            reasons = [f"{_members([x])} has returned" for x in sorted(gone)] + reasons
            self._revoke(Deadlock("deadlock: " + "; ".join(reasons)))


def _can_end(wait: Waitable, is_free: Callable[[int], bool]) -> bool:
    """Tell whether those run who must act before a wait is over."""
    are_free = map(is_free, wait.needs())
    return any(are_free) if wait.any_will_do else all(are_free)


def _tell(wait: Waitable) -> str:
    link = " or " if wait.any_will_do else ", "
    return f"member {wait.owner} waits in {wait.describe()} for {_members(sorted(wait.needs()), link)}"


def _members(numbers: Sequence[int], link: str = ", ") -> str:
    """Return how a message names members."""
    if not numbers:
        return "nobody"
    return f"member{'s' if len(numbers) > 1 else ''} {link.join(map(str, numbers))}"
