"""A rank is killed or stopped at a random moment of some gangs: argv has a seed and the signal. Prints "right"."""

import os
import random
import signal
import sys
import threading
import time

import numpy as np

import windrow as wr


def program(comm, x, y):
    total = 0.0
    for turn in range(10):
        total = comm.allreduce(float(sum((block * (turn + 1)).sum() for block in x)))
        time.sleep(0.002)
    found = np.zeros(20_000)
    comm.Allreduce(np.full(20_000, comm.rank + 1.0), found)
    ring = comm.Create_cart([comm.size], [True])
    source, target = ring.Shift(0, 1)
    ring.Sendrecv(np.full(1000, 1.0), target, recvbuf=np.zeros(1000), source=source)
    for given, made in zip(x, y, strict=True):
        made[...] = given + total


seed, name = int(sys.argv[1]), sys.argv[2]
chance = random.Random(seed)
x = wr.arange(60_000, chunks=1000).persist()
wr.wait(x)
wanted = np.arange(60_000) + float(np.arange(60_000).sum()) * 10
pids = [row["pid"] for row in wr.cluster().info()]


def strike():
    time.sleep(chance.random() * 0.25)
    os.kill(pids[chance.randrange(1, len(pids))], getattr(signal, name))


threading.Thread(target=strike, daemon=True).start()
begin, kept = time.monotonic(), []
while time.monotonic() < begin + 0.4 or not wr.cluster().losses:
    kept.append(wr.spmd(program, x + len(kept), out=wr.Spec(x.shape, "f8", x.chunks)).persist())
    assert time.monotonic() < begin + 20
    np.testing.assert_array_equal(
        (kept[-1] + 0).compute()[:3], wanted[:3] + 10 * 60_000 * (len(kept) - 1) + len(kept) - 1
    )
for number, each in enumerate(kept):
    shift = 10 * 60_000 * number + number
    np.testing.assert_array_equal(each.compute(), wanted + shift)
print(len(wr.cluster().losses), "right")
