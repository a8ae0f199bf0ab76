"""A communicator's collective calls: lower case for objects, upper case for buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import buffer_calls as buffers
from . import object_calls as objects
from .base import Base

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .requests import Request


class Collectives(Base):
    """The calls that all members make; operations are mpi4py's, or names as "sum" and "max"."""

    def Barrier(self) -> None:
        """Wait until all have come."""
        self._meet(objects.barrier("Barrier"))

    barrier = Barrier

    def bcast(self, obj: Any = None, root: int = 0) -> Any:
        """Return the root's object."""
        return self._meet(objects.bcast(self._rank, self._root("bcast", root), obj))

    def gather(self, sendobj: Any, root: int = 0) -> list[Any] | None:
        """Return a list of all objects at the root."""
        items: list[Any] | None = self._meet(objects.gather(self._rank, self._root("gather", root), sendobj))
        return items

    def allgather(self, sendobj: Any) -> list[Any]:
        """Return a list of all objects."""
        items: list[Any] = self._meet(objects.allgather(sendobj))
        return items

    def scatter(self, sendobj: Iterable[Any] | None = None, root: int = 0) -> Any:
        """Return this member's object of the root's list."""
        return self._meet(objects.scatter(self._rank, self._size, self._root("scatter", root), sendobj))

    def alltoall(self, sendobj: Iterable[Any]) -> list[Any]:
        """Return this member's object of everybody's list."""
        items: list[Any] = self._meet(objects.alltoall(self._size, sendobj))
        return items

    def reduce(self, sendobj: Any, op: Any = "sum", root: int = 0) -> Any:
        """Return all objects in one at the root."""
        return self._meet(objects.reduce(self._rank, self._root("reduce", root), sendobj, op))

    def allreduce(self, sendobj: Any, op: Any = "sum") -> Any:
        """Return all objects in one."""
        return self._meet(objects.reduce(self._rank, None, sendobj, op))

    def scan(self, sendobj: Any, op: Any = "sum") -> Any:
        """Return the objects of the ranks up to this one in one."""
        return self._meet(objects.scan(sendobj, op, False))

    def exscan(self, sendobj: Any, op: Any = "sum") -> Any:
        """Return the objects of the ranks before this one in one; None for the first."""
        return self._meet(objects.scan(sendobj, op, True))

    def Bcast(self, buf: Any, root: int = 0) -> None:
        """Fill all buffers with the root's."""
        self._meet(buffers.bcast("Bcast", self._rank, self._size, self._root("Bcast", root), buf))

    def Gather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Fill the root's buffer with everybody's."""
        at = self._root("Gather", root)
        self._meet(buffers.gather("Gather", self._rank, self._size, at, sendbuf, recvbuf, False))

    def Gatherv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Fill the root's buffer with everybody's, of different counts."""
        at = self._root("Gatherv", root)
        self._meet(buffers.gather("Gatherv", self._rank, self._size, at, sendbuf, recvbuf, True))

    def Scatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Fill the buffer with this member's part of the root's."""
        at = self._root("Scatter", root)
        self._meet(buffers.scatter("Scatter", self._rank, self._size, at, sendbuf, recvbuf, False))

    def Scatterv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Fill the buffer with this member's part of the root's, of different counts."""
        at = self._root("Scatterv", root)
        self._meet(buffers.scatter("Scatterv", self._rank, self._size, at, sendbuf, recvbuf, True))

    def Allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        """Fill all buffers with everybody's."""
        self._meet(buffers.allgather("Allgather", self._rank, self._size, sendbuf, recvbuf, False))

    def Allgatherv(self, sendbuf: Any, recvbuf: Any) -> None:
        """Fill all buffers with everybody's, of different counts."""
        self._meet(buffers.allgather("Allgatherv", self._rank, self._size, sendbuf, recvbuf, True))

    def Alltoall(self, sendbuf: Any, recvbuf: Any) -> None:
        """Fill the buffer with this member's part of everybody's."""
        self._meet(buffers.alltoall("Alltoall", self._size, sendbuf, recvbuf, False))

    def Alltoallv(self, sendbuf: Any, recvbuf: Any) -> None:
        """Fill the buffer with this member's part of everybody's, of different counts."""
        self._meet(buffers.alltoall("Alltoallv", self._size, sendbuf, recvbuf, True))

    def Reduce(self, sendbuf: Any, recvbuf: Any, op: Any = "sum", root: int = 0) -> None:
        """Fill the root's buffer with all in one."""
        self._meet(buffers.reduce("Reduce", self._rank, self._root("Reduce", root), sendbuf, recvbuf, op))

    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Any = "sum") -> None:
        """Fill all buffers with all in one."""
        self._meet(buffers.reduce("Allreduce", self._rank, None, sendbuf, recvbuf, op))

    def Scan(self, sendbuf: Any, recvbuf: Any, op: Any = "sum") -> None:
        """Fill the buffer with those of the ranks up to this one in one."""
        self._meet(buffers.scan("Scan", sendbuf, recvbuf, op, False))

    def Exscan(self, sendbuf: Any, recvbuf: Any, op: Any = "sum") -> None:
        """Fill the buffer with those of the ranks before this one in one; the first rank's stays as it is."""
        self._meet(buffers.scan("Exscan", sendbuf, recvbuf, op, True))

    def Reduce_scatter_block(self, sendbuf: Any, recvbuf: Any, op: Any = "sum") -> None:
        """Fill the buffer with this member's part of all in one."""
        self._meet(buffers.reduce_scatter("Reduce_scatter_block", self._rank, self._size, sendbuf, recvbuf, None, op))

    def Reduce_scatter(
        self, sendbuf: Any, recvbuf: Any, recvcounts: Sequence[int] | None = None, op: Any = "sum"
    ) -> None:
        """Fill the buffer with this member's part of all in one, of different counts."""
        self._meet(buffers.reduce_scatter("Reduce_scatter", self._rank, self._size, sendbuf, recvbuf, recvcounts, op))

    def Ibarrier(self) -> Request:
        """Begin a barrier."""
        return self._later(objects.barrier("Ibarrier"))

    def Ibcast(self, buf: Any, root: int = 0) -> Request:
        """Begin `Bcast`."""
        return self._later(buffers.bcast("Ibcast", self._rank, self._size, self._root("Ibcast", root), buf, False))

    def Igather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> Request:
        """Begin `Gather`."""
        at = self._root("Igather", root)
        return self._later(buffers.gather("Igather", self._rank, self._size, at, sendbuf, recvbuf, False, False))

    def Iscatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> Request:
        """Begin `Scatter`."""
        at = self._root("Iscatter", root)
        return self._later(buffers.scatter("Iscatter", self._rank, self._size, at, sendbuf, recvbuf, False, False))

    def Iallgather(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Begin `Allgather`."""
        return self._later(buffers.allgather("Iallgather", self._rank, self._size, sendbuf, recvbuf, False, False))

    def Ialltoall(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Begin `Alltoall`."""
        return self._later(buffers.alltoall("Ialltoall", self._size, sendbuf, recvbuf, False, False))

    def Ireduce(self, sendbuf: Any, recvbuf: Any, op: Any = "sum", root: int = 0) -> Request:
        """Begin `Reduce`."""
        at = self._root("Ireduce", root)
        return self._later(buffers.reduce("Ireduce", self._rank, at, sendbuf, recvbuf, op, False))

    def Iallreduce(self, sendbuf: Any, recvbuf: Any, op: Any = "sum") -> Request:
        """Begin `Allreduce`."""
        return self._later(buffers.reduce("Iallreduce", self._rank, None, sendbuf, recvbuf, op, False))
