"""Interrupts amid rank programs that talk, at different times after they began; prints how many ranks are left."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import windrow as wr


def talk(comm):
    while True:
        comm.Barrier()
        time.sleep(0.003)


interrupts = 0
for k in range(int(sys.argv[1])):
    try:  # on a busy machine it may come while the timer begins
        threading.Timer(0.01 + 0.01 * (k % 8), os.kill, (os.getpid(), signal.SIGINT)).start()
        wr.spmd(talk)
    except KeyboardInterrupt:
        interrupts += 1
print(interrupts, wr.spmd(lambda comm: comm.allreduce(1)), len(wr.cluster().info()))
