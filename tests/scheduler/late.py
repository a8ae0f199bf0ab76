"""One rank is at a slow block; what else there is to compute must not wait for it. Argument: ranks (1: two threads).

Prints one JSON object: seconds that quick computations took beside the slow block, and after Ctrl-C in one.
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import time

import numpy as np

import windrow as wr

SLOW = 4.0


def slow(block, block_id=()):
    """Sleep at the block whose number is in the data."""
    import time

    if block_id[0] == int(block[0]):
        time.sleep(4.0)
    return block


def slow_at(number: int) -> wr.Array:
    """Two blocks, one for each rank; one of them is slow."""
    return wr.map_blocks(slow, wr.full(2, number, chunks=1), dtype=int)


def quick(seed: int) -> float:
    """Seconds that a computation of several stages takes; each stage needs all of the one before."""
    begin = time.perf_counter()
    x = wr.random.default_rng(seed).normal(size=(400, 400), chunks=50)
    for _ in range(3):
        x = (x - x.mean(axis=0)).T
    total = float(x.sum())
    assert abs(total) < 1e-6, total
    return time.perf_counter() - begin


def interrupt(number: int, frame: object) -> None:
    """Be a Ctrl-C."""
    raise KeyboardInterrupt


def given() -> list[int]:
    """Batches that each rank has."""
    counts: list[int] = cluster._session.engine.ask(lambda engine: [len(batches) for batches in engine.ledger.given])
    return counts


ranks = int(sys.argv[1])
found: dict[str, list[float]] = {"beside": [], "after": []}
with wr.Cluster(ranks=ranks, memory="64 MiB") if ranks > 1 else wr.Cluster(threads=2, memory="64 MiB") as cluster:
    usual = [quick(0), quick(1)]
    for seed in (0, 1):
        kept = slow_at(seed).persist()
        time.sleep(0.3)
        found["beside"].append(quick(2 + seed))
        assert any(given()), "the slow block was over"
        wr.wait(kept)
        assert np.array_equal(kept.compute(), [seed, seed])
        del kept
    signal.signal(signal.SIGALRM, interrupt)
    for seed in (0, 1):
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with contextlib.suppress(KeyboardInterrupt):
            slow_at(seed).compute()
            raise AssertionError("nothing was slow")
        found["after"].append(quick(4 + seed))
        time.sleep(SLOW)
    left = given()
print(json.dumps(found | {"usual": usual, "given": left}))
