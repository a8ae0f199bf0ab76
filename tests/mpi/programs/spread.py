"""Small arrays whose chunks are spread over the ranks, before and after one is killed. JSON."""

import json
import sys

import numpy as np

import windrow as wr
from support.ranks import await_losses, kill_a_rank


def counts(x):
    wr.wait(x, timeout=30)
    return np.bincount(x.owners().ravel(), minlength=3).tolist()


x = wr.arange(30_000, chunks=1000) * 2.0
found = {"together": counts(x.persist()), "wide": counts((x.reshape(30, 1000) + 1).persist(spread=True))}
kept, doubled = wr.persist(x, x * 2, spread=True)
found["spread"] = [counts(kept), counts(doubled)]
found["host"] = counts(wr.from_array(np.arange(90), chunks=10).persist(spread=True))
found["users"] = counts(wr.map_blocks(np.negative, kept).persist(spread=True))
found["same"] = bool((doubled.compute() == np.arange(30_000) * 4.0).all())
kill_a_rank()
await_losses()
found["after"] = [bool((kept.compute() == np.arange(30_000) * 2.0).all()), counts((x + 1).persist(spread=True))]
json.dump(found, sys.stdout)
print()
