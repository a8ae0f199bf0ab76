"""Questions between ranks: a thread of one asks, the other's I/O thread answers, at once or later.

A service is a name and a function, the same on all ranks. Which rank a question goes to is the caller's to know. Nobody
waits for ever: an asker is told when the rank it asks is lost, when its limit is over, when the cluster is closed, and
when the batch that it computes is recalled, which then is refused.
"""

from __future__ import annotations

import math
import pickle
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import cloudpickle

from ...graph.errors import ClusterError, WaitTimeout
from ..rank import own_arena
from .protocol import Answered, RpcRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .transport import Transport

LOOK = 0.5
"""Seconds after which a wait looks for an interrupt that came just before it began: Python wakes no wait for that."""
LIMIT = 60.0
"""Seconds in which a rank answers, where the asker says nothing else."""


class Unpicklable(ClusterError):
    """An answer can't be pickled."""


class Recalled(ClusterError):
    """Who asked computes what nobody wants any more."""


@dataclass(frozen=True)
class Question:
    """What is asked of a service.

    Attributes
    ----------
    rank : int
        Who asks.
    what : tuple
        What it says.
    """

    rank: int
    what: tuple[Any, ...]
    _answer: Callable[[Any, BaseException | None], None] = field(repr=False)

    def reply(self, value: Any = None) -> None:
        """Answer; from any thread, once."""
        self._answer(value, None)

    def fail(self, error: BaseException) -> None:
        """Have the asker raise an exception."""
        self._answer(None, error)


class PendingQuestion:
    """A question that is under way."""

    def __init__(self, calls: Calls, number: int, rank: int, service: str) -> None:
        self.rank, self.service, self.batch = rank, service, current_batch()
        self._calls, self._number = calls, number
        self._ended = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None

    def result(self, limit: float | None = LIMIT) -> Any:
        """Wait for the answer, and return it; see `Calls.ask`.

        Raises
        ------
        WaitTimeout
            It isn't there within so many seconds. It may be waited for again.
        """
        end = math.inf if limit is None else time.monotonic() + limit
        while not self._ended.wait(max(0.0, min(LOOK, end - time.monotonic()))):
            if time.monotonic() >= end:
                raise WaitTimeout(f"{self.service}: rank {self.rank} hasn't answered within {limit:g} s")
        if self._error is not None:
            raise self._error
        return self._value

    def end(self, value: Any, error: BaseException | None = None) -> None:
        """Note the answer."""
        self._value, self._error = value, error
        self._ended.set()

    def drop(self) -> None:
        """Let go of the answer."""
        self._calls.drop(self._number)


