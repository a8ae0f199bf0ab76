"""A rank's part in gangs: one thread, on which its members run one gang after the other.

The thread is begun by the first gang. Each gang that the scheduler gives out comes to every rank, also to those that
have no part in it: all ranks make its communicator together. What ends a member's waiting from outside (a rank's death,
another member's error, a computation that nobody wants any more) is `recall`: the communicator is revoked, every call
that waits raises, and the batch is refused.
"""

from __future__ import annotations

import pickle
import threading
import time
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

import cloudpickle
import numpy as np

from ...graph.errors import ClusterError
from ...graph.kinds.gang import share
from .. import own_arena
from ..calls import Recalled, computing
from ..kernels.interpreter.block_calls import read_only
from ..kernels.user_results import usual_warnings
from ..one_sided.began import enter
from ..output import COMPUTE
from ..pages.additions import collecting
from ..protocol import Done, Meet, Refused, Run
from ..urgency import begin_apart
from .local_chunks import LocalChunks

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...graph.grid import Index
    from ...graph.kinds.gang import Gang
    from ...graph.stage import Stage
    from ..calls import Calls
    from ..protocol import Event, GangOrder
    from ..reader import Reader
    from ..transport import Transport

Array = np.ndarray[Any, Any]
_TRIES = 5
_GRACE = 1.0  # seconds in which an error of MPI's may turn out to be a death's


class Unmet(ClusterError):
    """No communicator came about; all who live may try again."""


class Meeting(Protocol):
    """Makes communicators for gangs."""

    def join(self, order: GangOrder) -> list[Any]:
        """Return the communicators of this rank's members; collective over all ranks.

        Raises
        ------
        Unmet
            There is none.
        """
        ...

    def unsettled(self) -> float:
        """Return the seconds after which the latest communicator is made on all ranks, and may be revoked."""
        ...

    def revoke(self, error: BaseException | None = None) -> None:
        """Have all calls on these communicators end with an error, on all ranks; from any thread."""

    def is_loss(self, error: BaseException) -> bool | None:
        """Tell whether an error is that of a revoked communicator, or a dead rank; None: it may be."""
        ...

    def leave(self, comms: list[Any], harmed: bool) -> None:
        """Free communicators after use; those of a gang that failed are `harmed`."""


