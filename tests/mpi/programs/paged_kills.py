"""Shared arrays through kills at random moments: versions, additions, memory on other hosts. JSON."""

import gc
import json
import random
import sys
import threading
import time

import numpy as np

import windrow as wr
from support.ranks import await_losses, kill_a_rank

SEED = int(sys.argv[1])
SIZE, TASKS = 60_000, 60
chance = random.Random(SEED)
v = wr.shared.array(np.arange(SIZE), page="4 KiB")
expected = np.arange(SIZE)
x = wr.arange(SIZE, chunks=SIZE // TASKS)


def step(block):
    time.sleep(0.008)
    v.add_at(block % 977, block % 5)
    return v[(block * 7) % SIZE]


threading.Timer(chance.random() * 1.2, kill_a_rank, [chance.choice]).start()
right, kept = [], []
for turn in range(6):
    before = expected.copy()
    y = wr.map_blocks(step, x, dtype=np.int64).persist()
    kept.append((y, before[(np.arange(SIZE) * 7) % SIZE]))
    wr.wait(y)
    np.add.at(expected, np.arange(SIZE) % 977, np.arange(SIZE) % 5)
    if turn % 2:
        v.update(slice(turn * 1000, turn * 1000 + 500), turn)
        expected[turn * 1000 : turn * 1000 + 500] = turn
    right.append(bool((v[:] == expected).all()))
await_losses()
right += [bool((y.compute() == known).all()) for y, known in kept]
right.append(bool((v[:] == expected).all()))
kept = y = None
gc.collect()
v.update(0, 0)


def held(comm):
    from windrow.workers.wire.page_messages import PageMessage
    from windrow.workers.wire.rpc import own_calls

    return own_calls().provided(PageMessage).mirrors.used


for _ in range(100):
    most = max(wr.spmd(held))
    if max(most, v.info()["used"]) <= v.nbytes + v.info()["page"]:
        break
    gc.collect()
    v.update(0, 0)
    time.sleep(0.05)
json.dump({"right": right, "used": v.info()["used"], "held": most, "nbytes": v.nbytes}, sys.stdout)
print()
