"""Traced functions on ranks. JSON: whether values are NumPy's, and whether lazy calls have the direct ones' bits."""

import json
import os
import signal
import sys

import numpy as np

import windrow as wr
from windrow.graph.kinds.source import Host

RNG = np.random.default_rng(3)
A, X = RNG.random((40, 40)), RNG.random(40)


@wr.jit
def layer(a, x, k):
    y = wr.tanh(a @ x) * k
    y[1:] += y[:-1]
    return y, y.sum()


def plain(a, x, k):
    y = np.tanh(a @ x) * k
    y[1:] += y[:-1].copy()
    return y, y.sum()


a, x, expected = wr.array(A), wr.array(X), X
direct = []
for step in range(20):
    x, total = layer(a, x, 0.5)
    direct.append(isinstance(x.expr.op, Host))
    expected, expected_total = plain(A, expected, 0.5)
    if step == 10 and len(sys.argv) > 1:
        os.kill(wr.cluster().info()[-1]["pid"], signal.SIGKILL)
lazily, _ = layer(wr.from_array(A, chunks=40).persist(), wr.from_array(X, chunks=40).persist(), 0.5)
at_once, _ = layer(a, wr.array(X), 0.5)
chunked, _ = layer(wr.from_array(A, chunks=16), wr.from_array(X, chunks=16), 0.5)
close = np.allclose(x, expected, rtol=1e-13) and np.allclose(total, expected_total, rtol=1e-13)
print(
    json.dumps(
        {
            "close": bool(close and np.allclose(chunked, plain(A, X, 0.5)[0], rtol=1e-13)),
            "same": np.asarray(lazily).tobytes() == np.asarray(at_once).tobytes(),
            "direct": all(direct),
        }
    )
)
