"""A driver that is about to die: prints the pids of all ranks, then one rank sits in C with Python's lock held."""

from __future__ import annotations

import sys

import windrow as wr


def block(x, block_id=()):
    """Hold the lock on one block, compute on the others."""
    import ctypes
    import time

    if block_id == (7,):
        ctypes.PyDLL(None).sleep(60)
    time.sleep(0.05)
    return x


if "spawn" in sys.argv:
    wr.Cluster(ranks=4)
kept = wr.random.default_rng(1).random(100_000, chunks=1000).persist()
kept.sum().compute()
print(*(row["pid"] for row in wr.cluster().info()), flush=True)
wr.map_blocks(block, kept, dtype=kept.dtype).sum().compute()
