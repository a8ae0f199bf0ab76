"""Collective calls on objects: mpi4py's lower-case functions, by value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....graph.errors import BadValue
from ..meetings import MemberCall
from ..payloads import Frozen
from .reductions import fold_objects, operation, scan_objects

if TYPE_CHECKING:
    from collections.abc import Iterable


def barrier(name: str) -> MemberCall:
    """Return a call that brings nothing."""
    return MemberCall(f"{name}()", None, lambda deposits: deposits)


def bcast(rank: int, root: int, x: Any) -> MemberCall:
    """Return the call in which all get the root's object."""
    return MemberCall(
        f"bcast(root={root})",
        Frozen(x) if rank == root else None,
        lambda deposits: [deposits[root]] * len(deposits),
        Frozen.thaw,
    )


def gather(rank: int, root: int, x: Any) -> MemberCall:
    """Return the call in which the root gets a list of all objects."""

    def take(found: list[Frozen] | None) -> list[Any] | None:
        return None if found is None else [each.take() for each in found]

    def plan(deposits: list[Any]) -> list[Any]:
        return [deposits if r == root else None for r in range(len(deposits))]

    return MemberCall(f"gather(root={root})", Frozen(x), plan, take)


def allgather(x: Any) -> MemberCall:
    """Return the call in which all get a list of all objects."""
    return MemberCall(
        "allgather()",
        Frozen(x),
        lambda deposits: [deposits] * len(deposits),
        lambda found: [each.thaw() for each in found],
    )


def scatter(rank: int, size: int, root: int, items: Iterable[Any] | None) -> MemberCall:
    """Return the call in which each gets its object of the root's list."""
    deposit = _each("scatter", items, size) if rank == root else None
    return MemberCall(f"scatter(root={root})", deposit, lambda deposits: deposits[root], Frozen.take)


def alltoall(size: int, items: Iterable[Any] | None) -> MemberCall:
    """Return the call in which each gets its object of everybody's list."""
    return MemberCall(
        "alltoall()",
        _each("alltoall", items, size),
        lambda deposits: [[each[r] for each in deposits] for r in range(size)],
        lambda found: [each.take() for each in found],
    )


def reduce(rank: int, root: int | None, x: Any, op: Any) -> MemberCall:
    """Return the call in which the root, or without one everybody, gets all objects in one."""
    name = "allreduce()" if root is None else f"reduce(root={root})"
    apply = operation(name, op)

    def plan(deposits: list[Any]) -> list[Any]:
        total = fold_objects(apply, [each.thaw() for each in deposits])
        if root is None:
            return [Frozen(total)] * len(deposits)
        return [total if r == root else None for r in range(len(deposits))]

    return MemberCall(name, Frozen(x), plan, Frozen.thaw) if root is None else MemberCall(name, Frozen(x), plan)


def scan(x: Any, op: Any, exclusive: bool) -> MemberCall:
    """Return the call in which each gets the objects of the ranks up to its own, or before it, in one."""
    name = "exscan()" if exclusive else "scan()"
    apply = operation(name, op)
    return MemberCall(
        name,
        Frozen(x),
        lambda deposits: scan_objects(apply, deposits, exclusive),
        lambda found: None if found is None else found.thaw(),
    )


def _each(name: str, items: Iterable[Any] | None, size: int) -> list[Frozen]:
    frozen_items = [] if items is None else [Frozen(x) for x in items]
    if len(frozen_items) != size:
        raise BadValue(f"{name}: {len(frozen_items)} objects; expected {size}, one for each member")
    return frozen_items
