"""Rows on more and more cores: `python benchmarks/cores.py --widths 1,4,16`.

Windrow embedded on so many threads (`threads`), on so many ranks (`ranks`), and dask's threads (`dask`), each in a
process of its own; the least of several runs after a first one, in milliseconds. Which part of a
row's time Python's lock is held, which bounds what more threads can do, is lock.py's.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limits import ONE_BLAS
from process import answer
from workloads import relaxed, shifted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT = 300.0
SYSTEMS = ("threads", "ranks", "dask")
MOST = 3.0
"""Seconds of runs of a row after which no further one begins."""


@contextmanager
def opened(system: str, width: int) -> Iterator[tuple[Any, Callable[[Any], Any]]]:
    """Give a system's module, and what holds an array's values on it."""
    if system == "dask":
        import dask
        import dask.array as da

        with dask.config.set(scheduler="threads", num_workers=width):
            yield da, lambda x: x.persist()
        return
    import windrow as wr

    def keep(x: Any) -> Any:
        kept = x.persist()
        kept.expr.pin.wait()
        return kept

    with wr.Cluster(ranks=width) if system == "ranks" else wr.Cluster(threads=width), wr.config.set(jit="on"):
        yield wr, keep


def plate(u: Any, xp: Any) -> Any:
    """One step of Jacobi's iteration."""
    wide = xp.pad(u, 1, mode="constant")
    return 0.25 * (wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:])


def vectors(xp: Any, keep: Callable[[Any], Any], n: int) -> dict[str, Callable[[], Any]]:
    """Return rows over long vectors, and over many blocks."""
    made = xp.random.default_rng(1)
    a, chunk = keep(made.random(n, chunks=1 << 20)), 1 << 20
    small = xp.ones((n // 42_666, n // 42_666), chunks=100)
    draws: dict[str, tuple[Any, ...]] = {
        "standard_normal": (), "uniform": (1.0, 2.0), "integers": (0, 1000),
        "standard_exponential": (), "standard_gamma": (2.0,), "poisson": (3.0,),
    }  # fmt: skip
    rows: dict[str, Callable[[], Any]] = {
        "chain + sum": lambda: (2 * a + 1 - a * a).sum().compute(),
        "chain kept": lambda: keep(2 * a + 1 - a * a),
        "histogram": lambda: xp.histogram(a, bins=100, range=(0.0, 1.0))[0].compute(),
        "exp summed": lambda: xp.exp(a).sum().compute(),
        "blocks of 100², map_blocks": lambda: xp.map_blocks(shifted, small, 1.0, dtype=float).sum().compute(),
        "chunks of one": lambda: (xp.ones(n // 640, chunks=1) + 1.0).sum().compute(),
    }
    for name, given in draws.items():
        size = n // (8 if name in ("standard_gamma", "poisson") else 2)
        rows[name] = lambda name=name, given=given, size=size: (
            getattr(made, name)(*given, size=size, chunks=chunk).sum().compute()
        )
    if hasattr(xp, "sort"):
        half = keep(a[: n // 2])
        rows["sort"] = lambda: keep(xp.sort(half))
    return rows


def matrices(xp: Any, keep: Callable[[Any], Any], n: int) -> dict[str, Callable[[], Any]]:
    """Return rows over matrices."""
    made = xp.random.default_rng(1)
    a = keep(made.random((n, n), chunks=(n // 12, n // 12)))
    tall = keep(made.random((n * n // 36, 32), chunks=(32_768, 32)))
    half = keep(made.random((n // 2, n // 2), chunks=(n // 12, n // 6)))
    z = keep(a + 1j * a[::-1])
    rows: dict[str, Callable[[], Any]] = {
        f"{name}, axis {axis}": lambda name=name, axis=axis: getattr(a, name)(axis=axis).compute()
        for name in ("sum", "std", "min", "argmax")
        for axis in (0, 1)
    }
    rows |= {
        "four of one read": lambda: keep_all(xp, a.mean(axis=0), a.std(axis=0), a.min(axis=0), a.max(axis=0)),
        "a + a.T mean": lambda: (a + a.T).mean().compute(),
        "a + a.T kept": lambda: keep(a + a.T),
        "complex kept": lambda: keep(z * z + 1),
        "rechunk kept": lambda: keep(a.rechunk((n // 40, n))),
        "map_overlap kept": lambda: keep(
            xp.map_overlap(relaxed, a, depth=1, boundary=0.0, trim=False, dtype=float, chunks=a.chunks)
        ),
        "qr": lambda: keep_all(xp, *xp.linalg.qr(tall)),
        "matmul": lambda: keep(half @ half),
    }
    if hasattr(xp, "fori_loop"):
        u = keep(a[: 2 * n // 3, : 2 * n // 3])
        rows["jacobi, 20 steps"] = lambda: keep(xp.fori_loop(0, 20, lambda k, u: plate(u, xp), u))
    return rows


def keep_all(xp: Any, *several: Any) -> Any:
    """Compute together what is small, and keep what isn't."""
    if xp.__name__ != "windrow":
        import dask

        return dask.persist(*several)
    kept = xp.persist(*several)
    for one in kept:
        one.expr.pin.wait()
    return kept


def work(system: str, width: int, shrink: int) -> dict[str, float]:
    """Return the least milliseconds of each row."""
    took: dict[str, float] = {}
    for group, size in ((vectors, (1 << 27) // shrink**2), (matrices, 12_000 // shrink)):
        with opened(system, width) as (xp, keep):
            for name, run in group(xp, keep, size).items():
                times: list[float] = []
                while len(times) < 2 or (sum(times) < MOST and len(times) < 6):
                    begin = time.perf_counter()
                    run()
                    times.append(time.perf_counter() - begin)
                    if times[0] > MOST:
                        break
                took[name] = 1000 * min(times)
    return took


def main() -> None:
    """Do as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--widths", default="1,2", help="threads or ranks, with commas between; dask: the last")
    parser.add_argument("--shrink", type=int, default=1, help="by how much each edge is smaller")
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        print(json.dumps(work(options.work[0], int(options.work[1]), options.shrink)))
        return
    widths = [int(width) for width in options.widths.split(",")]
    columns: dict[str, dict[str, Any]] = {}
    for system in options.systems.split(","):
        for width in widths if system == "threads" else widths[-1:]:
            command = [
                sys.executable,
                str(Path(__file__)),
                "--work",
                system,
                str(width),
                "--shrink",
                str(options.shrink),
            ]
            columns[f"{system} {width}"] = answer(command, ONE_BLAS if system == "dask" else {}, LIMIT)
            print(f"{system} {width}", columns[f"{system} {width}"].get("error", "done"), file=sys.stderr, flush=True)
    print(f"{len(os.sched_getaffinity(0))} cores; ms")
    print("| row | " + " | ".join(columns) + " |")
    print("| --- |" + " --- |" * len(columns))
    for name in dict.fromkeys(name for column in columns.values() for name in column if name != "error"):
        cells = [f"{column[name]:.3g}" if name in column else "–" for column in columns.values()]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
