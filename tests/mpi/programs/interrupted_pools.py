"""Ctrl-C where the script waits within `with`: for rank programs in threads, and for an executor's calls.

Prints what each was interrupted by, whether that took less than the calls, and what came next.
"""

import json
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import windrow as wr

if wr.cluster().size == 1:
    wr.Cluster(threads=3)


def waits(comm):
    """Wait for what takes longer."""
    if comm.rank == 0:
        computes(comm)
    comm.Barrier()


def computes(comm):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pass


def sleeps(seconds):
    time.sleep(seconds)


def programs():
    with ThreadPoolExecutor() as pool:
        begun = [pool.submit(wr.spmd, waits, members=[0, 1]), pool.submit(wr.spmd, computes, members=[2])]
        return [each.result() for each in begun]


def results():
    with wr.Executor() as executor:
        return list(executor.map(sleeps, [60] * 6))


def leaves():
    with wr.Executor() as executor:
        executor.map(sleeps, [60] * 6)


found = []
for wait in (programs, results, leaves):
    begin = time.monotonic()
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        found.append(wait())
    except KeyboardInterrupt as error:
        found.append([type(error).__name__, time.monotonic() - begin < 30])
    timer.join()
    found.append(wr.spmd(lambda comm: comm.allreduce(1), members=3, timeout=20))
    found.append(wr.submit(pow, 2, 5).result(20))
print(json.dumps(found))
