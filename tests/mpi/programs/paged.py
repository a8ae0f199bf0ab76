"""Shared arrays on ranks: gathers in place or by pages, additions, a version that is read again after a kill. JSON."""

import gc
import json
import sys

import numpy as np

import windrow as wr
from support.ranks import await_losses, kill_a_rank

SIZE, TASKS = 200_000, 40
known = np.arange(SIZE) ** 2
v = wr.shared.array(known, page="16 KiB")
x = wr.arange(SIZE, chunks=SIZE // TASKS)


def look(block):
    return v[block[::-1]][::-1]


def count(block):
    v.add_at(block % 1000, 1)
    v.add_at(np.array([3, 3]), [0, 1])
    return block


found = {}
first = wr.map_blocks(look, x, dtype=np.int64).persist()
wr.wait(first)
v.update(slice(5000, 5100), -1)
second = wr.map_blocks(look, x, dtype=np.int64)
picked = v[x[::-7]]
changed = known.copy()
changed[5000:5100] = -1
found["second"] = bool((second.compute() == changed).all())
found["picked"] = bool((picked.compute() == changed[::-7]).all())
victim = kill_a_rank()
await_losses()
found["first"] = bool((first.compute() == known).all())
found["recomputed"] = wr.cluster().losses[0]
first = second = None
gc.collect()
total = wr.map_blocks(count, x, dtype=np.int64)
found["total"] = int(total.sum().compute()) == sum(range(SIZE))
changed += np.bincount(np.arange(SIZE) % 1000, minlength=SIZE)
changed[3] += TASKS
found["added"] = bool((v[:] == changed).all())
total.compute()
found["once"] = bool((v[:] == changed).all())


def members(comm):
    v.add_at(comm.rank, 10)
    return int(v[[0, -1]].sum())


found["told"] = wr.spmd(members)
changed[: len(found["told"])] += 10
found["gang"] = bool((v[:] == changed).all())
found["info"] = v.info()
found["bad"] = ""
try:
    wr.map_blocks(lambda block: v[block + SIZE], x, dtype=np.int64).compute()
except IndexError as error:
    found["bad"] = str(error)
json.dump(found, sys.stdout)
print()
