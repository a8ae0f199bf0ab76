"""What the driver's board of tasks and the ranks tell each other, and ranks that want each other's results.

What there are thousands of in a message, `TaskOrder` and `TaskEnd`, are tuples with names: they pickle fastest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .protocol import RankMessage, Reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..tasks.needs import LocalCall, MissingArgument

RETURNED, KEPT, RAISED, UNREAD, GIVEN_UP = "returned", "kept", "raised", "unread", "given up"
"""How a task ends: its result comes along, or stays with the rank; an exception; an argument is gone; not begun."""


class TaskOrder(NamedTuple):
    """Run a call: a pickle of (function or None, arguments, keywords).

    `function` is the number of a function that was told apart, 0 where it is in the call. `run` counts the attempts.
    `needs` are the arguments that aren't in the pickle, by number.
    """

    number: int
    run: int
    function: int
    call: bytes | LocalCall
    needs: tuple[tuple[int, MissingArgument], ...]
    name: str


class TaskEnd(NamedTuple):
    """How a task ended: see `RETURNED` and others. `packed` is the pickled result, or error with its traceback."""

    number: int
    run: int
    how: str
    packed: bytes
    nbytes: int
    seconds: float


class TaskMessage(RankMessage[Reply]):
    """To a rank's `TaskService`; tasks, their results and functions are named by their numbers."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class RunTasks(TaskMessage[None]):
    """Run these, in their order; `functions` are those that this rank hasn't got, pickled."""

    functions: Sequence[tuple[int, bytes]]
    orders: Sequence[TaskOrder]


@dataclass(frozen=True, slots=True)
class TakeBack(TaskMessage[list[int]]):
    """Forget those of these that haven't begun; the answer says which."""

    numbers: Sequence[int]


@dataclass(frozen=True, slots=True)
class GiveUp(TaskMessage[None]):
    """End those of these that haven't begun, as `GIVEN_UP`."""

    numbers: Sequence[int]


@dataclass(frozen=True, slots=True)
class InterruptTask(TaskMessage[bool]):
    """End a task at its next line of Python; the answer says whether it ran."""

    number: int


@dataclass(frozen=True, slots=True)
class DropResults(TaskMessage[None]):
    """Let go of results and functions."""

    numbers: Sequence[int]
    functions: Sequence[int]


@dataclass(frozen=True, slots=True)
class FetchResult(TaskMessage[Any]):
    """Give a result, or the name of a segment where the asker is on this host: `near`."""

    number: int
    near: bool


@dataclass(frozen=True, slots=True)
class ReturnLent(TaskMessage[None]):
    """Take back a segment that was lent: it is mapped by now."""

    token: bytes


class BoardMessage(RankMessage[Reply]):
    """To the driver's board of tasks."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TasksEnded(BoardMessage[None]):
    """So tasks of this rank have ended."""

    ends: Sequence[TaskEnd]


@dataclass(frozen=True, slots=True)
class TaskWaits(BoardMessage[None]):
    """A task waits for others, and leaves its cores to them, or goes on."""

    number: int
    run: int
    waits: bool
