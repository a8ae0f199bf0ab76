"""How ranks come into SPMD mode: what they agree on at the start, and who leads."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...graph.errors import ClusterError
from ...graph.expr import names
from ...workers.config import config
from ...workers.shared.one_sided import base
from ..session.cluster import adopt_ranks, enter_session
from .leader import Leader
from .member import MemberSession

if TYPE_CHECKING:
    from ...workers.rank.rank import Rank
    from ...workers.wire.rpc import Question


@dataclass(frozen=True)
class Company:
    """What a rank has of the others: the script's own communicator, and the job's seed."""

    comm: Any
    seed: bytes
    ulfm: bool

    def revoke(self) -> None:
        """Have calls on the communicator, and on what was made of it, end on all ranks: a script has failed."""
        from ...workers.mpi.messages.gang_comm import revoke_all

        if self.ulfm:
            revoke_all(self.comm)

    def ends(self, error: BaseException) -> bool:
        """Tell whether an error is, or comes from, one of MPI's since the communicator was revoked."""
        from ...workers.mpi.messages.gang_comm import comes_of_revocation

        return self.ulfm and comes_of_revocation(self.comm, error)


def meet(link: Any) -> Company:
    """Make the script's communicator; collective over all ranks.

    A script may fail at once, and revoke it: nobody leaves before all have it.
    """
    from ...workers.mpi.messages.gang_comm import duplicate
    from ...workers.mpi.start.environment import ulfm_enabled

    comm = duplicate(link.comm)
    seed = comm.bcast(os.urandom(16) if comm.rank == 0 else None)
    link.comm.Barrier()
    return Company(comm, seed, ulfm_enabled())


def lead(link: Any, arena: int, threads: int, company: Company) -> Leader:
    """Begin as rank 0, which the engine runs on, and let the others begin."""
    cluster = adopt_ranks(link, arena, threads)
    session = cluster._session
    leader = Leader(session)
    _enter(MemberSession(session.engine.local, session.arenas, threads, company.comm, leader))
    names.agree(company.seed)
    for rank in range(1, link.size):
        session.calls.tell(rank, "spmd.begin", session.arenas, threads)
    return leader


def _enter(session: MemberSession) -> None:
    enter_session(session)
    base.once[:] = [session.once]


@dataclass
class Beginning:
    """Another rank's wait for rank 0's word."""

    company: Company
    _told: threading.Event = field(default_factory=threading.Event)
    _what: list[Any] = field(default_factory=list)

    def begun(self, rank: Rank) -> None:
        """Listen; on the I/O thread."""
        self.rank = rank

        def on_begin(question: Question) -> None:
            self._what.extend(question.what)
            self._told.set()

        rank.calls.serve("spmd.begin", on_begin)

    def follow(self) -> None:
        """Wait for rank 0, and compute with it from then on."""
        if not self._told.wait(config.start_limit):
            raise ClusterError(f"rank 0 has not begun within {config.start_limit:g} s (the setting start_limit)")
        arenas, threads = self._what
        _enter(MemberSession(self.rank, arenas, threads, self.company.comm, None))
        names.agree(self.company.seed)

    def tell_end(self, status: int, how: str, shown: bool) -> None:
        """Tell rank 0 that this rank's script is over, how, and whether its traceback was shown."""
        self.rank.calls.tell(0, "spmd.ended", status, how, shown)

    def another_failed(self) -> bool:
        """Ask rank 0 whether a script's traceback was shown."""
        was_shown, _ = self.rank.calls.ask(0, "spmd.failed")
        return bool(was_shown)
