"""Clusters as users see them: the embedded engine, ranks under mpirun, ranks that the driver starts itself."""

from __future__ import annotations

import atexit
import itertools
import os
import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..graph.arguments import check_integer
from ..graph.chunks import parse_bytes
from ..graph.errors import ArgumentError, ClusterError, bad
from ..graph.expr import Expr, walk
from ..graph.kinds.source import Host
from ..graph.lower import lower
from ..graph.stage import relations
from ..workers.config import config
from ..workers.embedded import EmbeddedTransport
from ..workers.output import COMPUTE
from .cli.launch import check_launch, end_ranks, start_ranks
from .engine import Engine
from .html import cluster_html
from .job import Close, Job, Release, Submit, Uncache
from .record import State
from .resources import arena_bytes, usable_cores
from .result_collector import ResultCollector, insist

if TYPE_CHECKING:
    from collections.abc import Sequence
    from queue import SimpleQueue
    from types import TracebackType

    from ..graph.stage import Stage
    from ..workers.transport import Transport
    from .job import Arrival

Array = np.ndarray[Any, Any]
SINK_BYTES = 1 << 16
LEAST_MEMORY = 1 << 16
"""Bytes of the smallest arena."""


class Kept:
    """The chunks of a persisted array: they are freed when this object goes, or by `release`."""

    def __init__(self, cluster: Cluster, token: str, job: Job, number: int) -> None:
        self.cluster, self.token, self.job = cluster, token, job
        self._finalizer = weakref.finalize(self, insist, partial(cluster._drop, token, job, number))

    def release(self) -> None:
        """Free the chunks now; arrays made from them compute them again."""
        self._finalizer()

    @property
    def held(self) -> bool:
        """Whether the chunks are (or will be) there."""
        return self._finalizer.alive and self.job.error is None

    @property
    def known(self) -> bool:
        """Whether there is something to wait for: chunks, or the error that came instead."""
        return self._finalizer.alive

    @property
    def complete(self) -> bool:
        """Whether all chunks have been stored; one that a dead rank has taken with it is made again."""
        return self.held and self.job.finished

    def wait(self, deadline: float | None = None) -> bool:
        """Wait until all chunks are stored, at most until `deadline`; tell whether they are.

        What stopped the computation is raised.
        """
        return ResultCollector(self.cluster.engine, self.job, []).run(deadline)


