"""Calls on ranks that begin at once: futures stand for what they return."""

from __future__ import annotations

import concurrent.futures
import time
from typing import TYPE_CHECKING, Any

from ...graph.arguments import check_integer
from ...graph.errors import ArgumentError, BadValue, WaitTimeout, bad
from ...scheduler.tasks.future import Future, called_until_now, check_timeout, note_interrupt
from ...scheduler.tasks.record import Demand, TaskRecord
from ..execution.holders import collect_held
from .calls import (
    check_demand,
    check_function,
    dispatcher,
    find_origin,
    make_record,
    map_packed,
    numbers,
    pack_call,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "Executor",
    "Future",
    "gather",
    "map",
    "scatter",
    "submit",
]


def submit(
    fn: Any,
    /,
    *args: Any,
    cores: int = 1,
    memory: int | str = 0,
    retries: int = 0,
    priority: float = 0,
    **kwargs: Any,
) -> Future:
    """Call a function on a rank; return at once, with a future of what it returns.

    Parameters
    ----------
    fn : callable or list of str
        The function; it must pickle, by value where it is the script's own. A list is a program and its arguments:
        it is run, and what it writes to its standard output is the result.
    *args, **kwargs
        Its arguments. Futures among them, also within lists, dicts and objects, are awaited, and what they stand for is
        handed over, rank to rank. A lazy array is computed, and arrives as NumPy's.
    cores : int
        How many of its rank's threads the call takes.
    memory : int or str
        Bytes, or text such as "2 GiB": for them there must be room beside other calls on its rank that say so.
    retries : int
        How often it may be called again after an exception.
    priority : float
        What has a higher one goes first.

    Returns
    -------
    Future
        One of `concurrent.futures`'. The result stays on the rank until it is asked for, as long as the future lives.
        A lazy array that the function returns is lazy here too.

    Raises
    ------
    ArgumentError
        `fn` is neither, or doesn't pickle with its arguments; it uses a lazy array that isn't among these. `memory` is
        no number of bytes.
    BadValue
        `cores`, `memory` or `retries` are out of range.
    ClusterError
        It is called by a function of blocks or of a rank program, or in SPMD mode; the large result of a future among
        the arguments is with another cluster.

    See Also
    --------
    map : Many calls of one function.
    delayed : Calls that wait until they are asked for.

    >>> wr.submit(divmod, 7, 3).result()
    (2, 1)
    >>> wr.submit(["echo", "a program"]).result()
    'a program\\n'
    """
    board = dispatcher("submit")
    called, name, same = check_function("submit", fn)
    demand = check_demand("submit", cores, memory, retries, priority, board)
    packed = pack_call("submit", board, called, name, args, kwargs)
    return board.enter([make_record(*packed, name, same, demand, find_origin(), board)])[0]


def map(
    fn: Any,
    /,
    *iterables: Iterable[Any],
    cores: int = 1,
    memory: int | str = 0,
    retries: int = 0,
    priority: float = 0,
) -> list[Future]:
    """Call a function on ranks for the items of iterables; return a future for each call.

    Parameters
    ----------
    fn : callable
        The function; it is sent to a rank once.
    *iterables : iterable
        Its arguments, as Python's own `map` takes them: the shortest one ends it.
    cores, memory, retries, priority
        See `submit`.

    Returns
    -------
    list of Future
        In the order of the items.

    Raises
    ------
    ArgumentError
        `fn` is no function, or doesn't pickle with its arguments; no iterable is given.
    BadValue
        `cores`, `memory` or `retries` are out of range.
    ClusterError
        It is called by a function of blocks or of a rank program, or in SPMD mode.

    >>> wr.gather(wr.map(pow, [2, 3], [5, 2]))
    [32, 9]
    """
    board = dispatcher("map")
    if not iterables:
        raise ArgumentError(bad("map", "iterables", iterables, "at least one"))
    for number, each in enumerate(iterables):
        if not hasattr(each, "__iter__") and not hasattr(each, "__getitem__"):
            raise ArgumentError(bad("map", f"iterables[{number}]", each, "an iterable"))
    demand = check_demand("map", cores, memory, retries, priority, board)
    return map_packed("map", board, fn, list(zip(*iterables, strict=False)), demand)


