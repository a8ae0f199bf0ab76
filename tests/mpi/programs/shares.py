"""Objects shared by ranks: where their bytes lie on each rank, and that they come back after a kill. JSON."""

import gc
import json
import sys
import time

import numpy as np

import windrow as wr
from support.ranks import await_losses, kill_a_rank

SIZE = 200_000
table = wr.shared.object({"square": np.arange(SIZE) ** 2, "name": "table"})


def look(comm):
    """Where the array's bytes are mapped from, and how many of that mapping are this process's own."""
    array, where, private = table["square"], "", 0
    with open("/proc/self/smaps", encoding="ascii") as file:
        inside = False
        for words in map(str.split, file):
            if "-" in words[0] and not words[0].endswith(":"):
                low, high = (int(x, 16) for x in words[0].split("-"))
                inside = low <= array.ctypes.data < high
                where = " ".join(words[5:]) if inside else where
            elif inside and words[0] == "Anonymous:":  # "Private" is what others have not yet looked at, too
                private += int(words[1])
    return comm.rank, array.flags.writeable, where, private


found = {"places": wr.spmd(look)}
x = wr.arange(SIZE, chunks=SIZE // 40)
y = wr.map_blocks(lambda block: table["square"][block], x, dtype=np.int64).persist()
wr.wait(y)
victim = kill_a_rank()
await_losses()
found["right"] = bool((y.compute() == np.arange(SIZE) ** 2).all())
found["shared"] = [row["shared"] for row in wr.cluster().info()]
nested = wr.shared.object({"table": table})
found["nested"] = wr.spmd(lambda comm: int(nested["table"]["square"][-1]))
table = nested = y = x = None
gc.collect()


def count(comm):
    with open("/proc/self/maps", encoding="ascii") as file:
        return sum("memfd:windrow-shared" in line for line in file)


for _ in range(100):
    gc.collect()
    if not sum(wr.spmd(count)):
        break
    time.sleep(0.05)
found["left"] = sum(wr.spmd(count))
json.dump(found, sys.stdout)
print()
