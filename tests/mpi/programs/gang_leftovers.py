"""What a rank program leaves unreceived, or raises though it can't be told: the next one knows nothing of it."""

from __future__ import annotations

import numpy as np

import windrow as wr


class Untold(Exception):
    def __str__(self):
        raise ValueError("no words")


def leave(comm):
    comm.send("old", (comm.rank + 1) % comm.size)
    comm.Isend(np.array([77]), (comm.rank + 1) % comm.size, tag=5)


def ring(comm):
    request = comm.isend(comm.rank, (comm.rank + 1) % comm.size)
    found, numbers = comm.recv(source=(comm.rank - 1) % comm.size), np.full(1, -1)
    request.wait()
    comm.Sendrecv(np.array([comm.rank]), (comm.rank + 1) % comm.size, recvbuf=numbers)
    return found, int(numbers[0])


def fail(comm):
    if comm.rank == comm.size - 1:
        raise Untold
    comm.Barrier()


for turn in range(50):
    if turn % 2:
        wr.spmd(leave)
    assert wr.spmd(ring) == [(2, 2), (0, 0), (1, 1)], turn


def fail_alone(block):
    raise Untold


for run in (lambda: wr.spmd(fail), lambda: wr.map_blocks(fail_alone, wr.ones(3), dtype=float).compute()):
    try:
        run()
    except Untold as error:
        print(type(error).__name__)
print(wr.spmd(lambda comm: comm.allreduce(1)))
