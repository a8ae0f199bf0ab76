"""Asks on each rank where it is, and where its blocks lie; compares with what the driver reads there without MPI.

Prints a JSON line: the kinds of places that were seen.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import windrow as wr

SHARED = sys.argv[1] == "map"  # whether ranks have each other's arenas in memory
x = (wr.random.default_rng(0).normal(size=(1200, 800), chunks=(100, 200)) + 1).persist()
one = wr.full((1, 1), 7.0).persist()
wr.wait(x, one)


def meet(folder, ranks):
    """Wait until each rank has begun a task: where one comes late, others would have taken all."""
    (folder / str(wr.arena().rank)).touch()
    limit = time.monotonic() + 20
    while len(list(folder.iterdir())) < ranks and time.monotonic() < limit:
        time.sleep(0.01)


def look(block, single, folder, ranks):
    """Return (rank, pid, arena's address, its size, window's base, its size, unit, owner, offset, block's address).

    And the owner of the single chunk that all read.
    """
    meet(folder, ranks)
    answers = []
    thread = threading.Thread(target=lambda: answers.append(wr.arena()))
    thread.start()
    thread.join()
    own = wr.arena()
    assert own == answers[0] or own.rank == 0, "another thread of this rank is told the same"
    window = own.window
    assert (window.model, window.flavor) == ("unified", "create")
    assert window.alone in (True, False, None)
    where = own.locate(block) or (-1, -1)
    address = block.__array_interface__["data"][0]
    row = (own.rank, os.getpid(), own.address, own.size, window.base, window.size, window.unit, *where, address)
    shared = own.locate(single) or (-1, -1)
    return np.array([[[*row, shared[0]]]])


def memory(pid, size):
    """Return the arena of a process: the file in memory that others of its user can open."""
    for name in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{name}"
        target = os.readlink(path)
        if target.startswith("/memfd:windrow-") and "notes" not in target and os.stat(path).st_size == size:
            return np.memmap(path, np.uint8, "r")
    raise AssertionError(f"process {pid} has no arena")


shape = (*((1,) * n for n in x.numblocks), (11,))
info = {row["rank"]: row for row in wr.cluster().info()}
with tempfile.TemporaryDirectory() as begun:
    where = {"folder": Path(begun), "ranks": len(info)}
    found = wr.map_blocks(look, x, one, dtype=np.int64, chunks=shape, new_axis=2, **where).compute()
owners, values = x.owners(), x.compute()
seen = set()
for index in np.ndindex(*x.numblocks):
    rank, pid, address, size, base, exposed, unit, owner, offset, at, shared = found[index].tolist()
    home = int(one.owners()[0, 0])
    assert shared == (home if SHARED or rank == home else -1), "a peer's memory is read in place where it is mapped"
    if rank != home:
        seen.add("mapped" if SHARED else "copied")
    assert pid == info[rank]["pid"]
    assert (address, size, unit) == (base, exposed, 1)
    assert {"base": base, "size": size, "unit": 1}.items() <= info[rank]["window"].items()
    if owner < 0:
        assert not SHARED
        assert owners[index] != rank, "a block that comes over a network is a copy"
        seen.add("copied")
        continue
    assert owner == owners[index]
    assert offset % 64 == 0
    assert owner != rank or at == address + offset
    seen.add("own" if owner == rank else "mapped")
    here = memory(info[owner]["pid"], size)[offset : offset + 100 * 200 * 8]
    i, j = index
    chunk = values[100 * i : 100 * (i + 1), 200 * j : 200 * (j + 1)]
    assert here.tobytes() == chunk.tobytes(), index
own = wr.arena()
assert (own.rank, own.address) == (0, info[0]["window"]["base"])
print(json.dumps({"seen": sorted(seen), "ranks": sorted(set(found[..., 0].ravel().tolist()))}))
