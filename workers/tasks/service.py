"""A rank's tasks: what is ordered runs on threads of its own, the least number first; results stay until dropped.

The board (scheduler/tasks) sends no more than the rank's cores take, and a few ahead where tasks are short. Ends are
told together, as many as there are when the I/O thread comes by.
"""

from __future__ import annotations

import ctypes
import pickle
import threading
import time
from collections import deque
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from ...graph.errors import ClusterError
from .. import own_arena
from ..output import COMPUTE, finish_lines
from .lending import Lending
from .needs import Held, with_needs
from .orders import (
    DROP,
    ENDED,
    GIVE_UP,
    GIVEN_UP,
    INTERRUPT,
    KEPT,
    RAISED,
    RETURNED,
    RUN,
    TAKE_BACK,
    UNREAD,
    VALUE,
    TaskEnd,
    Unread,
)
from .packing import pack_error, pack_small, size_of
from .programs import Interrupted, ended_by_us, stop_program

if TYPE_CHECKING:
    from ..calls import Question
    from ..rank import Rank
    from .orders import TaskOrder


INTERRUPTED = pack_error(Interrupted())


class TaskService:
    """Runs tasks, and keeps what they return.

    Parameters
    ----------
    rank : Rank
        Whose tasks they are.
    threads : int
        How many run at once.
    """

    def __init__(self, rank: Rank, threads: int) -> None:
        self._rank, self._calls = rank, rank.calls
        self._queue: SimpleQueue[int | None] = SimpleQueue()
        self._waiting: dict[int, TaskOrder] = {}
        self._running: dict[int, int] = {}
        self._functions: dict[int, Any] = {}
        self._kept: dict[int, Any] = {}
        self._ended: deque[TaskEnd] = deque()
        self._lock = threading.Lock()
        self._giving: SimpleQueue[Question | None] = SimpleQueue()
        self._most, self._threads, self._idle = threads, list[threading.Thread](), 0
        self._giver: threading.Thread | None = None
        self._lending = Lending(rank.calls)
        for name, handler in (
            (RUN, self._take),
            (TAKE_BACK, self._take_back),
            (GIVE_UP, self._give_up),
            (INTERRUPT, self._interrupt),
            (DROP, self._drop),
            (VALUE, self._give),
        ):
            self._calls.serve(name, handler)
        self._calls.before_sending(self._report)

    # ---------------------------------------------------------------- the I/O thread

    def _take(self, question: Question) -> None:
        functions, orders = question.what
        for number, packed in functions:
            self._functions[number] = packed
        for order in orders:
            self._waiting[order.number] = order
            self._queue.put(order.number)
        while len(self._threads) < self._most and len(self._threads) < len(self._waiting) + len(self._running):
            name = f"{COMPUTE}task-{len(self._threads)}"
            self._threads.append(threading.Thread(target=self._loop, name=name, daemon=True))
            self._threads[-1].start()

    def _take_back(self, question: Question) -> None:
        """Answer with those of some tasks that hadn't begun; they don't any more."""
        (numbers,) = question.what
        question.reply([number for number in numbers if self._waiting.pop(number, None) is not None])

    def _give_up(self, question: Question) -> None:
        """Have some tasks that haven't begun count as given up."""
        (numbers,) = question.what
        for number in numbers:
            order = self._waiting.pop(number, None)
            if order is not None:
                self._ended.append(TaskEnd(number, order.run, GIVEN_UP, b"", 0, 0.0))

    def _interrupt(self, question: Question) -> None:
        """End a task that runs, if it can be: its program, or its function at its next line of Python."""
        (number,) = question.what
        with self._lock:
            thread = self._running.get(number)
            if thread is not None and not stop_program(number):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Interrupted))
        question.reply(thread is not None)

    def _drop(self, question: Question) -> None:
        values, functions = question.what
        for number in values:
            self._kept.pop(number, None)
        for number in functions:
            self._functions.pop(number, None)

    def _give(self, question: Question) -> None:
        """Answer with a result, on a thread of its own: large ones take long."""
        if self._giver is None:
            self._giver = threading.Thread(target=self._give_all, name="windrow-task-results", daemon=True)
            self._giver.start()
        self._giving.put(question)

    def _give_all(self) -> None:
        while (question := self._giving.get()) is not None:
            number, near = question.what
            found, value = self.find(number)
            if found:
                self._lending.answer(question, value, near)
            else:
                question.fail(ClusterError(f"the result of task {number} is not on rank {self._rank.rank}"))
            question = value = None

    def _report(self) -> None:
        if self._ended:
            ends = [self._ended.popleft() for _ in range(len(self._ended))]
            with suppress(ClusterError):  # closed: nobody wants to know
                self._calls.tell(0, ENDED, ends)

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
        own_arena.enter(self._rank.transport)
        going = True
        while going:
            with suppress(Interrupted):
                going = self._next()

    def _next(self) -> bool:
        number = self._queue.get()
        if number is None:
            return False
        order = self._waiting.pop(number, None)
        if order is None:  # it was taken back
            return True
        ended: tuple[str, bytes, int, float] = RAISED, INTERRUPTED, 0, 0.0
        with suppress(Interrupted):
            with self._lock:
                self._running[number] = threading.get_ident()
            ended = self._run(order)
        told = False
        while not told:
            with suppress(Interrupted):  # it came when the task was through
                self._end(order, *ended)
                told = True
        return True

    def _end(self, order: TaskOrder, how: str, packed: bytes, nbytes: int, seconds: float) -> None:
        with self._lock:
            self._running.pop(order.number, None)
        finish_lines()
        self._ended.append(TaskEnd(order.number, order.run, how, packed, nbytes, seconds))
        self._rank.transport.wake()

    def _run(self, order: TaskOrder) -> tuple[str, bytes, int, float]:
        """Run a task; return how it ended, the pickle, bytes and seconds."""
        begin = time.perf_counter()
        try:
            needs = {number: need.load(self._rank) for number, need in order.needs}
        except Unread:
            return UNREAD, b"", 0, 0.0
        except BaseException as error:
            return RAISED, pack_error(error), 0, 0.0
        try:
            with ended_by_us(order.number):
                function, args, keywords = with_needs(order.call, needs)
                if order.function:
                    function = self._function(order.function)
                value = function(*args, **keywords)
            del function, args, keywords, needs
            packed = None if isinstance(order.call, Held) else pack_small(value)
        except BaseException as error:
            return RAISED, pack_error(error), 0, time.perf_counter() - begin
        if packed is None:
            self._kept[order.number] = value
            return KEPT, b"", size_of(value), time.perf_counter() - begin
        return RETURNED, packed, len(packed), time.perf_counter() - begin

    def _function(self, number: int) -> Any:
        found = self._functions[number]
        if isinstance(found, bytes):
            found = self._functions[number] = pickle.loads(found)
        return found

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
