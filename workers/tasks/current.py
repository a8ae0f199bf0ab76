"""The task that a thread runs: in its name others are submitted, and it leaves its cores to them while it waits."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

from ..rank.task_context import task_context

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..wire.task_messages import TaskOrder
    from .service import TaskService

_guard = threading.Lock()


def current_task() -> Current | None:
    """Return the task that the calling thread runs, or that began what runs here with a copy of its context."""
    return task_context().task


class Current:
    """A task that runs; `needs` has the arguments that its pickle names by number, while that is read."""

    __slots__ = ("_waits", "needs", "order", "service")

    def __init__(self, service: TaskService, order: TaskOrder) -> None:
        self.service, self.order, self._waits = service, order, 0
        self.needs: dict[int, Any] = {}

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Leave the task's cores to others meanwhile."""
        self.begin_wait()
        try:
            yield
        finally:
            self.end_wait()

    def begin_wait(self) -> None:
        """Leave the task's cores to others until `end_wait`; waits may be within each other, and in several threads."""
        with _guard:
            if not self._waits:
                self.service.set_aside(self.order)
            self._waits += 1

    def end_wait(self) -> None:
        """End a wait; the last one has the task go on."""
        with _guard:
            self._waits -= 1
            if not self._waits:
                self.service.take_up(self.order)


def waiting() -> contextlib.AbstractContextManager[None]:
    """Return a context in which the calling thread waits for other tasks: where it runs one, its cores are free."""
    task = current_task()
    return contextlib.nullcontext() if task is None else task.waiting()
