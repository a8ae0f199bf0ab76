"""What a rank does with commands: fetch inputs that can't be read in place, run batches on its threads, spill.

The I/O thread calls `handle` and `events`; only it touches the transport. Compute threads take batches whose inputs
are at hand from a queue, and wake the I/O thread when they are through.
"""

from __future__ import annotations

import importlib
import math
import time
import traceback
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from ...graph.errors import WindrowError
from ..config import config
from ..gangs.member import GangThreads
from ..kernels.interpreter.block_calls import BlockError
from ..lock_hint import LockHint
from ..memory.arena_prefault import PagesAhead
from ..memory.excess import Excess
from ..memory.pressure import trim, watch
from ..memory.spill import Spills
from ..memory.spill_reads import SpillReads
from ..memory.temporaries import keep_freed_memory
from ..public_api import is_of_users, trim_context
from ..shared import shared_objects
from ..shared.host_copies import HostCopies
from ..sources.formats import successors
from ..wire.exceptions import pickle_exception, words
from ..wire.one_sided_messages import OneSidedMessage
from ..wire.page_messages import PageMessage
from ..wire.protocol import (
    Answered,
    Command,
    Define,
    Done,
    Drop,
    Event,
    Failed,
    Forget,
    Meet,
    Output,
    Ping,
    Pong,
    Pressed,
    Recall,
    Refused,
    RpcRequest,
    Run,
    Spill,
    Trim,
    Unshare,
)
from ..wire.rpc import Calls, Recalled
from ..wire.task_messages import TaskMessage
from .blas import BlasLimit
from .chunk_reader import HOST, BatchReader, Located, SlabPlace, spacing, view_strided
from .compute import ComputeThreads
from .executor import Target, run_blocks, run_task
from .inputs import BatchInputs
from .interrupts import Interrupted
from .output import finish_lines
from .task_context import TaskContext, enter_context

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...graph.chunks.grid import Index
    from ...graph.lowering.stage import Stage
    from ..shared.pages.service import PageService
    from ..tasks.service import TaskService
    from ..wire.transport import Bytes, Region, Transport

Array = np.ndarray[Any, Any]
AT_ONCE = 32
"""Tasks of light stages that run where they come in: handing them to another thread takes longer than they do."""


