"""Tells where the buffers lie that functions get as Arrow, by the mappings of arenas that /proc lists.

Prints a JSON line: for each kind of chunk a row for each of them, and whether pyarrow was loaded before and after.
"""

from __future__ import annotations

import json
import os
import sys
import time

import numpy as np

import windrow as wr


def mappings():
    """Return (begin, end, whose arena, whether it is the own one) of each arena that this process maps."""
    found = []
    with open("/proc/self/maps", encoding="ascii") as file:
        for line in file:
            if "/memfd:windrow-" in line and "-notes" not in line:
                ends, rights, *_ = line.split()
                begin, end = (int(x, 16) for x in ends.split("-"))
                found.append((begin, end, int(line.split("-")[-2]), "w" in rights))
    return found


def place(address, size):
    """Return whose arena some bytes lie in, where, and whether it is the own one's; -1 where they lie in none."""
    for begin, end, rank, own in mappings():
        if begin <= address and address + size <= end:
            return rank, address - begin, own
    return -1, 0, False


def of_numpy(block):
    """Tell where a NumPy block lies."""
    time.sleep(0.002)  # so that every rank gets some
    return np.array([place(block.__array_interface__["data"][0], block.nbytes)])


def of_arrow(block):
    """Tell where an Arrow block lies: its first element; whether its buffer is aligned, padded within, read-only."""
    time.sleep(0.002)
    flat = block.storage.flatten() if hasattr(block, "storage") else block
    buffer = flat.buffers()[-1]
    child = flat.flatten() if flat.type.num_fields else flat
    width = child.type.bit_width // 8
    rank, at, own = place(buffer.address, -(-buffer.size // 64) * 64)
    fine = buffer.address % 64 == 0 and not buffer.is_mutable
    return np.array([[rank, at + child.offset * width, own, fine, child.offset, os.getpid()]])


def loaded(block):
    """Tell whether pyarrow is imported."""
    time.sleep(0.01)
    return np.array([[os.getpid(), "pyarrow" in sys.modules]])


def ask(function, x, width):
    """Return a function's row for each chunk of an array."""
    flat = x if x.ndim else x.reshape(1)
    how = {"blocks": "arrow"} if function is of_arrow else {}
    chunks = ((1,) * x.npartitions, (width,))
    if flat.ndim == 1:
        return wr.map_blocks(function, flat, dtype=np.int64, chunks=chunks, new_axis=1, **how).compute().tolist()
    return wr.map_blocks(function, flat, dtype=np.int64, chunks=chunks, **how).compute().tolist()


def imports():
    """Return for each process whether it has imported pyarrow."""
    rows = wr.map_blocks(loaded, wr.ones(60, chunks=1), dtype=np.int64, chunks=((1,) * 60, (2,)), new_axis=1)
    return dict(map(tuple, rows.compute().tolist()))


def slowly(block):
    """Return a block after a while, so that every rank has some however late it begins."""
    time.sleep(0.03)
    return block * 1.5


kept = {
    "large": wr.map_blocks(slowly, wr.arange(6_000_000, chunks=250_001), dtype=np.float64).persist(),
    "rows": wr.map_blocks(slowly, wr.ones((330, 3000), np.float32, chunks=(11, 3000)), dtype=np.float32).persist(),
    "small": (wr.arange(400_000, chunks=1001) + 1).persist(),
    "complex": (wr.arange(40_000, chunks=3001) * 1j).persist(),
    "times": wr.arange(30_000, chunks=1000).astype("M8[ms]").persist(),
}
wr.wait(*kept.values())
before = imports()
found = {name: [ask(of_numpy, x, 3), ask(of_arrow, x, 6)] for name, x in kept.items()}
print(json.dumps({"before": sorted(before.values()), "places": found, "after": sorted(imports().values())}))
