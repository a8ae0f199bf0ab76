"""Measure Windrow beside its peers: `python benchmarks/run.py`, or `make bench`.

Every (system, workload) runs in a process of its own; rounds go through all systems in turn, so that drift
hits all. Shown is the least time of all rounds, and the median beside it. What takes longer than
20 seconds is measured once. The last column is the time that a row's bytes or flops take at the rates of probes in
the same run, and how many times that Windrow takes. Below the table each requirement stands with its figure.
`--compare REV` measures this tree beside an earlier revision instead.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import means
from compare import compare
from extras import EXTRAS
from limits import ONE_BLAS, Machine, probe, works
from process import answer
from report import Results, judge, machine, table
from rows import cases
from workloads import QUICK, Sizes

HERE = Path(__file__).parent
LIMIT = 300.0
DISTRIBUTED = ("W1 ", "W10", "W11", "W12", "W13", "W2", "W3", "W4", "W5", "W6", "W7", "fft2", "mask", "cholesky")
BY_HAND = ("W2", "W3", "W4", "W8", "W9", "W14", "host")
JIT = {"WINDROW_JIT": "on" if importlib.util.find_spec("numba") else "auto"}

# name: what the worker is told, what must be importable, environment, workloads ("" is all)
SYSTEMS: dict[str, tuple[str, str, dict[str, str], tuple[str, ...]]] = {
    "windrow": ("windrow:threads", "windrow", JIT, ("",)),
    "windrow-nojit": ("windrow:threads", "windrow", {"WINDROW_JIT": "off"}, ("W2", "W3", "W4")),
    "windrow-ranks": ("windrow:ranks", "windrow", JIT, ("",)),
    "dask-threads": ("dask:threads", "dask", ONE_BLAS, ("",)),
    "dask-distributed": ("dask:distributed", "distributed", ONE_BLAS, DISTRIBUTED),
    "numpy": ("numpy", "numpy", {}, ("",)),
    "numba": ("numba:2", "numba", {"NUMBA_NUM_THREADS": "2"}, BY_HAND),
    "scikit-learn": ("sklearn", "sklearn", {}, ("W14 estimator",)),
}
LONG = {
    ("dask-distributed", "W1 200,000"): "it takes more than six minutes",
    ("dask-threads", "W11 sort"): "dask has no sort",
    ("dask-distributed", "W11 sort"): "dask has no sort",
    ("dask-threads", "W9"): "its roll splits chunks at each step",
    ("dask-threads", "W14 estimator"): "it is dask-ml's",
}

# What a system does in a row as in another, which is measured for both.
ALIKE = {
    ("numpy", "W8 map_overlap"): "W8 pad",
    ("numba", "W8 map_overlap"): "W8 pad",
    ("dask-threads", "W8 map_overlap"): "W8 pad",
    ("numpy", "W8 persisted"): "W8 pad",
    ("numba", "W8 persisted"): "W8 pad",
    ("numpy", "W14 estimator"): "W14 arrays",
    ("numba", "W14 estimator"): "W14 arrays",
}


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="workloads and extras by their first words: W2,W4,start")
    parser.add_argument("--systems", help=f"default: {','.join(SYSTEMS)}; with --compare windrow")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5, help="in each round, after a warm-up")
    parser.add_argument("--quick", action="store_true", help="small sizes, for trying")
    parser.add_argument("--json", metavar="FILE", help="write all times there")
    parser.add_argument("--compare", metavar="REV", help="measure this tree and that revision in turn, row by row")
    options = parser.parse_args()
    options.only = tuple(w.strip() for w in options.only.split(",")) if options.only else ("",)
    systems = options.systems or ("windrow" if options.compare else ",".join(SYSTEMS))
    options.systems = [s.strip() for s in systems.split(",")]
    unknown = [s for s in options.systems if s not in SYSTEMS]
    if unknown:
        parser.error(f"unknown systems {unknown}; expected some of {', '.join(SYSTEMS)}")
    return options


def chosen(name: str, only: tuple[str, ...]) -> bool:
    """Whether a name begins with one of the words: "W1" is the first word of "W1 map_blocks", not of "W10"."""
    return any(word == "" or name == word or name.startswith(word + " ") for word in only)


def measure(
    system: str, workload: str, options: argparse.Namespace, more: dict[str, str] | None = None
) -> dict[str, Any]:
    """Run one worker; what went wrong comes back under "error"."""
    told, _, environment, _ = SYSTEMS[system]
    command = [sys.executable, str(HERE / "worker.py"), told, workload, "--repeats", str(options.repeats)]
    command += ["--quick"] if options.quick else []
    found = answer(command, environment | (more or {}), LIMIT)
    return found if "error" in found or found["right"] else {"error": "wrong result"}


def takes(system: str, workload: str) -> bool:
    """Whether a workload is measured on a system."""
    _, module, _, names = SYSTEMS[system]
    return (
        (system, workload) not in LONG and workload.startswith(names) and importlib.util.find_spec(module) is not None
    )


def show(text: str) -> None:
    """Say in a terminal what is going on."""
    if sys.stderr.isatty():
        print(f"\r{text:<70}\r", end="", file=sys.stderr, flush=True)


def rounds(options: argparse.Namespace, workloads: list[str]) -> tuple[Results, Machine | None]:
    """Go through all systems and workloads in turn; the machine is what its best round shows."""
    results, probed = Results(), []
    for turn in range(options.rounds):
        if workloads:
            show(f"round {turn + 1}: probes …")
            probed.append(probe(options.quick))
        for workload in workloads:
            for system in options.systems:
                if not takes(system, workload) or results.settled(system, workload):
                    continue
                if ALIKE.get((system, workload)) in workloads:
                    continue
                show(f"round {turn + 1}: {workload}, {system} …")
                results.add(system, workload, measure(system, workload, options))
    for (system, workload), other in ALIKE.items():
        if workload in workloads and other in workloads:
            results.copy(system, other, workload)
    show("")
    found = [each for each in probed if each is not None]
    best = Machine(max(m.bytes for m in found), max(m.flops for m in found)) if found else None
    return results, best


def main() -> int:
    """Measure, print, and say by the exit status whether all results were right."""
    options = arguments()
    sizes = QUICK if options.quick else Sizes()
    workloads = [w for w in cases(sizes) if chosen(w, options.only)]
    print(machine())
    if options.compare:
        mine = [s for s in options.systems if s.startswith("windrow")]
        rows = [(s, w) for w in workloads for s in mine if takes(s, w)]
        return compare(options, rows, measure, chosen("steps", options.only))
    results, probed = rounds(options, workloads)
    limits = {w: probed.seconds(work) for w, work in works(sizes).items()} if probed else {}
    if workloads:
        print(table(results, options.systems, workloads, LONG, limits))
    if probed:
        print(f"probes: {probed.bytes / 1e9:.3g} GB/s to and from memory, {probed.flops / 1e9:.3g} GFLOPS of DGEMM\n")
    extras = {n: measure(options.quick) for n, measure in EXTRAS.items() if chosen(n, options.only)}
    for line in [*judge(results, extras), *means.judge(results)]:
        print(line)
    if options.json:
        Path(options.json).write_text(
            json.dumps({"times": results.plain(), "limits": limits, "extras": extras}, indent=1) + "\n"
        )
    return 1 if results.errors else 0


if __name__ == "__main__":
    sys.exit(main())
