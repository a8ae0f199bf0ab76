"""A rank's tasks: what is ordered runs on threads of its own, the least number first; results stay until dropped.

The board (scheduler/tasks) sends no more than the rank's cores take, and a few ahead where tasks are short. Ends are
told together, as many as there are when the I/O thread comes by. A task that waits for others keeps its thread; another
one takes its place, and one too many ends when the wait is over.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections import deque
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from ...graph.errors import ClusterError
from ..rank.interrupts import GRACE, Interrupted, forget, interrupt, interruptible
from ..rank.output import COMPUTE, finish_lines
from ..rank.task_context import TaskContext, enter_context
from ..shared.serial_thread import IDLE
from ..wire.task_messages import (
    GIVEN_UP,
    KEPT,
    RAISED,
    RETURNED,
    UNREAD,
    DropResults,
    FetchResult,
    GiveUp,
    InterruptTask,
    RunTasks,
    TakeBack,
    TaskEnd,
    TasksEnded,
    TaskWaits,
)
from .current import Current
from .lending import Lending
from .needs import LocalCall, Unread, with_needs
from .packing import pack_error, pack_small, size_of
from .programs import stop_program

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..rank.rank import Rank
    from ..wire.rpc import Question
    from ..wire.task_messages import TaskOrder


INTERRUPTED = pack_error(Interrupted())
SURPLUS = 0
"""Stands for a task's number where a thread is to end."""
MOST_WAITING = 2000
"""How many tasks of a rank may wait for others at a time: each has a thread."""


