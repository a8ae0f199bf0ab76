"""A loop of writes through views, a rank that dies in it, and its bits beside NumPy's. JSON.

Words: the seed of the moment of death; none: no rank dies.
"""

import hashlib
import json
import os
import random
import signal
import sys

import numpy as np

import windrow as wr

STEPS = 40
rng = random.Random(int(sys.argv[1])) if sys.argv[1:] else None
strike = rng.randrange(5, STEPS) if rng else -1


def step(xp, grid, fields):
    """One step of a stencil as NumPy's users write it: names for parts of the grid, which are written to."""
    center, north, south, west, east = fields
    average = center + north + south + west + east
    work = 0.2 * average
    center[:] = work
    edge = grid.T[0]
    edge += 0.5
    grid.reshape(-1)[::97] *= 0.75
    grid[::-1, 3][:5] = work[0, :5]
    np.multiply(grid[5], 0.5, out=grid[6])
    return abs(work - center).sum()


def run(xp, start, kill=None):
    grid = start.copy() if xp is np else wr.from_array(start, chunks=(30, 50)).persist()
    fields = grid[1:-1, 1:-1], grid[0:-2, 1:-1], grid[2:, 1:-1], grid[1:-1, 0:-2], grid[1:-1, 2:]
    for number in range(STEPS):
        error = step(xp, grid, fields)
        if number % 5 == 4:
            float(error)
        if kill and number == strike:
            kill()
    return hashlib.sha256(np.ascontiguousarray(np.asarray(grid))).hexdigest(), [float(f.sum()) for f in fields]


def kill():
    os.kill(rng.choice(wr.cluster().info()[1:])["pid"], signal.SIGKILL)


values = np.random.default_rng(3).random((120, 130))
expected, sums = run(np, values)
bits, mine = run(wr, values, kill if rng else None)
report = {"same": bits == expected, "close": np.allclose(sums, mine), "losses": len(wr.cluster().losses) if rng else 0}
json.dump(report, sys.stdout)
print()
