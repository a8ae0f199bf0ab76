"""What the script computes with on each rank in SPMD mode: a session that asks rank 0; there it leads the others."""

from __future__ import annotations

import pickle
import threading
import time
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...graph.errors import ClusterError
from ...graph.expr import names
from ...graph.lowering.lower import lower
from ...workers.sources import source_reader
from ..session.chunk_locations import Columns, read, read_block
from ..session.job import Job
from ..session.pin import Pin
from ..session.result_collector import insist
from ..session.session import Session
from .messages import AskEngine, AwaitPersisted, CallTogether, LocateChunks, ResultRead
from .reports import Answer, dumps, report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ...graph.expr.expr import Expr
    from ...graph.lowering.stage import Stage
    from ...workers.rank.rank import Rank
    from ...workers.shared.segment import SegmentName
    from ...workers.wire.rpc import Calls
    from ...workers.wire.transport import Transport
    from ..engine.engine import Engine
    from ..session.session import Keeper
    from .leader import Leader
    from .messages import SlowMessage, Value

Array = np.ndarray[Any, Any]
T = TypeVar("T")
LIMIT = 60.0
"""Seconds in which rank 0 answers what takes it no time."""


class AgreedKept(Pin):
    """A persisted array's chunks: they stay until all ranks have let go of them."""

    def __init__(self, session: MemberSession, token: str, number: int) -> None:
        self.session: Any = session
        self.token, self.job, self.counted = token, Job([], [token], None), False
        self._finalizer = weakref.finalize(self, insist, partial(session.let_go, token, number))

    @property
    def held(self) -> bool:
        return self._finalizer.alive

    @property
    def complete(self) -> bool:
        return self.held and bool(self.session.ask(partial(_is_complete, token=self.token)))

    def wait(self, deadline: float | None = None) -> bool:
        return bool(self.session.wait_for(self.token, deadline))


def _is_complete(engine: Engine, token: str) -> bool:
    record = engine.ledger.records.get(token)
    return record is not None and bool(record.complete)