def gather(futures: Any, *, timeout: float | None = None) -> Any:
    """Return the results of futures, in lists, tuples and dicts as they come.

    Parameters
    ----------
    futures : Future, or list, tuple, set or dict of such
        What to wait for; other objects are handed back as they are.
    timeout : float, optional
        Seconds to wait for all.

    Returns
    -------
    object
        The same structure, of results.

    Raises
    ------
    Exception
        What the first of them raised that failed.
    TimeoutError
        Not all have ended by then.
    KeyboardInterrupt
        Ctrl-C ended the wait. Calls go on as long as their futures are held; then they are cancelled.

    >>> wr.gather({"a": wr.submit(abs, -1), "b": [wr.submit(abs, 2)]})
    {'a': 1, 'b': [2]}
    """
    deadline = _deadline("gather", timeout)
    try:
        return _collect(futures, deadline)
    except KeyboardInterrupt as error:
        note_interrupt(collect_held(futures, (Future,)), error)
        raise
    finally:
        del futures  # a kept exception's traceback has this frame


def _deadline(operation: str, timeout: float | None) -> float | None:
    seconds = check_timeout(operation, timeout)
    return None if seconds is None else time.monotonic() + seconds


def _collect(value: Any, deadline: float | None) -> Any:
    if isinstance(value, concurrent.futures.Future):
        return value.result(None if deadline is None else max(0.0, deadline - time.monotonic()))
    if type(value) in (list, tuple, set):
        return type(value)(_collect(each, deadline) for each in value)
    if type(value) is dict:
        return {key: _collect(each, deadline) for key, each in value.items()}
    return value


def scatter(data: Any) -> Any:
    """Have an object ready as an argument of many calls: it goes to a rank once, when the first call there takes it.

    Parameters
    ----------
    data : object, or list, tuple or dict of objects
        What to hand over; each item of a list, tuple or dict gets a future of its own.

    Returns
    -------
    Future, or list, tuple or dict of such
        They stand for the objects, as arguments of `submit` and `map`.

    Raises
    ------
    ClusterError
        It is called by a function of blocks or of a rank program, or in SPMD mode.

    See Also
    --------
    windrow.shared.object : Large objects, mapped by all ranks of a host.

    >>> names = wr.scatter("abc")
    >>> wr.gather(wr.map(lambda s, i: s[i], [names] * 2, [0, 2]))
    ['a', 'c']
    """
    board = dispatcher("scatter")
    if type(data) in (list, tuple):
        return type(data)(_place(board, each) for each in data)
    if type(data) is dict:
        return {key: _place(board, each) for key, each in data.items()}
    return _place(board, data)


def _place(board: Any, value: object) -> Future:
    record = TaskRecord(next(numbers), "scatter", b"", None, (), (), (), Demand(), "scatter")
    future: Future = board.place(record, value)
    return future


