"""Tasks on other ranks than the driver's submit tasks by this: the driver runs them, and tells how they end."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import contextlib
import pickle
import threading
import time
import weakref
from collections import deque
from concurrent.futures import InvalidStateError
from typing import TYPE_CHECKING, Any

from ...graph.errors import ClusterError
from ...workers.tasks.current import current_task
from ...workers.tasks.lending import LIMIT
from ...workers.tasks.needs import LocalCall, Made, Unread
from ...workers.tasks.packing import unpack_error
from .future import THERE, Future, FutureReference
from .messages import (
    CANCELLED,
    RETURNED,
    STAYS,
    CancelTask,
    ForgetFutures,
    LargestDemand,
    LookAtTask,
    PlaceValue,
    SubmitTasks,
    Submitted,
    TaskOutcome,
)
from .record import CallState, Function, TaskRecord
from .snapshots import PlacedSnapshots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...workers.rank.rank import Rank
    from ...workers.wire.rpc import Question

AGAIN = 0.02
"""Seconds until the driver is asked again for a result that is made again."""


def remote_runner(rank: Rank) -> RemoteRunner:
    """Return what submits tasks for those that a rank runs."""
    rank.calls.offer(TaskOutcome, lambda: RemoteRunner(rank))
    runner: RemoteRunner = rank.calls.provided(TaskOutcome)
    return runner


class RemoteRunner:
    """Has the driver run tasks, and keeps the futures that tasks of this rank have of these; see `Runner`."""

    def __init__(self, rank: Rank) -> None:
        self._rank, self._calls = rank, rank.calls
        self._watches: dict[int, FutureReference] = {}
        self._gone: deque[int] = deque()
        self._functions_gone: deque[int] = deque()
        self._largest: tuple[int, int] | None = None
        self._lock = threading.Lock()
        self.functions: weakref.WeakKeyDictionary[Any, tuple[tuple[Any, ...], Function]] = weakref.WeakKeyDictionary()
        """What was sent of users' functions that can't change, as long as these live, with what tells that."""
        self.snapshots = PlacedSnapshots(self)
        self.awaited: set[Future] = set()
        self._calls.serve(TaskOutcome, self._take)
        self._calls.before_sending(self._forget)

    # ---------------------------------------------------------------- the tasks' threads

    def watch(self, function: Function) -> Function:
        weakref.finalize(function, self._functions_gone.append, function.number)
        return function

    def enter(self, records: Sequence[TaskRecord]) -> list[Future]:
        """Have tasks run, in the name of the one that this thread runs; return their futures."""
        task = current_task()
        if task is None:
            raise ClusterError("submit: a function on a rank submits tasks from the thread that runs its own task")
        submitted = [self._describe(record) for record in records]
        futures = [self._make_future(record) for record in records]
        with self._lock:  # who finds that the driver knows a function tells it of the call later
            unknown = {r.function.number: r.function for r in records if r.function and 0 not in r.function.known}
            for each in unknown.values():
                each.known.add(0)
            functions = [Function(each.number, each.packed, each.name) for each in unknown.values()]
            self._calls.tell(0, SubmitTasks(task.order.number, task.order.run, functions, submitted))
        return futures

    def _describe(self, record: TaskRecord) -> Submitted:
        if isinstance(record.call, LocalCall):
            raise ClusterError(f"submit: {record.name} can't leave rank {self._calls.rank}")
        number = 0 if record.function is None else record.function.number
        needs = tuple(each.number for each in record.needs)
        return Submitted(
            record.number, record.name, record.call, number, needs, record.demand, record.same, record.origin
        )

    def _make_future(self, record: TaskRecord) -> Future:
        future = Future(record, self)
        record.future = self._watches[record.number] = FutureReference(future, self, record)
        return future

    def place(self, record: TaskRecord, value: Any) -> Future:
        """Have the driver keep a value, as if a task had returned it."""
        self._calls.ask(0, PlaceValue(record.number, record.name, value), LIMIT)
        record.state = CallState.DONE
        future = self._make_future(record)
        future.set_result(value)
        return future

    def largest(self) -> tuple[int, int]:
        largest = self._largest
        if largest is None:
            largest = self._largest = self._calls.ask(0, LargestDemand())
        return largest

    def look(self, record: TaskRecord) -> CallState:
        return self._calls.ask(0, LookAtTask(record.number)).state

    def fetch(self, record: TaskRecord) -> Any:
        """Return a result that is on ranks; wait for it to be made again where they are lost."""
        while True:
            state, value, holders, error = self._calls.ask(0, LookAtTask(record.number))
            if error is not None:
                raise unpack_error(error, f"{record.name}: what task {record.label} raised can't be read here")[0]
            if value is not None:
                return pickle.loads(value)
            if state is CallState.DONE:
                with contextlib.suppress(Unread):
                    return Made(record.number, holders, record.title).bring(self._rank)
            time.sleep(AGAIN)

    def cancel(self, record: TaskRecord, running: bool) -> bool:
        if not self._calls.ask(0, CancelTask(record.number, running), LIMIT):
            return False
        self._end(record.number, CANCELLED, b"")
        return True

    def release(self, record: TaskRecord) -> None:
        self._watches.pop(record.number, None)
        self._gone.append(record.number)
        self._rank.transport.wake()

    # ---------------------------------------------------------------- the I/O thread

    def _forget(self) -> None:
        if self._gone or self._functions_gone:
            numbers = [self._gone.popleft() for _ in range(len(self._gone))]
            functions = [self._functions_gone.popleft() for _ in range(len(self._functions_gone))]
            with contextlib.suppress(ClusterError):  # closed: nobody wants to know
                self._calls.tell(0, ForgetFutures(numbers, functions))

    def _take(self, question: Question[TaskOutcome]) -> None:
        end = question.message
        self._end(end.number, end.how, end.packed)

    def _end(self, number: int, how: str, packed: bytes) -> None:
        """Have a future know how its task ended."""
        watch = self._watches.get(number)
        future = None if watch is None else watch()
        if future is None:
            return
        record = future._record
        record.forget_call()
        with contextlib.suppress(InvalidStateError):
            if how == CANCELLED:
                record.state = CallState.CANCELLED
                if not future.done():
                    future._note_cancelled()
            elif how in (RETURNED, STAYS):
                record.state = CallState.DONE
                future.set_result(THERE if how == STAYS else pickle.loads(packed))
            else:
                record.state = CallState.FAILED
                unread = f"{record.name}: what task {record.label} raised can't be read here"
                future.set_exception(unpack_error(packed, unread)[0])

    def close(self) -> None:
        for watch in list(self._watches.values()):
            future = watch()
            if future is not None and not future.done():
                with contextlib.suppress(InvalidStateError):
                    future.set_exception(ClusterError(f"the cluster was closed before task {future.name} had ended"))
        self.snapshots.close()
