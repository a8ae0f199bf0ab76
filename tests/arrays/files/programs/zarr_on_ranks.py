"""Writes arrays to zarr on ranks, reads them, compares; with the word `kill` a rank is killed while it writes.

Prints one JSON line: how many ranks made blocks, what was reported lost, what is left in the folder.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

import numpy as np
import zarr

import windrow as wr
from support.ranks import await_losses, kill_after
from windrow.arrays.chunking import stored


def slow(block, block_id=()):
    """Leave a note of who makes a block, and take a while."""
    time.sleep(0.02)
    open(f"maker-{block_id[0]}-{os.getpid()}", "w").close()
    return block * 2


def some_made():
    """Whether some blocks are made."""
    return len([n for n in os.listdir(".") if n.startswith("maker-")]) >= 10


stored.MERGED = 1
rows = np.arange(60_000.0).reshape(60, 1000)
x = wr.map_blocks(slow, wr.from_array(rows, chunks=(1, 500)), dtype=float)
if "kill" in sys.argv:
    threading.Thread(target=kill_after, args=(some_made, "some blocks are made")).start()
x.to_zarr("saved")
x.to_zarr("sharded", chunks=(2, 30), shards=(4, 90))
assert (zarr.open("saved")[:] == rows * 2).all()
y = wr.from_zarr("sharded")
assert (y.compute() == rows * 2).all()
wr.testing.assert_equal(wr.from_zarr("saved", chunks=7), wr.from_zarr("sharded", chunks=7))
(y[::3, 5:700:7].T + 1).to_zarr("group", component="a/b", chunks=(9, 3))
assert (wr.from_zarr("group", "a/b").compute() == rows[::3, 5:700:7].T * 2 + 1).all()
target = zarr.open("sharded", mode="r+")
wr.store(wr.zeros((50, 800), chunks=(7, 33)), target, regions=(slice(3, 53), slice(50, 850)))
expected = rows * 2
expected[3:53, 50:850] = 0
assert (target[:] == expected).all()
if "kill" in sys.argv:
    await_losses()
makers = {name.split("-")[2] for name in os.listdir(".") if name.startswith("maker-")}
left = sorted(name for name in os.listdir(".") if not name.startswith("maker-"))
assert not [name for _, _, names in os.walk(".") for name in names if name.endswith(".partial")]
print(json.dumps({"makers": len(makers), "losses": wr.cluster().losses, "left": left}))
