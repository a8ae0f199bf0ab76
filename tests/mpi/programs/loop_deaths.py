"""A rank is killed or stopped at a random moment of some loops: argv has a seed and the signal. Prints "right"."""

import os
import random
import signal
import sys
import threading
import time

import numpy as np

import windrow as wr


def jacobi(i, x):
    wide = wr.pad(x, 1)
    return 0.25 * (wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:])


def sums(i, x):
    return wr.roll(x, 1, 0) - x.mean()


seed, name = int(sys.argv[1]), sys.argv[2]
chance = random.Random(seed)
x = wr.from_array(np.random.default_rng(seed).random((240, 300)), chunks=(20, 300))
x = x.persist()
wr.wait(x)
wanted = {}
for body, steps in ((jacobi, 600), (sums, 12)):
    y = x.compute()
    for _i in range(steps if body is jacobi else 0):
        wide = np.pad(y, 1)
        y = 0.25 * (wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:])
    wanted[body] = y if body is jacobi else wr.fori_loop(0, steps, body, x).compute()
pids = [row["pid"] for row in wr.cluster().info()]


def strike():
    time.sleep(chance.random() * 0.5)
    os.kill(pids[chance.randrange(1, len(pids))], getattr(signal, name))


threading.Thread(target=strike, daemon=True).start()
begin, kept = time.monotonic(), []
while time.monotonic() < begin + 0.6 or not wr.cluster().losses:
    assert time.monotonic() < begin + 30
    for body, steps in ((jacobi, 600), (sums, 12)):
        every = chance.choice([None, steps // 3])
        kept.append((body, wr.fori_loop(0, steps, body, x, snapshot=every).persist()))
        assert kept[-1][1].compute().tobytes() == wanted[body].tobytes(), (body, every)
for body, each in kept:
    assert each.compute().tobytes() == wanted[body].tobytes(), body
print(len(wr.cluster().losses), "right")
