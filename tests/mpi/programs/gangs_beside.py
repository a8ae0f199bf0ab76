"""Rank programs beside array computations, and beside each other. Prints what each gave, as JSON.

Programs wait for what the script puts when it has computed, and for what the others put: in a queue they would wait for
ever. argv may have "kill" or "interrupt", for what happens amid two of them.
"""

import json
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import windrow as wr

LIMIT = 50
if wr.cluster().size == 1:
    wr.Cluster(threads=4)
space = wr.shared.space()
half = [0, 1], [3, 2]


def waits(comm, tag):
    """Say that this program runs, and wait for the script."""
    if comm.rank == 0:
        space.put(f"{tag} runs", os.getpid())
    found = comm.bcast(space.read(f"{tag} goes on", timeout=LIMIT) if comm.rank == 0 else None)
    return comm.allreduce(comm.rank + 1), comm.size, found


def meets(comm, mine, other):
    """Exchange a word with another program."""
    if comm.rank == 0:
        space.put(mine, f"from {mine}")
    return comm.bcast(space.get(other, timeout=LIMIT) if comm.rank == 0 else None)


def fills(comm, y, mine, other):
    found = meets(comm, mine, other)
    for block in y:
        block[...] = len(found)


def splits(comm):
    """Make communicators while others of other gangs are made."""
    count = 0
    for _ in range(20):
        part = comm.Split(comm.rank % 2, comm.rank)
        count += part.allreduce(1)
        part.Free()
    return count


def calls(function, *words):
    return lambda comm: function(comm, *words)


def compute():
    x = wr.random.default_rng(5).normal(size=40_000, chunks=1000)
    return float(wr.map_blocks(lambda block: np.abs(block), x).sum()), float(wr.ones(10).sum())


def run_all():
    alone = compute()
    with ThreadPoolExecutor() as pool:
        program = pool.submit(wr.spmd, calls(waits, "all"))
        space.read("all runs", timeout=LIMIT)
        beside = [compute() == alone for _ in range(3)]
        space.put("all goes on", "now")
        found = {"beside": beside, "all": program.result()}
        pairs = [("a", "b"), ("b", "a")]
        programs = [
            pool.submit(wr.spmd, calls(meets, *pair), members=members)
            for pair, members in zip(pairs, half, strict=True)
        ]
        found["pairs"] = [program.result() for program in programs]
        programs = [pool.submit(wr.spmd, calls(meets, *pair), members=2) for pair in pairs]
        found["chosen"] = [program.result() for program in programs]
        programs = [pool.submit(wr.spmd, splits, members=half[k % 2]) for k in range(12)]
        found["splits"] = [program.result() for program in programs]
    ys = [
        wr.spmd(lambda comm, y, pair=pair: fills(comm, y, *pair), out=wr.Spec(8, "i8", 2), members=members)
        for pair, members in zip([("one", "three"), ("three", "one")], half, strict=True)
    ]
    found["lazy"] = [int(y.sum()) for y in wr.persist(*ys)]
    return found


def values():
    return wr.map_blocks(lambda block: np.sort(block), wr.random.default_rng(7).normal(size=400_000, chunks=1000))


def where(comm):
    return comm.allgather(wr.arena().rank)


def go_on(amid):
    """Do something amid two programs and a computation; then have both go on."""
    alone = compute()
    with ThreadPoolExecutor() as pool:
        first = pool.submit(wr.spmd, calls(waits, "first"), members=half[0])
        second = pool.submit(wr.spmd, calls(waits, "second"), members=half[1])
        pids = space.read("first runs", timeout=LIMIT), space.get("second runs", timeout=LIMIT)
        x = wr.map_blocks(
            lambda block: np.sort(block), wr.random.default_rng(7).normal(size=400_000, chunks=1000)
        ).persist()
        amid(pids)
        right = compute() == alone
        space.put("first goes on", 1)
        ended = first.result()
        space.put("second goes on", 2)
        found = {"right": right, "first": ended, "second": second.result()}
    found["same"] = bool((x == values()).all())
    found["then"] = wr.spmd(where)
    return found


def kill(pids):
    os.kill(pids[1], signal.SIGKILL)
    space.read("second runs", timeout=LIMIT)


def interrupt(pids):
    """Interrupt a third program, which waits for its ranks, and one that has begun."""
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        wr.spmd(lambda comm: comm.Barrier())
    except KeyboardInterrupt:
        return
    raise AssertionError("it can't have run")


what = sys.argv[1] if len(sys.argv) > 1 else ""
print(json.dumps({"kill": lambda: go_on(kill), "interrupt": lambda: go_on(interrupt)}.get(what, run_all)()))
