"""A matmul and a reduction over persisted random arrays, twice; a rank gets a signal at a random moment.

Arguments: seed, signal's name. Prints one JSON line: the two results as hex, whether the signal was sent while
chunks were held or computed, what was reported, the ranks that are left.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time

import windrow as wr
from support.ranks import await_losses

SIZE, CHUNK = 1000, 100


def compute() -> tuple[str, str]:
    """The job: sources persisted, then read twice."""
    stream = wr.random.default_rng(5)
    a = stream.random((SIZE, SIZE), chunks=CHUNK).persist()
    b = stream.normal(size=(SIZE, SIZE), chunks=CHUNK).persist()
    first = float(wr.sqrt(wr.abs(a @ b) + 1).sum())
    second = float(((b @ a) * a).mean())
    return first.hex(), second.hex()


def strike(number: int) -> None:
    """Send the signal to one of the other ranks."""
    try:
        os.kill(wr.cluster().info()[-1 - number % 4]["pid"], getattr(signal, sys.argv[2]))
        struck.set()
    except ProcessLookupError:
        pass


struck = threading.Event()
seed = int(sys.argv[1])
begin = time.perf_counter()
compute()
usual = time.perf_counter() - begin
timer = threading.Timer(random.Random(seed).random() * usual * 1.5, strike, [seed])
timer.start()
results = [compute()]
timer.join()
results.append(compute())
if struck.is_set():
    await_losses()
print(
    json.dumps(
        {
            "results": results,
            "losses": wr.cluster().losses,
            "ranks": [row["rank"] for row in wr.cluster().info()],
            "after": compute(),
        }
    )
)
