"""Rank 0 ends with a status of its own."""

import sys

from rank import collect, start, stop

from windrow.workers.mpi.start.start import leave

link = start(sys.argv[1], int(sys.argv[2]))
assert collect(link, 1, 0.1) == []
stop(link)
print("ended")
leave(link, int(sys.argv[3]))
