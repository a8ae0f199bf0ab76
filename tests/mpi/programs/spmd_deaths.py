"""A script on all ranks, one of which is killed at a random moment: the others go on, with the right results."""

import os
import random
import signal
import sys
import threading
import time

import numpy as np

import windrow as wr

chance = random.Random(int(sys.argv[1]))
victim, moment = chance.randint(1, wr.size() - 1), chance.uniform(0, 0.6)


def die() -> None:
    time.sleep(moment)
    os.kill(os.getpid(), getattr(signal, sys.argv[2]))


if wr.rank() == victim:
    threading.Thread(target=die, daemon=True).start()

base = wr.random.default_rng(3).random((600, 500), chunks=(50, 500))
expected = base.compute()
x, wrong = base.persist(), 0
for rounds in range(1, 31):
    some = slice(0, 100 + rounds)
    wrong += not np.array_equal(base[some].compute(), expected[some])
    x = (x + 1).persist()
    wrong += not np.allclose(x.sum().compute(), expected.sum() + rounds * expected.size)
    local = x.local
    wrong += not all(np.allclose(c, expected[s] + rounds) for c, s in zip(local, local.slices, strict=True))
    sums = wr.spmd(lambda comm, part: sum(float(c.sum()) for c in part), x)
    wrong += not np.allclose(sum(sums), expected.sum() + rounds * expected.size)
if wr.rank() == 0:
    print("right" if not wrong else f"{wrong} wrong", len(wr.cluster().losses))
