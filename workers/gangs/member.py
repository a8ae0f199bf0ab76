"""A rank's part in gangs: threads on which its members run, beside those that compute.

Each gang that the scheduler gives out comes to every rank, also to those that have no part in it: all ranks make its
communicator together, of one gang after the other, in the scheduler's order. Then members run side by side. What ends
a member's waiting from outside (a rank's death, another member's error, a computation that nobody wants any more) is
`recall`: the communicator is revoked, every call that waits raises, what computes is interrupted, and the batch is
refused.
"""

from __future__ import annotations

import pickle
import threading
import time
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

import cloudpickle
import numpy as np

from ...graph.errors import ClusterError
from ...graph.kinds.gang import share
from ..kernels.interpreter.block_calls import BlockError, read_only
from ..kernels.user_results import usual_warnings
from ..rank.interrupts import GRACE, Interrupted, forget, interrupt, interruptible
from ..rank.output import COMPUTE
from ..rank.task_context import TaskContext, enter_context
from ..rank.urgency import begin_apart
from ..shared.pages.additions import collecting
from ..wire.protocol import Done, Left, Meet, MemberFailed, NoComm, Refused, Run
from ..wire.rpc import Recalled
from .local_chunks import LocalChunks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...graph.chunks.grid import Index
    from ...graph.kinds.gang import Gang
    from ...graph.lowering.stage import Stage
    from ..rank.chunk_reader import BatchReader
    from ..rank.rank import Rank
    from ..wire.protocol import Failed, GangOrder

Array = np.ndarray[Any, Any]
_TRIES = 5
_GRACE = 1.0  # seconds in which an error of MPI's may turn out to be a death's
PATIENCE = 0.1
"""Seconds after which a communicator that nobody needs any more isn't waited for."""


class Unmet(ClusterError):
    """No communicator came about; all who live may try again."""


class CommunicatorMaker(Protocol):
    """Makes communicators for gangs."""

    def join(self, order: GangOrder) -> list[Any]:
        """Return the communicators of this rank's members, or raise Unmet; collective over all ranks."""
        ...

    def give_up(self) -> None:
        """End the `join` under way, on all ranks; from another thread."""

    def unsettled(self) -> float:
        """Return the seconds after which the latest communicator is made on all ranks, and may be revoked."""
        ...

    def revoke(self, comms: list[Any], error: BaseException | None = None) -> None:
        """Have all calls on these communicators end with an error, on all ranks; from any thread."""

    def is_loss(self, error: BaseException) -> bool | None:
        """Tell whether an error is that of a revoked communicator, or a dead rank; None: it may be."""
        ...

    def leave(self, comms: list[Any], harmed: bool) -> None:
        """Let go of communicators after use; those of a gang that failed are `harmed`."""


