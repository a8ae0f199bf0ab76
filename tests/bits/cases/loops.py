"""Loops: steps that are persisted, each of one structure; steps that stay lazy; loops in the graph; stencils."""

from __future__ import annotations

from typing import TYPE_CHECKING

import windrow as wr

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 6
"""The third time that a structure comes it is looked up, not planned."""


def relax(u: wr.Array) -> wr.Array:
    """Jacobi's step, zero beyond the edges."""
    p = wr.pad(u, 1)
    return 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])


def inside(u: wr.Array) -> wr.Array:
    """The same on the interior, set into a copy."""
    v = u.copy()
    v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return v


def around(u: wr.Array) -> wr.Array:
    """A wave's step on a torus."""
    return wr.sqrt(wr.roll(u, 1, 0) * wr.roll(u, -2, 1) + 0.5) - 0.25 * u


def steps(begin: wr.Array, step: Callable[[wr.Array], wr.Array], keep: Callable[[wr.Array], wr.Array]) -> wr.Array:
    """Go on from a beginning, and keep or don't keep each state."""
    u = begin
    for _ in range(STEPS):
        u = keep(step(u))
    return u


def in_graph(step: Callable[[wr.Array], wr.Array], begin: wr.Array) -> wr.Array:
    """Go on from a beginning by a loop in the graph."""
    return wr.fori_loop(0, STEPS, lambda k, u: step(u), begin)


def conjugate(a: wr.Array, b: wr.Array) -> wr.Array:
    """Return some steps of conjugate gradients, whose numbers the program sees."""
    x, r = wr.zeros_like(b), b
    p, old = r, float(r @ r)
    for _ in range(STEPS):
        q = (a @ p).persist()
        alpha = old / float(p @ q)
        x, r = (x + alpha * p).persist(), (r - alpha * q).persist()
        new = float(r @ r)
        p, old = (r + new / old * p).persist(), new
    return x


def descend(x: wr.Array, y: wr.Array) -> wr.Array:
    """Return weights of a regression after some gradients."""
    w = wr.zeros(x.shape[1], chunks=-1)
    for k in range(STEPS):
        w = (w - 1e-4 / (k + 1) * (x.T @ (x @ w - y))).persist()
    return w


def cases(a: dict[str, wr.Array], keep: Callable[[wr.Array], wr.Array]) -> dict[str, wr.Array]:
    """Loops of each kind."""
    y, f, line = a["y"], a["f"], a["line"]
    square = keep((y @ y.T) / 200 + wr.eye(y.shape[0], chunks=(77, 77)))
    stencils = {"relax": relax, "inside": inside, "around": around}
    totals, sums = wr.scan(lambda carry, row: (carry + row, carry.sum()), wr.zeros(y.shape[1]), y[:40])
    return {
        **{f"{name}-persisted": steps(y, step, wr.Array.persist) for name, step in stencils.items()},
        **{f"{name}-lazy": steps(y, step, lambda u: u) for name, step in stencils.items()},
        **{f"{name}-loop": in_graph(step, keep(y)) for name, step in stencils.items()},
        "relax-float32": in_graph(relax, keep(f)),
        "elementwise-persisted": steps(line, lambda u: wr.sin(u) * 0.5 + 1, wr.Array.persist),
        "power-persisted": steps(y[:, 0], lambda v: (v := square @ v) / wr.abs(v).max(), wr.Array.persist),
        "conjugate-gradients": conjugate(square, y[:, 1]),
        "descent": descend(y, y[:, 2]),
        "while": wr.while_loop(lambda u: wr.max(u) > 1.2, relax, keep(y)),
        "scan-carry": totals,
        "scan-sums": sums,
    }
