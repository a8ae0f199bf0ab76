"""Which part of a row's time Python's lock is held, on one thread: what that says of many cores.

A row that holds the lock for a share s of its time keeps 1 / s cores busy at the most; where s is above .05, 16 threads
stop each other. It is counted, not sampled: `lock.c`, loaded before Python (it takes a C compiler, and a Python whose
library is shared), notes the processor's time of each thread between letting go of the lock and taking it again. What
is left of the process's time has held it. `python benchmarks/lock.py` prints of each row the share, how often a
millisecond and how often in all the lock is taken, what 16 cores could make of the share (Amdahl's law: it one after
the other, the rest 16 at a time), and the least milliseconds; `--threads 1,2,4,8,16` those on as many threads. On many
threads each take costs 20 to 50 µs, one after the other, where several threads wait for the lock.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import rows
from systems.windrow_ import Windrow
from workloads import QUICK, Sizes, System, shifted

import windrow as wr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT = 600.0
MOST, CORES = 0.05, 16


def reductions(system: System, n: int, chunk: int) -> dict[str, Callable[[], Any]]:
    """Return reductions along axes, and of whole blocks, that aren't plain sums."""
    a = system.data(3, (n, n), (chunk, chunk))
    holes = system.keep(wr.where(a > 0.98, np.nan, a))
    heads = ["sum", "mean", "std", "var", "min", "max", "argmin", "argmax"]
    found: dict[str, Callable[[], Any]] = {
        f"{head} along {axis}": lambda head=head, axis=axis: getattr(a, head)(axis=axis).compute()
        for axis in (0, 1)
        for head in heads
    }
    found |= {f"{head}": lambda head=head: getattr(a, head)().compute() for head in heads[2:]}
    found |= {
        f"{head} along 0": lambda head=head: getattr(wr, head)(holes, axis=0).compute()
        for head in ("nansum", "nanmean", "nanstd", "nanmin")
    }
    found["nanmax"] = lambda: wr.nanmax(holes).compute()
    found["four along 0"] = lambda: wr.compute(a.mean(axis=0), a.std(axis=0), a.min(axis=0), a.max(axis=0))
    found["a + a.T mean"] = lambda: (a + a.T).mean().compute()
    found["a + a.T kept"] = lambda: system.keep(a + a.T)
    return found


def functions(system: System, n: int, chunk: int) -> dict[str, Callable[[], Any]]:
    """Return functions that NumPy's loops compute, summed and kept."""
    a = system.data(3, (n, n), (chunk, chunk))
    z = system.keep(a + 1j * a[::-1])
    found: dict[str, Callable[[], Any]] = {}
    for name in ("exp", "log", "sin", "tanh"):
        found[f"{name} summed"] = lambda name=name: getattr(wr, name)(a).sum().compute()
        found[f"{name} kept"] = lambda name=name: system.keep(getattr(wr, name)(a))
    found["pow summed"] = lambda: ((a + 1) ** 1.5).sum().compute()
    found["complex summed"] = lambda: (z * z + 1).sum().compute()
    found["complex kept"] = lambda: system.keep(z * z + 1)
    found["abs of complex, largest"] = lambda: abs(z).max().compute()
    return found


