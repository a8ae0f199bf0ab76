"""How ranks come into SPMD mode: what they agree on at the start, and who leads."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import os
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from ...graph.errors import ClusterError
from ...graph.expr import names
from ...workers.config import config
from ...workers.shared.one_sided import base
from ..session.cluster import adopt_ranks, enter_session
from .leader import Leader
from .member import MemberSession
from .messages import AnotherFailed, BeginScript, ScriptEnded

if TYPE_CHECKING:
    from ...workers.rank.rank import Rank


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
        session.calls.tell(rank, BeginScript(tuple(session.arenas), threads))
    return leader


def _enter(session: MemberSession) -> None:
    enter_session(session)
    base.once[:] = [session.once]


@dataclass
class Beginning:
    """Another rank's wait for rank 0's word."""

    company: Company
    _words: SimpleQueue[BeginScript] = field(default_factory=lambda: SimpleQueue())

    def begun(self, rank: Rank) -> None:
        """Listen; on the I/O thread."""
        self.rank = rank
        rank.calls.serve(BeginScript, lambda question: self._words.put(question.message))

    def follow(self) -> None:
        """Wait for rank 0, and compute with it from then on."""
        try:
            word = self._words.get(timeout=config.start_limit)
        except Empty:
            limit = f"{config.start_limit:g} s (the setting start_limit)"
            raise ClusterError(f"rank 0 has not begun within {limit}") from None
        _enter(MemberSession(self.rank, word.arenas, word.threads, self.company.comm, None))
        names.agree(self.company.seed)

    def tell_end(self, status: int, how: str, shown: bool) -> None:
        """Tell rank 0 that this rank's script is over, how, and whether its traceback was shown."""
        self.rank.calls.tell(0, ScriptEnded(status, how, shown))

    def another_failed(self) -> bool:
        """Ask rank 0 whether a script's traceback was shown."""
        was_shown, _ = self.rank.calls.ask(0, AnotherFailed())
        return bool(was_shown)
