"""Communicators of threads of one process: those of mpi4py's calls that most rank programs make.

`make_comms(n)` makes one for each of n threads. What differs from mpi4py's `Intracomm`:

- It has the calls that are here; others of mpi4py's are errors that tell how to start ranks, which have all of them.
- Waits that nobody can end are errors at once, in all members: `Deadlock` says who waits in which call for whom, or who
  has returned. So are collective calls that aren't the same for all. Sends of up to 64 KiB, and all sends of objects,
  don't wait for their receive. A program that asks again and again (`Test`) never counts as one that waits.
- All collective calls wait for all members, which MPI allows but does only for some.
- Errors are `ValueError`, `TypeError` or `RuntimeError` and never `MPI.Exception`.
- Objects are passed by value, but constants (numbers, strings) aren't copied, and an array is copied, not pickled; so a
  status counts an array's bytes for it. Pickling is the standard library's.
- Reductions go from the first rank to the last. Those of objects pair them as mpi4py does and give the same bits; those
  of floats in buffers need not have the bits of an MPI. Where one of two floats is a NaN, MIN and MAX give it.
- `MPI.Request.Waitall(requests)` refuses requests of threads: write `requests[0].Waitall(requests)`.
- The program's own `MPI.Status`, `MPI.Op` and `MPI.Datatype` are taken, but no derived types; operations on buffers are
  those that NumPy has. An `MPI.Status` knows a count only where MPI is initialised.
- A communicator is for one thread. It isn't MPI's: C libraries, mpi4jax among them, can't take it.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NoReturn

from ....graph.errors import BadValue, ClusterError, bad
from ..payloads import Frozen
from ..reductions import fold_objects, operation, scan_objects
from ..values import IN_PLACE, absent, constant
from . import buffer_calls as buffers
from .buffers import octets
from .cartesian import RankGrid
from .group import Deadlock, Group, Revoked
from .mailboxes import Context, Receiving, Sending
from .meetings import MemberCall, arrive
from .requests import Request, end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["IN_PLACE", "Deadlock", "Group", "Request", "Revoked", "ThreadCartcomm", "ThreadComm", "make_comms"]


class ThreadComm:
    """One thread's end of a communicator; `source` and `tag` of None are ANY_SOURCE and ANY_TAG.

    Parameters
    ----------
    context
        What all members share.
    rank
        Which member of the communicator this is.

    Attributes
    ----------
    gang
        All threads of the rank program, to `revoke` it.
    rank, size
        This member's number, and the number of members.
    """

    def __init__(self, context: Context, rank: int) -> None:
        self._context = context
        self.gang = context.group
        self.rank = rank
        self.size = len(context.members)
        self._calls = 0
        self._is_freed = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: rank {self.rank} of {self.size}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a communicator of threads can't be pickled")

    def __getattr__(self, name: str) -> NoReturn:
        raise absent(self, "communicator", name)

    def Get_rank(self) -> int:
        """Return this member's number."""
        return self.rank

    def Get_size(self) -> int:
        """Return the number of members."""
        return self.size

    def finish(self) -> None:
        """Note that this member's function has returned. After an error, call `gang.revoke` first."""
        self.gang.finish(self._context.members[self.rank])

    def check_revoked(self) -> None:
        """Raise where the rank program is to end; for who waits elsewhere than in calls."""
        self.gang.check()

    def Free(self) -> None:
        """Take no more calls."""
        self._is_freed = True

    # Messages

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object."""
        end(self._send("send", obj, dest, tag))

    def isend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send an object."""
        return Request(self._send("isend", obj, dest, tag))

    def recv(self, buf: Any = None, source: int | None = None, tag: int | None = None, status: Any = None) -> Any:
        """Receive an object; `buf` isn't needed."""
        return end(self._receive("recv", None, source, tag), status)

    def irecv(self, buf: Any = None, source: int | None = None, tag: int | None = None) -> Request:
        """Begin to receive an object, which the request's `wait` returns."""
        return Request(self._receive("irecv", None, source, tag))

    def sendrecv(
        self,
        sendobj: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int | None = None,
        recvtag: int | None = None,
        status: Any = None,
    ) -> Any:
        """Send an object and receive another."""
        receiving = self._receive("sendrecv", None, source, recvtag)
        sending = self._send("sendrecv", sendobj, dest, sendtag)
        received = end(receiving, status)
        end(sending)
        return received

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer."""
        end(self._send("Send", buf, dest, tag))

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send a buffer, which must not change until the request is over."""
        return Request(self._send("Isend", buf, dest, tag))

    def Recv(self, buf: Any, source: int | None = None, tag: int | None = None, status: Any = None) -> None:
        """Receive into a buffer."""
        end(self._receive("Recv", buf, source, tag), status)

    def Irecv(self, buf: Any, source: int | None = None, tag: int | None = None) -> Request:
        """Begin to receive into a buffer."""
        return Request(self._receive("Irecv", buf, source, tag))

    def Sendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int | None = None,
        recvtag: int | None = None,
        status: Any = None,
    ) -> None:
        """Send a buffer and receive into another."""
        receiving = self._receive("Sendrecv", recvbuf, source, recvtag)
        sending = self._send("Sendrecv", sendbuf, dest, sendtag)
        end(receiving, status)
        end(sending)

    # Collective calls on objects; operations are mpi4py's, or names as "sum" and "max", or functions

    def barrier(self) -> None:
        """Wait until all have come."""
        self._meet("Barrier()", None, lambda deposits: deposits)

    def bcast(self, obj: Any = None, root: int = 0) -> Any:
        """Return the root's object."""
        root = self._root("bcast", root)
        deposit = Frozen(obj) if self.rank == root else None
        return self._meet(f"bcast(root={root})", deposit, lambda deposits: [deposits[root]] * self.size).thaw()

    def gather(self, sendobj: Any, root: int = 0) -> list[Any] | None:
        """Return a list of all objects at the root."""
        root = self._root("gather", root)

        def plan(deposits: list[Frozen]) -> list[Any]:
            return [deposits if rank == root else [] for rank in range(self.size)]

        items = self._meet(f"gather(root={root})", Frozen(sendobj), plan)
        return [each.take() for each in items] if self.rank == root else None

    def allgather(self, sendobj: Any) -> list[Any]:
        """Return a list of all objects."""
        items = self._meet("allgather()", Frozen(sendobj), lambda deposits: [deposits] * self.size)
        return [each.thaw() for each in items]

    def scatter(self, sendobj: Iterable[Any] | None = None, root: int = 0) -> Any:
        """Return this member's object of the root's list."""
        root = self._root("scatter", root)
        deposit = self._freeze_each("scatter", sendobj) if self.rank == root else None
        return self._meet(f"scatter(root={root})", deposit, lambda deposits: deposits[root]).take()

    def alltoall(self, sendobj: Iterable[Any]) -> list[Any]:
        """Return this member's object of everybody's list."""
        deposit = self._freeze_each("alltoall", sendobj)
        items = self._meet("alltoall()", deposit, lambda deposits: list(zip(*deposits, strict=True)))
        return [each.take() for each in items]

    def reduce(self, sendobj: Any, op: Any = "sum", root: int = 0) -> Any:
        """Return all objects in one at the root."""
        return self._reduce(sendobj, op, self._root("reduce", root))

    def allreduce(self, sendobj: Any, op: Any = "sum") -> Any:
        """Return all objects in one."""
        return self._reduce(sendobj, op, None)

    def scan(self, sendobj: Any, op: Any = "sum") -> Any:
        """Return the objects of the ranks up to this one in one."""
        return self._scan("scan()", sendobj, op, False)

    def exscan(self, sendobj: Any, op: Any = "sum") -> Any:
        """Return the objects of the ranks before this one in one; None for the first."""
        return self._scan("exscan()", sendobj, op, True)

    # Collective calls on buffers

    Barrier = barrier

    def Bcast(self, buf: Any, root: int = 0) -> None:
        """Fill all buffers with the root's."""
        self._call(buffers.bcast(self.rank, self.size, self._root("Bcast", root), buf))

    def Gather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Fill the root's buffer with everybody's."""
        root = self._root("Gather", root)
        self._call(buffers.gather(self.rank, self.size, root, sendbuf, recvbuf))

    def Scatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Fill the buffer with this member's part of the root's."""
        root = self._root("Scatter", root)
        self._call(buffers.scatter(self.rank, self.size, root, sendbuf, recvbuf))

    def Allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        """Fill all buffers with everybody's."""
        self._call(buffers.allgather(self.rank, self.size, sendbuf, recvbuf))

    def Alltoall(self, sendbuf: Any, recvbuf: Any) -> None:
        """Fill the buffer with this member's part of everybody's."""
        self._call(buffers.alltoall(self.size, sendbuf, recvbuf))

    def Reduce(self, sendbuf: Any, recvbuf: Any, op: Any = "sum", root: int = 0) -> None:
        """Fill the root's buffer with all in one."""
        self._call(buffers.reduce(self.rank, self._root("Reduce", root), sendbuf, recvbuf, op))

    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Any = "sum") -> None:
        """Fill all buffers with all in one."""
        self._call(buffers.reduce(self.rank, None, sendbuf, recvbuf, op))

    # Other communicators

    def Split(self, color: int | None = 0, key: int = 0) -> Any:
        """Return a communicator of the members with the same color, by key; COMM_NULL for one of MPI.UNDEFINED."""
        part = self._split("Split()", None if color == constant("UNDEFINED") else color, key, "the part")
        return constant("COMM_NULL") if part is None else ThreadComm(*part)

    def Create_cart(
        self, dims: Sequence[int], periods: Sequence[bool] | bool | None = None, reorder: bool = False
    ) -> Any:
        """Return a communicator whose members stand in a grid; COMM_NULL for those beyond it."""
        grid = RankGrid.of(dims, periods, self.size)
        name = f"Create_cart(dims={list(grid.dims)}, periods={list(grid.periods)})"
        shape = "×".join(map(str, grid.dims))
        part = self._split(name, 0 if self.rank < grid.size else None, 0, f"the {shape} grid")
        return constant("COMM_NULL") if part is None else ThreadCartcomm(*part, grid)

    def _split(self, name: str, color: int | None, key: int, what: str) -> tuple[Context, int] | None:
        """Return what the members with the same color share, and this one's rank among them; None for no color."""

        def plan(deposits: list[tuple[int | None, int]]) -> list[tuple[Context, int] | None]:
            parts: dict[int | None, list[int]] = {}
            for rank in sorted(range(self.size), key=lambda r: (deposits[r][1], r)):
                parts.setdefault(deposits[rank][0], []).append(rank)
            parts.pop(None, None)
            memberships: list[tuple[Context, int] | None] = [None] * self.size
            for ranks in parts.values():
                members = [self._context.members[r] for r in ranks]
                label = what if len(ranks) == self.size else f"{what} of members {', '.join(map(str, members))}"
                context = Context(self.gang, members, label)
                for i, r in enumerate(ranks):
                    memberships[r] = context, i
            return memberships

        part: tuple[Context, int] | None = self._meet(name, (color, key), plan)
        return part

    # How calls begin and end

    def _call(self, call: MemberCall) -> Any:
        """Make a collective call, and wait until all have made it."""
        self._check(call.name)
        self._calls += 1
        part = arrive(self._context, self.rank, self._calls, call)
        self.gang.wait(part)
        return part.result()

    def _meet(self, name: str, deposit: Any, plan: Callable[[list[Any]], Sequence[Any]]) -> Any:
        """Make a collective call to which each brings a deposit; `plan` makes of all of them what each gets."""
        return self._call(MemberCall(name, deposit, plan))

    def _reduce(self, x: Any, op: Any, root: int | None) -> Any:
        name = "allreduce()" if root is None else f"reduce(root={root})"
        apply = operation(name, op)

        def plan(deposits: list[Frozen]) -> list[Any]:
            total = fold_objects(apply, [each.thaw() for each in deposits])
            return [total if root is not None else Frozen(total)] * self.size

        total = self._meet(name, Frozen(x), plan)
        if root is None:
            return total.thaw()
        return total if self.rank == root else None

    def _scan(self, name: str, x: Any, op: Any, exclusive: bool) -> Any:
        apply = operation(name, op)
        prefix = self._meet(name, Frozen(x), lambda deposits: scan_objects(apply, deposits, exclusive))
        return None if prefix is None else prefix.thaw()

    def _freeze_each(self, name: str, items: Iterable[Any] | None) -> list[Frozen]:
        frozen_items = [] if items is None else [Frozen(x) for x in items]
        if len(frozen_items) != self.size:
            raise BadValue(f"{name}: {len(frozen_items)} objects; expected {self.size}, one for each member")
        return frozen_items

    def _send(self, call: str, x: Any, dest: int, tag: int) -> Sending | None:
        """Begin to send: a buffer if the call is in upper case, else an object; return None for PROC_NULL."""
        self._check(call)
        to = self._peer(call, "dest", dest)
        label = operator.index(tag)
        if label < 0:
            raise BadValue(bad(call, "tag", tag, "0 or more"))
        if to is None:
            return None
        content = octets(call, x, False) if call[0].isupper() else Frozen(x)
        sending = Sending(self._context, self.rank, call, to, label, content)
        sending.start()
        return sending

    def _receive(self, call: str, buf: Any, source: int | None, tag: int | None) -> Receiving | None:
        """Begin to receive: into a buffer if the call is in upper case, else an object; return None for PROC_NULL."""
        self._check(call)
        if source == constant("ANY_SOURCE"):
            source = None
        if source is not None and (source := self._peer(call, "source", source)) is None:
            return None
        tag = None if tag == constant("ANY_TAG") else tag
        target = octets(call, buf, True) if call[0].isupper() else None
        receiving = Receiving(self._context, self.rank, call, source, tag, target)
        receiving.start()
        return receiving

    def _check(self, call: str) -> None:
        if self._is_freed:
            raise ClusterError(f"{call}: the communicator was freed")

    def _peer(self, call: str, argument: str, rank: Any) -> int | None:
        """Return a rank of the communicator; None for PROC_NULL."""
        peer = operator.index(rank)
        if 0 <= peer < self.size:
            return peer
        if peer == constant("PROC_NULL"):
            return None
        raise BadValue(bad(call, argument, rank, f"a rank below {self.size}, or PROC_NULL"))

    def _root(self, call: str, root: Any) -> int:
        root_rank = operator.index(root)
        if not 0 <= root_rank < self.size:
            raise BadValue(bad(call, "root", root, f"a rank below {self.size}"))
        return root_rank


