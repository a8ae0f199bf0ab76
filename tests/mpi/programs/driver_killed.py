"""Rank 0 is killed while one rank sleeps in C code with the interpreter's lock, and one is idle."""

import os
import signal
import sys

from rank import collect, start

link = start(sys.argv[1], 3)
link.send(1, ("hold", 60))
assert collect(link, 1) == ["holding"]
print("pids", *(p.pid for p in link.peers), flush=True)
link.poll(0.3)
os.kill(os.getpid(), signal.SIGKILL)
