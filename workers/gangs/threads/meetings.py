"""Collective calls: the member that comes last does the work for all or, where much is to be copied, deals it out."""

from __future__ import annotations

from dataclasses import dataclass, field
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
    """One member's part in a collective call, whose name and root are the same for all.

    `plan` makes of all deposits, by rank, what each rank gets, or `DealtPlan`. Any member's plan would do.
    """

    name: str
    deposit: Any
    plan: Callable[[list[Any]], Sequence[Any] | DealtPlan]


@dataclass(eq=False, repr=False, slots=True)
class MemberPart(Waitable):
    """A member's part in call `number`, beside those of all members, by rank; None for who hasn't come."""

    number: int
    call: MemberCall
    parts: list[MemberPart | None]
    value: Any = field(default=None, init=False)

    def needs(self) -> Sequence[int]:
        return [member for member, part in zip(self.context.members, self.parts, strict=True) if part is None]

    def describe(self) -> str:
        return f"{self.call.name}{self.context.label}"

    def result(self) -> Any:
        """Return what the call returns, after all have come; where the work is dealt out, do this member's share."""
        if isinstance(self.value, DealtPlan):
            self.value.work(self.rank)
            leave = MemberCall(f"the end of {self.call.name}", None, lambda deposits: deposits)
            self.context.group.wait(arrive(self.context, self.rank, ~self.number, leave))
            return None
        return self.value


def arrive(context: Context, rank: int, number: int, call: MemberCall) -> MemberPart:
    """Begin a member's part in the call of a number; the last to come does the work."""
    group = context.group
    with group.lock:
        group.check()
        parts = context.meetings.setdefault(number, [None] * len(context.members))
        part = MemberPart(context, rank, number, call, parts)
        other = next((x for x in parts if x is not None), part)
        all_parts: list[MemberPart] = []
        if other.call.name == call.name:
            parts[rank] = part
            if None in parts:
                return part
            del context.meetings[number]
            all_parts = [x for x in parts if x is not None]
            for each in all_parts:
                each.busy = True
    if not all_parts:
        text = f"member {part.owner} calls {part.describe()} where member {other.owner} has called {other.describe()}"
        group.revoke(Deadlock(f"{text}: all members of a communicator make the same calls in the same order"))
        group.check()
    _work(all_parts, call)
    with group.lock:
        for each in all_parts:
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
