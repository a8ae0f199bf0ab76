"""The engine: the one loop that does the scheduler's I/O, on a thread of rank 0.

It takes requests from the user's threads and events from ranks, tells the ledger, and sends out what the ledger
gives. Rank 0's own tasks take the same way, without the wire.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from itertools import chain
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...graph.errors import ClusterError
from ...workers.rank.output import show
from ...workers.rank.rank import Rank
from ...workers.rank.urgency import request_short_timeslices
from ...workers.wire.one_sided_messages import CoordinatorMessage
from ...workers.wire.protocol import (
    Answered,
    Command,
    Done,
    Drop,
    Event,
    Failed,
    GangOrder,
    Left,
    Meet,
    MemberFailed,
    NoComm,
    Output,
    Pong,
    Recall,
    Refused,
    RpcRequest,
    Run,
    Setup,
    Stop,
)  # fmt: skip
from ...workers.wire.rpc import LIMIT, LOOK
from ...workers.wire.shared_messages import SpaceMessage
from ...workers.wire.task_messages import BoardMessage
from ...workers.wire.transport import RanksLost, Transport
from ..admission.io_slots import find_ahead
from ..ledger.ledger import Ledger
from ..ledger.lineage_checkpoint import rebase
from ..ledger.planning import Stopped, find_dependents
from ..ledger.stage_record import Batch, ChunkState, StageRecord
from ..session.job import Ask, EndJob, Gathered, Job, Release, Request, Submit, Uncache, WatchRequest, post
from ..session.job_index import Jobs
from ..session.progress import warn_beside_bars
from .commands import feed, order
from .delivery import Delivery
from .driver_reads import SlowRead
from .error_confirmation import UnconfirmedErrors
from .failure import deadly_function, exception_of
from .heartbeat import Heartbeat
from .spiller import Spiller
from .stage_registry import StageRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...graph.chunks.grid import Index
    from ...graph.lowering.stage import Stage
    from ..ledger.gangs import GangRun

log = logging.getLogger("windrow")
Array = np.ndarray[Any, Any]
T = TypeVar("T")
ROUNDS = 16
"""So often what small tasks lead to is given out before the engine looks at anything else."""
LATE = 0.05
"""Seconds for which a rank has ended no batch. Until it does it gets nothing ahead, and what it has is taken back."""
TRIAL = 0.2
"""Seconds after which a user's function that still runs on another rank is called on rank 0 too."""
LONGEST_WAIT = 3600.0
"""Seconds after which an engine without work looks around."""


