"""Measure Windrow beside its peers: `python benchmarks/run.py`, or `make bench`.

Every (system, workload) runs in a process of its own; rounds go through all systems in turn, so that drift
hits all. Shown is the least time of all rounds, and the median beside it. What takes longer than a few
seconds is measured once. Below the table each requirement stands with its figure.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numerics
from extras import EXTRAS
from process import answer
from report import Results, judge, machine, table
from workloads import QUICK, Sizes, cases

HERE = Path(__file__).parent
LIMIT = 300.0
ONE_BLAS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

JIT = {"WINDROW_JIT": "on" if importlib.util.find_spec("numba") else "auto"}

# name: what the worker is told, what must be importable, environment, workloads ("" is all)
SYSTEMS: dict[str, tuple[str, str, dict[str, str], tuple[str, ...]]] = {
    "windrow": ("windrow:threads", "windrow", JIT, ("",)),
    "windrow-nojit": ("windrow:threads", "windrow", {"WINDROW_JIT": "off"}, ("W2", "W3", "W4")),
    "windrow-ranks": ("windrow:ranks", "windrow", JIT, ("",)),
    "dask-threads": ("dask:threads", "dask", ONE_BLAS, ("",)),
    "dask-distributed": ("dask:distributed", "distributed", ONE_BLAS, ("",)),
    "numpy": ("numpy", "numpy", {}, ("",)),
    "numba": ("numba:2", "numba", {"NUMBA_NUM_THREADS": "2"}, ("W2", "W3", "W4")),
}
LONG = {
    ("dask-distributed", "W1 200,000"): "it takes more than six minutes",
    ("dask-threads", "W11 sort"): "dask has no sort",
    ("dask-distributed", "W11 sort"): "dask has no sort",
}


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="workloads and extras by their first words: W2,W4,start")
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5, help="in each round, after a warm-up")
    parser.add_argument("--quick", action="store_true", help="small sizes, for trying")
    parser.add_argument("--json", metavar="FILE", help="write all times there")
    options = parser.parse_args()
    options.only = tuple(w.strip() for w in options.only.split(",")) if options.only else ("",)
    options.systems = [s.strip() for s in options.systems.split(",")]
    unknown = [s for s in options.systems if s not in SYSTEMS]
    if unknown:
        parser.error(f"unknown systems {unknown}; expected some of {', '.join(SYSTEMS)}")
    return options


def chosen(name: str, only: tuple[str, ...]) -> bool:
    """Whether a name begins with one of the words: "W1" is the first word of "W1 map_blocks", not of "W10"."""
    return any(word == "" or name == word or name.startswith(word + " ") for word in only)


def measure(system: str, workload: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run one worker; what went wrong comes back under "error"."""
    told, _, environment, _ = SYSTEMS[system]
    command = [sys.executable, str(HERE / "worker.py"), told, workload, "--repeats", str(options.repeats)]
    command += ["--quick"] if options.quick else []
    found = answer(command, environment, LIMIT)
    return found if "error" in found or found["right"] else {"error": "wrong result"}


def show(text: str) -> None:
    """Say in a terminal what is going on."""
    if sys.stderr.isatty():
        print(f"\r{text:<70}\r", end="", file=sys.stderr, flush=True)


def rounds(options: argparse.Namespace, workloads: list[str]) -> Results:
    """Go through all systems and workloads in turn."""
    results = Results()
    for turn in range(options.rounds):
        for workload in workloads:
            for system in options.systems:
                _, module, _, takes = SYSTEMS[system]
                if (system, workload) in LONG or not workload.startswith(takes):
                    continue
                if results.settled(system, workload) or importlib.util.find_spec(module) is None:
                    continue
                show(f"round {turn + 1}: {workload}, {system} …")
                results.add(system, workload, measure(system, workload, options))
    show("")
    return results


def main() -> int:
    """Measure, print, and say by the exit status whether all results were right."""
    options = arguments()
    sizes = QUICK if options.quick else Sizes()
    workloads = [w for w in cases(sizes) | numerics.cases(sizes) if chosen(w, options.only)]
    print(machine())
    results = rounds(options, workloads)
    if workloads:
        print(table(results, options.systems, workloads, LONG))
    extras = {n: measure(options.quick) for n, measure in EXTRAS.items() if chosen(n, options.only)}
    for line in judge(results, extras):
        print(line)
    if options.json:
        Path(options.json).write_text(json.dumps({"times": results.plain(), "extras": extras}, indent=1) + "\n")
    return 1 if results.errors else 0


if __name__ == "__main__":
    sys.exit(main())