class Calls:
    """A rank's questions to others, and its answers to theirs.

    Parameters
    ----------
    transport : Transport
        The rank's.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport, self.rank = transport, transport.rank
        self._services: dict[str, Callable[[Question], None]] = {}
        self._offers: dict[str, Callable[[], Any]] = {}
        self._provided: dict[str, Any] = {}
        self._providing = threading.RLock()
        self.epoch = 0
        """The last death that this rank has heard of, by the scheduler's count."""
        self._waiting: dict[int, PendingQuestion] = {}
        self._out: deque[tuple[int, RpcRequest | Answered]] = deque()
        self._lock = threading.Lock()
        self._number = 0
        self._dead: set[int] = set()
        self._listeners: list[Callable[[tuple[int, ...]], None]] = []
        self._before: list[Callable[[], None]] = []
        self._closed = self._forked = False
        self._running: set[int] = set()
        self._recalled: set[int] = set()

    def serve(self, service: str, handler: Callable[[Question], None]) -> None:
        """Have a function answer a service's questions: on the I/O thread, quickly, without waiting for anybody."""
        self._services[service] = handler

    def when_lost(self, listener: Callable[[tuple[int, ...]], None]) -> None:
        """Have a function told of ranks that are lost: those that are by now at once, others on the I/O thread."""
        self._listeners.append(listener)
        if self._dead:
            listener(tuple(self._dead))

    def offer(self, prefix: str, begin: Callable[[], Any]) -> None:
        """Have services whose names begin so, and what keeps them, made when they are first needed."""
        self._offers[prefix] = begin

    def before_sending(self, act: Callable[[], None]) -> None:
        """Have something done on the I/O thread each time before it sends: what has gathered goes together."""
        self._before.append(act)

    def provided(self, prefix: str) -> Any:
        """Return what keeps the services whose names begin so; from any thread."""
        with self._providing:
            if prefix not in self._provided:
                self._provided[prefix] = self._offers[prefix]()
            return self._provided[prefix]

    def is_lost(self, rank: int) -> bool:
        """Tell whether a rank is known to be lost."""
        return rank in self._dead

    # ---------------------------------------------------------------- the asking threads

    def ask(self, rank: int, service: str, *what: Any, limit: float | None = LIMIT) -> Any:
        """Return a rank's answer; it may be the own one. Not to be called on the I/O thread.

        Raises
        ------
        ClusterError
            The rank is lost, or hasn't answered within so many seconds; the cluster is closed.
        Exception
            What the service raised there.
        """
        pending = self.begin(rank, service, *what)
        try:
            return pending.result(limit)
        except WaitTimeout as error:
            raise ClusterError(str(error)) from None
        finally:
            pending.drop()

    def begin(self, rank: int, service: str, *what: Any) -> PendingQuestion:
        """Send a question, and return what its answer comes to; whoever asks drops that in the end."""
        with self._lock:
            self.check()
            if current_batch() in self._recalled:
                raise _recalled(service)
            self._number += 1
            number = self._number
            pending = self._waiting[number] = PendingQuestion(self, number, rank, service)
        self._post(rank, RpcRequest(self.rank, number, service, self._pack(rank, what)))
        return pending

    def drop(self, number: int) -> None:
        """Let go of an answer."""
        self._waiting.pop(number, None)

    def tell(self, rank: int, service: str, *what: Any) -> None:
        """Send a question whose answer nobody waits for."""
        with self._lock:
            self.check()
        self._post(rank, RpcRequest(self.rank, 0, service, self._pack(rank, what)))

    def check(self) -> None:
        """Raise where nobody can be asked any more."""
        if self._forked:
            raise ClusterError("the cluster is that of the process from which this one was forked")
        if self._closed:
            raise ClusterError("the cluster is closed")

    def _pack(self, rank: int, value: Any) -> Any:
        return value if rank == self.rank else cloudpickle.dumps(value, 5)

    def _unpack(self, rank: int, value: Any) -> Any:
        return value if rank == self.rank else pickle.loads(value)

    def _post(self, rank: int, message: RpcRequest | Answered) -> None:
        self._out.append((rank, message))
        self._transport.wake()

    # ---------------------------------------------------------------- the I/O thread

    def send(self) -> None:
        """Hand what is to go out to the transport."""
        for act in self._before:
            act()
        while self._out:
            rank, message = self._out.popleft()
            if rank == self.rank:
                self.take(message)
            elif rank in self._dead:
                if isinstance(message, RpcRequest):
                    self._fail([message.number], _gone)
            else:
                self._transport.send(rank, message)

    def take(self, message: RpcRequest | Answered) -> None:
        """Take a question, or an answer."""
        if isinstance(message, RpcRequest):
            self._answer(message)
            return
        waiting = self._waiting.pop(message.number, None)
        if waiting is not None:
            try:
                waiting.end(*self._unpack(message.rank, message.packed))
            except Exception as error:  # what came can't be unpickled here
                waiting.end(None, error)

    def _answer(self, ask: RpcRequest) -> None:
        def answer(value: Any, error: BaseException | None) -> None:
            if not ask.number:
                return
            try:
                packed = self._pack(ask.rank, (value, error))
            except Exception as trouble:
                failure = Unpicklable(
                    f"{ask.service}: rank {self.rank}'s answer can't be pickled: {type(trouble).__name__}: {trouble}"
                )
                packed = self._pack(ask.rank, (None, failure))
            self._post(ask.rank, Answered(self.rank, ask.number, packed))

        try:
            self._find(ask.service)(Question(ask.rank, self._unpack(ask.rank, ask.packed), answer))
        except Exception as error:
            answer(None, error)

    def _find(self, service: str) -> Callable[[Question], None]:
        for prefix in self._offers if service not in self._services else ():
            if service.startswith(prefix):
                self.provided(prefix)
        if service not in self._services:
            raise ClusterError(f"rank {self.rank} knows no service {service!r}")
        return self._services[service]

    def enter(self, batch: int) -> None:
        """Note that a batch is computed, by this thread and perhaps others."""
        self._running.add(batch)
        computing(batch)

    def leave(self, batch: int) -> None:
        """Note that a batch is computed no more."""
        with self._lock:
            self._running.discard(batch)
            self._recalled.discard(batch)

    def recall(self, batches: Iterable[int]) -> None:
        """End what the threads wait for that compute some batches, now and later."""
        with self._lock:
            wanted = self._running.intersection(batches)
            self._recalled |= wanted
        numbers = [number for number, each in list(self._waiting.items()) if each.batch in wanted]
        self._fail(numbers, lambda each: _recalled(each.service))

    def lose(self, ranks: tuple[int, ...]) -> None:
        """Note that ranks are lost."""
        self._dead.update(ranks)
        for number, each in list(self._waiting.items()):
            if each.rank in self._dead:
                self._fail([number], _gone)
        for listener in self._listeners:
            listener(ranks)

    def disown(self) -> None:
        """Ask nobody any more: in a forked child there is no thread that would send it."""
        self._lock, self._providing = threading.Lock(), threading.RLock()
        self._forked = True

    def close(self) -> None:
        """End all that waits, and what keeps services."""
        for each in self._provided.values():
            each.close()
        with self._lock:
            self._closed = True
        self._fail(list(self._waiting), lambda each: ClusterError(f"{each.service}: the cluster was closed"))

    def _fail(self, numbers: Iterable[int], error: Callable[[PendingQuestion], BaseException]) -> None:
        for number in numbers:
            waiting = self._waiting.pop(number, None)
            if waiting is not None:
                waiting.end(None, error(waiting))


