"""What somebody waits for goes before what is only held. Argument: ranks (1: one thread).

Prints one JSON object: for quick computations beside a held one, how many of its blocks have ended meanwhile; and how
many blocks of what was held last have ended when what was held before, and is waited for, is there.
"""

from __future__ import annotations

import json
import sys
import time

import windrow as wr
from support.waiting import until

BLOCKS = 16


def slow(block):
    """Take a while that can't be mistaken for a quick computation."""

    time.sleep(0.15)
    return block + 1


def count_ended(array: wr.Array) -> int:
    """Return how many blocks of a held array are there."""
    return cluster._session.engine.ask(lambda engine: engine.ledger.records[array._expr.token].nstored)


def count_beside(quick: wr.Array) -> int:
    """Return how many blocks of a held array end while a quick computation runs."""
    held = wr.map_blocks(slow, wr.zeros(BLOCKS, chunks=1)).persist()
    until(lambda: count_ended(held), "a block has ended")
    before = count_ended(held)
    quick.compute()
    return count_ended(held) - before


ranks = int(sys.argv[1])
with wr.Cluster(ranks=ranks, memory="64 MiB") if ranks > 1 else wr.Cluster(threads=1, memory="64 MiB") as cluster:
    wr.ones(30_000, chunks=1000).cumsum()[-5:].compute()
    light, steps = wr.ones(3).sum(), wr.ones(30_001, chunks=1000).cumsum()[-5:]
    beside = [count_beside(light), count_beside(steps)]
    first, last = (wr.map_blocks(slow, wr.full(BLOCKS, k, chunks=1)).persist() for k in (1, 2))
    until(lambda: count_ended(last), "a block has ended")
    if ranks == 1:
        first.sum().compute()
    else:
        wr.wait(first)
    found = {"beside": beside, "before": count_ended(last)}
print(json.dumps(found))
