"""Arrays that all ranks write: single operations and batches beside NumPy's in one process, and MPI's windows.

The seconds are those of the processor, not of the clock: all ranks share what cores there are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from row import Row

SIZE = 1 << 24  # elements: 128 MiB
MANY = 1_000_000
SINGLE = 100_000


def draw(rank: int, size: int) -> np.ndarray:
    """Return the positions that a rank adds to."""
    return np.random.default_rng(rank).integers(0, size, MANY)


def counts_of(ranks: int, repeats: int, size: int) -> np.ndarray:
    """Return what NumPy counts."""
    found = np.zeros(size, np.int64)
    for rank in range(ranks):
        found += repeats * np.bincount(draw(rank, size), minlength=size)
    return found


def inside(quick: bool) -> dict[str, float]:
    """Measure within Windrow, on as many ranks as there are."""
    import windrow as wr

    size, repeats = (SIZE >> 4, 3) if quick else (SIZE, 9)
    table = wr.shared.symmetric(size, np.int64)
    scores = wr.shared.symmetric(size, np.float64)
    one = wr.shared.symmetric(1000, np.int64)

    def work(comm: Any) -> dict[str, float]:
        where = draw(comm.rank, size)
        found = {}
        calls = {
            "add": lambda: table.add(where, 1),
            "add of floats": lambda: scores.add(where, 0.5),
            "get": lambda: table.get(where),
        }
        for name, call in calls.items():
            times = []
            for _ in range(repeats):
                comm.Barrier()
                begin = time.thread_time()
                call()
                times.append(time.thread_time() - begin)
            found[name] = min(times) / MANY * 1e9
        for name, single in {"fetch_add": lambda: one.fetch_add(7, 1), "get of one": lambda: one.get(7)}.items():
            comm.Barrier()
            times = []
            for _ in range(5):
                begin = time.thread_time()
                for _ in range(SINGLE // 5):
                    single()
                times.append((time.thread_time() - begin) / (SINGLE // 5))
            found[name] = min(times) * 1e6
        return found

    told = wr.spmd(work)
    assert (table.to_numpy() == counts_of(len(told), repeats, size)).all(), "no addition is lost"
    assert (scores.to_numpy() == 0.5 * counts_of(len(told), repeats, size)).all()
    assert one.get(7) == len(told) * SINGLE
    return {name: max(each[name] for each in told) for name in told[0]}


def plain(quick: bool) -> dict[str, float] | None:
    """Measure MPI's windows by mpi4py: one addition at a time, as Accumulate of a batch takes positions of one type."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    window = MPI.Win.Allocate(8 * 1000, 8, comm=comm)
    memory = np.frombuffer(window.tomemory(), np.int64)
    memory[:] = 0
    given, taken = np.ones(1, np.int64), np.zeros(1, np.int64)
    comm.Barrier()
    window.Lock_all()
    times = []
    for _ in range(5):
        begin = time.thread_time()
        for _ in range(SINGLE // 5):
            window.Fetch_and_op([given, MPI.INT64_T], [taken, MPI.INT64_T], 0, 7, MPI.SUM)
            window.Flush(0)
        times.append((time.thread_time() - begin) / (SINGLE // 5))
    found = {"Fetch_and_op": min(times) * 1e6}
    window.Unlock_all()
    comm.Barrier()
    if comm.rank == 0:
        assert memory[7] == comm.size * SINGLE
    return found if comm.rank == 0 else None


def numpy_alone(quick: bool) -> dict[str, float]:
    """Measure NumPy in this process."""
    size = SIZE >> 4 if quick else SIZE
    where, found = draw(0, size), {}
    for name, kind, value in (("add", np.int64, 1), ("add of floats", np.float64, 0.5)):
        table, times = np.zeros(size, kind), []
        for _ in range(3):
            begin = time.thread_time()
            np.add.at(table, where, value)
            times.append(time.thread_time() - begin)
        found[name] = min(times) / MANY * 1e9
    times = []
    for _ in range(3):
        begin = time.thread_time()
        table[where]
        times.append(time.thread_time() - begin)
    return found | {"get": min(times) / MANY * 1e9}


def rows(quick: bool) -> list[Row]:
    """Measure on one rank and on two, beside NumPy and MPI."""
    from row import ROOT, Row, mpirun

    def run(ranks: int, kind: str) -> dict[str, float]:
        words = ["-m", "windrow", __file__] if kind == "inside" else [__file__]
        more = ["quick"] if quick else []
        done = subprocess.run(
            mpirun(ranks, *words, kind, *more), env=os.environ | ROOT, capture_output=True, check=True, timeout=300
        )
        found: dict[str, float] = json.loads(done.stdout.decode().strip().splitlines()[-1])
        return found

    alone, two, peer, mpi = run(1, "inside"), run(2, "inside"), numpy_alone(quick), run(2, "plain")
    beside = {"add": "np.add.at", "add of floats": "np.add.at", "get": "table[where]"}
    made = []
    for name, what in beside.items():
        made.append(Row(f"random {name} in a batch, 1 rank", alone[name], f"{what}, 1 process", peer[name], 2.0, "ns"))
        made.append(Row(f"random {name} in a batch, each of 2 ranks", two[name], "", 0, 25, "ns"))
    made.append(Row("a fetch_add from a rank program, 2 ranks", two["fetch_add"], "", 0, 2, "us"))
    mpis = mpi["Fetch_and_op"]
    return [*made, Row("the same beside MPI's", two["fetch_add"], "Win.Fetch_and_op and Flush", mpis, 2, "us")]


if __name__ == "__main__":
    told = {"inside": inside, "plain": plain}[sys.argv[1]]("quick" in sys.argv)
    if told is not None:
        print(json.dumps(told))