def _recalled(service: str) -> Recalled:
    return Recalled(f"{service}: the computation was cancelled")


def _gone(waiting: PendingQuestion) -> ClusterError:
    return ClusterError(f"{waiting.service}: rank {waiting.rank} was lost before it answered")


_threads = threading.local()
_of: dict[int, Calls] = {}
_default: list[Callable[[], Calls]] = []


def current_batch() -> int:
    """Return the number of the batch that this thread computes; -1 in others."""
    return int(getattr(_threads, "batch", -1))


def computing(batch: int) -> None:
    """Note which batch this thread computes."""
    _threads.batch = batch


def attach(transport: Transport, calls: Calls) -> None:
    """Note whose calls a transport's threads make."""
    _of[id(transport)] = calls


def detach(transport: Transport) -> None:
    """Forget a transport."""
    _of.pop(id(transport), None)


def fall_back(default: Callable[[], Calls]) -> None:
    """Have threads that compute for no rank ask as this says: the driver's."""
    _default[:] = [default]


def own_calls() -> Calls:
    """Return the calls of the rank that this thread, or else this process, computes for.

    Raises
    ------
    ClusterError
        The process is no rank of any cluster.
    """
    transport = own_arena.own_transport()
    calls = None if transport is None else _of.get(id(transport))
    if calls is None:
        if not _default:
            raise ClusterError("this process is no rank of a cluster")
        calls = _default[0]()
    return calls