class Rank:
    """A rank's stages, compute threads and spill files."""

    def __init__(self, transport: Transport, threads: int, spill_folder: str | None = None) -> None:
        keep_freed_memory()
        self.transport = transport
        self.rank = transport.rank
        self.stages: dict[str, Stage] = {}
        here = sum(peer.same_node for peer in transport.peers)
        self.spills = Spills(spill_folder, self.emit, self.rank, max(1, here))
        self.blas = BlasLimit()
        self._waiting: dict[int, tuple[Run, BatchReader]] = {}
        self._slow: WeakValueDictionary[int, BatchReader] = WeakValueDictionary()
        self.calls = Calls(transport)
        self.calls.offer(PageMessage, lambda: _find_service("shared.pages.service").PageService(self.calls, transport))
        self.calls.offer(
            OneSidedMessage, lambda: _find_service("shared.one_sided.site").ArraySite(self.calls, transport)
        )
        self.calls.offer(TaskMessage, lambda: _find_service("tasks.service").TaskService(self, threads))
        successors.serve(self.calls)
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._asked: SimpleQueue[tuple[int, Region, Bytes, Callable[[bool], None]]] = SimpleQueue()
        self._later: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._hint = LockHint(threads if transport.size == 1 else 1)
        self._compute = ComputeThreads(transport, threads, self._begin, self.emit)
        arena = transport.arena(self.rank)
        self._ahead = PagesAhead(arena, self._is_idle) if transport.size > 1 and arena is not None else None
        self._watch = watch(transport)
        self.excess = Excess(self.rank, self.stages)
        self.copies = HostCopies(transport, self.calls, self.fetch)
        self._gangs = GangThreads(self, _failure)

    @property
    def pages(self) -> PageService:
        """What reads and serves pages of shared arrays."""
        service: PageService = self.calls.provided(PageMessage)
        return service

    @property
    def tasks(self) -> TaskService:
        """What runs tasks and keeps their results."""
        service: TaskService = self.calls.provided(TaskMessage)
        return service

    def handle(self, command: Command) -> None:
        """Do what a command says, or start it."""
        if isinstance(command, Run):
            self._accept(command)
        elif isinstance(command, Define):
            self.blas.before(command.stages)
            self.stages.update((s.token, s) for s in command.stages)
        elif isinstance(command, Recall):
            for batch in command.batches if command.unwanted else ():
                self._gangs.recall(batch)
            if command.unwanted:  # a member that begins now has seen that it is recalled
                self.calls.recall(command.batches)
            for batch in command.batches:
                self.give_back(batch)
            if command.unwanted:
                self._withdraw_readings(command.batches)
                self._compute.end(command.batches)
        elif isinstance(command, RpcRequest | Answered):
            self.calls.take(command)
        elif isinstance(command, Meet):
            self._gangs.put(command, None)
        elif isinstance(command, Forget):
            for token in command.tokens:
                self.stages.pop(token, None)
        elif isinstance(command, Spill):
            arena = self.transport.arena(self.rank)
            assert arena is not None
            self.spills.write(command, arena)
        elif isinstance(command, Drop):
            if command.rank == self.rank:
                self.spills.drop(command.source)
            else:
                self.transport.forget(command.rank, command.source)
        elif isinstance(command, Trim):
            arena = self.transport.arena(self.rank)
            assert arena is not None
            trim(arena, command.offsets, command.sizes, self.transport.size > 1)
        elif isinstance(command, Unshare):
            shared_objects.forget(command.token)
            self.copies.forget(command.token)
        elif isinstance(command, Ping):
            self._events.put(Pong(self.rank, command.number))

    def events(self) -> list[Event]:
        """Return what has happened since the last call; send what goes to other ranks."""
        self._compute.leave()
        self.calls.send()
        if self._watch.look(now := time.monotonic()):
            self._events.put(Pressed(self.rank, self._watch.shortage))
        self.excess.look(now)
        while not self._asked.empty():
            self.transport.fetch(*self._asked.get())
        while not self._later.empty():
            self._later.get()()
        events = []
        while not self._events.empty():
            events.append(self._events.get())
        return events

    def emit(self, event: Event) -> None:
        """Add an event; from any thread. What its task has printed goes first."""
        if not isinstance(event, Output):
            finish_lines()
        self._events.put(event)
        self.transport.wake()

    def lose(self, ranks: tuple[int, ...]) -> None:
        self.calls.lose(ranks)

    def close(self) -> None:
        """End the compute threads once their present batch is through."""
        self.calls.close()
        self._compute.close()
        self._gangs.close()
        self.copies.close()
        self.spills.close()

    # ---------------------------------------------------------------- inputs

    def memory(self, place: SlabPlace) -> Bytes | None:
        """Return the bytes that hold a place, where they can be read in place."""
        if place.source < 0:
            return self.transport.arena(place.owner)
        if place.owner == self.rank:
            return self.spills.memory(place.source)
        return self.transport.map_spill_file(place.owner, place.source)

    def _spill_path(self, owner: int, source: int) -> str:
        """Return where a spill file of a rank on this host is opened."""
        return f"/proc/{'self' if owner == self.rank else self.transport.peers[owner].pid}/fd/{source}"

    def fetch(self, rank: int, region: Region, into: Bytes, done: Callable[[bool], None]) -> None:
        """Read a region of a rank's memory; `done` is called on the I/O thread. From any thread."""
        self._asked.put((rank, region, into, done))
        self.transport.wake()

    def do_later(self, act: Callable[[], None]) -> None:
        """Have something done on the I/O thread; from any thread."""
        self._later.put(act)
        self.transport.wake()

    def waits(self, batch: int) -> bool:
        """Tell whether a batch hasn't begun, and wasn't given back."""
        return batch in self._waiting

    def _accept(self, run: Run) -> None:
        stage = self.stages[run.token]
        self.blas.before((stage,))  # a chunk that was lost is made again when the limit may have been lifted
        producers = tuple(self.stages[token] for token in stage.inputs)
        memories: dict[tuple[int, int], Bytes | None] = {}

        def memory(place: SlabPlace) -> Bytes | None:
            """As `self.memory`, asked once: what is in place stays so until the batch ends, though its owner dies."""
            key = (place.owner, place.source)
            if key not in memories:
                memories[key] = self.memory(place)
            return memories[key]

        def in_place(place: SlabPlace) -> bool:
            return place.owner == HOST or memory(place) is not None

        reader = BatchReader(stage, producers, [Located(places) for places in run.inputs], memory)
        self._waiting[run.batch] = run, reader
        if any((places.sources >= 0).any() for places in run.inputs):
            reader.spilled = SpillReads(run, reader, run.gang is not None or self.spills.fit(), self._spill_path)
        remote = {
            (number, task)
            for number, places in enumerate(run.inputs)
            if not all(in_place(place) for place in Located(places).memories())
            for task, place in Located(places).items()
            if not in_place(place)
        }
        slow = frozenset(k for k, p in enumerate(producers) if p.data is not None and p.data.slow and _hosted(run, k))
        if slow:
            self._slow[run.batch] = reader
        if remote or slow:
            BatchInputs(self, run, reader, remote, slow).start()
        elif run.gang is None and len(run.tasks) <= AT_ONCE and stage.light:
            self._events.put(self._do(run, self._waiting.pop(run.batch)[1]))  # who handed it in looks for events next
        else:
            self.begin_soon(run.batch)

    def _is_idle(self) -> bool:
        return not (self._waiting or self._compute.busy)

    def begin_soon(self, batch: int) -> None:
        """Have a batch run whose inputs are at hand, unless it was given back meanwhile."""
        run, reader = self._waiting.get(batch, (None, None))
        if run is not None and run.gang is not None:
            del self._waiting[batch]
            self._gangs.put(run, reader)
        elif run is not None:
            self._compute.put(batch)

    def give_back(self, batch: int) -> None:
        """Refuse a batch, unless it has begun."""
        waiting = self._waiting.pop(batch, None)
        if waiting is not None:
            waiting[1].ahead.clear()  # an error of another batch may keep the reader
            if waiting[1].spilled is not None:
                waiting[1].spilled.end()
            self.emit(Refused(self.rank, batch))
            if waiting[0].gang is not None:  # the others wait for this rank
                self._gangs.put(waiting[0], None)

    def _withdraw_readings(self, batches: tuple[int, ...]) -> None:
        """Let nobody else have what recalled batches have read of slow sources: who computes anew reads anew."""
        for reader in filter(None, map(self._slow.get, batches)):
            for reading in list(reader.ahead.values()):
                reading.void = True

    def _begin(self, number: int, slot: int) -> Event | None:
        """Run a batch on a compute thread; return what came of it."""
        epoch = self.calls.epoch  # as long as the batch can be given back
        run, reader = self._waiting.pop(number, (None, None))
        if run is None or reader is None:  # given back
            return None
        noted = self.rank == 0 and reader.stage.foreign
        if noted:
            self.transport.note(slot, _describe_blocks(reader.stage, run.tasks))
        enter_context(TaskContext(self, number, epoch))
        self.calls.enter(number)
        event = self._do(run, reader)
        self.calls.leave(number)
        if noted:
            self.transport.note(slot, "")
        return event

    def _do(self, run: Run, reader: BatchReader) -> Event:
        begin, used = time.perf_counter(), time.thread_time()
        try:
            self.excess.begin(run.batch, reader.stage)
            try:
                if reader.spilled is not None:
                    reader.spilled.begin()
                self._run(run, reader)
            finally:  # before anybody hears of it: who computes anew reads anew; an error would keep them, too
                if (exceeded := self.excess.end(run.batch)) is not None:
                    self.emit(exceeded)
                reader.ahead.clear()
                if reader.spilled is not None:
                    reader.spilled.end()
            end = time.perf_counter()
            if reader.stage.foreign:
                self._hint.note(begin, end, time.thread_time() - used)
            return Done(self.rank, run.batch, end - begin)
        except Interrupted:
            return Refused(self.rank, run.batch)
        except BlockError as error:
            if isinstance(error.error, Recalled):
                return Refused(self.rank, run.batch)
            return _failure(self.rank, run.batch, error.block, error.error)
        except BaseException as error:
            return _failure(self.rank, run.batch, -1, error)

    def _run(self, run: Run, reader: BatchReader) -> None:
        """Run a batch's tasks; many small ones that follow each other go as one run of blocks."""
        arena = self.transport.arena(self.rank)
        assert arena is not None
        if self._ahead is not None and len(run.offsets):
            self._ahead.note(int(run.offsets.max()))
        stage = reader.stage
        alone = stage.blocks_per_task == 1 and run.sink is None and not run.fed
        step = spacing(run.offsets) if alone else None
        if alone and spacing(run.tasks) == 1:

            def target(first: int, count: int) -> Array | list[Array]:
                k, shape = first - int(run.tasks[0]), stage.grid.block_shape(first)
                if step is not None or count == 1:
                    return view_strided(arena, int(run.offsets[k]), step or 0, count, stage.dtype, shape)
                places = run.offsets[k : k + count].tolist()
                return [np.ndarray(shape, stage.dtype, arena, place) for place in places]

            run_blocks(stage, run.tasks, reader, target)
            return
        for i, task in enumerate(run.tasks.tolist()):
            if run.fed:
                place = int(run.offsets[i])
                data = np.ascontiguousarray(run.fed[i]).reshape(-1).view(np.uint8)
                arena[place : place + data.nbytes] = data
            else:
                run_task(stage, task, reader, _target(stage, task, arena, int(run.offsets[i]), run.sink))


