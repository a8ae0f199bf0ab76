"""Communicators of threads of one process, with mpi4py's interface.

`make_comms(n)` makes one for each of n threads. What differs from mpi4py's `Intracomm`:

- Waits that nobody can end are errors at once, in all members: `Deadlock` says who waits in which call for whom, or who
  has returned. So are collective calls that aren't the same for all. Sends of up to 64 KiB, and all sends of objects,
  don't wait for their receive. A program that asks again and again (`Test`, `Iprobe`) never counts as one that waits.
- All collective calls wait for all members, which MPI allows but does only for some.
- Errors are `ValueError`, `TypeError` or `RuntimeError` and never `MPI.Exception`.
- Objects are passed by value, but constants (numbers, strings) aren't copied, and an array is copied, not pickled; so a
  status counts an array's bytes for it. Pickling is the standard library's.
- Reductions go from the first rank to the last. Those of objects pair them as mpi4py does and give the same bits; those
  of floats in buffers need not have the bits of an MPI. Where one of two floats is a NaN, MIN and MAX give it.
- `MPI.Request.Waitall(requests)` and its like refuse requests of threads: write `requests[0].Waitall(requests)`, or
  `wait` for each.
- The program's own `MPI.Status`, `MPI.Op` and `MPI.Datatype` are taken, derived types once the program has initialised
  MPI. An `MPI.Status` knows a count only where MPI is initialised. An operation that a program has created is called by
  MPI, which ends the process where it raises.
- A communicator is for one thread. It isn't MPI's: C libraries, mpi4jax among them, can't take it.
- There are no groups, windows, files, persistent requests, matched probes, intercommunicators, neighbourhood
  collectives, attributes or `Alltoallw`; `Split_type` puts all members together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from ..group import Deadlock, Group, Overdue, Revoked
from ..mailboxes import Context
from ..meetings import MemberCall
from ..values import IN_PLACE, mpi, values
from .cartesian import RankGrid
from .collectives import Collectives
from .point_to_point import PointToPoint
from .requests import Request
from .status import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "IN_PLACE",
    "Deadlock",
    "Group",
    "Overdue",
    "Request",
    "Revoked",
    "Status",
    "ThreadCartcomm",
    "ThreadComm",
    "make_comms",
]

_CART = 1
_IDENT, _CONGRUENT, _SIMILAR, _UNEQUAL = range(4)


class ThreadComm(PointToPoint, Collectives):
    """One thread's end of a communicator, with the interface of mpi4py's `Intracomm`."""

    is_intra = True
    is_inter = False
    is_topo = False

    def __init__(self, context: Context, rank: int) -> None:
        super().__init__(context, rank)
        self._name = context.name

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: rank {self._rank} of {self._size}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a communicator of threads can't be pickled")

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__!r}, a communicator of threads, has no {name!r}", name=name, obj=self
        )

    @property
    def gang(self) -> Group:
        """All threads of the rank program, to `revoke` it."""
        return self._group

    def finish(self) -> None:
        """Note that this member's function has returned. After an error, call `gang.revoke` first."""
        self._group.finish(self._member)

    @property
    def rank(self) -> int:
        """This member's number."""
        return self._rank

    @property
    def size(self) -> int:
        """The number of members."""
        return self._size

    @property
    def name(self) -> str:
        """What the communicator is called."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    def Get_rank(self) -> int:
        """Return this member's number."""
        return self._rank

    def Get_size(self) -> int:
        """Return the number of members."""
        return self._size

    def Get_name(self) -> str:
        """Return what the communicator is called."""
        return self._name

    def Set_name(self, name: str) -> None:
        """Call the communicator something."""
        self._name = name

    def Is_intra(self) -> bool:
        """Return True."""
        return True

    def Is_inter(self) -> bool:
        """Return False."""
        return False

    def Get_topology(self) -> int:
        """Return MPI.CART for a grid, else MPI.UNDEFINED."""
        module = mpi()
        return int(getattr(module, "CART", _CART)) if self.is_topo else values().undefined

    @property
    def topology(self) -> int:
        """MPI.CART for a grid, else MPI.UNDEFINED."""
        return self.Get_topology()

    def Compare(self, comm: ThreadComm) -> int:
        """Return MPI.IDENT, CONGRUENT, SIMILAR or UNEQUAL."""
        mine, other = self._context, comm._context
        if mine is other:
            return _IDENT
        if mine.members == other.members:
            return _CONGRUENT
        return _SIMILAR if sorted(mine.members) == sorted(other.members) else _UNEQUAL

    def Dup(self, info: object = None) -> ThreadComm:
        """Return a communicator of the same members, whose messages are its own."""

        def plan(_: list[Any]) -> list[Context]:
            return [Context(self._group, self._context.members, "a duplicate")] * self._size

        return self._like(self._meet(MemberCall("Dup()", None, plan)))

    def Clone(self) -> ThreadComm:
        """Return a communicator of the same members, whose messages are its own."""
        return self.Dup()

    def Split(self, color: int | None = 0, key: int = 0) -> Any:
        """Return a communicator of the members with the same color, by key; COMM_NULL for one of MPI.UNDEFINED."""
        if color is None or color == values().undefined:
            color = None
        part = self._split("Split()", color, key, "the part")
        return values().comm_null if part is None else ThreadComm(*part)

    def Split_type(self, split_type: int, key: int = 0, info: object = None) -> Any:
        """Return a communicator of all members, who share memory and all else."""
        return self.Split(0, key)

    def Create_cart(
        self, dims: Sequence[int], periods: Sequence[bool] | bool | None = None, reorder: bool = False
    ) -> Any:
        """Return a communicator whose members stand in a grid; COMM_NULL for those beyond it."""
        grid = RankGrid.of(dims, periods, self._size)
        name = f"Create_cart(dims={list(grid.dims)}, periods={list(grid.periods)})"
        shape = "×".join(map(str, grid.dims))
        part = self._split(name, 0 if self._rank < grid.size else None, 0, f"the {shape} grid")
        return values().comm_null if part is None else ThreadCartcomm(*part, grid)

    def Free(self) -> None:
        """Take no more calls."""
        self._is_freed = True

    free = Free
    Disconnect = Free

    def Abort(self, errorcode: int = 0) -> NoReturn:
        """End the rank program, in all members."""
        self._group.revoke(Revoked(f"member {self._member} called Abort({errorcode})"))
        self._group.check()
        raise AssertionError

    def _like(self, context: Context) -> ThreadComm:
        """Return a communicator of the same kind on another context."""
        return ThreadComm(context, self._rank)

    def _split(self, name: str, color: Any, key: int, what: str) -> tuple[Context, int] | None:
        """Return what the members with the same color share, and this one's rank among them; None for no color."""

        def plan(deposits: list[tuple[Any, int]]) -> list[tuple[Context, int] | None]:
            parts: dict[Any, list[int]] = {}
            for rank in sorted(range(self._size), key=lambda r: (deposits[r][1], r)):
                parts.setdefault(deposits[rank][0], []).append(rank)
            memberships: list[tuple[Context, int] | None] = [None] * self._size
            for chosen, ranks in parts.items():
                if chosen is None:
                    continue
                members = [self._context.members[r] for r in ranks]
                label = what if len(ranks) == self._size else f"{what} of members {', '.join(map(str, members))}"
                context = Context(self._group, members, label)
                for i, r in enumerate(ranks):
                    memberships[r] = context, i
            return memberships

        part: tuple[Context, int] | None = self._meet(MemberCall(name, (color, key), plan))
        return part


