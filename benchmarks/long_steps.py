"""Very many persisted steps: seconds of one, and memory, as they go on; and what a rank's death costs amid them.

`python benchmarks/long_steps.py [steps]`, or on ranks: `mpirun -n 2 python -m windrow benchmarks/long_steps.py`; with
`--kill` the rank that holds most chunks beside the driver is killed when half of the steps are through, or soon after,
when one holds any: steps drift to where their chunks are, and so may all be with the driver for a while. The result is
compared with NumPy's. WINDROW_PLANS=0 remembers no plans.
"""

from __future__ import annotations

import argparse
import os
import signal
import time

import numpy as np

import windrow as wr
from windrow.scheduler.session.cluster import session

PAGE = os.sysconf("SC_PAGE_SIZE")


def resident(pids: list[int]) -> str:
    """Return the private memory of processes, in MB: what arenas share isn't counted."""
    found = []
    for pid in pids:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            _, there, shared, *_ = map(int, file.read().split())
        found.append(f"{(there - shared) * PAGE / 1e6:.0f}")
    return ", ".join(found)


def killed(u: wr.Array, step: int) -> bool:
    """Kill the rank that holds most chunks beside the driver, if one holds any, and wait until all is there again."""
    wr.wait(u)
    victim = max(wr.cluster().info()[1:], key=lambda row: row["chunks"])
    if not victim["chunks"]:
        return False
    os.kill(victim["pid"], signal.SIGKILL)
    died = time.perf_counter()
    while not wr.cluster().losses:
        time.sleep(0.001)
    wr.wait(u)
    u.compute()
    took = time.perf_counter() - died
    print(f"step {step:,}: a rank of {victim['chunks']} chunks is killed; {took:.2f} s until all is there again")
    return True


def main() -> None:
    """Run the steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="?", type=int, default=100_000)
    parser.add_argument("--elements", type=int, default=100)
    parser.add_argument("--chunks", type=int, default=1)
    parser.add_argument("--kill", action="store_true")
    given = parser.parse_args()
    start = np.random.default_rng(1).random(given.elements)
    u = wr.from_array(start, chunks=-(-given.elements // given.chunks)).persist()
    marks = sorted({n for n in (100, 1_000, *(given.steps * k // 10 for k in range(1, 11))) if 0 < n <= given.steps})
    ranks, begun, done = wr.cluster().info(), time.perf_counter(), 0
    print(f"{len(ranks)} rank(s), {given.elements} elements in {given.chunks} chunk(s)")
    kill = given.kill
    for k in range(1, given.steps + 1):
        u = (u * 0.5 + 1).persist()
        if kill and k >= given.steps // 2 and killed(u, k):
            kill, ranks = False, wr.cluster().info()
        if k in marks:
            wr.wait(u)
            each = (time.perf_counter() - begun) / (k - done)
            stages = session().engine.ask(lambda engine: len(engine.ledger.records))
            pids = [row["pid"] for row in ranks]
            print(f"{k:>8,} steps: {each * 1e6:5.0f} us a step, {resident(pids)} MB, {stages} stages known", flush=True)
            begun, done = time.perf_counter(), k
    for _ in range(given.steps):
        start = start * 0.5 + 1
    np.testing.assert_array_equal(u.compute(), start)
    if kill:
        raise SystemExit("no rank was killed: none but the driver held a chunk")
    print("the result is NumPy's;", *(wr.cluster().losses or ["no rank was lost"]))


if __name__ == "__main__":
    main()
