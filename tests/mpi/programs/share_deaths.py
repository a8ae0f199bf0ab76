"""A rank is killed at a random moment while objects are shared and used; argv: the seed. Prints "right"."""

import random
import sys
import threading

import numpy as np

import windrow as wr
from support.ranks import kill_a_rank

random.seed(int(sys.argv[1]))
x = wr.arange(60_000, chunks=1000)
threading.Timer(random.uniform(0, 0.15), kill_a_rank, [random.choice]).start()
expected = np.arange(60_000)
for k in range(12):
    table = wr.shared.object({"table": np.arange(60_000) * k, "more": [np.ones(1000), "text"]})
    y = wr.map_blocks(lambda block, table=table: table["table"][block], x, dtype=np.int64).persist()
    total = wr.spmd(lambda comm, table=table: comm.allreduce(int(table["more"][0].sum())))
    assert set(total) == {1000 * len(total)}, total
    assert (y.compute() == k * expected).all()
while not wr.cluster().losses:
    wr.ones(10, chunks=1).sum().compute()
assert (y.compute() == 11 * expected).all()
print("right")
