"""Clusters as users see them: the embedded engine, ranks under mpirun, ranks that the driver starts itself."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import atexit
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any, Literal, Self

from ...graph.arguments import check_integer
from ...graph.errors import ArgumentError, ClusterError, bad
from ...workers.config import config
from ...workers.rank.compute import leave_calls_behind
from ...workers.rank.output import in_task
from ...workers.rank.task_context import task_context
from ...workers.shared.shared_objects import count_bytes as count_objects
from ...workers.wire.embedded import EmbeddedTransport
from ...workers.wire.rpc import fall_back
from ..cli.launch import check_launch, end_ranks, start_ranks
from ..engine.engine import Engine
from .html import cluster_html
from .resources import check_memory, check_spill_folder, read_memory, read_ranks, usable_cores
from .session import Session

if TYPE_CHECKING:
    from types import TracebackType

    from ...workers.wire.transport import Transport

__all__ = ["Cluster", "cluster"]


class Cluster:
    """Ranks that hold and compute chunks.

    Without `ranks` it is the embedded engine: one rank with threads in this process, no MPI. With `ranks` this process
    is rank 0 and starts the others. What is computed from then on is computed there, until it is closed; `with` closes
    it at the end.

    Parameters
    ----------
    ranks : int or "auto", optional
        Number of ranks, this process included. 1: the embedded engine. "auto": one for each four cores that this
        process may use, fewer where each would have less than 1 GiB of memory. None: the setting `ranks`, or else 1.
    memory : int or str, optional
        Bytes of each rank's arena, which holds its chunks, such as "2 GiB"; at least 64 KiB. None: the setting
        `memory`, or else an equal part of half of what the machine or its control group has.
    threads : int, optional
        Compute threads of each rank. None: one, with "auto" a rank's share of the cores, or for the embedded engine the
        setting `threads`, or else as many as there are cores that this process may use.
    transport : {"auto", "map", "get", "service"}, optional
        How ranks read each other's chunks: in place, by one-sided reads, or by messages. None: the setting `transport`,
        by which they find out.

    Raises
    ------
    ArgumentError
        `ranks` or `threads` is no positive integer, `memory` can't be read or is too little, or there is no such
        transport.
    ClusterError
        The ranks don't start, don't come together within the setting `start_limit`, or can't be started from this
        process.

    Notes
    -----
    Under ``mpirun … python -m windrow script.py`` the ranks are there already: use `windrow.cluster`. Dask's
    LocalCluster counts workers beside the process that asks; here that process is one of the ranks.

    >>> with wr.Cluster(threads=2, memory="64 MiB") as cluster:
    ...     float(wr.ones(10).sum())
    10.0
    """

    def __init__(
        self,
        ranks: int | Literal["auto"] | None = None,
        memory: int | str | None = None,
        threads: int | None = None,
        transport: str | None = None,
    ) -> None:
        ranks = config.ranks if ranks is None else ranks
        share = 1
        if threads is not None:
            check_integer("Cluster", "threads", threads, 1)
        if ranks is not None:
            ranks, share = read_ranks("Cluster", ranks)
        if transport not in (None, "auto", "map", "get", "service"):
            raise ArgumentError(bad("Cluster", "transport", transport, "'auto', 'map', 'get' or 'service'"))
        arena = read_memory("Cluster", memory, ranks or 1)
        if ranks is None or ranks == 1:
            link: Transport = EmbeddedTransport(arena)
            each: int = threads or config.threads or usable_cores()
        else:
            each = threads or share
            link = start_ranks(ranks, arena, transport or config.transport)
        self._session = _start(link, arena, each)
        self._spawned = link.size > 1
        _enter(self)

    def info(self) -> list[dict[str, Any]]:
        """Return what is known of each rank that lives.

        Returns
        -------
        list of dict
            For each rank its number `rank`, its `host` and `pid`; `arena_used` of the `arena_size` bytes for chunks;
            how many `chunks` it holds, in memory or on its disk; its `state`: "busy" or "idle"; bytes it has `shared`;
            `window`, the MPI window that exposes the arena, as the rank's MPI tells it: `base`, the arena's address
            there, `size`, `unit`, `model`, `flavor` and `alone`, see `windrow.arena`; None on the embedded engine.

        Raises
        ------
        ClusterError
            The cluster is closed.

        >>> with wr.Cluster(threads=2) as cluster:
        ...     kept = wr.ones(100).persist()
        ...     wr.wait(kept)
        ...     [(row["rank"], row["chunks"], row["state"]) for row in cluster.info()]
        [(0, 1, 'idle')]
        """
        self._session.check_open()
        rows: list[dict[str, Any]] = self._session.ask(_info)
        return rows

    @property
    def size(self) -> int:
        """Number of ranks, lost ones included."""
        return self._session.transport.size

    @property
    def threads(self) -> int:
        """Compute threads of this rank."""
        return self._session.threads

    @property
    def losses(self) -> list[str]:
        """What was reported of each rank that was lost, in the order of their deaths."""
        return self._session.losses

    @property
    def closed(self) -> bool:
        """Whether the cluster has ended."""
        return self._session.closed

    def close(self) -> None:
        """End the cluster: ranks leave, and chunks are gone; what was persisted is computed anew when it is used.

        It may be called twice. At the end of the process all clusters are closed.

        >>> made = wr.Cluster(threads=1)
        >>> made.close()
        >>> made
        <Cluster: closed>
        """
        if not _leave(self):
            return
        self._session.close()
        if self._spawned:
            end_ranks(self._session.engine.transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<Cluster: closed>"
        size = self.size
        kind = "embedded" if size == 1 else f"{self._session.ranks} of {size} ranks"
        each = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return f"<Cluster: {kind}, {each} each>"

    def _repr_html_(self) -> str:
        return cluster_html(self)


def _start(transport: Transport, arena: int, threads: int) -> Session:
    size = transport.size
    check_spill_folder("Cluster", config.spill_dir)
    check_memory("Cluster", arena, sum(peer.same_node for peer in transport.peers))
    return Session(Engine(transport, [arena] * size, [threads] * size, config.heartbeat, config.spill_dir))


def adopt_ranks(transport: Transport, arena: int, threads: int) -> Cluster:
    """Return the cluster of ranks that run already; `transport` is rank 0's."""
    new_cluster = Cluster.__new__(Cluster)
    new_cluster._session, new_cluster._spawned = _start(transport, arena, threads), False
    _enter(new_cluster)
    return new_cluster


