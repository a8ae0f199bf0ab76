"""Futures that tasks on other ranks have of tasks that they submitted: the driver's side.

The driver's board has the records, as of all tasks; here is what stands for the futures. They go when the rank says
so, or with the rank.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...graph.errors import ClusterError
from ...workers.tasks.packing import pack_error
from .future import THERE
from .messages import (
    CANCELLED,
    RAISED,
    RETURNED,
    STAYS,
    CancelTask,
    ForgetFutures,
    LargestDemand,
    LookAtTask,
    PlaceValue,
    SubmitTasks,
    TaskLook,
    TaskOutcome,
)
from .record import Demand, Function, TaskRecord

if TYPE_CHECKING:
    from ...workers.wire.rpc import Calls, Question
    from .dispatcher import Dispatcher
    from .messages import Submitted


class RemoteFuture:
    """Stands for a future on another rank, which it tells how the task ended."""

    __slots__ = ("_calls", "_done", "_rank", "_record")

    def __init__(self, calls: Calls, rank: int, record: TaskRecord) -> None:
        self._calls, self._rank, self._record, self._done = calls, rank, record, False

    def __call__(self) -> RemoteFuture:
        return self

    def done(self) -> bool:
        return self._done

    def set_result(self, value: Any) -> None:
        packed = self._record.value
        self._tell(STAYS if value is THERE or packed is None else RETURNED, packed or b"")

    def set_exception(self, error: BaseException, /) -> None:
        self._tell(RAISED, pack_error(error))

    def _note_cancelled(self) -> None:
        self._tell(CANCELLED, b"")

    def _tell(self, how: str, packed: bytes) -> None:
        self._done = True
        with suppress(ClusterError):  # closed: the rank ends what waits itself
            self._calls.tell(self._rank, TaskOutcome(self._record.number, how, packed))


class RemoteFutures:
    """Answers tasks on other ranks that submit tasks."""

    def __init__(self, dispatcher: Dispatcher, calls: Calls) -> None:
        self._dispatcher, self._calls = dispatcher, calls
        self._records: defaultdict[int, dict[int, TaskRecord]] = defaultdict(dict)
        self._functions: defaultdict[int, dict[int, Function]] = defaultdict(dict)
        calls.serve(SubmitTasks, self._submit)
        calls.serve(ForgetFutures, self._forget)
        calls.serve(CancelTask, self._cancel)
        calls.serve(LookAtTask, self._look)
        calls.serve(PlaceValue, self._place)
        calls.serve(LargestDemand, lambda question: question.reply(dispatcher.largest()))
        calls.when_lost(self._lose)

    def _submit(self, question: Question[SubmitTasks]) -> None:
        rank, message, dispatcher = question.rank, question.message, self._dispatcher
        try:
            for function in message.functions:
                self._functions[rank][function.number] = dispatcher.watch(function)
            with dispatcher.lock:
                parent = dispatcher.find_parent(message.number, message.run)
                dispatcher.enter_for([self._enter(rank, each) for each in message.submitted], parent)
        except Exception as error:  # the rank waits for an end of each
            packed = pack_error(error)
            for each in message.submitted:
                self._calls.tell(rank, TaskOutcome(each.number, RAISED, packed))

    def _enter(self, rank: int, task: Submitted) -> TaskRecord:
        held = self._records[rank]
        function = self._functions[rank][task.function] if task.function else None
        needs = tuple(held[number] for number in task.needs)
        used = () if function is None else (function,)
        record = TaskRecord(
            task.number, task.name, task.call, function, needs, (), used, task.demand, task.same, task.origin
        )
        record.future = RemoteFuture(self._calls, rank, record)
        held[task.number] = record
        return record

    def _forget(self, question: Question[ForgetFutures]) -> None:
        for number in question.message.numbers:
            record = self._records[question.rank].pop(number, None)
            if record is not None:
                self._dispatcher.release(record)
        for number in question.message.functions:
            self._functions[question.rank].pop(number, None)

    def _lose(self, ranks: tuple[int, ...]) -> None:
        for rank in ranks:
            self._functions.pop(rank, None)
            for record in self._records.pop(rank, {}).values():
                self._dispatcher.release(record)

    def _cancel(self, question: Question[CancelTask]) -> None:
        """Cancel a task, on a thread: other ranks may be asked."""
        record = self._records[question.rank].get(question.message.number)
        if record is None:  # refused
            question.reply(False)
            return

        def cancel() -> None:
            try:
                question.reply(self._dispatcher.cancel(record, question.message.running))
            except Exception as error:
                question.fail(error)

        threading.Thread(target=cancel, name="windrow-cancel", daemon=True).start()

    def _look(self, question: Question[LookAtTask]) -> None:
        record = self._records[question.rank].get(question.message.number)
        if record is None:
            raise ClusterError("result: the task was refused, as the one that submitted it was cancelled")
        with self._dispatcher.lock:
            if record.holders:
                record.note_copy(question.rank)
            error = None if record.error is None else pack_error(record.error)
            question.reply(TaskLook(record.state, record.value, tuple(record.holders), error))

    def _place(self, question: Question[PlaceValue]) -> None:
        """Take what a task has for many calls; it stays with the driver, so that no death takes it."""
        number, name = question.message.number, question.message.name
        record = TaskRecord(number, name, b"", None, (), (), (), Demand(), name)
        self._dispatcher.place_for(record, question.message.value)
        self._records[question.rank][number] = record
        question.reply(None)
