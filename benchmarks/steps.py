"""Steps of loops over small arrays: what one costs when its arrays cost nothing. Prints seconds a step, as JSON.

`python steps.py`, or on ranks; WINDROW_PLANS=0 remembers no plans. Each loop's result is compared with NumPy's. Traced
steps aren't persisted: what they make is there.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

import windrow as wr

if TYPE_CHECKING:
    from collections.abc import Callable

DRAW = np.random.default_rng(1)
A = DRAW.random((50, 50)) / 50


def chain(u: Any) -> Any:
    """An elementwise step."""
    return u * 0.5 + 1


def padded(u: Any) -> Any:
    """A Jacobi step by `pad` and slices."""
    p = (wr if isinstance(u, wr.Array) else np).pad(u, 1)
    return 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])


def written(u: Any) -> Any:
    """A Jacobi step by a copy and setitem."""
    v = u.copy()
    v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return v


def rolled(u: Any) -> Any:
    """A shift of all elements."""
    return (wr if isinstance(u, wr.Array) else np).roll(u, 1)


def product(x: Any) -> Any:
    """A power iteration's step."""
    return (wr.asarray(A, chunks=50) if isinstance(x, wr.Array) else A) @ x + 1


def layer(x: Any) -> Any:
    """A product and three elementwise functions."""
    xp = wr if isinstance(x, wr.Array) else np
    return xp.tanh((wr.asarray(A) if xp is wr else A) @ x) * 0.5 + xp.exp(-x)


LOOPS: dict[str, tuple[Callable[[Any], Any], Any, int, int]] = {
    "elementwise, 100": (chain, DRAW.random(100), 100, 300),
    "elementwise, 40 chunks": (chain, DRAW.random(4000), 100, 200),
    "matvec, 50": (product, DRAW.random(50), 50, 200),
    "roll, 4 chunks": (rolled, DRAW.random(1000), 250, 100),
    "pad + slices, 4 chunks": (padded, DRAW.random((200, 200)), 100, 60),
    "copy + setitem, 1 chunk": (written, DRAW.random((200, 200)), 200, 60),
    "layer, 50": (layer, DRAW.random(50), 50, 200),
}
TRACED = ("elementwise, 100", "matvec, 50", "copy + setitem, 1 chunk", "layer, 50")


def measure(step: Callable[[Any], Any], begin: Any, chunks: int, steps: int) -> float:
    """Return seconds for each of some steps, persisted one after the other, after as many before."""
    u, right = wr.asarray(begin, chunks=chunks).persist(), begin
    took = 0.0
    for _ in range(2):
        wr.wait(u)
        start = time.perf_counter()
        for _ in range(steps):
            u = step(u).persist()
        wr.wait(u)
        took = (time.perf_counter() - start) / steps
    for _ in range(2 * steps):
        right = step(right)
    np.testing.assert_allclose(u.compute(), right, rtol=1e-9)
    return took


def measure_traced(step: Callable[[Any], Any], begin: Any, chunks: int, steps: int) -> float:
    """Return seconds for each of some calls of a traced step, after as many before."""
    traced, u, right = wr.jit(step), wr.asarray(begin, chunks=chunks), begin
    took = 0.0
    for _ in range(2):
        start = time.perf_counter()
        for _ in range(steps):
            u = traced(u)
        took = (time.perf_counter() - start) / steps
    for _ in range(2 * steps):
        right = step(right)
    np.testing.assert_allclose(u.compute(), right, rtol=1e-9)
    return took


def main() -> dict[str, float]:
    """Return seconds a step, of every loop."""
    fewer = 10 if "--quick" in sys.argv else 1
    found = {name: measure(*loop[:3], loop[3] // fewer) for name, loop in LOOPS.items()}
    return found | {f"traced {name}": measure_traced(*LOOPS[name][:3], LOOPS[name][3] // fewer) for name in TRACED}


if __name__ == "__main__":
    print(json.dumps(main()))
