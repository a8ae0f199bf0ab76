"""For whom a thread computes. One context, entered by the thread when it begins a batch or a task.

It is a context variable: what a function starts with a copy of its context, as `asyncio.to_thread` does, belongs to it.
"""

from __future__ import annotations

import math
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..tasks.current import Current
    from .rank import Rank


class TaskContext(NamedTuple):
    """A rank, and what this thread computes for it; the default is that of a thread that computes for none.

    `batch` is -1 outside of batches. `epoch` is the last death that the rank had heard of when the batch began; threads
    that belong to no time have infinity. `member` says which of the rank's `members` of a gang this is. `task` was
    submitted.
    """

    rank: Rank | None = None
    batch: int = -1
    epoch: float = math.inf
    member: int = 0
    members: int = 1
    task: Current | None = None


_NONE = TaskContext()
_context: ContextVar[TaskContext] = ContextVar("windrow-task", default=_NONE)
_own: list[Rank] = []
enter_context = _context.set
"""Have the calling thread compute in a context."""
task_context = _context.get
"""Return the context that the calling thread computes in."""


def serve(rank: Rank) -> None:
    """Note whose rank this process is: the driver's is none's."""
    _own[:] = [rank]


def own_rank() -> Rank | None:
    """Return the rank that this process is, where it isn't the driver."""
    return _own[0] if _own else None


def computing_rank() -> Rank | None:
    """Return the rank that this thread, or else this process, computes for; None in others."""
    return task_context().rank or own_rank()
