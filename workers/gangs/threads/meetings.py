"""Collective calls: the member that comes last does the work for all or, where much is to be copied, deals it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .group import Deadlock, Waitable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .mailboxes import Context


@dataclass(frozen=True, slots=True)
class DealtPlan:
    """What a plan returns where all members work at a time: a function of the rank that does a member's share."""

    work: Callable[[int], object]


@dataclass(frozen=True, slots=True)
class MemberCall:
    """One member's part in a collective call.

    Attributes
    ----------
    name
        The call and its root, which are the same for all.
    deposit
        What the member brings.
    plan
        Makes of all deposits, by rank, what each rank gets, or `DealtPlan`. Any member's plan would do.
    """

    name: str
    deposit: Any
    plan: Callable[[list[Any]], Sequence[Any] | DealtPlan]


class MemberPart(Waitable):
    """A member's part in a collective call that it has begun."""

    __slots__ = ("call", "meeting", "rank", "value")

    def __init__(self, meeting: _Meeting, rank: int, call: MemberCall) -> None:
        super().__init__(meeting.context.members[rank])
        self.meeting = meeting
        self.rank = rank
        self.call = call
        self.value: Any = None

    def needs(self) -> Sequence[int]:
        meeting = self.meeting
        return [m for m, part in zip(meeting.context.members, meeting.parts, strict=True) if part is None]

    def describe(self) -> str:
        return f"{self.call.name}{self.meeting.context.label}"

    def result(self) -> Any:
        """Return what the call returns, after all have come; where the work is dealt out, do this member's share."""
        if isinstance(self.value, DealtPlan):
            self.value.work(self.rank)
            leave = MemberCall(f"the end of {self.call.name}", None, _nothing)
            part = arrive(self.meeting.context, self.rank, ~self.meeting.number, leave)
            part.meeting.context.group.wait(part)
            return None
        return self.value


class _Meeting:
    """A collective call of a communicator: its parts by rank."""

    __slots__ = ("context", "missing", "number", "parts")

    def __init__(self, context: Context, number: int) -> None:
        self.context = context
        self.number = number
        self.parts: list[MemberPart | None] = [None] * len(context.members)
        self.missing = len(context.members)


def arrive(context: Context, rank: int, number: int, call: MemberCall) -> MemberPart:
    """Begin a member's part; the last to come does the work.

    Parameters
    ----------
    number
        The same for all members' parts in one call: how many calls there were before it.
    """
    group = context.group
    with group.lock:
        group.check()
        meeting = context.meetings.get(number)
        if meeting is None:
            meeting = context.meetings[number] = _Meeting(context, number)
        part = MemberPart(meeting, rank, call)
        other = next((x for x in meeting.parts if x is not None), part)
        parts: list[MemberPart] = []
        if other.call.name == call.name:
            meeting.parts[rank] = part
            meeting.missing -= 1
            if meeting.missing:
                return part
            del context.meetings[number]
            parts = [x for x in meeting.parts if x is not None]
            for each in parts:
                each.busy = True
    if not parts:
        text = f"member {part.owner} calls {part.describe()} where member {other.owner} has called {other.describe()}"
        group.revoke(Deadlock(f"{text}: all members of a communicator make the same calls in the same order"))
        group.check()
    _work(parts, call)
    with group.lock:
        for each in parts:
            group.complete(each)
    return part


def _work(parts: list[MemberPart], call: MemberCall) -> None:
    """Give each part its value, or all of them the error."""
    try:
        values = call.plan([x.call.deposit for x in parts])
    except Exception as error:
        for part in parts:
            part.error = error
        return
    for i, part in enumerate(parts):
        part.value = values if isinstance(values, DealtPlan) else values[i]


def _nothing(deposits: list[Any]) -> list[Any]:
    return deposits
