"""A k-d tree of a million points on two ranks: queries beside SciPy's own, the first one beside a pickled tree's."""

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


def private(array: np.ndarray) -> int:
    """Return how many bytes of the mapping in which an array lies are this process's own."""
    inside, found = False, 0
    with open("/proc/self/smaps", encoding="ascii") as file:
        for words in map(str.split, file):
            if "-" in words[0] and not words[0].endswith(":"):
                low, high = (int(x, 16) for x in words[0].split("-"))
                inside = low <= array.ctypes.data < high
            elif inside and words[0] == "Anonymous:":
                found += 1024 * int(words[1])
    return found


def measure(quick: bool) -> dict[str, float]:
    """Measure on the ranks."""
    from scipy.spatial import KDTree

    import windrow as wr

    size, asked = (20_000, 2_000) if quick else (1_000_000, 200_000)
    rng = np.random.default_rng(0)
    points, queries = rng.random((size, 3)), rng.random((asked, 3))
    plain = KDTree(points)

    def warm(comm: Any) -> int:
        import scipy.spatial

        return len(scipy.spatial.__name__)

    wr.spmd(warm)
    found: dict[str, float] = {}
    first: dict[str, list[float]] = {"shared": [], "pickled": []}
    for _ in range(3):
        shared = wr.shared.KDTree(points)
        for kind, tree in (("shared", shared), ("pickled", plain)):

            def ask(comm: Any, tree: Any = tree) -> int:
                return int(tree.query(queries[0])[1])

            begin = time.perf_counter()
            told = wr.spmd(ask)
            first[kind].append(time.perf_counter() - begin)
            assert set(told) == {int(plain.query(queries[0])[1])}
    found |= {kind: min(times) for kind, times in first.items()}

    def many(comm: Any) -> tuple[float, int]:
        if comm.rank == 0:
            return 0.0, 0
        begin = time.perf_counter()
        _distance, _ = shared.query(queries)
        return time.perf_counter() - begin, private(shared.data)

    times: dict[str, list[float]] = {"query": [], "scipy": []}
    for _ in range(3):
        seconds, found["private"] = wr.spmd(many)[1]
        times["query"].append(seconds)
        begin = time.perf_counter()
        plain.query(queries)
        times["scipy"].append(time.perf_counter() - begin)
    found |= {kind: min(measured) for kind, measured in times.items()}
    index = shared.query(wr.from_array(queries, chunks=(asked // 4, 3)))[1].compute()
    assert (index == plain.query(queries)[1]).all()
    found["nbytes"] = shared.nbytes
    return found


def rows(quick: bool) -> list[Row]:
    """Measure."""
    from row import ROOT, Row, mpirun

    words = mpirun(2, "-m", "windrow", __file__, *(["quick"] if quick else []))
    done = subprocess.run(words, env=os.environ | ROOT, capture_output=True, check=False, timeout=300, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return [
        Row("k-d tree: queries on a rank", found["query"], "SciPy in one process", found["scipy"], 1.1),
        Row("k-d tree: first query on each rank", found["shared"], "the tree pickled", found["pickled"], 0.1),
        Row("k-d tree: a rank's own memory", found["private"] / 1e6, "once a host", found["nbytes"] / 1e6, 0.1, "MB"),
    ]


if __name__ == "__main__":
    print(json.dumps(measure("quick" in sys.argv)))