class GangThread:
    """Runs a rank's members."""

    def __init__(
        self,
        transport: Transport,
        calls: Calls,
        emit: Callable[[Event], None],
        fail: Callable[[int, int, BaseException], Event],
        later: Callable[[Callable[[], None]], None],
    ) -> None:
        self.transport, self.rank, self.meeting = transport, transport.rank, transport.meeting
        self.calls, self.emit, self.fail, self.later = calls, emit, fail, later
        here = [peer.rank for peer in transport.peers if peer.same_node]
        self._place, self._beside = here.index(self.rank), len(here)
        self._orders: SimpleQueue[tuple[Run | Meet, Reader | None] | None] = SimpleQueue()
        self._held: set[int] = set()
        self._recalled: set[int] = set()
        self._unmet = 0
        self._thread: threading.Thread | None = None

    def put(self, command: Run | Meet, reader: Reader | None) -> None:
        """Have this rank's members run; without a reader its batch was refused, and it only joins the others."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop, name=f"{COMPUTE}gang", daemon=True)
            self._thread.start()
        if isinstance(command, Run) and reader is not None:
            self._held.add(command.batch)
        self._orders.put((command, reader))

    def recall(self, batch: int) -> None:
        """End what a gang waits for; it is refused."""
        if batch in self._held:
            self._recalled.add(batch)
            if (seconds := self.meeting.unsettled()) <= 0:
                self.meeting.revoke()
                return
            timer = threading.Timer(seconds, self.later, [lambda: self._revoke(batch)])
            timer.daemon = True
            timer.start()

    def _revoke(self, batch: int) -> None:
        if batch in self._recalled:
            self.meeting.revoke()

    def close(self) -> None:
        """End the thread when its gang is through."""
        if self._held:
            self.meeting.revoke()
        self._orders.put(None)

    def _loop(self) -> None:
        while (item := self._orders.get()) is not None:
            command, reader = item
            batch = command.batch
            begin = time.perf_counter()
            comms: list[Any] = []
            harmed = True
            try:
                assert command.gang is not None
                self.calls.enter(batch)
                comms = self.meeting.join(command.gang)
                self._unmet = 0
                if isinstance(command, Run) and reader is not None and batch not in self._recalled:
                    returned = self._run(command, reader, comms)
                    harmed = batch in self._recalled
                    if batch in self._recalled:
                        self.emit(Refused(self.rank, batch))
                    else:
                        self.emit(Done(self.rank, batch, time.perf_counter() - begin, returned))
                elif isinstance(command, Run) and reader is not None:
                    self.emit(Refused(self.rank, batch))
            except BaseException as error:
                if isinstance(command, Run) and reader is not None:
                    lost = self._is_lost(batch, error)
                    self.emit(Refused(self.rank, batch) if lost else self.fail(self.rank, batch, error))
            self.calls.leave(batch)
            self.meeting.leave(comms, harmed)
            self._held.discard(batch)
            self._recalled.discard(batch)
            item = command = reader = None  # type: ignore[assignment] # a gang keeps the user's arrays alive

    def _is_lost(self, batch: int, error: BaseException) -> bool:
        """Tell whether an error comes from what happened to others, of which the scheduler may not have heard yet."""
        if isinstance(error, Unmet):
            self._unmet += 1
            return self._unmet <= _TRIES
        told = isinstance(error, Recalled) or self.meeting.is_loss(error)
        deadline = time.monotonic() + _GRACE
        while told is None and batch not in self._recalled and time.monotonic() < deadline:
            time.sleep(0.01)
        return bool(told) or (told is None and batch in self._recalled)

    def _run(self, run: Run, reader: Reader, comms: list[Any]) -> bytes:
        """Run the members of this rank, each with its own tasks; return what they returned, pickled."""
        stage = reader.stage
        gang = stage.gang
        assert gang is not None
        attempt = 0 if run.gang is None else run.gang.epoch + 1
        function, extra, keywords = pickle.loads(gang.payload.pickled)
        parts = np.array_split(np.arange(len(run.tasks)), len(comms))
        found: list[Any] = [None] * len(comms)
        errors: list[BaseException] = []

        def member(number: int) -> None:
            own_arena.enter(self.transport)
            computing(run.batch)
            enter(run.gang.epoch if run.gang is not None else 0, number, len(comms))
            tasks, offsets = run.tasks[parts[number]], run.offsets[parts[number]]
            try:
                given = [*operands(stage, gang, reader, tasks), *self._outs(gang, tasks, offsets)]
                place = comms[number].Get_rank()
                with usual_warnings(), collecting(gang.adds, place, attempt):
                    found[number] = function(comms[number], *given, *extra, **keywords)
            except BaseException as error:
                errors.append(error)
                if len(comms) > 1:
                    self.meeting.revoke(error)
            finally:
                if len(comms) > 1:
                    comms[number].finish()

        threads = [
            threading.Thread(target=member, args=(k,), name=f"{COMPUTE}member-{k}", daemon=True)
            for k in range(1, len(comms))
        ]
        for thread in threads:
            thread.start()
        if self._beside > 1:
            begin_apart(self._place)
        member(0)
        for thread in threads:
            thread.join()
        reader.ahead.clear()  # as in `Rank._compute`
        if errors:
            raise next((e for e in errors if not self.meeting.is_loss(e)), errors[0])
        return b"" if gang.outs else _pickle(found, gang.label)

    def _outs(self, gang: Gang, tasks: Index, offsets: Index) -> list[LocalChunks]:
        """Return what members fill."""
        arena = self.transport.arena(self.rank)
        assert arena is not None
        made = []
        for number, out in enumerate(gang.outs):
            borders = share(out.grid.nblocks, gang.members).tolist()
            chunks, numbers = [], []
            for task, offset in zip(tasks.tolist(), offsets.tolist(), strict=True):
                places = gang.offsets(number, task).tolist()
                for block, at in zip(range(borders[task], borders[task + 1]), places, strict=False):
                    shape = out.grid.block_shape(block)
                    size = int(np.prod(shape, dtype=np.int64)) * out.dtype.itemsize
                    view = arena[offset + at : offset + at + size].view(out.dtype).reshape(shape)
                    if not gang.raw:
                        view[...] = np.zeros((), out.dtype)
                    chunks.append(view)
                    numbers.append(block)
            made.append(LocalChunks(chunks, out.grid, numbers, out.dtype))
        return made


def _pickle(found: list[Any], function: str) -> bytes:
    """Return what members returned, pickled."""
    try:
        pickled: bytes = cloudpickle.dumps(found)
    except Exception as error:
        kinds = ", ".join(dict.fromkeys(type(each).__name__ for each in found))
        raise TypeError(f"spmd: what function {function!r} returned can't be pickled ({kinds}): {error}") from error
    return pickled


def operands(stage: Stage, gang: Gang, reader: Reader, tasks: Index) -> list[LocalChunks]:
    """Return a member's chunks of each operand, in place."""
    found = []
    for value in stage.program.values[:-1]:
        (number,) = value.inputs  # type: ignore[union-attr] # what a gang takes is loaded
        grid = stage.input_grids[number]
        borders = share(grid.nblocks, gang.members).tolist()
        blocks = [block for task in tasks.tolist() for block in range(borders[task], borders[task + 1])]
        chunks = [read_only(reader.block(number, block)) for block in blocks]
        found.append(LocalChunks(chunks, grid, blocks, value.dtype))
    return found