class MemberSession(Session):
    """A session whose computations are collective; rank 0's has the `leader`."""

    def __init__(self, rank: Rank, arenas: Sequence[int], threads: int, comm: Any, leader: Leader | None) -> None:
        self._rank, self._comm, self._leader = rank, comm, leader
        self.engine: Any = leader.engine if leader is not None else None
        self.closed = self._forked = False
        self._arenas, self._threads = tuple(arenas), threads
        self._living = tuple(range(rank.transport.size))
        self._lock = threading.RLock()
        self._users: dict[str, set[int]] = {}
        self._stored: set[str] = set()
        self._dropped: list[str] = []
        self._number = self._made = 0
        self._script = threading.current_thread()
        self.versions: dict[str, SegmentName] = {}
        """Shared arrays by their tokens: what the last call has left."""

    # ---------------------------------------------------------------- what is known without asking

    @property
    def present(self) -> Session:
        """What computes here and now: the engine's own session where rank 0 acts for all."""
        return self._leader.session if self._leader is not None and self._leader.acts else self

    @property
    def leader(self) -> Leader | None:
        """Who leads, on rank 0."""
        return self._leader

    @property
    def place(self) -> tuple[int, int]:
        return self._rank.rank, self._rank.transport.size

    @property
    def comm(self) -> Any:
        return self._comm

    @property
    def transport(self) -> Transport:
        return self._rank.transport

    @property
    def calls(self) -> Calls:
        return self._rank.calls

    @property
    def arenas(self) -> tuple[int, ...]:
        return self._arenas

    @property
    def embedded(self) -> bool:
        return False

    @property
    def living(self) -> tuple[int, ...]:
        """See `Session`: as it was after the last call, the same on all ranks."""
        return self._living

    @property
    def threads(self) -> int:
        return self._threads

    def is_stored(self, token: str) -> bool:
        """See `Session`: the same on all ranks."""
        return token in self._stored

    def stages(self, roots: Sequence[Expr]) -> list[Stage]:
        return lower(list(roots), self.is_stored, sum(self.arenas))

    def check_open(self) -> None:
        if self._forked:
            raise ClusterError("the cluster is that of the process from which this one was forked")
        if self.closed:
            raise ClusterError("the cluster is closed")

    # ---------------------------------------------------------------- collective calls

    def run(self, roots: Sequence[Expr]) -> list[Array]:
        if not roots:
            return []
        unique = {root.token: root for root in roots}
        asked, number = list(unique.values()), self._number + 1
        leader = self._leader
        results = self._call("compute", unique, asked, lambda: leader.compute(number, asked) if leader else [])
        if isinstance(results[0], Columns):
            results = [self._assemble(root, each, number) for root, each in zip(asked, results, strict=True)]
            self._tell_read(number)
        values = dict(zip(unique, results, strict=True))
        return [values[root.token] for root in roots]

    def keep(self, roots: Sequence[Expr]) -> list[Pin]:
        unique = {root.token: root for root in roots}
        leader = self._leader
        self._call("persist", unique, roots, lambda: leader.persist(list(unique.values())) if leader else None)
        with self._lock:
            self._stored |= unique.keys()
            return [self._another(root.token) for root in roots]

    def run_gang(self, root: Expr) -> list[bytes]:
        leader = self._leader

        def act() -> list[bytes]:
            assert leader is not None
            return [dumps(pickle.loads(each)) for each in leader.session.run_gang(root)]

        pickled: list[bytes] = self._call("rank program", [root.token], [root], act)
        return pickled

    def once(self, what: str, about: Iterable[object], act: Callable[[], T]) -> T:
        """See `Session`: rank 0 does it."""

        def alone() -> T:
            assert self._leader is not None
            with self._leader.acting():
                return act()

        return self._call(what, [names.digest(*about)], (), alone)

    def hold_once(self, what: str, make: Callable[[], tuple[T, Keeper]]) -> tuple[T, Keeper]:
        """See `Session`: rank 0 makes it, and keeps it until all ranks have let go of it."""
        leader = self._leader

        def act() -> tuple[T, str]:
            assert leader is not None
            with leader.acting():
                own_handle, keeper = make()
            return own_handle, leader.adopt(what, keeper)

        handle, key = self._call(what, (), (), act)
        with self._lock:
            return handle, self._another(key)

    def _call(self, kind: str, tokens: Iterable[str], roots: Sequence[Expr], act: Callable[[], T]) -> T:
        """Ask for something together with all other ranks, and return what all get."""
        self.check_open()
        if threading.current_thread() is not self._script:
            raise ClusterError(
                f"{kind}: another thread than the script's own asks for it in SPMD mode; expected the one that runs "
                "the script, so that all ranks ask in the same order"
            )
        with self._lock:
            self._number += 1
            dropped, self._dropped = tuple(self._dropped), []
        rank_report = report(self._number, kind, tokens, roots, dropped)
        if self._leader is not None:
            value, answer = self._leader.lead(rank_report, roots, act)
        else:
            answer = self._rank.calls.ask(0, CallTogether(rank_report), None)
            value = _open(answer)
        self._living = answer.living
        self._stored.difference_update(answer.gone)
        self.versions.update(answer.versions)
        return value

    def _assemble(self, root: Expr, columns: Columns, number: int) -> Array:
        """Read a result where its chunks lie; what a dead rank took along is asked for again."""
        out = np.empty(root.shape, root.dtype)
        left = self._read(root, columns, out)
        while left:
            again = self._find(root.token, number=number)
            left = self._read(root, again.only(left), out)
        return out

    def _read(self, root: Expr, columns: Columns, out: Array) -> list[int]:
        if len(columns.tasks) and int(columns.owners[0]) < 0:  # a file: each rank reads it
            for block in range(columns.grid.nblocks):
                data: Any = root.op
                np.copyto(
                    columns.grid.view(out, block), source_reader.read(data.data, columns.grid.block_slices(block))
                )
            return []
        return read(self._rank, columns, out)

    def _tell_read(self, number: int) -> None:
        if self._leader is not None:
            self._leader.has_read(0, number)
        else:
            self._rank.calls.tell(0, ResultRead(number))

    # ---------------------------------------------------------------- questions that each rank may ask by itself

    def ask(self, question: Callable[[Engine], T]) -> T:
        self.check_open()
        if self._leader is not None:
            return self._leader.engine.ask(question)
        answer: T = self._rank.calls.ask(0, AskEngine(question), LIMIT)
        return answer

    def wait_for(self, token: str, deadline: float | None) -> bool:
        """Wait until a persisted array is there, at most until a time; tell whether it is."""
        if self._leader is not None:
            return bool(self._leader.kept[token].wait(deadline))
        seconds = None if deadline is None else max(0.0, deadline - time.monotonic())
        return self._aside(AwaitPersisted(token, seconds))

    def _find(self, token: str, rank: int | None = None, block: int | None = None, number: int = -1) -> Columns:
        if self._leader is not None:
            return self._leader.locate(self._leader.find(token, number), rank, block)
        return self._aside(LocateChunks(token, rank, block, number))

    def _aside(self, message: SlowMessage[Value]) -> Value:
        value, error = self._rank.calls.ask(0, message, None)
        if value is None:
            raise pickle.loads(error)
        return value

    def find_own(self, root: Expr) -> tuple[Columns, Rank]:
        self.check_open()
        return self._find(root.token, rank=self._rank.rank), self._rank

    def chunk(self, root: Expr, block: int) -> Array:
        chunk = None
        while chunk is None:
            columns = self._find(root.token, block=block)
            op: Any = root.op
            far = int(columns.owners[0]) < 0
            chunk = (
                source_reader.read(op.data, root.grid.block_slices(block))
                if far
                else read_block(self._rank, columns, block)
            )
        chunk = chunk.view()
        chunk.flags.writeable = False
        return chunk

    def chunk_here(self, root: Expr, block: int) -> Array | None:
        return self.chunk(root, block)

    # ---------------------------------------------------------------- what is kept

    def _another(self, token: str) -> AgreedKept:
        self._made += 1
        self._users.setdefault(token, set()).add(self._made)
        return AgreedKept(self, token, self._made)

    def let_go(self, token: str, number: int) -> None:
        """Note that one who holds an array lets go of it; rank 0 hears of it with the next call."""
        with self._lock:
            users = self._users.get(token, set())
            users.discard(number)
            if not users and token in self._users:
                del self._users[token]
                self._dropped.append(token)

    def close(self) -> None:
        self.closed = True
        if self._leader is not None:
            self._leader.session.close()

    def disown(self) -> None:
        self._lock = threading.RLock()
        self.closed = self._forked = True
        if self._leader is not None:
            self._leader.session.disown()


def _open(answer: Answer) -> Any:
    """Return what rank 0 tells, or raise it; the error is the same on all ranks, which only rank 0 shows."""
    value = pickle.loads(answer.packed)
    if not answer.failed:
        return value
    value.from_all = True
    raise value
