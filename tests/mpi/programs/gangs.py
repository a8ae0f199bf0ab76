"""Rank programs: collectives, neighbours, results in place, an error in a member. Prints what each gave, as JSON."""

import json
import os
import sys
import threading
import time

import numpy as np
from mpi4py import MPI

import windrow as wr


def sums(comm, x):
    mine = float(sum(block.sum() for block in x))
    total = np.zeros(1)
    comm.Allreduce(np.array([mine]), total, op=MPI.SUM)
    return comm.rank, comm.size, mine, float(total[0])


def halo(comm, x, y):
    """A moving sum of three over chunks, with the neighbours' rims."""
    mine = x.joined()
    left, right = np.zeros(1), np.zeros(1)
    below = comm.rank - 1 if comm.rank else MPI.PROC_NULL
    above = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
    comm.Sendrecv(mine[-1:].copy(), above, recvbuf=left, source=below)
    comm.Sendrecv(mine[:1].copy(), below, recvbuf=right, source=above)
    wide = np.concatenate([left, mine, right])
    made = wide[:-2] + wide[1:-1] + wide[2:]
    for chunk, (where,) in zip(y, y.slices, strict=True):
        begin = where.start - y.slices[0][0].start
        chunk[...] = made[begin : begin + len(chunk)]


def cart(comm):
    grid = comm.Create_cart([comm.size], periods=[True])
    source, target = grid.Shift(0, 1)
    return grid.sendrecv(comm.rank, target, source=source)


def wrong(comm, *outs):
    if comm.rank == 1:
        raise LookupError("of the member's own")
    comm.Barrier()


def misused(comm):
    comm.Send(np.zeros(1), dest=comm.size + 5)


def addresses(comm, x):
    here = wr.arena()
    return [(here.rank, here.locate(block) is not None, block.flags.writeable) for block in x]


found = {}
x = wr.arange(24, chunks=2, dtype="f8").persist()
wr.wait(x)
found["sums"] = wr.spmd(sums, x)
found["halo"] = wr.spmd(halo, x, out=wr.Spec(x.shape, "f8", (4, 4, 4, 4, 4, 4))).compute().tolist()
found["two members"] = wr.spmd(sums, x, members=2)
found["cart"] = wr.spmd(cart)
errors = {}
for name, program, members in (("own", wrong, None), ("mpi", misused, None), ("placed", wrong, [2, 0])):
    try:
        wr.spmd(program, members=members)
    except Exception as error:
        errors[name] = [type(error).__name__, str(error), *error.__notes__]
found["errors"] = errors
try:
    wr.spmd(wrong, out=wr.Spec(240_000, "f8", 40_000))[:1].compute()
except LookupError as error:
    found["others"] = str(error)
try:
    wr.spmd(sums, x, members=9)
except wr.ClusterError as error:
    found["many"] = str(error)
found["after"] = wr.spmd(sums, x)
found["twice"] = [float((wr.spmd(halo, x, out=x) * k).sum()) for k in (1, 2)]


def slow(comm):
    with open("runs", "a", encoding="ascii") as file:
        file.write("x")
    comm.Barrier()
    time.sleep(0.4)


def uneven(block, block_id):
    time.sleep(0.1 + 0.6 * (block_id == (0,)))
    return block


def beside():
    wr.map_blocks(uneven, wr.ones(2, chunks=1), dtype=float).sum().compute()


worker = threading.Thread(target=beside)
worker.start()
time.sleep(0.1)
wr.spmd(slow, members=2)
worker.join()
with open("runs", encoding="ascii") as file:
    found["runs"] = file.read()
found["large"] = [len(each) for each in wr.spmd(lambda comm: bytes(comm.rank * 1_000_000))]
found["owned"] = sorted(wr.spmd(addresses, x))
found["pid"] = len(set(wr.spmd(lambda comm: os.getpid()))) == len(found["sums"])
json.dump(found, sys.stdout)
print()
