"""Writes HDF5 from ranks, reads it on ranks, compares; with the word `kill` a rank is killed while it reads.

Prints one JSON line: how many ranks have read, what was reported lost, what is left in the folder.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

import h5py
import netCDF4
import numpy as np

import windrow as wr
from support.ranks import await_losses, kill_after


def slow(block, block_id=()):
    """Leave a note of who has read a block, and take a while."""
    time.sleep(0.02)
    open(f"reader-{block_id[0]}-{os.getpid()}", "w").close()
    return block * 2


def some_read():
    """Whether some blocks are read."""
    return len([n for n in os.listdir(".") if n.startswith("reader-")]) >= 10


rows = np.arange(60_000.0).reshape(60, 1000)
x = wr.from_array(rows, chunks=(7, 300))
wr.to_hdf5("x.h5", {"a/x": x, "y": x.T + 1}, compression="gzip")
if "kill" in sys.argv:
    threading.Thread(target=kill_after, args=(some_read, "some blocks are read")).start()
doubled = wr.map_blocks(slow, wr.from_hdf5("x.h5", "a/x", chunks=(2, 500)), dtype=float)
assert (doubled.compute() == rows * 2).all()
with h5py.File("x.h5") as file:
    y = wr.from_array(file["y"])
    assert (y[::3, 5:40:7].compute() == rows.T[::3, 5:40:7] + 1).all()
    wr.testing.assert_equal(y.T, x + 1)
with netCDF4.Dataset("a.nc", "w") as file:
    file.createDimension("t", None)
    file.createDimension("x", 1000)
    file.createVariable("v", "f4", ("t", "x"), fill_value=-5)[:] = np.ma.masked_less(rows, 1000)
    part = wr.from_array(file["v"])
    assert int(wr.isnan(part).sum()) == 1000
v = wr.from_hdf5("a.nc", "v", chunks=(5, 400))
assert float(wr.nansum(v - x.astype("f4"))) == 0
assert int(wr.isnan(v).sum()) == 1000
before = wr.from_hdf5("x.h5", "a/x", chunks=(7, 90)) + 1
wr.to_hdf5("x.h5", "y", v, overwrite=True)
assert (before.compute() == rows + 1).all()
assert (wr.from_hdf5("x.h5", "y")[1:].compute() == rows[1:].astype("f4")).all()
if "kill" in sys.argv:
    await_losses()
readers = {name.split("-")[2] for name in os.listdir(".") if name.startswith("reader-")}
left = sorted(name for name in os.listdir(".") if not name.startswith("reader-"))
print(json.dumps({"readers": len(readers), "losses": wr.cluster().losses, "left": left}))
