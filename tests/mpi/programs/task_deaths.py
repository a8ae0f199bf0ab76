"""Tasks through kills at random moments: results that stay on ranks, and what takes them. JSON. argv: seed."""

import json
import random
import sys
import threading
import time

import numpy as np

import windrow as wr
from support.ranks import await_losses, kill_a_rank

chance = random.Random(int(sys.argv[1]))


def make(k):
    time.sleep(0.01)
    return np.full(30_000, k)


def double(a):
    time.sleep(0.005)
    return a * 2


def total(parts):
    return int(sum(p[0] for p in parts))


threading.Timer(chance.random(), kill_a_rank, [chance.choice]).start()
x = (wr.arange(100_000, chunks=10_000) + 1).persist()
right = []
for _turn in range(4):
    made = wr.map(make, range(40))
    doubled = wr.map(double, made)
    kept = doubled[::7]
    parts = [wr.submit(total, doubled[i : i + 8]) for i in range(0, 40, 8)]
    small = wr.map(pow, range(300), [2] * 300)
    seen = wr.submit(lambda a: int(a.sum()), x)
    del made, doubled
    right.append(wr.gather(wr.submit(sum, parts)) == 2 * sum(range(40)))
    right.append([f.result()[-1] for f in kept] == [2 * k for k in range(0, 40, 7)])
    right.append(wr.gather(small) == [k * k for k in range(300)])
    right.append(seen.result() == 5_000_050_000)
await_losses()
right.append([f.result()[0] for f in kept] == [2 * k for k in range(0, 40, 7)])
again = [wr.submit(np.add, f, 1) for f in kept]
right.append([f.result()[0] for f in again] == [2 * k + 1 for k in range(0, 40, 7)])
json.dump({"right": right, "losses": len(wr.cluster().losses)}, sys.stdout)
print()
