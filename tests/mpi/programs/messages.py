"""Messages keep their order, and large ones are sent while the receiver sleeps, which ends when they have been."""

import sys
import tempfile
from pathlib import Path

import numpy as np
from rank import collect, start, stop

from windrow.workers.mpi.start.start import leave

link = start(sys.argv[1], 3)
for i in range(500):
    for rank in (1, 2):
        link.send(rank, ("echo", (rank, i, b"x" * (i * i % 3000))))
got = collect(link, 1000)
assert [i for r, i, _ in got if r == 1] == list(range(500))
assert [i for r, i, _ in got if r == 2] == list(range(500))
print("order")

big = np.arange(1 << 20)
with tempfile.TemporaryDirectory() as folder:
    sent = Path(folder) / "sent"
    link.send(1, ("sleep until", str(sent)))
    for i in range(3):
        link.send(1, ("echo", big + i))
        link.send(1, ("echo", i))
    sent.touch()
    woken, *got = collect(link, 7)
assert woken == ("woken", True), "a send waited for its receiver"
for i in range(3):
    assert np.array_equal(got[2 * i], big + i)
    assert got[2 * i + 1] == i
print("large")
stop(link)
leave(link)
