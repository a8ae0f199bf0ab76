"""A rank is killed while a function with a loop is traced. Prints how many were lost, and whether values are right."""

import os
import signal
import threading

import numpy as np

import windrow as wr

X = np.random.default_rng(3).random((60, 40))
pids = [row["pid"] for row in wr.cluster().info()]


def lose():
    """Kill a rank, and wait until that is known."""
    if not wr.cluster().losses:
        os.kill(pids[-1], signal.SIGKILL)
        for _ in range(300):
            if wr.cluster().losses:
                break
            threading.Event().wait(0.1)


@wr.jit
def step(x, n):
    def body(i, y):
        lose()
        return wr.roll(y, 1, 0) * n

    return wr.fori_loop(0, 5, body, x) + outside


outside = wr.from_array(X, chunks=(7, 40)).persist()
x = wr.from_array(X, chunks=(10, 40)).persist()
wr.wait(x, outside)
right = [np.allclose(step(x, n), np.roll(X, 5, 0) * n**5 + X, rtol=1e-13) for n in (0.5, 2.0)]
right.append(np.allclose(step(wr.array(X), 2.0), np.roll(X, 5, 0) * 32 + X, rtol=1e-13))
print(len(wr.cluster().losses), all(right))
