"""Agreements by one thread while another one probes, by turns: prints how many came out wrong. argv: how many."""

import sys
import threading
import time

from mpi4py import MPI

from windrow.workers.mpi.messages.mpi_lock import MpiLock

VALUE = 0x7FFFFFFF
world = MPI.COMM_WORLD
agreeing, probed = world.Dup(), world.Dup()
turns, ended = MpiLock(), threading.Event()


def probe() -> None:
    while not ended.is_set():
        with turns:
            probed.Iprobe(MPI.ANY_SOURCE)
        time.sleep(0)


thread = threading.Thread(target=probe)
thread.start()
wrong = 0
for _ in range(int(sys.argv[1])):
    with turns.alone():
        wrong += agreeing.Agree(VALUE) != VALUE
ended.set()
thread.join()
wrong = world.reduce(wrong)
if world.rank == 0:
    print(wrong)
