"""Ctrl-C twice: two KeyboardInterrupts here, and the ranks are not disturbed."""

import time

from rank import collect, start, stop

from windrow.workers.mpi.start.start import end_ranks

link = start("spawn", 3)
for i in range(2):
    print("READY", i, flush=True)
    try:
        time.sleep(10)
        print("no interrupt", flush=True)
    except KeyboardInterrupt:
        print("INTERRUPTED", i, flush=True)
    time.sleep(0.5)
    for rank in (1, 2):
        link.send(rank, ("echo", i))
    assert collect(link, 2) == [i, i]
print("ALIVE", flush=True)
stop(link)
end_ranks(link)