class ThreadCartcomm(ThreadComm):
    """A communicator whose members stand in a grid, with the interface of mpi4py's `Cartcomm`."""

    is_topo = True

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
        return self._grid.coords(self._rank)

    @property
    def topo(self) -> tuple[list[int], list[int], list[int]]:
        """The `dims`, `periods` and `coords`."""
        return self.dims, self.periods, self.coords

    @property
    def dim(self) -> int:
        """The number of axes."""
        return len(self._grid.dims)

    ndim = dim

    def Get_dim(self) -> int:
        """Return the number of axes."""
        return self.dim

    def Get_topo(self) -> tuple[list[int], list[int], list[int]]:
        """Return the `dims`, `periods` and `coords`."""
        return self.topo

    def Get_coords(self, rank: int) -> list[int]:
        """Return where a rank stands."""
        return self._grid.coords(rank)

    def Get_cart_rank(self, coords: Sequence[int]) -> int:
        """Return who stands somewhere."""
        return self._grid.rank(coords)

    def Shift(self, direction: int, disp: int) -> tuple[int, int]:
        """Return from whom to receive, and to whom to send, where all move along an axis."""
        return self._grid.shift(self._rank, direction, disp)

    def Sub(self, remain_dims: Sequence[bool]) -> ThreadCartcomm:
        """Return the grid of those who stand beside this member along the axes that remain."""
        grid, color = self._grid.sub(self._rank, remain_dims)
        name = f"Sub(remain_dims={[bool(x) for x in remain_dims]})"
        context, rank = self._split(name, color, 0, "the part") or (self._context, self._rank)
        return ThreadCartcomm(context, rank, grid)

    def _like(self, context: Context) -> ThreadComm:
        return ThreadCartcomm(context, self._rank, self._grid)


def make_comms(n: int, limit: float | None = None) -> list[ThreadComm]:
    """Return the communicators of the n threads of a rank program, one for each.

    The thread that has run a member's function calls `comm.finish()`; where the function raises, it calls
    `comm.gang.revoke(error)` before, which ends all members' waits by `Revoked`.

    Parameters
    ----------
    n
        The number of members.
    limit
        The seconds after which a wait for a member that computes is an error, `Overdue`; None for no limit.
    """
    context = Context(Group(n, limit), range(n), "")
    return [ThreadComm(context, rank) for rank in range(n)]
