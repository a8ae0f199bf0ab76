"""Rank programs of which one member alone is late, and what runs after them. Prints what each gave, as JSON."""

import json
import time

import windrow as wr


def first_waits(comm):
    if comm.rank == 0:
        comm.Barrier()


def last_waits(comm):
    if comm.rank == 2:
        comm.Barrier()


def receives(comm):
    if comm.rank == 0:
        comm.recv(source=1)


space = wr.shared.space()


def finds_nothing(comm):
    space.get("never")


def computes(comm):
    if comm.rank == 1:
        end, turns = time.monotonic() + 300, 0
        while time.monotonic() < end:
            turns += 1
    comm.Barrier()


def sleeps(comm):
    if comm.rank == 1:
        time.sleep(40)
    comm.Barrier()


found = []
begin = time.monotonic()
for function in (first_waits, last_waits, receives, finds_nothing, computes, sleeps):
    try:
        wr.spmd(function, members=3, timeout=0.5)
    except wr.WaitTimeout as error:
        found.append(str(error).partition(" s: ")[2].partition(" still ran")[0])
    found.append(wr.spmd(lambda comm: comm.allreduce(1), members=3, timeout=20))
found.append(time.monotonic() - begin < 40)
for number in range(3):
    space.put("never", number)
found.append(space.tags["never"])
print(json.dumps(found))