class Executor(concurrent.futures.Executor):
    """The standard library's executor, on the ranks: for joblib, asyncio, tqdm and all else that takes one.

    As the standard library's, it has the process wait for its calls when that ends; Ctrl-C ends the wait.
    Ctrl-C within its `with` block cancels its calls.

    Parameters
    ----------
    cores, memory, retries, priority
        Of each call; see `submit`.

    Raises
    ------
    BadValue
        `cores`, `memory` or `retries` are out of range.
    ClusterError
        It is made by a function of blocks or of a rank program, or in SPMD mode.

    >>> with wr.Executor() as executor:
    ...     list(executor.map(abs, [-1, 2]))
    [1, 2]
    """

    def __init__(self, *, cores: int = 1, memory: int | str = 0, retries: int = 0, priority: float = 0) -> None:
        self._board = dispatcher("Executor")
        self._demand = check_demand("Executor", cores, memory, retries, priority, self._board)
        self._futures: set[Future] = set()
        self._shut = False

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future:
        """Call a function on a rank; return at once, with a future of what it returns.

        Parameters
        ----------
        fn : callable or list of str
            The function, or a program and its arguments; see `windrow.submit`.
        *args, **kwargs
            Its arguments, all of them: what a call needs is said to the executor.

        Returns
        -------
        Future
            Of its result.

        Raises
        ------
        ArgumentError
            `fn` is neither, or doesn't pickle with its arguments.
        RuntimeError
            The executor was shut down.

        >>> with wr.Executor(retries=1) as executor:
        ...     executor.submit(int, "ff", base=16).result()
        255
        """
        self._check()
        called, name, same = check_function("Executor.submit", fn)
        packed = pack_call("Executor.submit", self._board, called, name, args, kwargs)
        record = make_record(*packed, name, same, self._demand, find_origin(), self._board)
        return self._keep(self._board.enter([record]))[0]

    def map(
        self, fn: Any, *iterables: Iterable[Any], timeout: float | None = None, chunksize: int = 1
    ) -> Iterator[Any]:
        """Call a function for the items of iterables; return an iterator of results, in their order.

        Parameters
        ----------
        fn : callable
            The function.
        *iterables : iterable
            Its arguments.
        timeout : float, optional
            Seconds to wait for all.
        chunksize : int
            Accepted for other executors and ignored: short calls go to ranks many at a time anyway.

        Returns
        -------
        iterator
            Of results. What is left when it is closed is cancelled where it hasn't begun.

        Raises
        ------
        BadValue
            `chunksize` isn't positive.
        ArgumentError
            `fn` is no function, or doesn't pickle with its arguments.
        RuntimeError
            The executor was shut down.

        >>> with wr.Executor() as executor:
        ...     list(executor.map(pow, [2, 3], [5, 2]))
        [32, 9]
        """
        self._check()
        if check_integer("Executor.map", "chunksize", chunksize) < 1:
            raise BadValue(bad("Executor.map", "chunksize", chunksize, "1 or more"))
        deadline = _deadline("Executor.map", timeout)
        calls = list(zip(*iterables, strict=False))
        futures = self._keep(map_packed("Executor.map", self._board, fn, calls, self._demand))
        return _results(futures, deadline)

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> None:
        """Wait for what was submitted; what Ctrl-C ends is cancelled, also what runs."""
        interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        try:
            self.shutdown(wait=not interrupted)
        except KeyboardInterrupt:
            interrupted = True
            raise
        finally:
            if interrupted:
                self.give_up()

    def give_up(self) -> None:
        """Cancel all that hasn't ended, also what runs.

        >>> import time
        >>> import windrow as wr
        >>> executor = wr.Executor()
        >>> futures = [executor.submit(time.sleep, 0.01) for _ in range(100)]
        >>> executor.give_up()
        >>> futures[-1].cancelled()
        True
        """
        for future in sorted(self._futures, key=lambda each: -each._record.number):
            future.cancel(running=True)

    def _check(self) -> None:
        if self._shut:
            raise RuntimeError("cannot schedule new futures after shutdown")

    def _keep(self, futures: list[Future]) -> list[Future]:
        for future in futures:
            future._keep_in(self._futures)
            future._keep_in(self._board.awaited)
        return futures

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls.

        Parameters
        ----------
        wait : bool
            Whether to wait for those that were submitted, and for their callbacks.
        cancel_futures : bool
            Whether to cancel what hasn't begun.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C ends the wait; what was submitted goes on.

        >>> executor = wr.Executor()
        >>> future = executor.submit(abs, -1)
        >>> executor.shutdown()
        >>> future.done()
        True
        """
        self._shut = True
        futures = list(self._futures)
        if cancel_futures:
            for future in sorted(futures, key=lambda each: -each._record.number):
                future.cancel()
        if wait:
            while self._futures:  # a future leaves it when its callbacks are about to be called
                concurrent.futures.wait(futures)
                time.sleep(0.0005)
            called_until_now().wait()


def _results(futures: list[Future], deadline: float | None) -> Iterator[Any]:
    futures.reverse()
    try:
        while futures:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left < 0 and not futures[-1].done():
                raise WaitTimeout("map: not all calls have ended in time")
            yield futures.pop().result(None if left is None else max(0.0, left))
    finally:
        for future in futures:
            future.cancel()
