"""Futures of tasks: the standard library's, but that a result stays on the ranks until it is asked for."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import concurrent.futures
import contextlib
import importlib
import os
import threading
import traceback
import weakref
from numbers import Real
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol, Self

from ...graph.errors import ArgumentError, WaitTimeout, bad
from ...workers.shared.serial_thread import IDLE, SerialThread
from ...workers.tasks.current import current_task, waiting
from .record import CallState

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from .record import Function, TaskRecord
    from .snapshots import PlacedSnapshots


class Runner(Protocol):
    """What runs tasks: the driver's dispatcher, or what stands for it on another rank."""

    functions: weakref.WeakKeyDictionary[Any, tuple[tuple[Any, ...], Function]]
    """What was sent of users' functions that can't change, as long as these live, with what tells that."""
    snapshots: PlacedSnapshots
    awaited: set[Future]
    """What executors were given and hasn't ended."""

    def watch(self, function: Function) -> Function:
        """Have ranks forget a function when no task has it any more."""
        ...

    def enter(self, records: Sequence[TaskRecord]) -> list[Future]:
        """Enter tasks, and return futures of those that are wanted for themselves, not for others alone."""
        ...

    def place(self, record: TaskRecord, value: Any) -> Future:
        """Enter a value that is at hand, as if a task had returned it."""
        ...

    def largest(self) -> tuple[int, int]:
        """Return the most cores and bytes that a task may ask for."""
        ...

    def fetch(self, record: TaskRecord) -> Any:
        """Return a result that is on ranks."""
        ...

    def cancel(self, record: TaskRecord, running: bool) -> bool:
        """Cancel a task, perhaps one that runs; tell whether it is cancelled."""
        ...

    def look(self, record: TaskRecord) -> CallState:
        """Return what a task is at."""
        ...

    def release(self, record: TaskRecord) -> None:
        """Note that a task's future is gone."""
        ...


class _There:
    """Stands for a result that is on a rank."""


THERE = _There()
_callbacks = SerialThread("windrow-callbacks")
_guard = threading.RLock()
_gone: SimpleQueue[FutureReference] = SimpleQueue()
_watched: set[FutureReference] = set()
"""References to futures that live, or of which their dispatchers are still to be told."""
_releaser: list[threading.Thread] = []
_called: set[Future] = set()
"""Futures with callbacks that haven't ended: the user may have let go of them."""
os.register_at_fork(after_in_child=_called.clear)
_ASYNCIO = "asyncio.futures"
"""Who takes a result at once, on a thread that may not wait."""


class _WaitEvent(threading.Event):
    """An event; a task that waits for it leaves its cores to others."""

    def wait(self, timeout: float | None = None) -> bool:
        if self.is_set():
            return True
        with waiting():
            return super().wait(timeout)


class _Waiters(list[Any]):
    """Who waits for a future by `concurrent.futures.wait` or `as_completed`: each gets an event of ours."""

    def append(self, waiter: Any) -> None:
        if not isinstance(waiter.event, _WaitEvent):
            waiter.event = _WaitEvent()
        super().append(waiter)


class FutureReference(weakref.ref["Future"]):
    """A reference to a future; when that goes, its dispatcher is told, on a thread of its own.

    Whoever lets go of a future runs no Python for it: an interrupt that came just then would be lost.
    """

    __slots__ = ("_dispatcher", "_record")

    def __new__(cls, future: Future, dispatcher: Runner, record: TaskRecord) -> Self:
        """Watch a future."""
        return super().__new__(cls, future, _gone.put)

    def __init__(self, future: Future, dispatcher: Runner, record: TaskRecord) -> None:
        self._dispatcher, self._record = weakref.ref(dispatcher), record
        with _guard:
            _watched.add(self)
            if not _releaser or not _releaser[0].is_alive():
                _releaser[:] = [threading.Thread(target=_release_all, name="windrow-futures-gone", daemon=True)]
                _releaser[0].start()

    def release(self) -> None:
        """Tell the dispatcher."""
        dispatcher, record = self._dispatcher(), self._record
        del self._record  # which refers to this
        if dispatcher is not None:
            dispatcher.release(record)


