"""What ranks tell each other at start: who is where, whose memory is mapped, and how the rest is read."""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from mpi4py import MPI

from ...wire.transport import Peer
from ..rma.memory import PeerMemory, boot_id
from ..rma.window import Exposure, expose, gets_alone, gets_are_safe, meet
from .environment import ulfm_enabled

if TYPE_CHECKING:
    from ...shared.segment import SegmentName, SharedSegment

ROUTES = ("auto", "map", "get", "service")


@dataclass(frozen=True, slots=True)
class Card:
    """What a rank says of itself."""

    host: str
    boot: str
    namespace: str
    arena: SegmentName


@dataclass(frozen=True, slots=True)
class Roster:
    """The job as one rank sees it."""

    peers: tuple[Peer, ...]
    killable: frozenset[int]
    window: MPI.Win | None


def agree(comm: MPI.Intracomm, transport: str) -> tuple[str, str]:
    """Return the job's random word, and rank 0's transport: ranks of other hosts may not see its setting."""
    return cast("tuple[str, str]", comm.bcast((secrets.token_hex(8), transport)))


def greet(comm: MPI.Intracomm, arena: SharedSegment, memory: PeerMemory, transport: str) -> Roster:
    """Exchange cards, map what can be mapped, and choose the routes, unless `transport` names one for every peer."""
    if transport not in ROUTES:
        raise ValueError(f"transport={transport!r}: one of {', '.join(ROUTES)}")
    own = Card(socket.gethostname(), boot_id(), _namespace(), arena.name)
    cards = cast("list[Card]", comm.allgather(own))
    near = [(x.host, x.boot) == (own.host, own.boot) for x in cards]
    mapped = {
        r
        for r, x in enumerate(cards)
        if r != comm.rank and near[r] and transport in ("auto", "map") and memory.map_arena(r, x.arena)
    }
    unmapped = set(range(comm.size)) - mapped - {comm.rank}
    total = cast("int", comm.allreduce(len(unmapped)))
    if transport == "map" and total:
        raise RuntimeError(f'transport="map": {total} pairs of ranks cannot map each other (other hosts or containers)')
    exposure = expose(comm, arena)
    rest, alone = _choose(comm, exposure, transport, unmapped, total)
    peers = tuple(
        Peer(
            r,
            x.host,
            x.arena.pid,
            near[r],
            "own" if r == comm.rank else "map" if r in mapped else rest,
            None if exposure is None else replace(exposure.ranks[r], alone=alone),
        )
        for r, x in enumerate(cards)
    )
    killable = frozenset(r for r, x in enumerate(cards) if near[r] and x.namespace == own.namespace and r != comm.rank)
    return Roster(peers, killable, None if exposure is None else exposure.window)


def _namespace() -> str:
    """Return what tells this process's PID namespace from others."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return f"unknown to {os.getpid()}"


def _choose(
    comm: MPI.Intracomm, exposure: Exposure | None, transport: str, unmapped: set[int], total: int
) -> tuple[str, bool | None]:
    """Return the route to ranks that aren't mapped, and whether a Get completes alone: tried where it matters."""
    forced = transport == "get"
    usable = exposure is not None and exposure.unified
    if forced and not usable:
        raise RuntimeError('transport="get": this MPI cannot make a unified window over the ranks\' arenas')
    if exposure is None or not total or not (forced or transport == "auto"):
        return "service", None
    alone = gets_alone(comm, exposure.window, unmapped)
    if not forced and not comm.allreduce(alone and usable and gets_are_safe(), MPI.LAND):
        return "service", alone
    if not meet(comm, exposure.window, unmapped):
        if forced:
            raise RuntimeError('transport="get": a rank could not be read through the window')
        return "service", alone
    # A Get of a rank that dies meanwhile may never return; the driver must, where deaths are survived.
    return ("service" if comm.rank == 0 and ulfm_enabled() and not forced else "get"), alone
