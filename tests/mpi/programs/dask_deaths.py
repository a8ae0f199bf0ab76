"""dask's collections on ranks, through a kill at a random moment. JSON. argv: seed."""

import json
import os
import random
import sys
import threading
import time

import dask
import dask.array as da
import numpy as np

import windrow as wr
from support.ranks import await_losses, kill_a_rank

chance = random.Random(int(sys.argv[1]))
dask.config.set(scheduler=wr.dask.get)


def slow(block):
    time.sleep(0.01)
    return block + 1


def pid(_):
    time.sleep(0.01)
    return np.array([os.getpid()])


pids = da.zeros(40, chunks=1).map_blocks(pid, dtype=int, meta=np.zeros(0, int)).compute()
target = np.zeros(20_000)
lock = threading.Lock()
threading.Timer(chance.random(), kill_a_rank, [chance.choice]).start()
x = da.arange(200_000, chunks=10_000).map_blocks(slow).persist()
lazy = (wr.arange(1000, chunks=100) * 2).to_dask()
right = []
for _turn in range(4):
    right.append(int((x + x[::-1]).sum().compute()) == 200_001 * 200_000)
    right.append(int((lazy + 1).sum().compute()) == 1_000_000)
    with lock:
        da.store(x[:20_000], target)
    right.append(bool((target == np.arange(1, 20_001)).all()))
    y = x.reshape(400, 500)
    right.append(bool((y.T @ y)[0, 0].compute() == (np.arange(1, 200_001, 500) ** 2).sum()))
await_losses()
right.append(int(x.sum().compute()) == 100_000 * 200_001)
right.append(int(wr.from_dask(da.arange(100, chunks=9) + 1).sum().compute()) == 5050)
held = dask.delayed(lambda a, b: type(b).__name__)(1, lock)
right.append(held.compute() == "lock")
try:
    dask.delayed(lambda a: 1 / a)(0).compute()
except ZeroDivisionError as error:
    notes = "\n".join(error.__notes__)
json.dump(
    {"right": right, "losses": len(wr.cluster().losses), "pids": len(set(pids.tolist())), "notes": notes}, sys.stdout
)
print()
