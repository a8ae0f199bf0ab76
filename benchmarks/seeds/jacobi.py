"""Fifty Jacobi steps on 4000 x 4000 float64, zero beyond the edges, on 2 ranks or processes.

`fori_loop` beside the same written by hand: two processes that share their rows' buffers, with counters and numba; and
mpi4py with NumPy. The first run of each, which compiles, isn't counted; of the others the least is.
"""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from row import Row

SIZE, SMALL = 4000, 400
STEPS, RUNS, TILE = 50, 4, 64


def begin(size: int) -> np.ndarray:
    """Return the first state."""
    return np.random.default_rng(0).random((size, size))


def loop(size: int) -> tuple[float, float]:
    """By Windrow's loop; return the seconds, and what the last state comes to."""
    import windrow as wr

    def body(i: Any, x: Any) -> Any:
        wide = wr.pad(x, 1)
        return 0.25 * (wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:])

    x = wr.from_array(begin(size), chunks=(size // 2, size)).persist()
    wr.wait(x)
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        y = wr.fori_loop(0, STEPS, body, x).persist()
        wr.wait(y)
        times.append(time.perf_counter() - start)
    return min(times[1:]), float(y.sum())


def by_hand(size: int) -> tuple[float, float]:
    """By two processes that look at each other's rims and counters."""
    import numba

    @numba.njit
    def step(a, b):  # type: ignore[no-untyped-def]
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])

    rows = size // 2
    flags = np.frombuffer(mmap.mmap(-1, 4096), np.int64)
    shape = (2, 2, rows + 2, size + 2)  # by process, by parity
    states = np.frombuffer(mmap.mmap(-1, int(np.prod(shape)) * 8)).reshape(shape)
    first = begin(size)

    def wait(number: int, wanted: int) -> None:
        while flags[8 * number] < wanted:
            os.sched_yield()

    def run(own: int, since: int) -> None:
        mine, other = states[own], states[1 - own]
        mine[0, 1:-1, 1:-1] = first[own * rows : (own + 1) * rows]
        flags[8 * own] = since + 1
        for number in range(STEPS):
            wait(1 - own, since + number + 1)
            a, b = mine[number % 2], mine[1 - number % 2]
            if own:
                a[0] = other[number % 2, rows]
            else:
                a[-1] = other[number % 2, 1]
            step(a, b)
            flags[8 * own] = since + number + 2

    step(np.zeros((3, 3)), np.zeros((3, 3)))
    child = os.fork()
    own = int(child == 0)
    times = []
    for number in range(RUNS):
        since = number * (STEPS + 10)
        start = time.perf_counter()
        run(own, since)
        flags[8 * own] = since + STEPS + 5
        wait(1 - own, since + STEPS + 5)
        times.append(time.perf_counter() - start)
    if own:
        os._exit(0)
    os.waitpid(child, 0)
    return min(times[1:]), float(states[:, STEPS % 2, 1:-1, 1:-1].sum())


def by_messages(size: int, tile: int = 0) -> tuple[float, float] | None:
    """By mpi4py and NumPy: as one writes it, or by tiles of some rows that stay in cache."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    rows = size // comm.size
    own = begin(size)[comm.rank * rows : (comm.rank + 1) * rows]
    above = comm.rank - 1 if comm.rank else MPI.PROC_NULL
    below = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
    times = []
    for _ in range(RUNS - 1):
        comm.Barrier()
        start = time.perf_counter()
        a, b = np.zeros((2, rows + 2, size + 2))
        a[1:-1, 1:-1] = own
        for _ in range(STEPS):
            comm.Sendrecv(a[1], above, recvbuf=a[-1], source=below)
            comm.Sendrecv(a[-2], below, recvbuf=a[0], source=above)
            if not tile:
                b[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
            for at in range(1, rows + 1 if tile else 0, tile or 1):
                end = min(at + tile, rows + 1)
                out = b[at:end, 1:-1]
                np.add(a[at - 1 : end - 1, 1:-1], a[at + 1 : end + 1, 1:-1], out=out)
                out += a[at:end, :-2]
                out += a[at:end, 2:]
                out *= 0.25
            a, b = b, a
        comm.Barrier()
        times.append(time.perf_counter() - start)
    total = comm.reduce(float(a[1:-1, 1:-1].sum()))
    return None if total is None else (min(times[1:]), total)


def by_tiles(size: int) -> tuple[float, float] | None:
    """By mpi4py and NumPy, tile by tile."""
    return by_messages(size, TILE)


WAYS = {"loop": loop, "hand": by_hand, "messages": by_messages, "tiles": by_tiles}


def rows(quick: bool) -> list[Row]:
    """Measure all ways in turn, twice; the least counts. Their sums are compared."""
    from row import ROOT, Row, mpirun

    size = SMALL if quick else SIZE
    best: dict[str, float] = {}
    sums = []
    for _ in range(1 if quick else 2):
        for way in WAYS:
            words = [__file__, way, str(size)]
            command = mpirun(2, *words)
            if way in ("hand", "loop"):
                command = [sys.executable, *words] if way == "hand" else mpirun(2, "-m", "windrow", *words)
            done = subprocess.run(command, env=os.environ | ROOT, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, done.stderr
            seconds, total = json.loads(done.stdout.strip().splitlines()[-1])
            best[way] = min(seconds, best.get(way, seconds))
            sums.append(total)
    np.testing.assert_allclose(sums, sums[0], rtol=1e-12)
    return [
        Row("50 Jacobi steps, 4000 x 4000: fori_loop", best["loop"], "flags and numba by hand", best["hand"], 1.3),
        Row("50 Jacobi steps, 4000 x 4000: fori_loop", best["loop"], "mpi4py and NumPy", best["messages"], 0.5),
        Row("50 Jacobi steps, 4000 x 4000: fori_loop", best["loop"], "mpi4py and NumPy by tiles", best["tiles"], 1.0),
    ]


if __name__ == "__main__":
    if (told := WAYS[sys.argv[1]](int(sys.argv[2]))) is not None:
        print(json.dumps(told))
