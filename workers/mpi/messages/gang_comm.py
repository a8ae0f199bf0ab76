"""Communicators for gangs, over MPI: made from one of all ranks, of which the dead are left behind first.

`Comm_split` was chosen since it costs some 30 us and ends with an error where a rank has died or the communicator has
been revoked; `Comm_create_group` hangs then. `Comm_shrink`, which leaves the dead behind, ends whoever dies meanwhile,
but waits for all that live: so the scheduler sends each gang to all ranks, and kills those that are silent. What a
member makes of its communicator is revoked with it.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
from mpi4py import MPI

from ...gangs.member import Unmet
from ...gangs.payloads import Frozen
from ...gangs.reductions import fold_objects, operation, scan_objects
from ..deaths.death_notices import Obituaries
from ..start.environment import ulfm_enabled
from ..start.warnings_of_mpi import untested_quietly
from .mpi_lock import MpiLock

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...wire.protocol import GangOrder

_log = logging.getLogger("windrow")
SETTLE = 0.1
"""Seconds until a communicator that was made here is made on all ranks, which come to it together."""
LATER = 16
"""Gangs whose communicators are kept."""
_NAMES = ("ERR_PROC_FAILED", "ERR_PROC_FAILED_PENDING", "ERR_REVOKED")
_LOST = frozenset(getattr(MPI, name) for name in _NAMES if hasattr(MPI, name))


class _Made:
    """What a gang's communicators have beside mpi4py's: what was made of them, and reductions of objects on themselves.

    mpi4py reduces objects on a duplicate of its own, which nobody could revoke; here they are gathered, and paired as
    mpi4py pairs them.
    """

    children: list[MPI.Comm]
    news: Obituaries
    rank: int
    Revoke: Callable[[], None]

    def _keep(self, kind: Any, make: Callable[..., Any], *arguments: Any) -> Any:
        """Make a communicator; return it as one of ours."""
        with self.news.held(self.Revoke):
            comm = make(*arguments)
        if comm == MPI.COMM_NULL:
            return comm
        comm.Set_errhandler(MPI.ERRORS_RETURN)
        self.news.made = time.monotonic()
        child = kind(comm)
        child.children, child.news = self.children, self.news
        self.children.append(child)
        return child

    def check_revoked(self) -> None:
        """Raise where the rank program is to end; for who waits elsewhere than in calls."""
        comm: Any = self
        comm.Iprobe()

    def allreduce(self, sendobj: Any, op: Any = MPI.SUM) -> Any:
        comm: Any = self
        return fold_objects(operation("allreduce()", op), comm.allgather(sendobj))

    def reduce(self, sendobj: Any, op: Any = MPI.SUM, root: int = 0) -> Any:
        comm: Any = self
        gathered = comm.gather(sendobj, root)
        return None if gathered is None else fold_objects(operation(f"reduce(root={root})", op), gathered)

    def scan(self, sendobj: Any, op: Any = MPI.SUM) -> Any:
        return self._scan("scan()", sendobj, op, False)

    def exscan(self, sendobj: Any, op: Any = MPI.SUM) -> Any:
        return self._scan("exscan()", sendobj, op, True)

    def _scan(self, name: str, sendobj: Any, op: Any, exclusive: bool) -> Any:
        comm: Any = self
        gathered = [Frozen(each) for each in comm.allgather(sendobj)]
        prefix = scan_objects(operation(name, op), gathered, exclusive)[comm.rank]
        return None if prefix is None else prefix.thaw()


class GangCart(_Made, MPI.Cartcomm):
    """mpi4py's Cartesian communicator, of a gang."""

    def Sub(self, remain_dims: Any) -> Any:
        return self._keep(GangCart, super().Sub, remain_dims)

    def Dup(self, info: Any = None) -> Any:
        return self._keep(GangCart, super().Dup, info)

    def Split(self, color: int = 0, key: int = 0) -> Any:
        return self._keep(GangComm, super().Split, color, key)


class GangComm(_Made, MPI.Intracomm):
    """mpi4py's communicator, of a gang."""

    def Dup(self, info: Any = None) -> Any:
        return self._keep(GangComm, super().Dup, info)

    def Clone(self) -> Any:
        return self._keep(GangComm, super().Clone)

    def Split(self, color: int = 0, key: int = 0) -> Any:
        return self._keep(GangComm, super().Split, color, key)

    def Split_type(self, split_type: int, key: int = 0, info: Any = MPI.INFO_NULL) -> Any:
        return self._keep(GangComm, super().Split_type, split_type, key, info)

    def Create(self, group: MPI.Group) -> Any:
        return self._keep(GangComm, super().Create, group)

    def Create_cart(self, dims: Any, periods: Any = None, reorder: bool = False) -> Any:
        with untested_quietly():
            return self._keep(GangCart, super().Create_cart, dims, periods, reorder)


def duplicate(comm: MPI.Intracomm) -> GangComm:
    """Return a communicator like a gang's of all ranks of another one; collective over it."""
    gang_comm = GangComm(comm.Dup())
    gang_comm.children, gang_comm.news = [], Obituaries()
    gang_comm.news.begin()
    gang_comm.Set_errhandler(MPI.ERRORS_RETURN)
    return gang_comm


