"""Ctrl-C amid blocks that loop, sleep or are in C on ranks, then something small; prints what stayed behind."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

import windrow as wr
from windrow.scheduler.session.cluster import session


def loop(block):
    while True:
        pass


def sleep(block):
    time.sleep(3)
    return block


def call(block):
    ctypes.CDLL(None).usleep(3_000_000)
    return block


def small(block):
    return block + 1


def state(engine):
    """What is under way, and in use."""
    ledger = engine.ledger
    return [len(engine.jobs), len(ledger.batches), len(ledger.strays), sum(arena.used for arena in ledger.arenas)]


def threads(block):
    """Compute threads of a rank."""
    return block * 0 + sum(thread.name.startswith("windrow-compute") for thread in threading.enumerate())


stray = []
for k in range(int(sys.argv[1])):
    function = (loop, sleep, call)[k % 3]
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        wr.map_blocks(function, wr.ones(32, chunks=1) + 1, dtype=float).compute()
        print("it ended")
    except KeyboardInterrupt:
        pass
    timer.join()
    assert wr.map_blocks(small, wr.ones(12, chunks=1), dtype=float).sum().compute() == 24
    stray.append(session().engine.ask(state)[2] > 0)
deadline = time.monotonic() + 30
while any(found := session().engine.ask(state)) and time.monotonic() < deadline:
    time.sleep(0.05)
most = wr.map_blocks(threads, wr.ones(60, chunks=1), dtype=float).compute().max()
print(stray, found, most == wr.cluster().threads, len(wr.cluster().info()))
