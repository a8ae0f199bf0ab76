"""Arrays that all ranks read and write: operations from rank programs, blocks and the driver, on all ranks. JSON."""

import gc
import json
import sys
import time

import numpy as np

import windrow as wr

N, MANY = 1000, 50_000
counts = wr.shared.symmetric(N, "i8")
weights = wr.shared.symmetric((10, 10), "f8")
owners = wr.shared.symmetric(N, "i4", fill=-1)
copies = wr.shared.replicated(5, "f8")


def work(comm):
    rng = np.random.default_rng(comm.rank)
    where = rng.integers(-N, N, MANY)
    counts.add(where, 1)
    numbers = [int(counts.fetch_add(0, 1)) for _ in range(50)]
    mine = int((owners.compare_and_swap(np.arange(N), -1, comm.rank) == -1).sum())
    weights.add((where % 10, where % 7), 0.5)
    copies.local[:] = comm.rank + 1
    copies.reduce_sum(comm)
    total = copies.local.tolist()
    copies.local[:] = comm.rank
    copies.bcast(comm.size - 1, comm)
    counts.sync(comm)
    return numbers, mine, total, copies.local.tolist(), (counts.local_slice.start, counts.local_slice.stop)


def count(block):
    counts.add(block, 1)
    return block


returned = wr.spmd(work)
size = len(returned)
expected = np.zeros(N, np.int64)
points = np.zeros((10, 10))
for rank in range(size):
    where = np.random.default_rng(rank).integers(-N, N, MANY)
    np.add.at(expected, where, 1)
    np.add.at(points, (where % 10, where % 7), 0.5)
expected[0] += 50 * size
found = {
    "size": size,
    "counts": bool((counts.to_numpy() == expected).all()),
    "weights": bool((weights.to_numpy() == points).all()),
    "numbers": len(set().union(*(numbers for numbers, *_ in returned))),
    "owned": sum(mine for _, mine, *_ in returned),
    "copies": [rest for _, _, *rest in returned],
}
wr.map_blocks(count, wr.arange(N, chunks=7), dtype=int).sum().compute()
counts.add(np.arange(N), 1)
counts.set(5, 77)
found["after"] = bool((counts.to_numpy() == np.where(np.arange(N) == 5, 77, expected + 2)).all())
counts.sync()
found["shared"] = sum(row["shared"] for row in wr.cluster().info())
copies.local[:] = 9
copies.reduce_max()
found["driver"] = wr.spmd(lambda comm: copies.local[0])
for name in ("counts", "weights", "owners", "copies", "work", "count"):
    del globals()[name]
deadline = time.monotonic() + 10
while sum(row["shared"] for row in wr.cluster().info()) and time.monotonic() < deadline:
    gc.collect()
    time.sleep(0.02)
found["left"] = sum(row["shared"] for row in wr.cluster().info())


def hold(comm):
    from windrow.workers.shared.one_sided import site

    with open("/proc/self/maps", encoding="ascii") as file:
        mapped = sum("/memfd:windrow-symmetric-" in line for line in file)
    return len(site._held), mapped


while any(map(any, wr.spmd(hold))) and time.monotonic() < deadline:
    time.sleep(0.02)
found["held"] = wr.spmd(hold)
json.dump(found, sys.stdout)
print()