class Cluster:
    """Ranks that hold and compute chunks.

    Without `ranks` the embedded engine: one rank with threads in this process, no MPI. With `ranks` this process is
    rank 0 and starts the others.

    Parameters
    ----------
    ranks : int, optional
        Number of ranks, this process included.
    memory : int or str, optional
        Bytes of each rank's arena, such as "2 GiB". Default: a share of what the machine or its control group has.
    threads : int, optional
        Compute threads of each rank. Default: the usable cores (embedded), or 1.
    transport : {"auto", "map", "get", "service"}
        How ranks read each other's chunks.

    Examples
    --------
    >>> import windrow as wr
    >>> with wr.Cluster(threads=2, memory="64 MiB") as cluster:
    ...     float(wr.ones(10).sum())
    10.0
    """

    def __init__(
        self,
        ranks: int | None = None,
        memory: int | str | None = None,
        threads: int | None = None,
        transport: str | None = None,
    ) -> None:
        for name, value in (("ranks", ranks), ("threads", threads)):
            if value is not None:
                check_integer("Cluster", name, value, 1)
        if transport not in (None, "auto", "map", "get", "service"):
            raise ArgumentError(bad("Cluster", "transport", transport, "'auto', 'map', 'get' or 'service'"))
        arena = self.arena(memory, ranks or 1)
        if ranks is None or ranks == 1:
            link: Transport = EmbeddedTransport(arena)
            each: int = threads or config.threads or usable_cores()
        else:
            each = threads or 1
            link = start_ranks(ranks, arena, transport or config.transport)
        self._start(link, arena, each)
        self._spawned = link.size > 1
        _enter(self)

    @classmethod
    def over(cls, transport: Transport, arena: int, threads: int) -> Cluster:
        """Return the cluster of ranks that run already; `transport` is rank 0's."""
        cluster = cls.__new__(cls)
        cluster._start(transport, arena, threads)
        _enter(cluster)
        return cluster

    @staticmethod
    def arena(memory: int | str | None, ranks: int) -> int:
        """Return the bytes of a rank's arena: what is asked for, or a share for each of so many ranks on this host."""
        memory = memory if memory is not None else config.memory
        if memory is None:
            return arena_bytes(ranks)
        try:
            found = parse_bytes(memory)
        except ValueError as error:
            raise ArgumentError(bad("Cluster", "memory", memory, "bytes, such as '2 GiB'")) from error
        if found < LEAST_MEMORY:
            raise ArgumentError(bad("Cluster", "memory", memory, f"at least {LEAST_MEMORY >> 10} KiB"))
        return found

    def _start(self, transport: Transport, arena: int, threads: int) -> None:
        self._lock = threading.RLock()
        self._kept: dict[str, tuple[set[int], Job]] = {}
        self._watched: set[str] = set()
        size = transport.size
        self.engine = Engine(transport, [arena] * size, [threads] * size, config.heartbeat, config.spill_dir)
        self.closed = False
        self._spawned = self._forked = False

    # ---------------------------------------------------------------- computing

    def run(self, roots: Sequence[Expr]) -> list[Array]:
        """Compute expressions and return their values as arrays of the caller's own."""
        self._open()
        if not roots:
            return []
        unique = {root.token: root for root in roots}
        gather = self._gather(list(unique.values()))
        try:
            gather.start()
            gather.run()
        except BaseException:  # an interrupt outside of `gather.run`: the job must not stay
            gather.cancel()
            raise
        return [gather.results[root.token] for root in roots]

    def prepare(self, root: Expr, listener: SimpleQueue[tuple[Job, Arrival | None]]) -> ResultCollector:
        """Return what computes an expression, to be started; the listener is told what arrives of it and of others."""
        self._open()
        gather = self._gather([root])
        gather.job.listener = listener
        return gather

    def _gather(self, roots: list[Expr]) -> ResultCollector:
        stages, relied = self._lower(roots)
        results = [np.empty(root.shape, root.dtype) for root in roots]
        names = [root.token for root in roots]
        sinks: dict[str, Array] = {}
        if self.engine.shared:
            stages, names, sinks = _with_sinks(stages, names, results)
        wanted = set(names)
        name = ", ".join(dict.fromkeys(stage.name for stage in stages if stage.token in wanted))
        made_by = [kept.job for kept in relied.values()]
        job = Job(stages, names, results, relations(stages, _folds(relied)), sinks, name=name, relied=made_by)
        self._watch(roots)
        return ResultCollector(self.engine, job, [root.token for root in roots], list(relied.values()))

    def keep(self, roots: Sequence[Expr]) -> list[Kept]:
        """Start computing expressions behind the caller's back, and keep their chunks; what they share is done once."""
        self._open()
        with self._lock:
            known = {root.token for root in roots if self.is_stored(root.token)}
            kept = [self._another(root.token) if root.token in known else None for root in roots]
            fresh = list({root.token: root for root in roots if root.token not in known}.values())
            stages, relied = self._lower(fresh)
            reads = relations(stages, _folds(relied))
            made = {stage.token: stage for stage in stages}
            self._watch(fresh)
            jobs = tuple(
                Job([], [token], None, name=made[token].name, blocks_per_task=made[token].blocks_per_task)
                for token in (root.token for root in fresh)
            )
            try:
                if jobs:
                    jobs[0].stages, jobs[0].reads = stages, reads
                    jobs[0].relied = [kept.job for kept in relied.values()]
                    self.engine.request(Submit(jobs))  # before others learn that it is stored
                    self._kept |= {job.targets[0]: (set(), job) for job in jobs}
                return [
                    self._another(root.token) if one is None else one for root, one in zip(roots, kept, strict=True)
                ]
            except BaseException:  # an interrupt
                for job in jobs:
                    self._drop(job.targets[0], job, -1)
                raise

    def _another(self, token: str) -> Kept:
        users, job = self._kept[token]
        users.add(number := next(_numbers))
        return Kept(self, token, job, number)

    def stages(self, roots: Sequence[Expr]) -> list[Stage]:
        """Return the stages that computing these expressions would run."""
        return lower(list(roots), self.is_stored)

    def _lower(self, roots: Sequence[Expr]) -> tuple[list[Stage], dict[str, Kept]]:
        """Return the stages to run, and what is stored that they, or the caller, will read, by token.

        As long as these objects are there nobody releases it: until the job is handed in, after which its reads count.
        """
        found: dict[str, Kept | None] = {}

        def is_kept(token: str) -> bool:
            if token not in found:
                with self._lock:
                    found[token] = self._another(token) if self.is_stored(token) else None
            return found[token] is not None

        stages = lower(list(roots), is_kept)
        return stages, {token: kept for token, kept in found.items() if kept is not None}

    def chunk(self, root: Expr, block: int) -> Array:
        """Return one chunk of a persisted array, read-only and in place where it lies on this node."""
        kept = root.pin
        if not isinstance(kept, Kept) or not kept.held or kept.cluster is not self:
            raise ClusterError("chunk: the array is not persisted here")
        kept.wait()

        def look(engine: Engine) -> Array | None:
            record = engine.ledger.records.get(root.token)
            if record is None:
                raise ClusterError("chunk: the array was released meanwhile")
            stage = record.stage
            task, position = divmod(block, stage.blocks_per_task)
            if record.state[task] != State.STORED:  # a dead rank took it along: it is being made again
                return None
            record.viewed = True  # it stays where it is
            slab = engine.delivery.slab(record, task)
            if slab is None:
                return None
            at = int(stage.offsets(task)[position])
            shape = stage.grid.block_shape(block)
            return slab[at : at + int(np.prod(shape)) * stage.dtype.itemsize].view(stage.dtype).reshape(shape)

        found: Array | None = self.engine.ask(look)
        if found is None:
            found = self.run([root])[0][root.grid.block_slices(block)]
        found = found.view()
        found.flags.writeable = False
        return found

    def is_stored(self, token: str) -> bool:
        """Tell whether an expression's chunks are kept, or are being made; its name is its token."""
        found = self._kept.get(token)
        if found is None:
            return False
        if found[1].error is not None:  # forget it: the error's traceback may keep the array alive for ever
            with self._lock:
                if self._kept.get(token) is found:
                    del self._kept[token]
            return False
        return True

    def _drop(self, token: str, job: Job, number: int) -> None:
        """Free what is kept when the last one who holds it lets go; may be called twice."""
        with self._lock:
            users, known = self._kept.get(token, (set(), job))
            if known is job:
                users.discard(number)
                if users:
                    return
                self._kept.pop(token, None)
        self.engine.request(Release(job))

    def _watch(self, roots: Sequence[Expr]) -> None:
        """Learn when the user's arrays go: what ranks were sent of them is kept until then, so it is sent once."""
        if self.engine.shared:
            return
        for node in walk(list(roots), lambda node: self.is_stored(node.token)):
            if isinstance(node.op, Host) and node.op.data.file is None and node.token not in self._watched:
                self._watched.add(node.token)
                weakref.finalize(node.op, insist, partial(self._unwatch, node.token))

    def _unwatch(self, token: str) -> None:
        self._watched.discard(token)
        self.engine.request(Uncache(token))

    # ---------------------------------------------------------------- the cluster itself

    def info(self) -> list[dict[str, Any]]:
        """Return what is known of each live rank: rank, host, pid, arena_used, arena_size, chunks, state."""
        self._open()
        rows: list[dict[str, Any]] = self.engine.ask(_info)
        return rows

    @property
    def size(self) -> int:
        """Number of ranks, lost ones included."""
        return self.engine.transport.size

    @property
    def threads(self) -> int:
        """Compute threads of this rank."""
        return self.engine.ledger.threads[0]

    @property
    def room(self) -> int:
        """Bytes of the smallest arena."""
        return min(arena.size for arena in self.engine.ledger.arenas)

    @property
    def losses(self) -> list[str]:
        """What was reported of lost ranks."""
        return list(self.engine.losses)

    def close(self) -> None:
        """End the cluster: ranks leave, chunks are gone. Safe to call twice."""
        if self.closed:
            return
        self.closed = True
        _leave(self)
        self.engine.request(Close())
        self.engine.thread.join(timeout=10)
        if self._spawned:
            end_ranks(self.engine.transport)

    def disown(self) -> None:
        """Let go of the cluster in a forked child, which has none of its threads, and no right to end its ranks."""
        self._lock = threading.RLock()
        self.closed = self._forked = True

    def _open(self) -> None:
        if self._forked:
            raise ClusterError(
                "the cluster is that of the process from which this one was forked; make one here, or start processes "
                "by multiprocessing.get_context('spawn')"
            )
        if self.closed or not self.engine.thread.is_alive():
            raise ClusterError("the cluster is closed")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<Cluster: closed>"
        size = self.engine.transport.size
        kind = "embedded" if size == 1 else f"{sum(self.engine.ledger.alive)} of {size} ranks"
        return f"<Cluster: {kind}, {self.engine.ledger.threads[0]} threads each>"

    def _repr_html_(self) -> str:
        return cluster_html(self)


