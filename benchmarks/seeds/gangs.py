"""Rank programs: what a gang costs, and MPI's calls inside of one beside plain mpi4py."""

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

KIB = 1024
SIZES = {"32 KiB": 32 * KIB, "1 MiB": KIB**2, "8 MiB": 8 * KIB**2}


def calls(comm: Any, quick: bool) -> dict[str, float]:
    """Return the least time of each call."""
    found = {}
    repeats = 5 if quick else 30
    for name, size in SIZES.items():
        given, taken = np.ones(size // 8), np.empty(size // 8)
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        kinds = {
            "Allreduce": lambda given=given, taken=taken: comm.Allreduce(given, taken),
            "Sendrecv": lambda given=given, taken=taken, right=right, left=left: comm.Sendrecv(
                given, right, recvbuf=taken, source=left
            ),
        }
        for kind, call in kinds.items():
            times = []
            for _ in range(repeats):
                comm.Barrier()
                begin = time.perf_counter()
                call()
                times.append(time.perf_counter() - begin)
            expected = comm.size if kind == "Allreduce" else 1
            assert (taken == expected).all()
            found[f"{kind}, {name}"] = min(times)
    return found


def barrier(comm: Any) -> float:
    """Return the time of a Barrier."""
    begin = time.perf_counter()
    for _ in range(200):
        comm.Barrier()
    return (time.perf_counter() - begin) / 200


def inside(quick: bool) -> dict[str, float]:
    """Measure within Windrow."""
    import windrow as wr

    def empty(comm: Any) -> None:
        return None

    found = wr.spmd(lambda comm: calls(comm, quick))[0]
    times = []
    for _ in range(30 if quick else 300):
        begin = time.perf_counter()
        wr.spmd(empty)
        times.append(time.perf_counter() - begin)
    found["empty"] = float(np.median(times))
    found["barrier"] = min(wr.spmd(barrier))
    x = wr.ones((64, 100_000), chunks=(1, -1)).persist()
    wr.wait(x)

    def copied(comm: Any, x: Any) -> int:
        arena = wr.arena()
        return sum(arena.locate(block) is None for block in x)

    found["copied"] = sum(wr.spmd(copied, x))
    return found


def plain(quick: bool) -> dict[str, float] | None:
    """Measure with mpi4py alone."""
    from mpi4py import MPI

    found = calls(MPI.COMM_WORLD, quick)
    return found if MPI.COMM_WORLD.rank == 0 else None


def rows(quick: bool) -> list[Row]:
    """Measure both in turn, twice; the least counts."""
    from row import ROOT, Row, mpirun

    found: dict[str, dict[str, float]] = {"inside": {}, "plain": {}}
    more = ["quick"] if quick else []
    for _ in range(1 if quick else 2):
        for kind in found:
            words = ["-m", "windrow", __file__] if kind == "inside" else [__file__]
            done = subprocess.run(
                mpirun(2, *words, kind, *more), env=os.environ | ROOT, capture_output=True, check=True, timeout=300
            )
            measured = json.loads(done.stdout.decode().strip().splitlines()[-1])
            found[kind] = {k: min(v, found[kind].get(k, v)) for k, v in measured.items()}
    own, mpi = found["inside"], found["plain"]
    assert own["copied"] == 0, "chunks are handed to members in place"
    rows = [Row("an empty gang on 2 ranks, above a Barrier", 1e6 * (own["empty"] - own["barrier"]), "", 0, 300, "us")]
    return rows + [Row(f"{name}, in a gang on 2 ranks", own[name], "plain mpi4py", mpi[name], 1.1) for name in mpi]


if __name__ == "__main__":
    told = {"inside": inside, "plain": plain}[sys.argv[1]]("quick" in sys.argv)
    if told is not None:
        print(json.dumps(told))