def enter_session(session: Session) -> Cluster:
    """Have a session compute from now on, in place of the one whose engine it uses."""
    new_cluster = Cluster.__new__(Cluster)
    new_cluster._session, new_cluster._spawned = session, False
    with _guard:
        _clusters[:] = [each for each in _clusters if each._session.engine is not session.engine]
    _enter(new_cluster)
    return new_cluster


_WINDOW = ("base", "size", "unit", "model", "flavor", "alone")


def _info(engine: Engine) -> list[dict[str, Any]]:
    from ..shared.spaces import spaces
    from ..shared.symmetric import coordinator

    rows: list[dict[str, Any]] = []
    for rank, peer in enumerate(engine.transport.peers):
        if not engine.ledger.alive[rank]:
            continue
        arena = engine.ledger.arenas[rank]
        rows.append(
            {
                "rank": rank,
                "host": peer.host,
                "pid": peer.pid,
                "arena_used": arena.used,
                "arena_size": arena.size,
                "chunks": engine.ledger.count_chunks(rank),
                "state": "busy" if engine.ledger.given[rank] else "idle",
                "shared": coordinator(engine).count_bytes(rank)
                + (count_objects() + spaces(engine).count_bytes() if rank == 0 else 0),
                "window": None if peer.window is None else {x: getattr(peer.window, x) for x in _WINDOW},
            }
        )
    return rows


_clusters: list[Cluster] = []
_guard = threading.RLock()
_child = False  # forked from a process that had clusters


def _enter(made: Cluster) -> None:
    with _guard:
        _clusters.append(made)


def _leave(made: Cluster) -> bool:
    """Take a cluster out; tell whether it was there."""
    with _guard:
        if made in _clusters:
            _clusters.remove(made)
            return True
        return False


def cluster() -> Cluster:
    """Return the present cluster: the one made last and not closed, else one as the settings say, started now.

    Returns
    -------
    Cluster
        The one on which `compute` runs.

    Raises
    ------
    ClusterError
        In a process of an mpirun job that was not started as ``python -m windrow``; in a task, or in a function of your
        own that runs on blocks.

    >>> with wr.Cluster(threads=2) as made:
    ...     wr.cluster() is made
    True
    """
    return _present()


def _present() -> Cluster:
    if in_task():
        who, how = "a function of blocks", "use NumPy's functions inside, or compute before"
        if task_context().task is not None:
            who, how = "a task", "hand it lazy arrays as arguments, which come computed, or have it return lazy ones"
        raise ClusterError(f"compute: {who} can't compute arrays itself; {how}")
    with _guard:
        if not _clusters:
            if not _child:
                check_launch()
            Cluster()
        return _clusters[-1]


def session() -> Session:
    """Return the present cluster's session."""
    return _present()._session.present


fall_back(lambda: session().calls)


def running() -> Session | None:
    """Return the present cluster's session where there is one; none is started."""
    with _guard:
        return _clusters[-1]._session.present if _clusters else None


def engines() -> list[Engine]:
    """Return the engines of all clusters that are open."""
    with _guard:
        own: list[Engine | None] = [each._session.engine for each in _clusters]  # rank 0 has it in SPMD mode
        return [engine for engine in own if engine is not None]


weakref.finalize(Cluster, int)  # the first one has Python call all of them at the end: after `_close_all`


@atexit.register
def _close_all() -> None:
    """Wait for what executors were given, which takes what finalizers would end; then close all clusters."""
    try:
        for engine in engines():
            for finish in engine.on_exit:
                finish()
    finally:  # Ctrl-C ends the wait
        for each in _clusters.copy():  # closing takes it out
            each.close()
        leave_calls_behind()


def _forked() -> None:
    """Leave the parent's clusters to it. What was persisted there is computed again when it is used."""
    global _guard, _child
    _guard = threading.RLock()
    _child = _child or bool(_clusters)
    for each in _clusters:
        each._session.disown()
    _clusters.clear()


os.register_at_fork(after_in_child=_forked)
