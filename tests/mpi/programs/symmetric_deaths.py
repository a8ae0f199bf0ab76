"""A rank is killed at a moment drawn by chance, while arrays that all read and write are changed. JSON.

Words: the seed, what is at work: "program" (a rank program), "blocks" (functions of blocks), "driver" (the driver), and
perhaps another signal.
"""

import json
import os
import random
import signal
import sys
import threading
import time

import numpy as np

import windrow as wr

seed, kind = int(sys.argv[1]), sys.argv[2]
rng = random.Random(seed)
N, ROUNDS = 3000, 4
counts = wr.shared.symmetric(N, "i8")
copies = wr.shared.replicated(10, "f8")
counts.add(np.arange(N), 1)
copies.local[:] = 1
copies.bcast()
counts.sync()
copies.sync()
rows = wr.cluster().info()
victim = rng.choice(rows[1:])["pid"]
struck = threading.Event()


def strike():
    os.kill(victim, signal.Signals[sys.argv[3]] if sys.argv[3:] else signal.SIGKILL)
    struck.set()


def work(comm, n, seed):
    """Add one to n times as many elements as there are."""
    comm.Barrier()
    rng = np.random.default_rng(seed)
    for k, where in enumerate(np.array_split(rng.permutation(n * N) % N, 50)):
        if k % comm.size == comm.rank:
            counts.add(where[::2], 1)
            for i in where[1::2].tolist()[:20]:
                counts.fetch_add(i, 1)
            counts.add(where[1::2][20:], 1)
    copies.local[:] += n
    copies.reduce_max(comm)


def count(block):
    counts.add(block % N, 1)
    time.sleep(0.001)
    return block


def run(n):
    """Add n to each element of all."""
    if kind == "program":
        wr.spmd(lambda comm: work(comm, n, n))
    elif kind == "blocks":
        wr.map_blocks(count, wr.arange(n * N, chunks=250), dtype=int).sum().compute()
        copies.local[:] += n
        copies.bcast()
    else:
        copies.local[:] += n
        copies.reduce_max()
        counts.add(np.arange(n * N) % N, 1)
        for i in range(0, N, 300):
            counts.add(i, 1)
            counts.add(i, -1)


threading.Timer(rng.uniform(0, 0.4), strike).start()
told, again, wrong = [], 0, []
total, rounds = 1, 0
while rounds < ROUNDS or not struck.is_set() or not wr.cluster().losses:
    rounds += 1
    n = rounds % 3 + 1
    while True:
        try:
            run(n)
            wr.shared.sync(counts, copies)
            break
        except wr.ClusterError as error:
            told.append(str(error))
            again += 1
    total += n
    if not (counts.to_numpy() == total).all() or not (copies.to_numpy() == total).all():
        wrong.append([rounds, total, np.unique(counts.to_numpy()).tolist(), copies.to_numpy().tolist()])
        break
    if rounds > 5000:
        break
copied = wr.spmd(lambda comm: copies.local.tolist())
found = {
    "wrong": wrong,
    "told": told,
    "losses": wr.cluster().losses,
    "rounds": rounds,
    "size": len(copied),
    "alike": all(each == copied[0] for each in copied),
    "slices": wr.spmd(lambda comm: (counts.local_slice.start, counts.local_slice.stop)),
}
json.dump(found, sys.stdout)
print()