def _release_all() -> None:
    """Tell dispatchers which futures are gone; end some time after the last one."""
    while True:
        try:
            reference = _gone.get(timeout=None if _watched else IDLE)
        except Empty:
            with _guard:
                if not _watched:
                    _releaser.clear()
                    return
            continue
        try:
            reference.release()
        finally:
            _watched.discard(reference)
            del reference


def called_until_now() -> threading.Event:
    """Return what is set when the callbacks of futures that are done have ended: at once for one of these."""
    ended = threading.Event()
    if _callbacks.is_current:
        ended.set()
    else:
        _callbacks.put(ended.set)
    return ended


def note_interrupt(futures: Iterable[Any], error: KeyboardInterrupt) -> None:
    """Note that Ctrl-C ended a wait for futures: from now on their calls go with them.

    The error's traceback, which a notebook keeps, holds none of them.
    """
    for each in futures:
        if isinstance(each, Future):
            each._record.interrupted = True
    traceback.clear_frames(error.__traceback__)


def check_timeout(operation: str, timeout: Any) -> float | None:
    """Return seconds that can be waited for, or None."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, Real) or timeout != timeout:
        raise ArgumentError(bad(operation, "timeout", timeout, "a number of seconds, or None"))
    try:
        return min(float(timeout), threading.TIMEOUT_MAX)
    except OverflowError:  # a long integer
        return threading.TIMEOUT_MAX


class Future(concurrent.futures.Future[Any]):
    """A task's result, which may be there later; `concurrent.futures.wait` and its kin take it.

    As an argument of another task it stands for the result, which goes from rank to rank. What is called when it is
    done is called on a thread of its own. `await` waits for it in asyncio.

    Parameters
    ----------
    record, dispatcher
        The task, and what runs it: `windrow.submit` and its kin make futures, nobody else does.

    Raises
    ------
    TypeError
        It is pickled, but not among the arguments of a task.

    >>> total = wr.submit(sum, [1, 2, 3])
    >>> wr.submit(pow, total, 2).result()
    36
    """

    def __init__(self, record: TaskRecord, dispatcher: Runner) -> None:
        super().__init__()
        self._record, self._dispatcher = record, dispatcher
        if current_task() is not None:
            self._waiters = _Waiters()
        self._keepers: list[set[Future]] | None = None

    @property
    def name(self) -> str:
        """The function's name, and the task's number."""
        return self._record.title

    def result(self, timeout: float | None = None) -> Any:
        """Return what the task returned, or raise what it raised.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait for the task; None: as long as it takes.

        Returns
        -------
        object
            The result: the same object each time.

        Raises
        ------
        TimeoutError
            It hasn't ended by then.
        concurrent.futures.CancelledError
            It was cancelled, or one whose result it takes was.
        ClusterError
            Too many ranks died at it; the cluster was closed.
        ArgumentError
            `timeout` is no number.
        KeyboardInterrupt
            Ctrl-C ended the wait. The call goes on as long as its future is held; then it is cancelled.
        Exception
            What the function raised, with notes of the task, its rank and the line there.

        >>> wr.submit(len, "abc").result(timeout=60)
        3
        """
        seconds = check_timeout("result", timeout)
        try:
            with contextlib.nullcontext() if self.done() and self._result is not THERE else waiting():
                outcome = super().result(seconds)
                return self._bring() if outcome is THERE else outcome
        except KeyboardInterrupt as error:
            note_interrupt([self], error)
            raise
        except TimeoutError as error:
            if self.done():  # the function's own
                raise
            raise WaitTimeout(f"result: task {self.name} hasn't ended within {timeout:g} s; it goes on") from error
        finally:
            del self  # a kept exception's traceback has this frame

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return what the task raised, or None where it returned.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait for the task; None: as long as it takes.

        Returns
        -------
        BaseException or None
            What `result` would raise.

        Raises
        ------
        TimeoutError
            It hasn't ended by then.
        concurrent.futures.CancelledError
            It was cancelled, or one whose result it takes was.
        ArgumentError
            `timeout` is no number.

        >>> wr.submit(divmod, 1, 0).exception()
        ZeroDivisionError('integer division or modulo by zero')
        """
        seconds = check_timeout("exception", timeout)
        try:
            if self.done():
                return super().exception()
            with waiting():
                return super().exception(seconds)
        except TimeoutError as error:
            raise WaitTimeout(f"exception: task {self.name} hasn't ended within {timeout:g} s; it goes on") from error
        finally:
            del self

    def _bring(self) -> Any:
        """Return a result that is on a rank, and keep it; or what keeps it from coming here."""
        try:
            outcome = self._dispatcher.fetch(self._record)
            with self._condition:  # of threads that ask at once, the first one's is everybody's
                if self._result is THERE:
                    self._result = outcome
                return self._result
        except Exception as error:
            with self._condition:
                if self._result is THERE:
                    self._exception: BaseException | None = error
            raise
        finally:
            del self

    def cancel(self, running: bool = False) -> bool:
        """Cancel the task if it hasn't begun; tell whether it is cancelled.

        Parameters
        ----------
        running : bool
            Also end it where it runs: a program is killed, a function ends at its next line of Python. One that stays
            in compiled code counts as cancelled, and is left to its thread; one that keeps Python's lock for 2 seconds
            ends with its rank.

        Returns
        -------
        bool
            Whether it is cancelled: now, or it was before.

        Raises
        ------
        ArgumentError
            `running` is no bool.

        >>> future = wr.submit(abs, -1)
        >>> future.result(), future.cancel()
        (1, False)
        """
        if type(running) is not bool:
            raise ArgumentError(f"cancel: argument 'running' is {running!r}; expected a bool")
        return self._dispatcher.cancel(self._record, running)

    def running(self) -> bool:
        """Tell whether the task was sent to a rank and hasn't ended.

        Returns
        -------
        bool
            True also for one that waits on its rank behind others, which `cancel` can still take back.

        >>> future = wr.submit(abs, -1)
        >>> future.result(), future.running()
        (1, False)
        """
        return not self.done() and self._dispatcher.look(self._record) is CallState.SENT

    def _note_cancelled(self) -> None:
        """Have who waits know that it is cancelled; called by the dispatcher."""
        super().cancel()
        self.set_running_or_notify_cancel()

    def _invoke_callbacks(self) -> None:
        base: Any = super()
        callbacks = self.__dict__["_done_callbacks"]
        with contextlib.suppress(RuntimeError):  # there are too many threads: they are called with others' callbacks
            if callbacks:
                if self._result is THERE and any(getattr(each, "__module__", "") == _ASYNCIO for each in callbacks):
                    _callbacks.put(self._fetch_first)
                _callbacks.put(base._invoke_callbacks)
        while self._keepers:
            self._keepers.pop().discard(self)

    def _fetch_first(self) -> None:
        with contextlib.suppress(Exception):
            self._bring()

    def _keep_in(self, futures: set[Future]) -> None:
        """Have a set keep this future until it is done."""
        futures.add(self)
        self._keepers = [*(self._keepers or ()), futures]
        if self.done():
            futures.discard(self)

    def add_done_callback(self, fn: Callable[[concurrent.futures.Future[Any]], object]) -> None:
        """Have a function called with this future when it is done, on a thread of its own; at once if it is.

        Parameters
        ----------
        fn : callable
            The function; it may use the cluster. What it raises is logged, as the standard library's futures do.

        Raises
        ------
        TypeError
            `fn` is no function.

        >>> import queue
        >>> import windrow as wr
        >>> ended = queue.Queue()
        >>> wr.submit(pow, 2, 5).add_done_callback(ended.put)
        >>> ended.get(timeout=60).result()
        32
        """
        if not callable(fn):
            raise TypeError(f"add_done_callback: argument 'fn' is {fn!r}; expected a function of the future")
        self._keep_in(_called)
        task = current_task()
        if task is not None and not self.done():  # it may wait for what the function does, nobody sees how
            task.begin_wait()
            super().add_done_callback(lambda _: task.end_wait())
        super().add_done_callback(fn)

    def __await__(self) -> Generator[Any, None, Any]:
        return self._wait().__await__()

    async def _wait(self) -> Any:
        asyncio = importlib.import_module("asyncio")  # which every process would take long to import
        with contextlib.nullcontext() if self.done() else waiting():
            if self.done() and self._result is THERE:
                with contextlib.suppress(Exception):
                    await asyncio.to_thread(self._bring)
            return await asyncio.wrap_future(self)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            f"a future can't be pickled: {self.name}; it stands for its result among the arguments "
            "of a task; elsewhere take its result() beforehand"
        )

    def __repr__(self) -> str:
        return f"<Future {self.name} {self._record.state.value}>"