class ThreadCartcomm(ThreadComm):
    """A communicator whose members stand in a grid."""

    def __init__(self, context: Context, rank: int, grid: RankGrid) -> None:
        super().__init__(context, rank)
        self._grid = grid

    @property
    def dims(self) -> list[int]:
        """The number of ranks along each axis."""
        return list(self._grid.dims)

    @property
    def periods(self) -> list[int]:
        """Along which axes the first rank is beside the last, as 1 and 0."""
        return [int(x) for x in self._grid.periods]

    @property
    def coords(self) -> list[int]:
        """Where this member stands."""
        return self._grid.coords(self.rank)

    def Get_coords(self, rank: int) -> list[int]:
        """Return where a rank stands."""
        return self._grid.coords(rank)

    def Get_cart_rank(self, coords: Sequence[int]) -> int:
        """Return who stands somewhere."""
        return self._grid.rank(coords)

    def Shift(self, direction: int, disp: int) -> tuple[int, int]:
        """Return from whom to receive, and to whom to send, where all move along an axis."""
        return self._grid.shift(self.rank, direction, disp)


def make_comms(n: int) -> list[ThreadComm]:
    """Return the communicators of the n threads of a rank program, one for each.

    The thread that has run a member's function calls `comm.finish()`; where the function raises, it calls
    `comm.gang.revoke(error)` before, which ends all members' waits by `Revoked`.
    """
    context = Context(Group(n), range(n), "")
    return [ThreadComm(context, rank) for rank in range(n)]
