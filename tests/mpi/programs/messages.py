"""Messages keep their order, and large ones go through while the receiver sleeps."""

import sys
import time

import numpy as np
from rank import collect, start, stop

from windrow.workers.mpi.start import leave

link = start(sys.argv[1], 3)
for i in range(500):
    for rank in (1, 2):
        link.send(rank, ("echo", (rank, i, b"x" * (i * i % 3000))))
got = collect(link, 1000)
assert [i for r, i, _ in got if r == 1] == list(range(500))
assert [i for r, i, _ in got if r == 2] == list(range(500))
print("order")

big = np.arange(8 << 20)
link.send(1, ("sleep", 2.0))
begin = time.monotonic()
for i in range(3):
    link.send(1, ("echo", big + i))
    link.send(1, ("echo", i))
assert time.monotonic() - begin < 1.5, "a send waited for its receiver"
got = collect(link, 6)
for i in range(3):
    assert np.array_equal(got[2 * i], big + i)
    assert got[2 * i + 1] == i
print("large")
stop(link)
leave(link)
