"""What tasks on other ranks ask of the driver's board when they submit tasks, and what it tells them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ...workers.wire.protocol import RankMessage
from ...workers.wire.task_messages import BoardMessage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .record import CallState, Demand, Function

RETURNED, STAYS, RAISED, CANCELLED = "returned", "stays", "raised", "cancelled"
"""How a task ended: its result comes along, or stays with a rank; an exception; it was cancelled."""


class Submitted(NamedTuple):
    """A task that a task on another rank submits; `needs` are tasks that it has submitted before, by number."""

    number: int
    name: str
    call: bytes
    function: int
    needs: tuple[int, ...]
    demand: Demand
    same: str
    origin: str


@dataclass(frozen=True, slots=True)
class SubmitTasks(BoardMessage[None]):
    """Enter tasks in the name of one that runs, and which attempt; `functions` are those that are new to the driver."""

    number: int
    run: int
    functions: Sequence[Function]
    submitted: Sequence[Submitted]


@dataclass(frozen=True, slots=True)
class ForgetFutures(BoardMessage[None]):
    """Nobody on this rank holds futures of these any more, nor these functions."""

    numbers: Sequence[int]
    functions: Sequence[int]


@dataclass(frozen=True, slots=True)
class CancelTask(BoardMessage[bool]):
    """Cancel a task, also if it runs: `running`; the answer says whether it is."""

    number: int
    running: bool


class TaskLook(NamedTuple):
    """What a task is at, its pickled result or the ranks that have it, and its pickled error."""

    state: CallState
    value: bytes | None
    holders: tuple[int, ...]
    error: bytes | None


@dataclass(frozen=True, slots=True)
class LookAtTask(BoardMessage[TaskLook]):
    """Say what a task is at, and where its result is."""

    number: int


@dataclass(frozen=True, slots=True)
class PlaceValue(BoardMessage[None]):
    """Keep a value as if a task had returned it."""

    number: int
    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class LargestDemand(BoardMessage[tuple[int, int]]):
    """Say how many cores and bytes a task may ask for at most."""


@dataclass(frozen=True, slots=True)
class TaskOutcome(RankMessage[None]):
    """To the rank that has a task's future: how it ended."""

    number: int
    how: str
    packed: bytes