def draws(system: System, n: int) -> dict[str, Callable[[], Any]]:
    """Return random numbers, summed."""
    made = wr.random.default_rng(1)
    kinds: dict[str, tuple[Any, ...]] = {
        "random": (), "standard_normal": (), "normal": (1.0, 2.0), "uniform": (1.0, 2.0), "integers": (0, 1000),
        "standard_exponential": (), "standard_gamma": (2.0,), "poisson": (3.0,), "beta": (2.0, 3.0),
    }  # fmt: skip
    parts = dict.fromkeys(("standard_gamma", "poisson", "beta"), 8)
    return {
        name: lambda name=name, given=given: (
            getattr(made, name)(*given, size=n // parts.get(name, 1), chunks=1 << 20).sum().compute()
        )
        for name, given in kinds.items()
    }


def small(system: System, blocks: int) -> dict[str, Callable[[], Any]]:
    """Return a user's function on small blocks, and chunks of one element."""
    edge = int(blocks**0.5)
    many = blocks * 200
    return {
        f"map_blocks, {edge * edge} blocks of 100²": lambda: (
            wr.map_blocks(shifted, wr.ones((100 * edge, 100 * edge), chunks=100), 1.0, dtype=float).sum().compute()
        ),
        f"{many:,} chunks of one": lambda: (wr.ones(many, chunks=1) + 1.0).sum().compute(),
    }


GROUPS: dict[str, Callable[[System, bool], dict[str, Callable[[], Any]]]] = {
    "reductions": lambda system, quick: reductions(system, *((1000, 250) if quick else (12000, 1000))),
    "functions": lambda system, quick: functions(system, *((1000, 250) if quick else (12000, 2000))),
    "draws": lambda system, quick: draws(system, 1 << 20 if quick else 1 << 26),
    "small": lambda system, quick: small(system, 100 if quick else 900),
}
"""Rows that the table of workloads doesn't have."""


def rows_of(system: System, group: str, quick: bool) -> dict[str, Callable[[], Any]]:
    """Return a group's rows by name; a workload of the table is a group of its own."""
    if group in GROUPS:
        return GROUPS[group](system, quick)
    case = rows.cases(QUICK if quick else Sizes())[group](system)
    inputs, turn = case.fresh(1.0), itertools.count(1)
    return {group: lambda: case.run(inputs, 1 + next(turn) / (1 << 20))}


class Watch:
    """Counts of `lock.c`: the processor's time that threads spent without the lock, and how often they took it."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        self._free, self._takes = library.lock_free_ns, library.lock_takes
        self._free.restype = self._takes.restype = ctypes.c_long

    def read(self) -> tuple[int, int, int]:
        """Return nanoseconds of the process, those of them without the lock, and how often it was taken."""
        return time.process_time_ns(), self._free(), self._takes()


def work(group: str, threads: int, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Run each row of a group for some time; yield its name, the lock's share, takes, takes a millisecond, the time."""
    watch = Watch()
    with wr.Cluster(threads=threads):
        for name, run in rows_of(Windrow(), group, options.quick).items():
            with wr.config.set(jit="on"):
                for _ in range(2):
                    run()
            end, turns = time.perf_counter() + options.seconds, list[tuple[int, int, int, float]]()
            while not turns or time.perf_counter() < end:
                before, begin = watch.read(), time.perf_counter()
                run()
                took = time.perf_counter() - begin
                turns.append((*(b - a for a, b in zip(before, watch.read(), strict=True)), took))  # type: ignore[arg-type]
            used, free, takes, _ = min(turns)  # of the processor's time: the machine may have had others to serve
            least = min(took for *_, took in turns)
            yield {
                "name": name,
                "share": 1 - free / used,
                "takes": takes,
                "a_ms": 1e6 * takes / used,
                "ms": 1000 * least,
            }


def measure(group: str, threads: int, library: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Have a process of its own run a group."""
    command = [sys.executable, __file__, "--work", group, "--threads", str(threads), "--seconds", str(options.seconds)]
    command += ["--quick"] * options.quick
    environment = os.environ | {"LD_PRELOAD": library}
    made = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, timeout=LIMIT, text=True)
    return [json.loads(line) for line in made.stdout.splitlines()]


def main() -> None:
    """Do as the command line says."""
    parser = argparse.ArgumentParser(description="Which part of a row's time Python's lock is held.")
    parser.add_argument("--only", help=f"groups ({', '.join(GROUPS)}) and workloads, with commas between")
    parser.add_argument("--threads", default="1", help="how many compute threads, with commas between")
    parser.add_argument("--seconds", type=float, default=1.0, help="for how long each row runs")
    parser.add_argument("--quick", action="store_true", help="small arrays")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        for row in work(options.work, int(options.threads), options):
            print(json.dumps(row), flush=True)
        return
    counts = [int(n) for n in options.threads.split(",")]
    heads = f"{'row':36}{'lock held':>11}{'takes a ms':>12}{'takes':>8}{f'ms by {CORES}':>10}"
    print(heads + "".join(f"{f'ms on {n}':>10}" for n in counts))
    with tempfile.TemporaryDirectory() as folder:
        library = str(Path(folder, "lock.so"))
        source = str(Path(__file__).with_suffix(".c"))
        subprocess.run(
            [os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", source, "-o", library, "-ldl"], check=True
        )
        for group in options.only.split(",") if options.only else [*GROUPS, *rows.cases(Sizes())]:
            found = [measure(group, n, library, options) for n in counts]
            for row in zip(*found, strict=True):
                mark = "  <" if row[0]["share"] > MOST else ""
                share, least = row[0]["share"], row[0]["ms"]
                figures = f"{share:11.1%}{row[0]['a_ms']:12.1f}{row[0]['takes']:8}"
                figures += f"{least * (share + (1 - share) / CORES):10.1f}"
                figures += "".join(f"{each['ms']:10.1f}" for each in row)
                print(f"{row[0]['name']:36}{figures}{mark}", flush=True)


if __name__ == "__main__":
    main()
