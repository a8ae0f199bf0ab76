"""Collective calls on buffers: mpi4py's upper-case functions, copied once from buffer to buffer."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ....graph.errors import BadValue
from ..buffers import BufferRegion, region, regions, split
from ..mailboxes import copy_bytes
from ..meetings import DealtPlan, MemberCall
from ..values import is_in_place
from .reductions import RankFold, operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

DEALT = 1 << 18
"""Bytes from which on all members copy or add at a time: less is done before the others would be awake."""


@dataclass(frozen=True, slots=True)
class _Goods:
    """What a member sends to some ranks and receives from some."""

    out: dict[int, Any] = field(default_factory=dict)
    into: dict[int, Any] = field(default_factory=dict)


def _move(
    name: str, out: dict[int, Any], into: dict[int, Any], closing: Iterable[BufferRegion], dealt: bool
) -> MemberCall:
    """Return a call in which bytes go from buffers to buffers; by rank, what is sent to it and received from it."""
    closing = [x for x in closing if x.unpack is not None]

    def close(_: Any) -> None:
        for each in closing:
            each.close()

    return MemberCall(name, _Goods(out, into), partial(_plan_moves, name, dealt), close)


def _plan_moves(name: str, dealt: bool, deposits: list[_Goods]) -> list[None] | DealtPlan:
    moves: list[list[tuple[Any, Any]]] = [
        [(deposits[source].out[rank], target) for source, target in goods.into.items() if rank in deposits[source].out]
        for rank, goods in enumerate(deposits)
    ]
    total = 0
    for rank, each in enumerate(moves):
        for source, target in each:
            if len(source) > len(target):
                raise BadValue(
                    f"{name}: {len(source)} bytes are sent to rank {rank}; "
                    f"expected no more than the {len(target)} bytes of its buffer"
                )
            total += len(source)

    def work(rank: int) -> None:
        for source, target in moves[rank]:
            copy_bytes(lambda: name, source, target)

    if dealt and total >= DEALT:
        return DealtPlan(work)
    for rank in range(len(moves)):
        work(rank)
    return [None] * len(moves)


def bcast(name: str, rank: int, size: int, root: int, buffer: Any, dealt: bool = True) -> MemberCall:
    """Return the call in which all get what the root's buffer holds."""
    held = region(name, buffer, rank != root)
    name = f"{name}(root={root})"
    if rank == root:
        return _move(name, {r: held.flat for r in range(size) if r != root}, {}, [], dealt)
    return _move(name, {}, {root: held.flat}, [held], dealt)


def gather(
    name: str, rank: int, size: int, root: int, sent: Any, received: Any, vector: bool, dealt: bool = True
) -> MemberCall:
    """Return the call in which the root's buffer gets a part of each member's."""
    if rank != root:
        return _move(f"{name}(root={root})", {root: region(name, sent, False).flat}, {}, [], dealt)
    targets, closing = _parts(name, received, True, size, vector)
    into = {r: x.flat for r, x in enumerate(targets)}
    out = {}
    if is_in_place(sent):
        _keep(name, received, targets, rank, vector, closing)
        del into[rank]
    else:
        out[rank] = region(name, sent, False).flat
    return _move(f"{name}(root={root})", out, into, closing, dealt)


def scatter(
    name: str, rank: int, size: int, root: int, sent: Any, received: Any, vector: bool, dealt: bool = True
) -> MemberCall:
    """Return the call in which each gets its part of the root's buffer."""
    out = {}
    if rank == root:
        out = {r: x.flat for r, x in enumerate(_parts(name, sent, False, size, vector)[0])}
        if is_in_place(received):
            return _move(f"{name}(root={root})", out, {}, [], dealt)
    target = region(name, received, True)
    return _move(f"{name}(root={root})", out, {root: target.flat}, [target], dealt)


def allgather(
    name: str, rank: int, size: int, sent: Any, received: Any, vector: bool, dealt: bool = True
) -> MemberCall:
    """Return the call in which all get a part of each member's buffer."""
    targets, closing = _parts(name, received, True, size, vector)
    into = {r: x.flat for r, x in enumerate(targets)}
    if is_in_place(sent):
        _keep(name, received, targets, rank, vector, closing)
        source = into.pop(rank)
        return _move(f"{name}()", {r: source for r in range(size) if r != rank}, into, closing, dealt)
    source = region(name, sent, False).flat
    return _move(f"{name}()", dict.fromkeys(range(size), source), into, closing, dealt)


def alltoall(name: str, size: int, sent: Any, received: Any, vector: bool, dealt: bool = True) -> MemberCall:
    """Return the call in which each gets its part of everybody's buffer."""
    targets, closing = _parts(name, received, True, size, vector)
    place = is_in_place(sent)
    sources = _parts(name, received if place else sent, False, size, vector)[0]
    out = {r: x.flat.copy() if place else x.flat for r, x in enumerate(sources)}
    return _move(f"{name}()", out, {r: x.flat for r, x in enumerate(targets)}, closing, dealt)


