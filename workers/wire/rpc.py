"""Questions between ranks: a thread of one asks, the other's I/O thread answers, at once or later.

A question is a `RankMessage`; a function serves each class of them, the same on all ranks. Which rank it goes to is the
caller's to know. Nobody waits for ever: an asker is told when the rank it asks is lost, when its limit is over, when
the cluster is closed, and when the batch that it computes is recalled, which then is refused.
"""

from __future__ import annotations

import itertools
import math
import pickle
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import cloudpickle

from ...graph.errors import ClusterError, WaitTimeout
from ..rank.task_context import computing_rank, task_context
from .protocol import Answered, RankMessage, Reply, RpcRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .transport import Transport

Sent = TypeVar("Sent", bound=RankMessage[Any])
Received = TypeVar("Received", bound=RankMessage[Any], covariant=True)
LOOK = 0.5
"""Seconds after which a wait looks for an interrupt that came just before it began: Python wakes no wait for that."""
LIMIT = 60.0
"""Seconds in which a rank answers, where the asker says nothing else."""


def pack(value: object) -> bytes:
    """Pickle for another rank: what has no name there goes by value."""
    packed: bytes = cloudpickle.dumps(value, 5)
    return packed


class Unpicklable(ClusterError):
    """An answer can't be pickled."""


class Recalled(ClusterError):
    """Who asked computes what nobody wants any more."""


@dataclass(frozen=True)
class Question(Generic[Received]):
    """A message, with the rank that asks, for what serves its class."""

    rank: int
    message: Received
    _answer: Callable[[Any, BaseException | None], None] = field(repr=False)

    def reply(self: Question[RankMessage[Reply]], value: Reply) -> None:
        """Answer; from any thread, once."""
        self._answer(value, None)

    def fail(self, error: BaseException) -> None:
        """Have the asker raise an exception."""
        self._answer(None, error)


class PendingQuestion(Generic[Reply]):
    """A question that is under way."""

    def __init__(self, calls: Calls, number: int, rank: int, message: RankMessage[Reply]) -> None:
        self.rank, self.name, self.batch = rank, type(message).__name__, task_context().batch
        self._calls, self._number = calls, number
        self._ended = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None

    def result(self, limit: float | None = LIMIT) -> Reply:
        """Wait for the answer, and return it; see `Calls.ask`. After a WaitTimeout it may be waited for again."""
        end = math.inf if limit is None else time.monotonic() + limit
        while not self._ended.wait(max(0.0, min(LOOK, end - time.monotonic()))):
            if time.monotonic() >= end:
                raise WaitTimeout(f"{self.name}: rank {self.rank} hasn't answered within {limit:g} s")
        if self._error is not None:
            raise self._error
        value: Reply = self._value
        return value

    def end(self, value: Any, error: BaseException | None = None) -> None:
        self._value, self._error = value, error
        self._ended.set()

    def drop(self) -> None:
        self._calls.drop(self._number)


