"""A rank that does what it is told, for the tests of the link; run as a script it is a spawned rank.

The main thread polls; "compute" runs in a thread of its own, as kernels do.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from pathlib import Path

import numpy as np

from support.transports import collect as collect
from windrow.workers.mpi.start.start import join_spawned, leave, spawn, world
from windrow.workers.wire.transport import RanksLost

ARENA = 32 << 20
LIMIT = 20.0


def fill(link):
    """Give every byte of the arena's first MiB a value that depends on rank and place."""
    link.arena(link.rank)[: 1 << 20] = pattern(link.rank)


def pattern(rank):
    """The bytes of a rank's first MiB."""
    return np.random.default_rng(rank).integers(0, 256, 1 << 20, np.uint8)


def compute(seconds):
    """Keep a core and, between calls, the interpreter's lock busy."""
    a = np.random.default_rng(0).random((300, 300))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        a = np.sqrt(a @ a.T) % 1.0


def read(link, rank, region, limit=LIMIT):
    """Fetch a region and wait for it; returns (ok, bytes)."""
    into = np.zeros(int(np.prod(region.shape)) * region.itemsize, np.uint8)
    ended = []
    link.fetch(rank, region, into, ended.append)
    end = time.monotonic() + limit
    while not ended and time.monotonic() < end:
        link.poll(0.5)
    return (ended[0] if ended else None), into


def serve(link):
    """Do what rank 0 tells, until it says stop or dies."""
    fill(link)
    while True:
        for message in link.poll(1.0):
            if isinstance(message, RanksLost):
                if 0 in message.ranks:
                    os._exit(0)
                link.send(0, ("lost", link.rank, message.ranks))
            else:
                act(link, *message)


def act(link, word, *rest):
    """Carry out one command."""
    if word == "stop":
        leave(link)
    elif word == "echo":
        link.send(0, rest[0])
    elif word == "sleep":
        time.sleep(rest[0])
    elif word == "sleep until":
        link.send(0, ("woken", slept_until(Path(rest[0]))))
    elif word == "hold":  # C code that never lets go of the interpreter's lock
        link.send(0, "holding")
        link.poll(0.05)
        ctypes.PyDLL(None).sleep(int(rest[0]))
    elif word == "compute":
        threading.Thread(target=compute, args=rest, daemon=True).start()
    elif word == "spill":
        link.send(0, ("spilled", spill(Path(rest[0]), link.rank)))
    elif word == "read":
        link.send(0, ("read", *read(link, *rest)))


def slept_until(path, limit=LIMIT):
    """Sleep outside of MPI until a file is there; tell whether it came."""
    end = time.monotonic() + limit
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.01)
    return path.exists()


def spill(folder, rank):
    """Make a file without a name that holds the rank's pattern; returns its number."""
    fd = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600)
    os.write(fd, pattern(rank + 100).tobytes())
    return fd


def start(how, ranks, transport="auto"):
    """Return rank 0's link; a launched rank other than 0 serves and never returns."""
    if how == "spawn":
        link = spawn(ranks, ARENA, transport, [__file__])
    else:
        link = world(ARENA, transport)
        if link.rank:
            serve(link)
    fill(link)
    return link


def stop(link):
    """Tell the living to stop."""
    for rank in range(1, link.size):
        link.send(rank, ("stop",))


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    serve(join_spawned())