def _folds(kept: dict[str, Kept]) -> dict[str, int]:
    return {token: one.job.blocks_per_task for token, one in kept.items()}


def _with_sinks(
    stages: list[Stage], names: list[str], results: list[Array]
) -> tuple[list[Stage], list[str], dict[str, Array]]:
    """Let kernels write targets that nobody else reads straight into the results, under names of their own.

    Small blocks take the common way: many of them are run and copied at once.
    """
    read = {token for stage in stages for token in stage.inputs}
    numbers = {name: number for number, name in enumerate(names)}
    sinks: dict[str, Array] = {}
    made: dict[str, Stage] = {}
    for stage in stages:
        large = stage.grid.largest * stage.dtype.itemsize >= SINK_BYTES
        direct = large and stage.data is None and stage.blocks_per_task == 1
        if direct and stage.token in numbers and stage.token not in read:
            result = results[numbers[stage.token]]
            token = f"{stage.token}/{next(_numbers)}"
            made[stage.token] = stage.rename(token)
            sinks[token] = result
    stages = [made.get(s.token, s) for s in stages]
    names = [made[n].token if n in made else n for n in names]
    return stages, names, sinks


def _info(engine: Engine) -> list[dict[str, Any]]:
    rows = []
    for rank, peer in enumerate(engine.transport.peers):
        if not engine.ledger.alive[rank]:
            continue
        chunks = sum(r.count_stored(rank) for r in engine.ledger.holding)
        arena = engine.ledger.arenas[rank]
        rows.append(
            {
                "rank": rank,
                "host": peer.host,
                "pid": peer.pid,
                "arena_used": arena.used,
                "arena_size": arena.size,
                "chunks": chunks,
                "state": "busy" if engine.ledger.given[rank] else "idle",
            }
        )
    return rows