class TaskService:
    """Runs tasks, so many at once, and keeps what they return."""

    def __init__(self, rank: Rank, threads: int) -> None:
        self.rank, self._calls = rank, rank.calls
        self._queue: SimpleQueue[int | None] = SimpleQueue()
        self._waiting: dict[int, TaskOrder] = {}
        self._running: dict[int, tuple[threading.Thread, TaskOrder]] = {}
        self._functions: dict[int, Any] = {}
        self._kept: dict[int, Any] = {}
        self._ended: deque[TaskEnd] = deque()
        self._lock = threading.Lock()
        self._giving: SimpleQueue[Question[FetchResult] | None] = SimpleQueue()
        self._most, self._threads = threads, list[threading.Thread]()
        self._aside: set[tuple[int, int]] = set()
        """What waits for other tasks, by number and run."""
        self._giver: threading.Thread | None = None
        self._lending = Lending(rank.calls)
        calls = rank.calls
        calls.serve(RunTasks, self._take)
        calls.serve(TakeBack, self._take_back)
        calls.serve(GiveUp, self._give_up)
        calls.serve(InterruptTask, self._interrupt)
        calls.serve(DropResults, self._drop)
        calls.serve(FetchResult, self._give)
        calls.before_sending(self._report)

    # ---------------------------------------------------------------- the I/O thread

    def _take(self, question: Question[RunTasks]) -> None:
        self._functions.update(question.message.functions)
        for order in question.message.orders:
            self._waiting[order.number] = order
            self._queue.put(order.number)
        with self._lock:
            try:
                self._staff(0)
            except RuntimeError:  # no thread more is to be had: those that are there come to it
                if len(self._threads) == len(self._aside):
                    self._hand_back(list(self._waiting))
                    self.rank.transport.wake()

    def _staff(self, least: int) -> None:
        """Have as many threads as are needed for what doesn't wait for other tasks."""
        wanted = min(self._most, len(self._waiting) + len(self._running) - len(self._aside))
        while len(self._threads) - len(self._aside) < max(least, wanted):
            thread = threading.Thread(target=self._loop, name=f"{COMPUTE}task-{len(self._threads)}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def _take_back(self, question: Question[TakeBack]) -> None:
        question.reply([number for number in question.message.numbers if self._waiting.pop(number, None) is not None])

    def _give_up(self, question: Question[GiveUp]) -> None:
        self._hand_back(question.message.numbers)

    def _hand_back(self, numbers: Iterable[int]) -> None:
        """Have tasks that haven't begun run elsewhere, or later."""
        for number in numbers:
            order = self._waiting.pop(number, None)
            if order is not None:
                self._ended.append(TaskEnd(number, order.run, GIVEN_UP, b"", 0, 0.0))

    def _interrupt(self, question: Question[InterruptTask]) -> None:
        """End a task that runs, if it can be: its program, or its function at its next line of Python."""
        number = question.message.number
        with self._lock:
            running = self._running.get(number)
            if running is not None and running[0].ident is not None and not stop_program(number):
                interrupt(running[0].ident, number)
                timer = threading.Timer(GRACE, self.rank.do_later, [lambda: self._leave(*running)])
                timer.daemon = True
                timer.start()
        question.reply(running is not None)

    def _leave(self, thread: threading.Thread, order: TaskOrder) -> None:
        """Leave a thread to a call that wasn't interrupted: the task has ended, and another thread takes its place."""
        with self._lock:
            if self._running.get(order.number) != (thread, order):
                return
            del self._running[order.number]
            self._threads.remove(thread)
            self._aside.discard((order.number, order.run))
            self._ended.append(TaskEnd(order.number, order.run, RAISED, INTERRUPTED, 0, 0.0))
            self._staff(1)
        self.rank.transport.wake()  # for the end to be told: this comes after what is done before sending

    def _drop(self, question: Question[DropResults]) -> None:
        for number in question.message.numbers:
            self._kept.pop(number, None)
        for number in question.message.functions:
            self._functions.pop(number, None)

    def _give(self, question: Question[FetchResult]) -> None:
        """Answer with a result, on a thread of its own: large ones take long."""
        if self._giver is None:
            self._giver = threading.Thread(target=self._give_all, name="windrow-task-results", daemon=True)
            self._giver.start()
        self._giving.put(question)

    def _give_all(self) -> None:
        while (question := self._giving.get()) is not None:
            number = question.message.number
            is_here, value = self.find(number)
            if is_here:
                self._lending.answer(question, value)
            else:
                question.fail(ClusterError(f"the result of task {number} is not on rank {self.rank.rank}"))
            question = value = None

    def _report(self) -> None:
        if self._ended:
            ends = [self._ended.popleft() for _ in range(len(self._ended))]
            with suppress(ClusterError):  # closed: nobody wants to know
                self._calls.tell(0, TasksEnded(ends))

    # ---------------------------------------------------------------- tasks that wait for tasks

    def set_aside(self, order: TaskOrder) -> None:
        """Have another thread take the place of a task that begins to wait for others; by its thread.

        A ClusterError says that too many wait already, no thread is to be had, or the cluster is closed.
        """
        with self._lock:
            if self._is_at(order):
                if len(self._aside) >= MOST_WAITING:
                    raise ClusterError(
                        f"{order.name}: {MOST_WAITING:,} tasks on rank {self.rank.rank} wait for tasks that they have "
                        "submitted, the most that a rank holds; expected fewer that are nested within each other"
                    )
                self._aside.add((order.number, order.run))
                try:
                    self._staff(1)
                except RuntimeError as error:
                    self._aside.discard((order.number, order.run))
                    raise ClusterError(
                        f"{order.name}: no thread is to be had on rank {self.rank.rank} for what the task waits for, "
                        f"beside {len(self._aside):,} tasks that wait as well: {error}"
                    ) from error
        self._calls.tell(0, TaskWaits(order.number, order.run, True))

    def take_up(self, order: TaskOrder) -> None:
        """Have a task go on that has waited."""
        with self._lock:
            self._aside.discard((order.number, order.run))
            if self._is_surplus():
                self._queue.put(SURPLUS)
        with suppress(ClusterError):  # closed
            self._calls.tell(0, TaskWaits(order.number, order.run, False))

    def _is_surplus(self) -> bool:
        """Whether there are more threads that don't wait for other tasks than may run at once."""
        return len(self._threads) - len(self._aside) > self._most

    def _is_at(self, order: TaskOrder) -> bool:
        running = self._running.get(order.number)
        return running is not None and running[1] is order

    # ---------------------------------------------------------------- results

    def find(self, number: int) -> tuple[bool, Any]:
        """Return whether a result is here, and the result; from any thread."""
        try:
            return True, self._kept[number]
        except KeyError:
            return False, None

    def keep_copy(self, number: int, value: Any) -> None:
        """Keep a result that another rank has, or the driver, until it is dropped."""
        self._kept[number] = value

    # ---------------------------------------------------------------- threads

    def _loop(self) -> None:
        going = True
        while going and (number := self._next()) is not None:
            # Orders stay out of this frame: a thread that is free holds nothing of the last one.
            going = not self._retire() if number == SURPLUS else self._perform(number)

    def _next(self) -> int | None:
        """Return a task's number, when there is one; None where the calling thread ends, as none came for a while."""
        while True:
            with suppress(Empty):
                return self._queue.get(timeout=IDLE)
            with self._lock:
                if self._queue.empty():  # who puts one there sees under the lock that this thread is gone
                    self._threads.remove(threading.current_thread())
                    return None

    def _perform(self, number: int) -> bool:
        """Run a task, unless it was taken back, and note how it ended; tell whether the thread goes on to others."""
        with self._lock:  # who counts what there is to do sees it here or there
            order = self._waiting.pop(number, None)
            if order is None:
                return True
            mine = threading.current_thread(), order
            self._running[number] = mine
        enter_context(TaskContext(self.rank, task=Current(self, order)))
        end, value = self._run(order)
        enter_context(TaskContext(self.rank))
        forget(threading.get_ident())
        with self._lock:
            self._aside.discard((number, order.run))  # where an interrupt came in between
            waited_for = self._running.get(number) == mine
            if waited_for:
                del self._running[number]
                if end.how == KEPT:
                    self._kept[number] = value
        finish_lines()
        if waited_for:
            self._ended.append(end)
            self.rank.transport.wake()
        return waited_for and not (self._is_surplus() and self._retire())

    def _retire(self) -> bool:
        """Tell whether the calling thread ends, as there is one too many."""
        with self._lock:
            surplus = self._is_surplus()
            if surplus:
                self._threads.remove(threading.current_thread())
            return surplus

    def _run(self, order: TaskOrder) -> tuple[TaskEnd, Any]:
        """Run a task; return how it ended, and what it returned where that stays here."""
        begin = time.perf_counter()

        def end(how: str, packed: bytes, nbytes: int = 0) -> TaskEnd:
            return TaskEnd(order.number, order.run, how, packed, nbytes, time.perf_counter() - begin)

        try:
            needs = {number: need.load(self.rank) for number, need in order.needs}
        except Unread:
            return end(UNREAD, b""), None
        except BaseException as error:
            return end(RAISED, pack_error(error)), None
        try:
            function, args, keywords = with_needs(order.call, needs)
            if order.function:
                function = self._function(order.function)
            with interruptible(order.number):
                value = function(*args, **keywords)
            del function, args, keywords, needs
            packed = None if isinstance(order.call, LocalCall) else pack_small(value)
        except BaseException as error:
            return end(RAISED, pack_error(error)), None
        if packed is None:
            return end(KEPT, b"", size_of(value)), value
        return end(RETURNED, packed, len(packed)), None

    def _function(self, number: int) -> Any:
        function = self._functions[number]
        if isinstance(function, bytes):
            function = self._functions[number] = pickle.loads(function)
        return function

    def close(self) -> None:
        """End the threads once their present tasks are through, and programs at once."""
        self._waiting.clear()
        for number in list(self._running):
            stop_program(number)
        for _ in self._threads:
            self._queue.put(None)
        self._giving.put(None)
        self._lending.close()
        self._kept.clear()