def _find_service(name: str) -> Any:
    """Return the module of services that few jobs need, so that all start without them."""
    return importlib.import_module(f"..{name}", __package__)


def _hosted(run: Run, number: int) -> bool:
    """Tell whether an input lies where each rank reads it for itself."""
    owners = run.inputs[number].owners
    return bool(len(owners)) and int(owners[0]) == HOST


def _target(stage: Stage, task: int, arena: Bytes, offset: int, sink: Array | None) -> Target:
    if sink is not None:
        result = sink
        return lambda first, count: stage.grid.view(result, first)[None]
    if stage.blocks_per_task == 1:
        shape = stage.grid.block_shape(task)
        slab = arena[offset : offset + math.prod(shape) * stage.dtype.itemsize]
        return lambda first, count: slab.view(stage.dtype).reshape(1, *shape)
    run = stage.blocks(task)
    starts = stage.offsets(task)

    def place(first: int, count: int) -> Array:
        lo, hi = (offset + int(starts[first - run.start + k]) for k in (0, count))
        shape = (count, *stage.grid.block_shape(first))
        return arena[lo:hi].view(stage.dtype).reshape(shape)

    return place


def _describe_blocks(stage: Stage, tasks: Index) -> str:
    """Return what a batch of single blocks calls a user's function on."""
    first, last = (stage.grid.index(int(task)) for task in (tasks[0], tasks[-1]))
    blocks = f"block {first}" if len(tasks) == 1 else f"one of the blocks {first} to {last}"
    return f"{stage.name} on {blocks}" + (f", created at {stage.origin}" if stage.origin else "")


def _failure(rank: int, batch: int, block: int, error: BaseException) -> Failed:
    trim_context(error)
    tells = not isinstance(error, WindrowError) or is_of_users(error) or not config.cuts_tracebacks
    text = "".join(traceback.format_exception(error)) if tells else ""  # what we found out ourselves is said in words
    error.__traceback__ = None  # told by the text; some libraries have pickles keep it
    return Failed(rank, batch, block, pickle_exception(error), f"{type(error).__name__}: {words(error)}", text)