class Calls:
    """A rank's questions to others, and its answers to theirs."""

    def __init__(self, transport: Transport) -> None:
        self._transport, self.rank = transport, transport.rank
        self._services: dict[type[RankMessage[Any]], Callable[[Question[Any]], None]] = {}
        self._offers: dict[type[RankMessage[Any]], Callable[[], Any]] = {}
        self._provided: dict[type[RankMessage[Any]], Any] = {}
        self._providing = threading.RLock()
        self.epoch = 0
        """The last death that this rank has heard of, by the scheduler's count."""
        self._waiting: dict[int, PendingQuestion[Any]] = {}
        self._out: deque[tuple[int, RpcRequest | Answered]] = deque()
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._dead: set[int] = set()
        self._listeners: list[Callable[[tuple[int, ...]], None]] = []
        self._before: list[Callable[[], None]] = []
        self._closed = self._forked = False
        self._running: set[int] = set()
        self._recalled: set[int] = set()

    def serve(self, kind: type[Sent], handler: Callable[[Question[Sent]], None]) -> None:
        """Have a function take all messages of a class: on the I/O thread, quickly, without waiting for anybody."""
        self._services[kind] = handler

    def when_lost(self, listener: Callable[[tuple[int, ...]], None]) -> None:
        """Have a function told of ranks that are lost: those that are by now at once, others on the I/O thread."""
        self._listeners.append(listener)
        if self._dead:
            listener(tuple(self._dead))

    def offer(self, group: type[RankMessage[Any]], begin: Callable[[], Any]) -> None:
        """Have what serves the classes below `group` made when it is first needed."""
        self._offers[group] = begin

    def before_sending(self, act: Callable[[], None]) -> None:
        """Have something done on the I/O thread each time before it sends: what has gathered goes together."""
        self._before.append(act)

    def provided(self, group: type[RankMessage[Any]]) -> Any:
        """Return what serves the classes below `group`; from any thread."""
        with self._providing:
            if group not in self._provided:
                self._provided[group] = self._offers[group]()
            return self._provided[group]

    def is_lost(self, rank: int) -> bool:
        """Tell whether a rank is known to be lost."""
        return rank in self._dead

    # ---------------------------------------------------------------- the asking threads

    def ask(self, rank: int, message: RankMessage[Reply], limit: float | None = LIMIT) -> Reply:
        """Return a rank's answer; it may be the own one. Not to be called on the I/O thread.

        A ClusterError says that the rank is lost, hasn't answered within so many seconds, or that the cluster is
        closed. What was raised there is raised.
        """
        pending = self.begin(rank, message)
        try:
            return pending.result(limit)
        except WaitTimeout as error:
            raise ClusterError(str(error)) from None
        finally:
            pending.drop()

    def begin(self, rank: int, message: RankMessage[Reply]) -> PendingQuestion[Reply]:
        """Send a message, and return what its answer comes to; whoever asks drops that in the end."""
        request = self._describe(rank, next(self._numbers), message)
        with self._lock:
            self.check()
            pending = PendingQuestion(self, request.number, rank, message)
            if pending.batch in self._recalled:
                raise _recalled(pending)
            self._waiting[request.number] = pending
        self._post(rank, request)
        return pending

    def drop(self, number: int) -> None:
        self._waiting.pop(number, None)

    def tell(self, rank: int, message: RankMessage[Any]) -> None:
        """Send a message whose answer nobody waits for."""
        with self._lock:
            self.check()
        self._post(rank, self._describe(rank, 0, message))

    def check(self) -> None:
        """Raise where nobody can be asked any more."""
        if self._forked:
            raise ClusterError("the cluster is that of the process from which this one was forked")
        if self._closed:
            raise ClusterError("the cluster is closed")

    def _describe(self, rank: int, number: int, message: RankMessage[Any]) -> RpcRequest:
        """Return a message for a rank; its class goes without cloudpickle, which would take as long as all the rest."""
        kind = type(message)
        if rank == self.rank:
            return RpcRequest(rank, number, kind, message)
        fields = [getattr(message, name) for name in kind.__match_args__]
        return RpcRequest(self.rank, number, kind, pack(fields))

    def _pack(self, rank: int, value: Any) -> Any:
        return value if rank == self.rank else pack(value)

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
        if isinstance(message, RpcRequest):
            self._answer(message)
            return
        waiting = self._waiting.pop(message.number, None)
        if waiting is not None:
            try:
                waiting.end(*self._unpack(message.rank, message.packed))
            except Exception as error:  # what came can't be unpickled here
                waiting.end(None, error)

    def _answer(self, request: RpcRequest) -> None:
        def answer(value: Any, error: BaseException | None) -> None:
            if not request.number:
                return
            try:
                packed = self._pack(request.rank, (value, error))
            except Exception as trouble:
                why = f"can't be pickled: {type(trouble).__name__}: {trouble}"
                failure = Unpicklable(f"{request.kind.__name__}: rank {self.rank}'s answer {why}")
                packed = self._pack(request.rank, (None, failure))
            self._post(request.rank, Answered(self.rank, request.number, packed))

        try:
            own = request.rank == self.rank
            message = request.packed if own else request.kind(*pickle.loads(request.packed))
            self._find(request.kind)(Question(request.rank, message, answer))
        except Exception as error:
            answer(None, error)

    def _find(self, kind: type[RankMessage[Any]]) -> Callable[[Question[Any]], None]:
        for group in self._offers if kind not in self._services else ():
            if issubclass(kind, group):
                self.provided(group)
        if kind not in self._services:
            raise ClusterError(f"rank {self.rank} knows no service {kind.__name__!r}")
        return self._services[kind]

    def enter(self, batch: int) -> None:
        self._running.add(batch)

    def leave(self, batch: int) -> None:
        with self._lock:
            self._running.discard(batch)
            self._recalled.discard(batch)

    def recall(self, batches: Iterable[int]) -> None:
        """End what the threads wait for that compute some batches, now and later."""
        with self._lock:
            wanted = self._running.intersection(batches)
            self._recalled |= wanted
        numbers = [number for number, each in list(self._waiting.items()) if each.batch in wanted]
        self._fail(numbers, _recalled)

    def lose(self, ranks: tuple[int, ...]) -> None:
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
        self._fail(list(self._waiting), lambda each: ClusterError(f"{each.name}: the cluster was closed"))

    def _fail(self, numbers: Iterable[int], error: Callable[[PendingQuestion[Any]], BaseException]) -> None:
        for number in numbers:
            waiting = self._waiting.pop(number, None)
            if waiting is not None:
                waiting.end(None, error(waiting))


def _recalled(waiting: PendingQuestion[Any]) -> Recalled:
    return Recalled(f"{waiting.name}: the computation was cancelled")


def _gone(waiting: PendingQuestion[Any]) -> ClusterError:
    return ClusterError(f"{waiting.name}: rank {waiting.rank} was lost before it answered")


_default: list[Callable[[], Calls]] = []


def fall_back(default: Callable[[], Calls]) -> None:
    """Have threads that compute for no rank ask as this says: the driver's."""
    _default[:] = [default]


def own_calls() -> Calls:
    """Return the calls of the rank that this thread, or else this process, computes for; or raise a ClusterError."""
    rank = computing_rank()
    if rank is not None:
        return rank.calls
    if not _default:
        raise ClusterError("this process is no rank of a cluster")
    return _default[0]()
