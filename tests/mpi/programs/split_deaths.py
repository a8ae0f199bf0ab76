"""A rank is killed while all make communicators, one after the other; rank 0 prints "right". argv: a seed."""

import os
import random
import signal
import sys
import threading
import time

from mpi4py import MPI

from windrow.workers.mpi.deaths.death_notices import Obituaries

chance = random.Random(int(sys.argv[1]))
base = MPI.COMM_WORLD.Dup()
base.Set_errhandler(MPI.ERRORS_RETURN)
news = Obituaries()
news.begin()
victim, moment = chance.randrange(1, base.size), chance.random() * 0.05
base.Barrier()


def strike() -> None:
    time.sleep(moment)
    os.kill(os.getpid(), signal.SIGKILL)


if base.rank == victim:
    threading.Thread(target=strike, daemon=True).start()
told = None
while told is None:
    try:
        with news.held(base.Revoke):
            made = base.Split(0, base.rank)
        made.Free()
    except MPI.Exception as error:
        told = error.Get_error_class()
if base.rank == 0:
    known = told in (MPI.ERR_PROC_FAILED, MPI.ERR_PROC_FAILED_PENDING, MPI.ERR_REVOKED, MPI.ERR_OTHER)
    print("right" if known else told, flush=True)
base.Revoke()
time.sleep(0.1)  # MPI's end would wait for the dead
os._exit(0)
