"""A rank is killed: it is reported once, the others go on, reads of it fail, its mapped memory stays."""

import os
import signal
import sys
import time

import numpy as np
from rank import collect, pattern, read, start, stop

from windrow.workers.mpi.start.start import leave
from windrow.workers.wire.transport import RanksLost, Region

how, transport = sys.argv[1:]
link = start(how, 4, transport)
region = Region(0, (1024,), (512,), 8)
link.send(3, ("echo", "ready"))
assert collect(link, 1) == ["ready"]

plain, counts = Region(0, (4096,), (1,), 1), link._fetcher.counts
assert read(link, 1, plain)[0]
assert counts["get"] == (transport == "get"), counts

ended = []
into = np.zeros(8192, np.uint8)
if transport == "service":  # a read is under way when its owner dies; a Get might not even return
    os.kill(link.peers[3].pid, signal.SIGSTOP)
    link.fetch(3, region, into, ended.append)
    link.poll(0.01)
begin = time.monotonic()
os.kill(link.peers[3].pid, signal.SIGKILL)
events = collect(link, 3, 3.0)
print("noticed", round(1000 * (time.monotonic() - begin)), "ms")
assert events.count(RanksLost((3,))) == 1, events
assert {e for e in events if isinstance(e, tuple)} == {("lost", 1, (3,)), ("lost", 2, (3,))}, events
if transport == "service":
    assert ended == [False], ended
if transport != "map":
    assert read(link, 3, region)[0] is False
else:
    assert np.array_equal(link.arena(3)[: 1 << 20], pattern(3))
    assert read(link, 3, region)[0] is False
link.send(3, ("echo", "nobody hears this"))
for i in range(300):
    for rank in (1, 2):
        link.send(rank, ("echo", (rank, i)))
assert len(collect(link, 600)) == 600
assert read(link, 1, region)[0]
assert read(link, 1, plain)[0]
assert counts["get"] == (transport == "get"), "after a death nobody gets, from the living either"

link.declare_dead(2)  # it does nothing wrong, and is ended all the same
events = collect(link, 2, 3.0)
assert sorted(map(str, events)) == sorted(map(str, [RanksLost((2,)), ("lost", 1, (2,))])), events
assert link.poll(0.3) == []
link.send(1, ("echo", "last"))
assert collect(link, 1) == ["last"]
print("went on")
stop(link)
leave(link)
