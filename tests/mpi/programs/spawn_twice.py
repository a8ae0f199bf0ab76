"""One process spawns ranks, closes, spawns again; it lives on after deaths and after the end."""

import os
import signal
import sys
import time

import numpy as np
from rank import collect, pattern, start, stop

from windrow.workers.mpi.start.start import end_ranks
from windrow.workers.wire.transport import RanksLost

pids = []
for kill in (True, False, False):
    begin = time.monotonic()
    link = start("spawn", 3)
    print("spawned", round(1000 * (time.monotonic() - begin)), "ms")
    pids += [p.pid for p in link.peers[1:]]
    link.send(1, ("echo", "one"))
    assert collect(link, 1) == ["one"]
    assert np.array_equal(link.arena(1)[: 1 << 20], pattern(1))
    if kill:
        os.kill(link.peers[2].pid, signal.SIGKILL)
        assert RanksLost((2,)) in collect(link, 2)
    else:
        link.send(2, ("sleep", 60))  # does not hear the word stop
        link.poll(0.05)
    stop(link)
    end_ranks(link, 0.5)
time.sleep(1.5)
assert not any(os.path.exists(f"/proc/{pid}") for pid in pids), "a rank was left"
assert "windrow-" not in os.environ["PATH"]
print("lives")
sys.exit(7)
