"""The engine: the one loop that does the scheduler's I/O, on a thread of rank 0.

It takes requests from the user's threads and events from ranks, tells the ledger, and sends out what the ledger
gives. Rank 0's own tasks take the same way, without the wire.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.access import distinct
from ..graph.errors import ClusterError
from ..workers.output import show
from ..workers.protocol import (
    Command,
    Define,
    Done,
    Drop,
    Event,
    Failed,
    Forget,
    Output,
    Places,
    Pong,
    Refused,
    Run,
    Setup,
    Skip,
    Spilled,
    Stop,
)  # fmt: skip
from ..workers.rank import Rank
from ..workers.transport import RanksLost, Transport
from ..workers.urgency import answer_soon
from .delivery import Delivery
from .failure import exception_of
from .heartbeat import Heartbeat
from .job import Ask, Cancel, Close, Gathered, Job, Release, Request, Submit, Uncache
from .ledger import Batch, Ledger
from .memory import Spiller
from .record import Record, State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph.grid import Index

log = logging.getLogger("windrow")
Array = np.ndarray[Any, Any]


class Engine:
    """Drives a ledger over a transport; see the module's docstring.

    Parameters
    ----------
    transport : Transport
        Of rank 0.
    arenas, threads : sequence of int
        Bytes and compute threads of each rank.
    heartbeat : float
        Seconds of silence after which a rank is looked at.
    spill_folder : str or None
        Where rank 0's spill files go.
    """

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
        self.inflight = [0] * transport.size
        self.jobs: list[Job] = []
        self.sinks: dict[str, Array] = {}
        self.spiller = Spiller(self)
        self.delivery = Delivery(self)
        self.heartbeat = Heartbeat(transport, heartbeat)
        self.losses: list[str] = []
        self._inbox: SimpleQueue[Request] = SimpleQueue()
        self._closing = False
        setup = Setup(threads[0], spill_folder, tuple(sys.path), os.getcwd())
        for rank in range(1, transport.size):
            transport.send(rank, setup)
        self.thread = threading.Thread(target=self._loop, name="windrow-engine", daemon=True)
        self.thread.start()

    def request(self, request: Request) -> None:
        """Hand a request to the engine; from any thread."""
        self._inbox.put(request)
        self.transport.wake()

    def ask(self, question: Any, limit: float = 10.0) -> Any:
        """Return `question(engine)`, computed on the engine's thread."""
        if not self.thread.is_alive():
            raise ClusterError("the cluster is closed")
        answer: SimpleQueue[Any] = SimpleQueue()
        self.request(Ask(question, answer))
        try:
            found, error = answer.get(timeout=limit)
        except Empty:
            state = "does not answer" if self.thread.is_alive() else "is closed"
            raise ClusterError(f"the cluster {state}") from None
        if error is not None:
            raise error
        return found

    # ---------------------------------------------------------------- the loop

    def _loop(self) -> None:
        answer_soon()
        try:
            while not self._closing:
                for message in self.transport.poll(self._patience()):
                    self._event(message)
                for event in self.local.events():
                    self._event(event)
                while not self._inbox.empty():
                    self._request(self._inbox.get())
                self.heartbeat.check(time.monotonic(), self.ledger.alive)
                self._dispatch()
        except BaseException as error:
            log.exception("the engine ended")
            for job in self.jobs:
                job.fail(ClusterError(f"the engine ended: {type(error).__name__}: {error}"))
            raise
        finally:
            self._leave()

    def _patience(self) -> float:
        return 0.05 if self.transport.size > 1 or self.ledger.batches else 3600.0

    def _leave(self) -> None:
        for job in self.jobs:
            job.fail(ClusterError("the cluster was closed while it computed"))
        for rank in range(1, self.transport.size):
            if self.ledger.alive[rank]:
                self.transport.send(rank, Stop())
        self.local.close()
        self.transport.close()

    def send(self, rank: int, command: Command) -> None:
        """Hand a command to a rank."""
        if rank == 0:
            self.local.handle(command)
        else:
            self.transport.send(rank, command)

    # ---------------------------------------------------------------- requests

    def _request(self, request: Request) -> None:
        if isinstance(request, Submit):
            self._submit(request.job)
        elif isinstance(request, Cancel):
            self._end(request.job)
        elif isinstance(request, Gathered):
            if (claim := request.job.claims.get(request.token)) is not None:
                self.ledger.gathered(claim, request.tasks)
        elif isinstance(request, Release):
            self._end(request.job)
            self._unhold(request.job)
            if not self.jobs:
                self._forget()
        elif isinstance(request, Uncache):
            self.ledger.uncache(request.token)
            if not self.jobs:
                self._forget()
        elif isinstance(request, Ask):
            try:
                request.answer.put((request.question(self), None))
            except Exception as error:
                request.answer.put((None, error))
        elif isinstance(request, Close):
            self._closing = True

    def _submit(self, job: Job) -> None:
        try:
            self._enter(job)
        except Exception as error:  # one job's trouble, such as more tasks than memory can list, is not the engine's
            job.fail(error)
            self._end(job)
            self.ledger.plan()

    def _enter(self, job: Job) -> None:
        known = {s.token for s in job.stages} | self.ledger.records.keys()
        if not known.issuperset(token for s in job.stages for token in s.inputs):
            job.fail(ClusterError("a persisted array was released while a computation that reads it began"))
            return
        new = self.ledger.add(job.stages, self.shared)
        self.local.blas.before(job.stages)
        if new:
            self.local.handle(Define(tuple(new)))
            remote = tuple(s if s.data is None or s.data.file is not None else replace(s, data=None) for s in new)
            for rank in range(1, self.transport.size):
                if self.ledger.alive[rank]:
                    self.transport.send(rank, Define(remote))
        self.jobs.append(job)
        self.sinks.update(job.sinks)
        for token in job.sinks:
            self.ledger.records[token].bytes[:] = 0
        job.tokens = self._reach(list(job.targets))
        for token in job.targets:
            if job.results is None:
                self.ledger.hold(token)
                job.held.append(token)
            else:
                job.claims[token] = self.ledger.owe(token)
        self.ledger.plan()
        job.total = self.waiting(job)
        for number, token in enumerate(job.targets):
            record = self.ledger.records[token]
            stored = np.flatnonzero(record.state == State.STORED)
            if len(stored):
                self.delivery.deliver(job, number, record, stored)
        self._check(job)

    def _reach(self, tokens: list[str]) -> set[str]:
        found: set[str] = set()
        while tokens:
            token = tokens.pop()
            if token not in found:
                found.add(token)
                tokens.extend(edge.record.stage.token for edge in self.ledger.records[token].inputs)
        return found

    def waiting(self, job: Job) -> int:
        """Number of a job's tasks that are still to be stored."""
        records = [self.ledger.records[t] for t in job.tokens if t in self.ledger.records]
        return sum(r.nready + r.nrunning + int((r.state == State.WAITING).sum()) for r in records)

    def _end(self, job: Job) -> None:
        """Take a job's wishes back; what runs for it finishes and is dropped."""
        if job not in self.jobs:
            return
        self.jobs.remove(job)
        for token in job.sinks:
            self.sinks.pop(token, None)
        for claim in job.claims.values():
            self.ledger.gathered(claim)
        self._unhold(job)
        if not job.finished:
            job.fail(ClusterError("the computation was cancelled"))
        self.ledger.plan()
        self._skip()
        self._forget()

    def _skip(self) -> None:
        """Have ranks pass over batches that nobody wants any more, where they haven't begun."""
        wanted = set().union(*(job.tokens for job in self.jobs))
        for rank in range(self.transport.size):
            mine = [b for b in self.ledger.batches.values() if b.rank == rank]
            numbers = tuple(b.number for b in mine if b.record.stage.token not in wanted and not b.record.kept)
            if numbers and self.ledger.alive[rank]:
                self.send(rank, Skip(numbers))

    def _unhold(self, job: Job) -> None:
        for token in job.held:
            self.ledger.unhold(token)
        job.held.clear()

    def _forget(self) -> None:
        gone = tuple(self.ledger.forget())
        if not self.jobs:
            self.local.blas.after()
        if gone:
            for rank in range(self.transport.size):
                if self.ledger.alive[rank]:
                    self.send(rank, Forget(gone))

    # ---------------------------------------------------------------- events

    def _event(self, event: object) -> None:
        if isinstance(event, RanksLost):
            self._lost(event.ranks)
            return
        assert isinstance(event, Event), event
        self.heartbeat.heard(event.rank, time.monotonic())
        if isinstance(event, Done):
            batch = self.ledger.batches.get(event.batch)
            done = self.ledger.done(event.batch, event.seconds)
            if batch is not None and done is not None:
                self.inflight[batch.rank] -= 1
                self._stored(*done)
        elif isinstance(event, Failed):
            self._failed(event)
        elif isinstance(event, Refused):
            if event.batch in self.ledger.batches:
                self.inflight[event.rank] -= 1
                self.ledger.refused(event.batch)
                self.ledger.plan()
        elif isinstance(event, Spilled):
            self.spiller.spilled(event)
        elif isinstance(event, Output):
            show(event.stream, event.text)
        else:
            assert isinstance(event, Pong)

    def _stored(self, record: Record, tasks: Index) -> None:
        for job in list(self.jobs):
            if record.stage.token in job.tokens:
                job.done += len(tasks)
                for number, token in enumerate(job.targets):
                    if token == record.stage.token:
                        self.delivery.deliver(job, number, record, tasks)
                self._check(job)

    def _check(self, job: Job) -> None:
        if job.results is None and all(self.ledger.records[t].complete for t in job.targets):
            job.finished = True
            self.jobs.remove(job)
            job.tell()

    def _failed(self, event: Failed) -> None:
        batch = self.ledger.batches.get(event.batch)
        if batch is None:
            return
        self.inflight[event.rank] -= 1
        stage = batch.record.stage
        self.ledger.refused(event.batch)
        self.fail(stage.token, exception_of(event, stage, self.transport.peers[event.rank]))

    def fail(self, token: str, error: BaseException) -> None:
        """End all jobs that need a stage with an exception."""
        for job in list(self.jobs):
            if token in job.tokens:
                job.fail(error)
                self._end(job)
        self.ledger.plan()

    def _lost(self, ranks: tuple[int, ...]) -> None:
        for rank in ranks:
            if not self.ledger.alive[rank]:
                continue
            loss = self.ledger.lose(rank)
            self.inflight[rank] = 0
            peer = self.transport.peers[rank]
            text = (
                f"rank {rank} (host {peer.host}, pid {peer.pid}) was lost: {loss.lost} chunks lost, "
                f"{loss.recomputed} recomputed"
            )
            self.losses.append(text)
            log.warning(text)
        self.spiller.lost(ranks)
        self._give_up_deadly()

    def _give_up_deadly(self) -> None:
        """Fail what has killed several ranks: a user's function that ends its process would end them all."""
        limit = max(2, min(3, self.transport.size - 1))
        for record in list(self.ledger.records.values()):
            task = max(record.deaths, key=record.deaths.__getitem__, default=-1)
            if task < 0 or record.deaths[task] < limit:
                continue
            stage, count = record.stage, record.deaths[task]
            block = stage.grid.index(stage.blocks(task)[0])
            error = ClusterError(f"{stage.name}: {count} ranks died at block {block}; it is not tried again")
            if stage.origin:
                error.add_note(f"the operation was created at {stage.origin}")
            record.deaths.clear()
            self.fail(stage.token, error)

    # ---------------------------------------------------------------- dispatch

    def _dispatch(self) -> None:
        depth = 0
        while depth < 2:
            depth += 1
            for rank, threads in enumerate(self.ledger.threads):
                while self.ledger.alive[rank] and self.inflight[rank] < depth * threads:
                    batch = self.ledger.take(rank, ahead=self.inflight[rank] >= threads)
                    if batch is None:
                        break
                    self.inflight[rank] += 1
                    self._start(batch)
        self.spiller.relieve()
        if self.ledger.dropped:
            dropped, self.ledger.dropped = self.ledger.dropped, []
            for owner, source in dropped:
                for rank, alive in enumerate(self.ledger.alive):
                    if alive:
                        self.send(rank, Drop(owner, source))

    def _start(self, batch: Batch) -> None:
        try:
            command = self._command(batch)
        except Exception as error:  # the user's array or file could not be read
            self.inflight[batch.rank] -= 1
            self.ledger.refused(batch.number)
            self.fail(batch.record.stage.token, error)
            return
        self.send(batch.rank, command)

    def _command(self, batch: Batch) -> Run:
        record, tasks = batch.record, batch.tasks
        data = record.stage.data
        if data is not None:
            fed = tuple(np.ascontiguousarray(self._block(record, t)) for t in tasks.tolist())
            return Run(batch.number, record.stage.token, tasks, batch.offsets, (), None, fed)
        inputs = []
        for edge in record.inputs:
            need = edge.reads.of(tasks)
            need = distinct(need) if len(tasks) > 1 else need
            other = edge.record
            inputs.append(Places(need, other.owner[need], other.offset[need], other.source[need]))
        return Run(batch.number, record.stage.token, tasks, batch.offsets, tuple(inputs), self.sink(record))

    def _block(self, record: Record, task: int) -> Array:
        data = record.stage.data
        assert data is not None
        blocks = [data.read(record.stage.grid.block_slices(b)) for b in record.stage.blocks(task)]
        if len(blocks) == 1:
            return blocks[0]
        return np.concatenate([np.ascontiguousarray(b).reshape(-1) for b in blocks], dtype=blocks[0].dtype)

    def sink(self, record: Record) -> Array | None:
        """Return the user's own result, where kernels may write straight into it."""
        return self.sinks.get(record.stage.token)
