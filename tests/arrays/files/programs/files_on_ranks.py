"""Saves arrays on ranks, loads them, compares; with the word `kill` a rank is killed while it writes.

Prints one JSON line: the ranks that wrote, what was reported lost, what is left in the folder.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

import numpy as np

import windrow as wr
from support.ranks import await_losses, kill_after
from windrow.arrays.files.writing import atomic_write


def slow(block, block_id=()):
    """Leave a note of who makes a block, and take a while."""
    time.sleep(0.02)
    open(f"maker-{block_id[0]}-{os.getpid()}", "w").close()
    return block * 2


def some_made():
    """Whether some blocks are made."""
    return len([n for n in os.listdir(".") if n.startswith("maker-")]) >= 10


atomic_write.FILE_BYTES, atomic_write.CHUNK_COST = 1 << 12, 1  # many files of little data
rows = np.arange(60_000.0).reshape(60, 1000)
x = wr.map_blocks(slow, wr.from_array(rows, chunks=(1, 500)), dtype=float)
if "kill" in sys.argv:
    threading.Thread(target=kill_after, args=(some_made, "some blocks are made")).start()
x.save("saved")
x.to_npy("saved.npy")
wr.to_parquet("table", {"first": x[:, 0], "last": x[:, -1]})
y = wr.load("saved")
assert y.chunks == x.chunks
assert len(os.listdir("saved")) > 30
assert (y.compute() == rows * 2).all()
assert (np.load("saved.npy") == rows * 2).all()
wr.testing.assert_equal(wr.from_npy("saved.npy", chunks=7), y)
table = wr.read_parquet("table")
assert (table["last"] - table["first"]).sum().compute() == 60 * 999 * 2
assert float((y.T + 1).sum()) == rows.sum() * 2 + rows.size
if "kill" in sys.argv:
    await_losses()
makers = {name.split("-")[2] for name in os.listdir(".") if name.startswith("maker-")}
left = sorted(name for name in os.listdir(".") if not name.startswith("maker-"))
print(json.dumps({"makers": len(makers), "losses": wr.cluster().losses, "left": left}))