class GangThreads:
    """Runs a rank's members: as many threads as there are gangs under way, the free ones kept for the next."""

    def __init__(self, owner: Rank, fail: Callable[[int, int, int, BaseException], Failed]) -> None:
        transport = owner.transport
        self.owner, self.transport, self.rank, self.meeting = owner, transport, transport.rank, transport.meeting
        self.calls, self.emit, self.fail, self.later = owner.calls, owner.emit, fail, owner.do_later
        here = [peer.rank for peer in transport.peers if peer.same_node]
        self._place, self._beside = here.index(self.rank), len(here)
        self._orders: SimpleQueue[tuple[int, Run | Meet, BatchReader | None] | None] = SimpleQueue()
        self._joining = threading.Lock()  # by whoever takes the next order, until its communicator is there
        self._lock = threading.Lock()
        self._open = self._threads = 0
        self._held: dict[int, list[Any] | None] = {}
        """The communicators of each batch that hasn't been answered for; None: not there yet. Where this rank has no
        part it is the gang's number."""
        self._recalled: set[int] = set()
        self._computing: dict[int, set[int]] = {}
        """The threads that are in users' functions, by batch."""
        self._unmet = 0

    def put(self, command: Run | Meet, reader: BatchReader | None) -> None:
        """Have this rank's members run; without a reader its batch was refused, and it only joins the others."""
        assert command.gang is not None
        batch = command.batch if isinstance(command, Run) and reader is not None else command.gang.number
        self._held[batch] = None
        with self._lock:
            self._open += 1
            number = self._threads
            self._threads = max(number, self._open)
        if self._threads > number:
            threading.Thread(target=self._loop, name=f"{COMPUTE}gang-{number}", daemon=True).start()
        self._orders.put((batch, command, reader))

    def recall(self, batch: int) -> None:
        """End what a gang waits for; it is refused."""
        if batch in self._held:
            self._recalled.add(batch)
            met = self._held.get(batch) is not None
            self._revoke_in(self.meeting.unsettled() if met else PATIENCE, batch, met)

    def _revoke_in(self, seconds: float, batch: int, met: bool) -> None:
        """End what a batch waits for, after some seconds; `met` tells whether it had a communicator then."""
        if seconds <= 0:
            self._revoke(batch, met)
        else:
            self._act_in(seconds, lambda: self._revoke(batch, met))

    def _act_in(self, seconds: float, act: Callable[[], None]) -> None:
        timer = threading.Timer(seconds, self.later, [act])
        timer.daemon = True
        timer.start()

    def _revoke(self, batch: int, met: bool) -> None:
        if batch not in self._recalled:
            return
        if (comms := self._held.get(batch)) is None:
            self.meeting.give_up()
        elif met:
            self.meeting.revoke(comms)
            self._act_in(GRACE, lambda: self._interrupt(batch))
        else:
            self._revoke_in(self.meeting.unsettled(), batch, True)

    def _interrupt(self, batch: int) -> None:
        """End what members of a batch compute, which wait for nothing: at their next line of Python."""
        with self._lock:
            for thread in self._computing.get(batch, ()):
                interrupt(thread, batch)
        self._act_in(GRACE, lambda: self._leave(batch))

    def _leave(self, batch: int) -> None:
        """Say that members of a batch are in calls that can't be interrupted: these are left to their threads."""
        with self._lock:
            if batch in self._computing:
                self.emit(Left(self.rank, batch))

    def _report(self, batch: int, first: BlockError) -> None:
        """Say that a member has failed where others compute on: the scheduler recalls these."""
        with self._lock:  # so that they don't end meanwhile, and the error is put into words once
            if batch in self._computing and batch not in self._recalled:
                self.emit(MemberFailed(self.rank, self.fail(self.rank, batch, first.block, first.error)))

    @contextmanager
    def _computes(self, batch: int) -> Iterator[None]:
        """Note that this thread is in a user's function, which may be interrupted meanwhile."""
        thread = threading.get_ident()
        with self._lock:
            self._computing.setdefault(batch, set()).add(thread)
            if batch in self._recalled:
                interrupt(thread, batch)
        try:
            yield
        finally:
            with self._lock:
                self._computing[batch].discard(thread)
                if not self._computing[batch]:
                    del self._computing[batch]
                forget(thread)

    def close(self) -> None:
        """End the threads when their gangs are through."""
        for comms in list(self._held.values()):
            self.meeting.revoke(comms) if comms is not None else self.meeting.give_up()
        self._orders.put(None)

    def _loop(self) -> None:
        while True:
            error: BaseException | None = None
            comms: list[Any] = []
            with self._joining:
                if (item := self._orders.get()) is None:
                    self._orders.put(None)
                    return
                batch, command, reader = item
                try:
                    comms = self._join(command)
                    self._held[batch] = comms
                except BaseException as trouble:
                    error = trouble
            if isinstance(command, Run) and reader is not None:
                harmed = self._take_part(command, reader, comms, error)
            else:
                harmed = True
            self.meeting.leave(comms, harmed)
            del self._held[batch]
            self._recalled.discard(batch)
            item = command = reader = error = None  # type: ignore[assignment] # a gang keeps the user's arrays alive
            with self._lock:
                self._open -= 1

    def _join(self, command: Run | Meet) -> list[Any]:
        """Make a gang's communicator with the other ranks."""
        order = command.gang
        assert order is not None
        try:
            comms = self.meeting.join(order)
        except Unmet:
            self.emit(NoComm(self.rank, order.number))
            self._unmet += 1
            raise
        self._unmet = 0
        return comms

    def _take_part(self, run: Run, reader: BatchReader, comms: list[Any], error: BaseException | None) -> bool:
        """Run this rank's members, and say what came of it; tell whether the communicators may be harmed."""
        batch, begin = run.batch, time.perf_counter()
        self.calls.enter(batch)
        harmed = True
        try:
            if error is not None:
                raise error
            returned = self._run(run, reader, comms) if batch not in self._recalled else b""
            harmed = batch in self._recalled
            done = Done(self.rank, batch, time.perf_counter() - begin, returned)
            self.emit(Refused(self.rank, batch) if harmed else done)
        except BaseException as trouble:
            member, cause = (trouble.block, trouble.error) if isinstance(trouble, BlockError) else (-1, trouble)
            lost = self._is_lost(batch, cause)
            self.emit(Refused(self.rank, batch) if lost else self.fail(self.rank, batch, member, cause))
        self.calls.leave(batch)
        return harmed

    def _is_lost(self, batch: int, error: BaseException) -> bool:
        """Tell whether an error comes from what happened to others, of which the scheduler may not have heard yet."""
        if isinstance(error, Unmet):
            return self._unmet <= _TRIES
        is_loss = isinstance(error, Recalled | Interrupted) or self.meeting.is_loss(error)
        deadline = time.monotonic() + _GRACE
        while is_loss is None and batch not in self._recalled and time.monotonic() < deadline:
            time.sleep(0.01)
        return bool(is_loss) or (is_loss is None and batch in self._recalled)

    def _run(self, run: Run, reader: BatchReader, comms: list[Any]) -> bytes:
        """Run this rank's members, each with its own tasks; return what they return, pickled, or raise one's error."""
        stage = reader.stage
        gang = stage.gang
        assert gang is not None
        attempt = 0 if run.gang is None else run.gang.number
        context = TaskContext(self.owner, run.batch, run.gang.epoch if run.gang is not None else 0, 0, len(comms))
        enter_context(context)
        function, extra, keywords = pickle.loads(gang.payload.pickled)
        parts = np.array_split(np.arange(len(run.tasks)), len(comms))
        results: list[Any] = [None] * len(comms)
        errors: list[BlockError] = []

        def member(number: int) -> None:
            enter_context(context._replace(member=number))
            tasks, offsets = run.tasks[parts[number]], run.offsets[parts[number]]
            place = number
            try:
                place = comms[number].Get_rank()
                local_chunks = [*operands(stage, gang, reader, tasks), *self._outs(gang, tasks, offsets)]
                with (
                    usual_warnings(),
                    collecting(gang.adds, place, attempt),
                    self._computes(run.batch),
                    interruptible(run.batch),
                ):
                    if len(comms) > 1:  # who fails from here on finds that this thread computes
                        comms[number].check_revoked()
                    results[number] = function(comms[number], *local_chunks, *extra, **keywords)
            except BaseException as error:
                errors.append(BlockError(place, error))
                if len(comms) > 1:
                    self.meeting.revoke(comms, error)
                    if error is errors[0].error:
                        self._act_in(GRACE, lambda: self._report(run.batch, errors[0]))
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
            raise next((each for each in errors if not self.meeting.is_loss(each.error)), errors[0])
        return b"" if gang.outs else _pickle(results, gang.label)

    def _outs(self, gang: Gang, tasks: Index, offsets: Index) -> list[LocalChunks]:
        """Return what members fill."""
        arena = self.transport.arena(self.rank)
        assert arena is not None
        outputs = []
        for number, out in enumerate(gang.outs):
            borders = share(out.grid.nblocks, gang.members).tolist()
            chunks, numbers = [], []
            for task, offset in zip(tasks.tolist(), offsets.tolist(), strict=True):
                places = gang.offsets(number, task).tolist()
                for block, at in zip(range(borders[task], borders[task + 1]), places, strict=False):
                    shape = out.grid.block_shape(block)
                    size = int(np.prod(shape, dtype=np.int64)) * out.dtype.itemsize
                    view = arena[offset + at : offset + at + size].view(out.dtype).reshape(shape)
                    if not gang.own:
                        view[...] = np.zeros((), out.dtype)
                    chunks.append(view)
                    numbers.append(block)
            outputs.append(LocalChunks(chunks, out.grid, numbers, out.dtype))
        return outputs


def _pickle(found: list[Any], function: str) -> bytes:
    """Return what members returned, pickled."""
    try:
        pickled: bytes = cloudpickle.dumps(found)
    except Exception as error:
        kinds = ", ".join(dict.fromkeys(type(each).__name__ for each in found))
        raise TypeError(f"spmd: what function {function!r} returned can't be pickled ({kinds}): {error}") from error
    return pickled


def operands(stage: Stage, gang: Gang, reader: BatchReader, tasks: Index) -> list[LocalChunks]:
    """Return a member's chunks of each operand, in place."""
    local_chunks = []
    for value in stage.program.values[:-1]:
        (number,) = value.inputs  # type: ignore[union-attr] # what a gang takes is loaded
        grid = stage.input_grids[number]
        borders = share(grid.nblocks, gang.members).tolist()
        blocks = [block for task in tasks.tolist() for block in range(borders[task], borders[task + 1])]
        chunks = [read_only(reader.block(number, block)) for block in blocks]
        local_chunks.append(LocalChunks(chunks, grid, blocks, value.dtype))
    return local_chunks
