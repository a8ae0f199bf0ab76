"""What ranks tell each other at start: who is where, whose memory is mapped, and how the rest is read."""

from __future__ import annotations

import os
import secrets
import socket
import time
from dataclasses import dataclass
from typing import cast

import numpy as np
from mpi4py import MPI

from ..transport import Peer
from .memory import Arena, PeerMemory, arena_name, boot_id

ROUTES = ("auto", "map", "get", "service")
_SETTLE = 0.02  # until the sleeping half of the self-test surely sleeps
_PATIENCE = 0.1  # for the Get of the self-test
_SLEEP = 0.2


@dataclass(frozen=True, slots=True)
class Card:
    """What a rank says of itself."""

    host: str
    boot: str
    namespace: str
    pid: int
    fd: int
    size: int


@dataclass(frozen=True, slots=True)
class Roster:
    """The job as one rank sees it."""

    peers: tuple[Peer, ...]
    killable: frozenset[int]
    window: MPI.Win | None


def token(comm: MPI.Intracomm) -> str:
    """Agree on the job's random word."""
    return cast("str", comm.bcast(secrets.token_hex(8) if comm.rank == 0 else None))


def greet(comm: MPI.Intracomm, word: str, arena: Arena, memory: PeerMemory, transport: str) -> Roster:
    """Exchange cards, map what can be mapped, and choose the routes.

    Parameters
    ----------
    comm, word
        The job's communicator and random word.
    arena, memory
        The own arena, and the place for mappings of others'.
    transport
        "auto", or the route to use for every peer.
    """
    if transport not in ROUTES:
        raise ValueError(f"transport={transport!r}: one of {', '.join(ROUTES)}")
    own = Card(socket.gethostname(), boot_id(), _namespace(), os.getpid(), arena.fd, arena.size)
    cards = cast("list[Card]", comm.allgather(own))
    near = [(x.host, x.boot) == (own.host, own.boot) for x in cards]
    mapped = {
        r
        for r, x in enumerate(cards)
        if r != comm.rank
        and near[r]
        and transport in ("auto", "map")
        and memory.map_arena(r, x.pid, x.fd, x.size, arena_name(word, r))
    }
    unmapped = set(range(comm.size)) - mapped - {comm.rank}
    total = cast("int", comm.allreduce(len(unmapped)))
    if transport == "map" and total:
        raise RuntimeError(f'transport="map": {total} pairs of ranks cannot map each other (other hosts or containers)')
    rest, window = "service", None
    if transport == "get" or (transport == "auto" and total):
        window = _window(comm, arena)
        if transport == "get" and window is None:
            raise RuntimeError('transport="get": this MPI cannot make a window over the ranks\' arenas')
        if window is not None:
            rest = "get" if transport == "get" else _choose(comm, window, unmapped)
    # A Get of a rank that dies meanwhile may never return, and the driver must: in "auto" it asks instead.
    if transport == "auto" and comm.rank == 0:
        rest = "service"
    peers = tuple(
        Peer(r, x.host, x.pid, near[r], "own" if r == comm.rank else "map" if r in mapped else rest)
        for r, x in enumerate(cards)
    )
    killable = frozenset(r for r, x in enumerate(cards) if near[r] and x.namespace == own.namespace and r != comm.rank)
    return Roster(peers, killable, window)


def _namespace() -> str:
    """Return what tells this process's PID namespace from others."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return f"unknown to {os.getpid()}"


def _window(comm: MPI.Intracomm, arena: Arena) -> MPI.Win | None:
    """Expose the arena, locked by all for reading from now on; None when MPI cannot, on all ranks alike.

    Made only where chunks may travel through it: with fault tolerance Open MPI prints a warning at each.
    """
    memory = MPI.memory.fromaddress(arena.address, arena.size)
    try:
        window = MPI.Win.Create(memory, 1, MPI.INFO_NULL, comm)
    except MPI.Exception:
        window = None
    if not comm.allreduce(window is not None, MPI.LAND) or window is None:
        return None
    window.Set_errhandler(MPI.ERRORS_RETURN)
    window.Lock_all(MPI.MODE_NOCHECK)
    return window


def _choose(comm: MPI.Intracomm, window: MPI.Win, unmapped: set[int]) -> str:
    """Choose the route for the peers that are not mapped; the same on all ranks."""
    passed = _one_sided(comm, window, unmapped)
    return "get" if comm.allreduce(passed, MPI.MIN) else "service"


def _one_sided(comm: MPI.Intracomm, window: MPI.Win, unmapped: set[int]) -> bool:
    """Tell whether a Get completes while its target sleeps outside MPI: even ranks try, then odd ones.

    Where it does not, the Get may hold its caller until the target wakes, which it does.
    """
    passed = True
    for half in (0, 1):
        comm.Barrier()
        if comm.rank % 2 != half:
            time.sleep(_SLEEP)
            continue
        targets = sorted(r for r in unmapped if r % 2 != half)
        if targets:
            time.sleep(_SETTLE)
            target = targets[comm.rank // 2 % len(targets)]
            passed = passed and _quick_get(window, target)
    return passed


def _quick_get(window: MPI.Win, target: int) -> bool:
    """Tell whether eight bytes come in time."""
    buffer = np.empty(8, np.uint8)
    start = time.monotonic()
    try:
        request = window.Rget([buffer, MPI.BYTE], target)
        while not request.Test():
            os.sched_yield()
    except MPI.Exception:
        return False
    return time.monotonic() - start < _PATIENCE