def revoke_all(comm: GangComm) -> None:
    """Have calls on a communicator, and on what was made of it, end on all ranks, when the latest is made there too."""
    time.sleep(max(0.0, comm.news.made + SETTLE - time.monotonic()))
    for each in (comm, *comm.children):
        with contextlib.suppress(MPI.Exception):
            each.Revoke()


def comes_of_revocation(comm: GangComm, error: BaseException | None) -> bool:
    """Tell whether an error is, or comes from, one of MPI's, and a communicator was revoked."""
    while error is not None and not isinstance(error, MPI.Exception):
        error = error.__cause__ or error.__context__
    return error is not None and bool(comm.Is_revoked())


def _drain(comm: MPI.Comm) -> None:
    """Receive what a gang has left unreceived: it would come to whoever has the communicator's number next."""
    if not isinstance(comm, MPI.Intracomm):
        return
    count = 0
    while (message := comm.Improbe(MPI.ANY_SOURCE, MPI.ANY_TAG, status := MPI.Status())) is not None:
        message.Recv(np.empty(status.Get_elements(MPI.BYTE), np.uint8))
        count += 1
    if count:
        _log.warning("a rank program has left %d message(s) unreceived on rank %d of its members", count, comm.rank)


class MpiMeeting:
    """Makes a rank's communicators of that of all ranks, collectively; see the module's docstring."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self._first = comm.Dup()
        self._first.Set_errhandler(MPI.ERRORS_RETURN)
        self._base: MPI.Comm = self._first
        self._ranks = list(range(comm.size))
        self._own = comm.rank
        self._all = comm.Get_group()
        self._number = 0
        self._left: deque[GangComm] = deque()
        self._lock = threading.Lock()
        self.turns = MpiLock()
        self._news = Obituaries()
        self._begun = False

    def join(self, order: GangOrder) -> list[Any]:
        if not self._begun:
            self._begun = True
            self._news.begin()
        self._free_left()
        if order.base != self._number:
            # Open MPI's agreement with nobody but oneself, which `Shrink` needs, ends the process now and then.
            try:  # always from the first one, which all have: `Shrink` may fail on some ranks alone
                with self.turns.alone():
                    base = MPI.COMM_SELF.Dup() if order.alone else self._first.Shrink()
            except MPI.Exception as error:
                raise Unmet(f"the ranks that are left couldn't agree on a communicator: {error}") from error
            base.Set_errhandler(MPI.ERRORS_RETURN)
            self._base, self._number = base, order.base
            self._news.made = time.monotonic()
            with self._lock:
                self._left.clear()  # the dead may be in them
        part = self._own in order.ranks
        key = order.ranks.index(self._own) if part else 0
        assert isinstance(self._base, MPI.Intracomm)
        try:
            with self._news.held(self._base.Revoke):
                split_comm = self._base.Split(0 if part else MPI.UNDEFINED, key)
        except MPI.Exception as error:
            raise Unmet(f"the ranks couldn't make a communicator: {error}") from error
        if split_comm == MPI.COMM_NULL:
            return []
        comm = GangComm(split_comm)
        comm.children, comm.news = [], self._news
        comm.Set_errhandler(MPI.ERRORS_RETURN)
        self._news.made = time.monotonic()
        return [comm]

    def give_up(self) -> None:
        self._revoke([self._base])

    def unsettled(self) -> float:
        """See `workers.gangs.member.CommunicatorMaker`.

        A rank that still makes what others revoke ends, in Open MPI.
        """
        return self._news.made + SETTLE - time.monotonic() if ulfm_enabled() else 0.0

    def revoke(self, comms: list[Any], error: BaseException | None = None) -> None:
        self._revoke([each for comm in comms for each in (comm, *comm.children)])

    def _revoke(self, comms: list[MPI.Comm]) -> None:
        for comm in comms if ulfm_enabled() else ():
            with self.turns, contextlib.suppress(MPI.Exception):
                comm.Revoke()

    def is_loss(self, error: BaseException) -> bool | None:
        if not isinstance(error, MPI.Exception):
            return False
        return True if error.Get_error_class() in _LOST else None

    def leave(self, comms: list[Any], harmed: bool) -> None:
        """See `workers.gangs.member.CommunicatorMaker`.

        What may have been revoked isn't freed: a late message for it would end the process, in Open MPI. What went well
        is freed some gangs later: Open MPI gives a freed communicator's number to the next, while another rank's
        revocation may be under way, or a message that nobody has received. It is freed by the thread that joins others,
        so that no other one is in MPI amid an agreement.
        """
        with self._lock:
            self._left.extend(comms if not harmed else ())

    def _free_left(self) -> None:
        while len(self._left) > LATER:
            with self._lock:
                comm = self._left.popleft()
            for each in (*comm.children, comm):
                with contextlib.suppress(MPI.Exception):
                    if each != MPI.COMM_NULL:
                        _drain(each)
                        each.Free()
