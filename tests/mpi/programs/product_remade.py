"""A persisted product whose chunks are made again after a death, beside nothing else: has it the same bits?"""

import os
import signal
import time

import numpy as np

import windrow as wr

draw = wr.random.default_rng(1)
left = draw.random((900, 1200), chunks=(300, 300)).persist()
right = draw.random((1200, 900), chunks=(300, 300)).persist()
made = (left @ right).persist()
wr.wait(left, right, made)
before = made.compute()
cluster = wr.cluster()
os.kill(next(rank["pid"] for rank in cluster.info() if rank["rank"] == 2), signal.SIGKILL)
while not cluster.losses:
    time.sleep(0.01)
wr.wait(left, right, made)
print(int(np.count_nonzero(made.compute() != before)), (made.owners() != 2).all())
