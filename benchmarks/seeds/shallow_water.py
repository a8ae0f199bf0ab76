"""The nonlinear shallow-water equations, a step at 1800 x 3600 float32 on 2 ranks.

As a rank program in numba beside the same function under plain mpi4py; as a loop that stays with the ranks, and lazily,
beside NumPy. All are the solver of `examples/shallow_water.py`, whose numbers they are checked against.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from row import Row

EXAMPLE = Path(__file__).parents[2] / "examples" / "shallow_water.py"
SIZE, SMALL = (1800, 3600), (180, 360)
STEPS = {"program": 40, "plain": 40, "loop": 40, "lazy": 6, "numpy": 4}


@cache
def example() -> Any:
    """Return the example's module."""
    spec = importlib.util.spec_from_file_location("shallow_water_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def compiled(parallel: bool = False) -> Any:
    """Return one step on rows with a rim of one row on each side, in two passes; by numba's threads, if so asked."""
    import numba

    x = example()
    f4 = np.float32
    g, f, space, step = f4(x.G), f4(x.CORIOLIS), f4(1 / x.SPACING), f4(x.STEP)
    new, old, half, quarter = f4(x.NEW), f4(x.OLD), f4(0.5), f4(0.25)

    @numba.njit(parallel=parallel)
    def rates(h, u, v, hu, hv, q, e):  # type: ignore[no-untyped-def]
        rows, columns = h.shape
        for j in numba.prange(rows):
            k = min(j + 1, rows - 1)
            m = max(j - 1, 0)
            for i in range(columns):
                r = i + 1 if i + 1 < columns else 0
                w = i - 1 if i else columns - 1
                hu[j, i] = u[j, i] * (h[j, i] + h[j, r]) * half
                hv[j, i] = v[j, i] * (h[j, i] + h[k, i]) * half
                corner = (h[j, i] + h[j, r] + h[k, i] + h[k, r]) * quarter
                q[j, i] = (f + ((v[j, r] - v[j, i]) - (u[k, i] - u[j, i])) * space) / corner
                e[j, i] = g * h[j, i] + quarter * (
                    u[j, i] * u[j, i] + u[j, w] * u[j, w] + v[j, i] * v[j, i] + v[m, i] * v[m, i]
                )

    @numba.njit(parallel=parallel)
    def advance(h, u, v, hu, hv, q, e, dh, du, dv, first):  # type: ignore[no-untyped-def]
        rows, columns = h.shape
        for j in numba.prange(1, rows - 1):
            for i in range(columns):
                r = i + 1 if i + 1 < columns else 0
                w = i - 1 if i else columns - 1
                a = ((hu[j, i] - hu[j, w]) + (hv[j, i] - hv[j - 1, i])) * -space
                b = quarter * (q[j, i] * (hv[j, i] + hv[j, r]) + q[j - 1, i] * (hv[j - 1, i] + hv[j - 1, r]))
                b -= (e[j, r] - e[j, i]) * space
                c = -quarter * (q[j, i] * (hu[j, i] + hu[j + 1, i]) + q[j, w] * (hu[j, w] + hu[j + 1, w]))
                c -= (e[j + 1, i] - e[j, i]) * space
                if first:
                    dh[j, i], du[j, i], dv[j, i] = a, b, c
                h[j, i] += step * (new * a + old * dh[j, i])
                u[j, i] += step * (new * b + old * du[j, i])
                v[j, i] += step * (new * c + old * dv[j, i])
                dh[j, i], du[j, i], dv[j, i] = a, b, c

    return rates, advance


def program(comm: Any, fields: list[np.ndarray], steps: int) -> tuple[np.ndarray, float]:
    """Step the own rows; return the height, and the seconds of a step."""
    rates, advance = compiled()
    above, below = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    wide = [np.concatenate([field[:1], field, field[:1]]) for field in fields]
    work = [np.zeros_like(wide[0]) for _ in range(7)]

    def run(count: int, first: bool) -> None:
        for number in range(count):
            for field in wide:
                comm.Sendrecv(field[1], above, recvbuf=field[-1], source=below)
                comm.Sendrecv(field[-2], below, recvbuf=field[0], source=above)
            rates(*wide, *work[:4])
            advance(*wide, *work, first and number == 0)

    run(1, True)
    comm.Barrier()
    begin = time.perf_counter()
    run(steps - 1, False)
    comm.Barrier()
    return wide[0][1:-1], (time.perf_counter() - begin) / (steps - 1)


def by_program(fields: tuple[np.ndarray, ...], steps: int) -> tuple[np.ndarray, float]:
    """Within Windrow."""
    import windrow as wr

    lazy = [each.persist() for each in example().spread(fields)]
    wr.wait(lazy)

    def member(comm: Any, *given: Any) -> tuple[np.ndarray, float]:
        return program(comm, [each.joined() for each in given], steps)

    found = wr.spmd(member, *lazy)
    return np.concatenate([height for height, _ in found]), max(seconds for _, seconds in found)


def by_steps(way: Any, fields: tuple[np.ndarray, ...], steps: int) -> tuple[np.ndarray, float]:
    """By one of the example's ways: the seconds of further steps, once the first is done, and memory is there."""
    way(fields, 1)
    begin = time.perf_counter()
    way(fields, 1)
    middle = time.perf_counter()
    found = way(fields, steps + 1)
    return found, (2 * middle - begin - time.perf_counter()) / -steps


def measure(kind: str, size: tuple[int, int]) -> dict[str, Any] | None:
    """Run one way, and return the seconds of a step and what the height comes to."""
    fields = example().begin(*size)
    steps = STEPS[kind]
    if kind == "plain":
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
        borders = np.arange(comm.size + 1) * size[0] // comm.size
        own = [field[borders[comm.rank] : borders[comm.rank + 1]] for field in fields]
        height, seconds = program(comm, own, steps)
        parts = comm.gather(height)
        if parts is None:
            return None
        height = np.concatenate(parts)
    elif kind == "program":
        height, seconds = by_program(fields, steps)
    else:
        height, seconds = by_steps(example().WAYS[kind], fields, steps)
        steps += 1
    error = 0.0
    if size == SMALL:
        error = float(abs(height - example().numpy_way(fields, steps)).max())
    assert error < 1e-3, error
    return {"seconds": seconds, "mean": float(height.mean(dtype="f8"))}


def rows(quick: bool) -> list[Row]:
    """Measure all ways in turn, twice; the least counts. What they find is checked at a small size first."""
    from row import ROOT, Row, mpirun

    best: dict[str, float] = {}
    for size in (SMALL, *(() if quick else (SIZE, SIZE))):
        for kind in STEPS:
            words = [__file__, kind, *map(str, size)]
            command = {"numpy": [sys.executable, *words], "plain": mpirun(2, *words)}.get(
                kind, mpirun(2, "-m", "windrow", *words)
            )
            done = subprocess.run(command, env=os.environ | ROOT, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, done.stderr
            found = json.loads(done.stdout.strip().splitlines()[-1])
            assert abs(found["mean"] - example().DEPTH) < 0.01, found
            if size == SIZE or quick:
                best[kind] = min(found["seconds"], best.get(kind, found["seconds"]))
    return [
        Row("shallow water, a step: rank program, numba", best["program"], "plain mpi4py", best["plain"], 1.1),
        Row("shallow water, a step: fori_loop, 2 ranks", best["loop"], "NumPy", best["numpy"], 1 / 6),
        Row("shallow water, a step: lazily, 2 ranks", best["lazy"], "NumPy", best["numpy"], 1.0),
    ]


if __name__ == "__main__":
    told = measure(sys.argv[1], (int(sys.argv[2]), int(sys.argv[3])))
    if told is not None:
        print(json.dumps(told))