class Engine:
    """Drives a ledger over rank 0's transport; see the module's docstring."""

    def __init__(
        self,
        transport: Transport,
        arenas: Sequence[int],
        threads: Sequence[int],
        heartbeat: float,
        spill_folder: str | None,
    ) -> None:
        self.transport = transport
        self.ledger = Ledger(arenas, threads)
        self.local = Rank(transport, threads[0], spill_folder)
        self.shared = transport.size == 1
        self.jobs = Jobs()
        self.sinks: dict[str, Array] = {}
        """Users' own results, by stage, where kernels may write straight into them."""
        self.spiller = Spiller(self.ledger, transport, self.send, self.recall, self.fail)
        self.delivery = Delivery(self.ledger, transport, self.local, self._fail_soon)
        self.unconfirmed = UnconfirmedErrors(self.send)
        self.registry = StageRegistry(transport.size, self.send)
        calls = self.local.calls  # what answers ranks' questions is loaded when the first one comes: few jobs need it
        calls.offer(CoordinatorMessage, lambda: _load("..shared.symmetric").Coordinator(self))
        calls.offer(SpaceMessage, lambda: _load("..shared.spaces").Spaces(self))
        calls.offer(BoardMessage, lambda: _load("..tasks.dispatcher").Dispatcher(self))
        self.on_submit: list[Callable[[Sequence[Stage]], None]] = []
        """Who is told of stages that are about to be computed."""
        self.on_batch_end: list[Callable[[Sequence[tuple[int, bool]]], None]] = []
        """Who is told of batches that have ended, and whether what they made counts; on the engine's thread."""
        self.on_gang_retry: list[Callable[[StageRecord], None]] = []
        """Who is told of a rank program that came to nothing, though no rank was lost, and is to run again."""
        self.on_stored: list[Callable[[str, StageRecord | None, Index | None], None]] = []
        """Who is told that some tasks of a stage are stored; None: that any may be, or that none will ever be."""
        self.on_exit: list[Callable[[], None]] = []
        """What is waited for when the process ends, before the cluster is closed."""
        self.max_waits: list[Callable[[], float]] = []
        """In how many seconds the loop has to turn again, though no message comes."""
        self.heartbeat = Heartbeat(transport, heartbeat)
        self.losses: list[str] = []
        self.returned: dict[str, list[bytes]] = {}
        """What gangs' members returned, by stage, in the order of members."""
        self._moved = [0.0] * transport.size
        self._recalled: set[tuple[int, bool]] = set()
        self._inbox: SimpleQueue[Request] = SimpleQueue()
        self._closing = False
        self.over = False  # Thread.is_alive doesn't do: after a Ctrl-C within it Python takes the thread for ended
        setup = Setup(threads[0], spill_folder, tuple(sys.path), tuple(sys.argv), os.getcwd(), heartbeat)
        for rank in range(1, transport.size):
            transport.send(rank, setup)
        self.thread = threading.Thread(target=self._loop, name="windrow-engine", daemon=True)
        self.thread.start()

    @property
    def behind(self) -> int:
        """Stages that wait or run, and requests that nobody has looked at; from any thread."""
        return len(self.ledger.active) + self._inbox.qsize()

    def request(self, request: Request) -> None:
        """Hand a request to the engine; from any thread."""
        self._inbox.put(request)
        self.transport.wake()

    def ask(self, question: Callable[[Engine], T], limit: float = LIMIT) -> T:
        """Return `question(engine)`, computed on the engine's thread, which may plan for long or be short of time."""
        if self.over:
            raise ClusterError("the cluster is closed")
        answer: SimpleQueue[tuple[T, BaseException | None]] = SimpleQueue()
        self.request(Ask(question, answer))
        deadline = time.monotonic() + limit
        while True:
            over = self.over
            try:
                result, error = answer.get(timeout=max(0.0, min(LOOK, deadline - time.monotonic())))
                break
            except Empty:
                if over or time.monotonic() >= deadline:
                    raise ClusterError(f"the cluster {'is closed' if over else 'does not answer'}") from None
        if error is not None:
            raise error
        return result

    # ---------------------------------------------------------------- the loop

    def _loop(self) -> None:
        request_short_timeslices()
        try:
            while not self._closing:
                for message in self.transport.poll(self._patience()):
                    self._event(message)
                for event in self.local.events():
                    self._event(event)
                for _ in range(self._inbox.qsize()):  # what comes meanwhile has its own wake
                    self._request(self._inbox.get())
                self._note_ended()
                self.heartbeat.check(time.monotonic(), self.ledger.alive)
                self._give_out()
                self._forget()
        except BaseException as error:
            log.exception("the engine ended")
            for job in self.jobs:
                job.fail(ClusterError(f"the engine ended: {type(error).__name__}: {error}"))
            raise
        finally:
            self.over = True
            self._leave()

    def _note_ended(self) -> None:
        ended, self.ledger.ended = self.ledger.ended, []
        for each in self.on_batch_end if ended else ():
            each(ended)

    def _patience(self) -> float:
        idle = self.transport.size == 1 and not self.ledger.batches and self.ledger.ready.turns.held_up is None
        return min([LONGEST_WAIT if idle else 0.05, *(wait() for wait in self.max_waits)])

    def _leave(self) -> None:
        for job in self.jobs:
            job.fail(ClusterError("the cluster was closed while it computed"))
        for rank in range(1, self.transport.size):
            if self.ledger.alive[rank]:
                self.transport.send(rank, Stop())
        self.local.close()
        self.transport.close()

    def send(self, rank: int, command: Command) -> None:
        if rank == 0:
            self.local.handle(command)
            return
        if isinstance(command, Run):
            self.registry.announce(rank, command.token)
        self.transport.send(rank, command)

    # ---------------------------------------------------------------- requests

    def _request(self, request: Request) -> None:
        if isinstance(request, Submit):
            self._submit(request.jobs)
        elif isinstance(request, EndJob):
            self._end(request.job)
        elif isinstance(request, Gathered):
            if (claim := request.job.claims.get(request.token)) is not None:
                self.ledger.note_gathered(claim, request.tasks)
        elif isinstance(request, Release):
            self._end(request.job)
            self._unhold(request.job)
        elif isinstance(request, WatchRequest):
            if request.job in self.jobs:
                self.jobs.watch(request.job, self.ledger.records)
                self.ledger.watch(request.job.targets)
        elif isinstance(request, Uncache):
            self.ledger.uncache(request.token)
        elif isinstance(request, Ask):
            try:
                request.answer.put((request.question(self), None))
            except Exception as error:
                request.answer.put((None, error))
        else:  # Close
            self._closing = True

    def _submit(self, jobs: tuple[Job, ...]) -> None:
        error: BaseException
        try:
            self._enter(jobs)
            return
        except Stopped:
            error = ClusterError("the computation was cancelled")
        except Exception as found:  # one job's trouble, such as more tasks than memory can list, is not the engine's
            error = found
        for job in jobs:
            job.fail(error)
            self._end(job)
        self.ledger.plan()
        self._forget()  # what was entered when it stopped is known to no rank: the next one enters it anew

    def _enter(self, jobs: tuple[Job, ...]) -> None:
        def stop() -> bool:
            return all(job.cancelled for job in jobs)

        stages = [stage for job in jobs for stage in job.stages]
        reads = {token: stage_reads for job in jobs for token, stage_reads in job.reads.items()}
        own = {stage.token for stage in stages}
        read = chain.from_iterable([*(stage.inputs for stage in stages), *(job.targets for job in jobs)])
        if not all(token in own or token in self.ledger.records for token in read):
            for error in (other.error for job in jobs for other in job.relied):
                if error is not None:
                    raise error
            raise ClusterError("a persisted array was released while a computation that reads it began")
        new = self.ledger.add(stages, self.shared, reads, stop)
        self.local.blas.before(stages)
        self.registry.enter(new, self.ledger.alive)
        for job in jobs:
            self.jobs.add(job)
            job.stages, job.reads, job.relied = [], {}, []
            self.sinks.update(job.sinks)
            for token in job.sinks:
                record = self.ledger.records[token]
                record.bytes = np.zeros_like(record.bytes)
            for token in job.targets:
                if job.results is None:
                    self.ledger.hold(token, job.restore)
                    job.held = True
                else:
                    job.claims[token] = self.ledger.owe(token)
        self.ledger.plan(stop)
        for job in jobs:
            if job.results is None:
                self._check(job)
                self._look_again(job)
                continue
            self.jobs.watch(job, self.ledger.records)
            for number, token in enumerate(job.targets):
                record = self.ledger.records[token]
                if record.nstored:
                    self.delivery.deliver(job, number, record, np.flatnonzero(record.state == ChunkState.STORED))

    def _end(self, job: Job) -> None:
        """Take a job's wishes back; what runs for it alone is interrupted."""
        self._look_again(job)
        if job not in self.jobs:
            return
        self.jobs.finish(job)
        for token in job.sinks:
            self.sinks.pop(token, None)
        for claim in job.claims.values():
            self.ledger.note_gathered(claim)
        self._unhold(job)
        if not job.finished:
            job.fail(ClusterError("the computation was cancelled"))
        self.ledger.plan()
        self.recall([b for b in self.ledger.batches.values() if self.ledger.is_unwanted(b)])

    def _look_again(self, job: Job) -> None:
        """Have all look again who wait for what a job makes: it may be there already, or will never be."""
        for token in job.targets if job.results is None and self.on_stored else ():
            for each in self.on_stored:
                each(token, None, None)

    def _unhold(self, job: Job) -> None:
        """Let go of what a job holds, and of the job."""
        if job.held:
            job.held = False
            self.ledger.unhold(job.targets[0])
        self.jobs.leave(job)

    def recall(self, batches: list[Batch], unwanted: bool = True) -> None:
        """Have ranks give batches back: those that haven't begun, and of what nobody wants those that run, too."""
        asked = [b for b in batches if (b.number, unwanted) not in self._recalled]
        self._recalled.update((b.number, unwanted) for b in asked)
        for rank in {b.rank for b in asked}:
            self.send(rank, Recall(tuple(b.number for b in asked if b.rank == rank), unwanted))

    def _forget(self) -> None:
        self.registry.enter(rebase(self.ledger), self.ledger.alive)
        gone = tuple(self.ledger.forget())
        if not len(self.jobs) and not self.ledger.batches:  # chunks that are made again have no job
            self.local.blas.after()
        if gone:
            self.registry.forget(gone, self.ledger.alive)

    # ---------------------------------------------------------------- events

    def _event(self, event: object) -> None:
        if isinstance(event, RanksLost):
            self._on_lost(event.ranks)
            return
        if isinstance(event, RpcRequest | Answered):
            self.heartbeat.heard(event.rank, time.monotonic())
            self.local.handle(event)
            return
        assert isinstance(event, Event), event
        self.heartbeat.heard(event.rank, time.monotonic())
        if isinstance(event, Done | Failed) and (event.batch, True) in self._recalled:
            program = self.ledger.gangs.of(event.batch) is not None  # what it did, it did
            if isinstance(event, Failed) or not program:
                event = Refused(event.rank, event.batch)  # a source may give other values to who asks now
        if isinstance(event, Done | Failed | Refused | Left):
            self._recalled -= {(event.batch, True), (event.batch, False)}
            if not isinstance(event, Refused):
                self._moved[event.rank] = time.monotonic()
            if self.ledger.end_stray(event.batch):
                return
        if isinstance(event, Done):
            if event.returned and (run := self.ledger.gangs.of(event.batch)) is not None:
                mine = self.returned.setdefault(run.record.stage.token, [b""] * len(run.ranks))
                mine[run.ranks.index(event.rank)] = event.returned
            done = self.ledger.done(event.batch, event.seconds)
            if done is not None:
                self._on_stored(*done)
        elif isinstance(event, Failed):
            self._weigh(event)
        elif isinstance(event, MemberFailed):
            self._on_member_failed(event.failure)
        elif isinstance(event, Refused):
            self._refuse(event.batch)
        elif isinstance(event, NoComm):
            self._on_unmet(event.gang)
        elif isinstance(event, Left):
            self.ledger.leave(event.batch)
        elif isinstance(event, Output):
            show(event.stream, event.text)
        elif not isinstance(event, Pong):
            self.spiller.take(event)
        elif (failed := self.unconfirmed.answer(event)) is not None and failed.batch in self.ledger.batches:
            self._believe(failed)

    def _refuse(self, number: int) -> None:
        run = self.ledger.gangs.of(number)
        whole = run is not None and not run.broken
        self.ledger.note_refused(number)
        self.ledger.plan()
        if run is not None and whole and run.record.nwaiting:
            for each in self.on_gang_retry:
                each(run.record)

    def _on_unmet(self, number: int) -> None:
        """Have all gangs come to nothing, and be joined anew: some rank has found no communicator for one."""
        if (run := self.ledger.gangs.of(number)) is not None:
            self.ledger.note_unmet(run)
            for rank, alive in enumerate(self.ledger.alive):
                if alive and rank not in run.ranks:
                    self.send(rank, Recall((number,)))

    def _on_stored(self, record: StageRecord, tasks: Index) -> None:
        token = record.stage.token
        self.jobs.count_stored(token, tasks)
        for each in self.on_stored:
            each(token, record, tasks)
        returned = self.returned.pop(token, [])
        for job, number in self.jobs.wanting(token):
            job.returned = returned
            if job.results is None:
                self._check(job)
            else:
                self.delivery.deliver(job, number, record, tasks)

    def _check(self, job: Job) -> None:
        if self.ledger.records[job.targets[0]].complete:
            job.finished, self.ledger.records[job.targets[0]].watched = True, False
            self.jobs.finish(job)
            job.tell()

    def _weigh(self, event: Failed) -> None:
        """Take an error of a batch; one of a gang's member may come from the loss of another."""
        if event.batch not in self.ledger.batches:
            return
        run = self.ledger.gangs.of(event.batch)
        if run is not None and run.broken:
            self._refuse(event.batch)
        elif run is None or self.unconfirmed.confirm(event, run):
            self._believe(event)

    def _believe(self, event: Failed) -> None:
        batch = self.ledger.batches[event.batch]
        stage = batch.record.stage
        tasks = np.array([event.block // stage.blocks_per_task]) if event.block >= 0 else batch.tasks
        self.ledger.note_refused(event.batch)
        self.fail(batch.record, tasks, exception_of(event, stage, self.transport.peers[event.rank]))

    def fail(self, record: StageRecord, tasks: Index, error: BaseException) -> None:
        """End all jobs that need some tasks with an exception; what was persisted and needs them is there no more."""
        if record.stage.gang is not None:
            tasks = np.arange(record.ntasks)
        for job in self.jobs.find_affected(find_dependents(record, tasks)):
            job.spoil(error)
            self._end(job)
            self._unhold(job)
        self.ledger.plan()

    def _on_member_failed(self, failure: Failed) -> None:
        run = self.ledger.gangs.of(failure.batch)
        if run is not None and not run.broken:
            stage, peer = run.record.stage, self.transport.peers[failure.rank]
            self._end_gang(run, exception_of(failure, stage, peer))

    def _end_gang(self, run: GangRun, error: BaseException) -> None:
        """End a gang with an exception; its members are recalled."""
        self.ledger.break_up(run)
        self.fail(run.record, np.arange(run.record.ntasks), error)

    def _fail_soon(self, record: StageRecord, tasks: Index, error: BaseException) -> None:
        """Have the engine's thread call `fail`; from any thread."""
        post(self, lambda engine: engine.fail(record, tasks, error))

    def _on_lost(self, ranks: tuple[int, ...]) -> None:
        for rank in ranks:
            if not self.ledger.alive[rank]:
                continue
            loss, peer = self.ledger.lose(rank), self.transport.peers[rank]
            cost = f"{loss.lost} chunks lost, {loss.recomputed} recomputed"
            self.losses.append(f"rank {rank} (host {peer.host}, pid {peer.pid}) was lost: {cost}")
            warn_beside_bars(self.losses[-1])
        self.local.lose(ranks)
        for number in self.unconfirmed.lose(ranks):
            self._refuse(number)
        self.spiller.on_lost(ranks)
        self._recalled = {(number, why) for number, why in self._recalled if number in self.ledger.batches}
        self.jobs.watch_again(self.ledger.records)
        self._give_up_deadly()

    def _give_up_deadly(self) -> None:
        """Fail what has killed several ranks, or would kill the last: a user's function that ends its process."""
        for record, deadly in self.ledger.poisoned_stages():
            self.ledger.suspicion.give_up(record, deadly)
            self.fail(record, deadly.tasks, deadly_function(record.stage, deadly))

    # ---------------------------------------------------------------- dispatch

    def _give_out(self) -> None:
        """Give out what is ready, and what small tasks lead to, which have run when they are given out."""
        for _ in range(ROUNDS):
            if not self.ledger.has_work:
                return
            self._dispatch()
            for event in (events := self.local.events()):
                self._event(event)
            if not events:
                return
        self.transport.wake()

    def _dispatch(self) -> None:
        if self.ledger.suspicion and not any(self.ledger.alive[1:]):
            self._give_up_deadly()
        now, busy = time.monotonic(), self.ledger.busy
        late = [not self.shared and busy(rank) > 0 and now - t > LATE for rank, t in enumerate(self._moved)]
        self._run_gangs()
        for depth in (1, 2):
            for rank, threads in enumerate(self.ledger.threads):
                if not self.ledger.alive[rank] or (depth == 2 and late[rank] and not self.ledger.ready.light):
                    continue
                while (load := self.ledger.load(rank)) < self.spiller.most(rank, depth * threads):
                    batch = self.ledger.take(rank, ahead=load >= threads)
                    if batch is None:
                        break
                    if busy(rank) == 1:
                        self._moved[rank] = now
                    self._start(batch)
        if self.ledger.only_gangs and (batch := self.ledger.take(0, alone=True)) is not None:
            self._moved[0] = now
            self._start(batch)
        self.recall(find_ahead(self.ledger, late), unwanted=False)
        for mine, moved in zip(self.ledger.given, self._moved, strict=True) if any(late) else ():
            if now - moved > TRIAL:
                for batch in [b for b in mine.values() if b.record.stage.gang is None][:1]:
                    self.ledger.suspicion.trust(batch.record.stage.functions)
        self.spiller.relieve()
        dropped, self.ledger.slabs.dropped = self.ledger.slabs.dropped, []
        for owner, source in dropped:
            for rank in np.flatnonzero(self.ledger.alive).tolist():
                self.send(rank, Drop(owner, source))

    def _start(self, batch: Batch) -> None:
        stage = batch.record.stage
        if stage.data is not None and batch.record.slow:
            SlowRead(batch.record, batch.tasks, partial(self._feed, batch))
            return
        try:
            command: Run | BaseException = order(batch, self.sinks.get(stage.token))
        except Exception as error:  # the user's array or file could not be read
            command = error
        self._give(batch, command)

    def _feed(self, batch: Batch, slabs: Sequence[Array], error: BaseException | None) -> None:
        """Have a batch run now that an I/O thread, which calls this, has read what it takes."""
        command = feed(batch, slabs) if error is None else error
        post(self, lambda engine: engine._give(batch, command))

    def _give(self, batch: Batch, command: Run | BaseException) -> None:
        """Hand a batch to its rank; an exception says why it can't run."""
        if batch.number not in self.ledger.batches:  # its rank was lost meanwhile
            return
        if isinstance(command, Run):
            self.send(batch.rank, command)
        else:
            self.ledger.note_refused(batch.number)
            self.fail(batch.record, batch.tasks, command)

    def _run_gangs(self) -> None:
        """Start the gangs that are ready; have those that came to nothing stop waiting."""
        ledger = self.ledger
        for run in ledger.gangs.runs:
            if (late := run.overdue()) is not None:
                self._end_gang(run, late)
            if run.broken:
                self.recall(run.left(ledger.batches))
        while (started := ledger.take_gang()) is not None:
            self._start_gang(started)

    def _start_gang(self, run: GangRun) -> None:
        """Have all ranks make a communicator for a gang, and its members run."""
        alive = self.ledger.alive
        gang = GangOrder(run.number, run.base, run.epoch, run.ranks, run.record.ntasks, sum(alive) == 1)
        self.returned.pop(run.record.stage.token, None)
        for batch in run.batches:
            self.send(batch.rank, replace(order(batch, None), gang=gang))
        for rank, is_alive in enumerate(alive):
            if is_alive and rank not in run.ranks:
                self.send(rank, Meet(gang))


def _load(module: str) -> Any:
    return importlib.import_module(module, __package__)