_numbers = itertools.count()
_clusters: list[Cluster] = []
_guard = threading.RLock()
_child = False  # forked from a process that had clusters


def _enter(cluster: Cluster) -> None:
    with _guard:
        _clusters.append(cluster)


def _leave(cluster: Cluster) -> None:
    with _guard:
        if cluster in _clusters:
            _clusters.remove(cluster)


def current() -> Cluster:
    """Return the present cluster: the one made last and not closed, else the embedded engine, started now.

    Raises
    ------
    ClusterError
        In a process of an mpirun job that was not started as ``python -m windrow``.
    """
    if threading.current_thread().name.startswith(COMPUTE):
        raise ClusterError(
            "compute: a function of blocks can't compute arrays itself; use NumPy's functions inside, or compute before"
        )
    with _guard:
        if not _clusters:
            if not _child:
                check_launch()
            Cluster()
        return _clusters[-1]


def running() -> Cluster | None:
    """Return the present cluster where there is one; none is started."""
    with _guard:
        return _clusters[-1] if _clusters else None


@atexit.register
def _close_all() -> None:
    for cluster in _clusters.copy():  # closing takes it out
        cluster.close()


def _forked() -> None:
    """Leave the parent's clusters to it. What was persisted there is computed again when it is used."""
    global _guard, _child
    _guard = threading.RLock()
    _child = _child or bool(_clusters)
    for cluster in _clusters:
        cluster.disown()
    _clusters.clear()


os.register_at_fork(after_in_child=_forked)
