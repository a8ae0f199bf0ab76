"""Writes an array of zarr's over itself on ranks, one of which is killed amid it; prints the error."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import zarr

import windrow as wr
from windrow.arrays.chunking import stored


def kill_one(pid, path):
    """End a rank once the first object is written."""
    first = os.stat(path).st_mtime_ns
    while os.stat(path).st_mtime_ns == first:
        time.sleep(0.001)
    os.kill(pid, signal.SIGKILL)


stored.MERGED = 1
wr.from_array(np.ones((3000, 10))).to_zarr("x", chunks=(1, 10))
x = wr.from_zarr("x", chunks=(1, 10))
killer = threading.Thread(target=kill_one, args=(wr.cluster().info()[-1]["pid"], "x/c/0/0"))
killer.start()
try:
    wr.store(x + 1, zarr.open("x", mode="r+"))
except wr.FileError as error:
    print("FileError", error)
else:
    print("no error", set(np.unique(zarr.open("x")[:]).tolist()), wr.cluster().losses)
