"""Very many lazy steps before one `compute`: seconds to build, to lower and to compute them, and the memory it takes.

`python benchmarks/lazy_steps.py [steps]`, or on ranks: `mpirun -n 2 python -m windrow benchmarks/lazy_steps.py`. Each
kind of step is a graph of its own, and its result is compared with NumPy's. What lowering takes is part of what
computing takes, too.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np

import windrow as wr
from windrow.graph.lowering.lower import lower


def elementwise(u: Any, xp: Any) -> Any:
    """Compute with each element."""
    return u * 0.5 + 1


def matvec(u: Any, xp: Any) -> Any:
    """Multiply by a matrix."""
    return 0.5 * (xp.ones((64, 64)) @ u) / 64 + u / 2


def stencil(u: Any, xp: Any) -> Any:
    """Average neighbours, beside edges that repeat."""
    p = xp.pad(u, 1, mode="edge")
    return 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])


def assigned(u: Any, xp: Any) -> Any:
    """Average neighbours, written into the interior of a copy."""
    v = u.copy()
    v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return v


KINDS = {"elementwise": (elementwise, (100,)), "matrix times vector": (matvec, (64,))}
KINDS |= {"pad + slices": (stencil, (64, 64)), "copy + setitem": (assigned, (64, 64))}


def measure(name: str, steps: int) -> None:
    """Build, lower and compute one kind, and print a line."""
    step, shape = KINDS[name]
    start = np.random.default_rng(1).random(shape)
    begin = time.perf_counter()
    u: Any = wr.asarray(start)
    for _ in range(steps):
        u = step(u, wr)
    built = time.perf_counter()
    stages = len(lower([u.expr], lambda token: False))
    lowered = time.perf_counter()
    found = u.compute()
    computed = time.perf_counter()
    for _ in range(steps):
        start = step(start, np)
    numpy = time.perf_counter() - computed
    np.testing.assert_allclose(found, start, rtol=1e-12)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    seconds = (built - begin, lowered - built, computed - lowered, numpy)
    told = "".join(f"{each:9.2f}" for each in seconds)
    print(f"{name:<20}{told}{stages:9,}{peak:10.0f}", flush=True)


def main() -> None:
    """Measure all kinds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="?", type=int, default=5_000)
    given = parser.parse_args()
    heads = ("build", "lower", "compute", "NumPy", "stages", "peak, MB")
    print(f"{given.steps:,} steps of".ljust(20) + "".join(f"{head:>{10 if 'MB' in head else 9}}" for head in heads))
    for name in KINDS:
        measure(name, given.steps)


if __name__ == "__main__":
    main()