def _parts(
    name: str, spec: Any, writable: bool, size: int, vector: bool
) -> tuple[Sequence[BufferRegion], list[BufferRegion]]:
    """Return a buffer's part for each member, and what is to be closed when they were received."""
    if vector:
        parts = regions(name, spec, writable, size)
        return parts, [x for x in parts if x.unpack is not None]
    whole = region(name, spec, writable, size)
    return split(whole, size), [whole] if whole.unpack is not None else []


def _keep(
    name: str, spec: Any, targets: Sequence[BufferRegion], rank: int, vector: bool, closing: Sequence[BufferRegion]
) -> None:
    """See to it that a member's own part, which is in place, is still there after unpacking."""
    if closing:
        targets[rank].flat[:] = _parts(name, spec, False, len(targets), vector)[0][rank].flat


def reduce(name: str, rank: int, root: int | None, sent: Any, received: Any, op: Any, dealt: bool = True) -> MemberCall:
    """Return the call in which the root's buffer, or without a root everybody's, gets all members' in one."""
    return _reduction(
        name if root is not None else f"{name}()",
        sent,
        received,
        op,
        lambda fold, sources, targets: partial(fold.spread, sources, [x for x in targets if x is not None]),
        root is None or rank == root,
        "" if root is None else f"(root={root})",
        dealt,
    )


def scan(name: str, sent: Any, received: Any, op: Any, exclusive: bool, dealt: bool = True) -> MemberCall:
    """Return the call in which each buffer gets those of the ranks up to its own, or before it, in one."""
    return _reduction(
        f"{name}()",
        sent,
        received,
        op,
        lambda fold, sources, targets: partial(fold.scan, sources, targets, exclusive=exclusive),
        True,
        "",
        dealt,
    )


def _reduction(
    name: str,
    sent: Any,
    received: Any,
    op: Any,
    make: Callable[[RankFold, list[Any], list[Any]], Callable[[int, int], None]],
    receives: bool,
    more: str,
    dealt: bool,
) -> MemberCall:
    """Return a call that applies an operation to each element; `make` tells how, from one element to another."""
    call = name.removesuffix("()")
    apply = operation(call, op)
    target = region(call, received, True) if receives else None
    source = region(call, received if is_in_place(sent) else sent, False)
    if target is not None and len(target.flat) < len(source.flat):
        raise BadValue(f"{call}: {len(source.flat)} bytes; expected no more than the buffer's {len(target.flat)} bytes")

    def plan(deposits: list[tuple[BufferRegion, BufferRegion | None]]) -> list[None] | DealtPlan:
        sources, fold = _contributions(call, apply, [x for x, _ in deposits])
        count = len(sources[0])
        targets = [x and x.flat[: count * fold.dtype.itemsize].view(fold.dtype) for _, x in deposits]
        run = make(fold, sources, targets)
        size = len(deposits)
        if dealt and fold.shared and size > 1 and sources[0].nbytes >= DEALT:
            return DealtPlan(lambda rank: run(count * rank // size, count * (rank + 1) // size))
        run(0, count)
        return [None] * size

    def close(_: Any) -> None:
        if target is not None:
            target.close()

    return MemberCall(name + more, (source, target), plan, close)


def _contributions(call: str, apply: Any, given: list[BufferRegion]) -> tuple[list[Any], RankFold]:
    """Return what members bring as arrays, which must be alike, and what folds them."""
    sizes = [(len(x.flat), x.dtype) for x in given]
    for rank, size in enumerate(sizes):
        if size != sizes[0]:
            size_texts = [f"{nbytes} bytes of {dtype}" for nbytes, dtype in (sizes[0], size)]
            raise BadValue(
                f"{call}: rank 0 brings {size_texts[0]}, rank {rank} {size_texts[1]}; expected the same of all"
            )
    fold = RankFold(call, apply, given[0])
    return [x.flat.view(fold.dtype) for x in given], fold


def reduce_scatter(
    name: str, rank: int, size: int, sent: Any, received: Any, counts: Sequence[int] | None, op: Any
) -> MemberCall:
    """Return the call in which each gets its part of all members' buffers in one.

    `counts` are the elements of each member; None for equal parts.
    """
    apply = operation(name, op)
    source = region(name, received if is_in_place(sent) else sent, False)
    target = region(name, received, True)

    def plan(deposits: list[tuple[BufferRegion, BufferRegion]]) -> list[None]:
        sources, fold = _contributions(name, apply, [x for x, _ in deposits])
        total = fold.total(sources)
        parts = [len(total) // size] * size if counts is None else list(counts)
        if sum(parts) != len(total) or len(parts) != size:
            raise BadValue(f"{name}: {len(total)} elements, counts {parts}; expected {size} counts with that sum")
        begin = 0
        for (_, into), count in zip(deposits, parts, strict=True):
            part = total[begin : begin + count].view("u1")
            copy_bytes(lambda: name, part, into.flat)
            begin += count
        return [None] * size

    return MemberCall(f"{name}()", (source, target), plan, lambda _: target.close())
