"""One rank is at a slow block; what else there is to compute must not wait for it. Argument: ranks (1: two threads).

The slow block ends when a gate is opened, which is after what was computed beside it: what waits for it waits for ever.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import threading

import numpy as np

import windrow as wr
from support.waiting import until


def slow(block, block_id=(), gate=""):
    """Wait at the gate, in a call that no interrupt ends: at the block whose number is in the data."""
    import contextlib
    import os

    if block_id[0] == int(block[0]):
        os.close(os.open(gate + ".reached", os.O_CREAT))
        with contextlib.suppress(FileNotFoundError), open(gate):  # it opens when another opens it to write
            pass
    return block


class Gate:
    """Two blocks, one for each rank; one of them waits at the gate."""

    def __init__(self, folder: str, number: int) -> None:
        self.path = os.path.join(folder, str(number))
        os.mkfifo(self.path)
        self.blocks = wr.map_blocks(slow, wr.full(2, number % 2, chunks=1), dtype=int, gate=self.path)

    def await_block(self) -> None:
        """Wait until the block is there."""
        until(lambda: os.path.exists(self.path + ".reached"), "the slow block has begun")

    def interrupt_there(self) -> None:
        """Be a Ctrl-C once the block is there."""
        self.await_block()
        os.kill(os.getpid(), signal.SIGALRM)

    def open(self) -> None:
        """Let the block end, and any that comes later."""
        held = os.open(self.path, os.O_RDWR)
        os.unlink(self.path)
        os.close(held)


def compute_several_stages(seed: int) -> None:
    """Each stage needs all of the one before."""
    x = wr.random.default_rng(seed).normal(size=(400, 400), chunks=50)
    for _ in range(3):
        x = (x - x.mean(axis=0)).T
    total = float(x.sum())
    assert abs(total) < 1e-6, total


def interrupt(number: int, frame: object) -> None:
    """Be a Ctrl-C."""
    raise KeyboardInterrupt


def given() -> list[int]:
    """Batches that each rank has."""
    counts: list[int] = cluster._session.engine.ask(lambda engine: [len(batches) for batches in engine.ledger.given])
    return counts


ranks = int(sys.argv[1])
several = wr.Cluster(ranks=ranks, memory="64 MiB") if ranks > 1 else wr.Cluster(threads=2, memory="64 MiB")
with several as cluster, tempfile.TemporaryDirectory() as folder:
    compute_several_stages(0)
    for seed in (0, 1):
        gate = Gate(folder, seed)
        kept = gate.blocks.persist()
        gate.await_block()
        compute_several_stages(2 + seed)
        assert any(given()), "the slow block was over"
        gate.open()
        wr.wait(kept)
        assert np.array_equal(kept.compute(), [seed, seed])
        del kept
    signal.signal(signal.SIGALRM, interrupt)
    for seed in (2, 3):
        gate = Gate(folder, seed)
        threading.Thread(target=gate.interrupt_there).start()
        with contextlib.suppress(KeyboardInterrupt):
            gate.blocks.compute()
            raise AssertionError("nothing was slow")
        compute_several_stages(4 + seed)
        gate.open()
        until(lambda: not any(given()), given)
print("nothing waited")
