"""Collective calls on buffers: copied once from buffer to buffer, or added up from the first rank to the last."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError, BadValue
from ..reductions import operation
from ..values import START_RANKS, is_in_place
from .buffers import elements, octets, shares
from .meetings import DealtPlan, MemberCall

if TYPE_CHECKING:
    from .buffers import Bytes, Elements

DEALT = 1 << 18
"""Bytes from which on all members copy or add at a time: less is done before the others would be awake."""
_CHUNK = 1 << 17
"""Bytes of an accumulator that is used often enough to stay in a core's cache."""


@dataclass(frozen=True, slots=True)
class _Goods:
    """What a member sends to some ranks and receives from some; what is meant for nobody stays."""

    out: dict[int, Bytes] = field(default_factory=dict)
    into: dict[int, Bytes] = field(default_factory=dict)


def bcast(rank: int, size: int, root: int, buffer: Any) -> MemberCall:
    """Return the call in which all get what the root's buffer holds."""
    held = octets("Bcast", buffer, rank != root)
    goods = _Goods(dict.fromkeys(range(size), held)) if rank == root else _Goods({}, {root: held})
    return _move(f"Bcast(root={root})", goods)


def gather(rank: int, size: int, root: int, sent: Any, received: Any) -> MemberCall:
    """Return the call in which the root's buffer gets a part of each member's."""
    goods = _Goods()
    if rank == root:
        goods.into.update(enumerate(shares("Gather", received, True, size)))
    if rank != root or not is_in_place(sent):
        goods.out[root] = octets("Gather", sent, False)
    return _move(f"Gather(root={root})", goods)


def scatter(rank: int, size: int, root: int, sent: Any, received: Any) -> MemberCall:
    """Return the call in which each gets its part of the root's buffer."""
    goods = _Goods()
    if rank == root:
        goods.out.update(enumerate(shares("Scatter", sent, False, size)))
    if rank != root or not is_in_place(received):
        goods.into[root] = octets("Scatter", received, True)
    return _move(f"Scatter(root={root})", goods)


def allgather(rank: int, size: int, sent: Any, received: Any) -> MemberCall:
    """Return the call in which all get a part of each member's buffer."""
    into = dict(enumerate(shares("Allgather", received, True, size)))
    source = into.pop(rank) if is_in_place(sent) else octets("Allgather", sent, False)
    return _move("Allgather()", _Goods(dict.fromkeys(range(size), source), into))


def alltoall(size: int, sent: Any, received: Any) -> MemberCall:
    """Return the call in which each gets its part of everybody's buffer."""
    into = shares("Alltoall", received, True, size)
    out = into.copy() if is_in_place(sent) else shares("Alltoall", sent, False, size)
    return _move("Alltoall()", _Goods(dict(enumerate(out)), dict(enumerate(into))))


def _move(name: str, goods: _Goods) -> MemberCall:
    """Return a call in which bytes go from buffers to buffers."""
    return MemberCall(name, goods, partial(_plan_moves, name))


def _plan_moves(name: str, deposits: list[_Goods]) -> list[None] | DealtPlan:
    moves = [
        [(deposits[source].out[rank], target) for source, target in goods.into.items() if rank in deposits[source].out]
        for rank, goods in enumerate(deposits)
    ]
    for rank, each in enumerate(moves):
        for source, target in each:
            if len(source) > len(target):
                raise BadValue(
                    f"{name}: {len(source)} bytes are sent to rank {rank}; "
                    f"expected no more than the {len(target)} bytes of its buffer"
                )

    def work(rank: int) -> None:
        for source, target in moves[rank]:
            np.copyto(target[: len(source)], source)

    if sum(len(source) for each in moves for source, _ in each) >= DEALT:
        return DealtPlan(work)
    for rank in range(len(moves)):
        work(rank)
    return [None] * len(moves)


def reduce(rank: int, root: int | None, sent: Any, received: Any, op: Any) -> MemberCall:
    """Return the call in which the root's buffer, or without a root everybody's, gets all members' in one."""
    name = "Allreduce" if root is None else "Reduce"
    apply = operation(name, op)
    target = octets(name, received, True) if root is None or rank == root else None
    source = elements(name, received if is_in_place(sent) else sent, False)
    if target is not None and len(target) < source.nbytes:
        raise BadValue(f"{name}: {source.nbytes} bytes; expected no more than the buffer's {len(target)} bytes")
    if apply.ufunc is None or source.dtype.kind == "V":
        raise ArgumentError(
            f"{name}: argument 'op' is {apply.name}, for elements of type {source.dtype}; "
            f"expected an operation that NumPy has for them; for all of mpi4py's {START_RANKS}"
        )
    plan = partial(_plan_reduction, name, apply.ufunc)
    return MemberCall(f"{name}()" if root is None else f"{name}(root={root})", (source, target), plan)


def _plan_reduction(
    name: str, ufunc: np.ufunc, deposits: list[tuple[Elements, Bytes | None]]
) -> list[None] | DealtPlan:
    sources = [source for source, _ in deposits]
    first = sources[0]
    for rank, source in enumerate(sources):
        if (source.nbytes, source.dtype) != (first.nbytes, first.dtype):
            raise BadValue(
                f"{name}: rank 0 brings {first.nbytes} bytes of {first.dtype}, "
                f"rank {rank} {source.nbytes} bytes of {source.dtype}; expected the same of all"
            )
    targets = [target[: first.nbytes].view(first.dtype) for _, target in deposits if target is not None]
    size, count, step = len(deposits), len(first), max(1, _CHUNK // first.itemsize)

    def work(begin: int, end: int) -> None:
        room = np.empty(min(step, end - begin), first.dtype)
        for at in range(begin, end, step):
            part = slice(at, min(at + step, end))
            total = first[part]
            for source in sources[1:]:
                total = ufunc(total, source[part], out=room[: len(total)], casting="unsafe")
            for target in targets:
                target[part] = total

    if size > 1 and first.nbytes >= DEALT:
        return DealtPlan(lambda rank: work(count * rank // size, count * (rank + 1) // size))
    work(0, count)
    return [None] * size
