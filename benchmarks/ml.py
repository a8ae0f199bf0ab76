"""Measure the training stage beside its peers: `python benchmarks/ml.py`, or `make bench ml`.

Every (workload, system) runs in a process of its own, in turn, once in each round; the table shows the best round. How
many times faster is the median over the rounds of what one round gave: a shared machine drifts by more than its rounds
take. Below the table each requirement stands with its figure.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from statistics import median
from typing import Any

from process import answer
from report import machine

HERE = Path(__file__).parent
LIMIT = 600.0

# workload: what a figure is, and the systems with what each must import; a course's peers come before Windrow
WORKLOADS: dict[str, tuple[str, dict[str, str]]] = {
    "sgd": ("20 epochs", {"scikit-learn": "sklearn", "windrow-ranks": "sklearn"}),
    "kmeans": ("10 iterations", {"scikit-learn": "sklearn", "spark": "pyspark", "windrow-ranks": "sklearn"}),
    "dense": ("an epoch", {"keras-fit": "keras", "windrow-one-shard": "keras", "windrow-ranks": "keras"}),
    "network": ("an epoch", {"keras-fit": "keras", "torch": "torch", "windrow-ranks": "keras"}),
    "images": ("an epoch", {"keras-fit": "keras", "torch": "torch", "windrow-ranks": "keras"}),
    "search": ("72 fits", {"scikit-learn": "sklearn", "windrow-ranks": "sklearn"}),
}
Found = dict[str, dict[str, list[dict[str, Any]]]]
"""What the rounds gave, by workload and system; one that failed is the last of its list."""


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(WORKLOADS), help="default: %(default)s")
    parser.add_argument("--systems", default="", help="some of those of the workloads")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows, for trying")
    options = parser.parse_args()
    options.only = [w.strip() for w in options.only.split(",")]
    options.systems = {s.strip() for s in options.systems.split(",") if s.strip()}
    if unknown := [w for w in options.only if w not in WORKLOADS]:
        parser.error(f"unknown workloads {unknown}; expected some of {', '.join(WORKLOADS)}")
    return options


def measure(workload: str, system: str, until: float, *, quick: bool) -> dict[str, Any]:
    """Run one worker; what went wrong comes back under "error"."""
    command = [sys.executable, str(HERE / "learning" / "worker.py"), workload, system, "--until", str(until)]
    return answer([*command, *(["--quick"] if quick else [])], {"TF_CPP_MIN_LOG_LEVEL": "2"}, LIMIT)


def rounds(options: argparse.Namespace) -> Found:
    """Go through all workloads and systems in turn."""
    found: Found = {w: {} for w in options.only}
    for turn in range(options.rounds):
        for workload in options.only:
            for system, module in WORKLOADS[workload][1].items():
                if options.systems and system not in options.systems:
                    continue
                runs = found[workload].setdefault(system, [])
                if runs and "error" in runs[-1]:
                    continue
                if importlib.util.find_spec(module) is None:
                    runs.append({"error": f"{module} is not installed"})
                    continue
                if sys.stderr.isatty():
                    told = f"\rround {turn + 1}: {workload}, {system} …".ljust(60)
                    print(told, end="\r", file=sys.stderr, flush=True)
                runs.append(measure(workload, system, _slowest(found[workload]), quick=options.quick))
    return found


def best(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the fastest run, or what went wrong."""
    return runs[-1] if "error" in runs[-1] else min(runs, key=lambda run: run["seconds"])


def _slowest(systems: dict[str, list[dict[str, Any]]]) -> float:
    """Return the seconds that the peers' courses took."""
    return max((run["course"][-1][0] for runs in systems.values() for run in runs if run.get("course")), default=0.0)


def table(found: Found) -> str:
    """Return a line for each workload and system."""
    lines = [f"{'workload':<10} {'system':<18} {'seconds':>10}  {'of':<14} {'metric':>18}  more", "-" * 100]
    for workload, systems in found.items():
        for system, runs in systems.items():
            one = best(runs)
            if "error" in one:
                lines.append(f"{workload:<10} {system:<18} {'':>10}  left out: {one['error']}")
                continue
            more = ", ".join(f"{k} {v:.3g}" for k, v in one["told"].items())
            unit = WORKLOADS[workload][0]
            lines.append(
                f"{workload:<10} {system:<18} {one['seconds']:>10.4g}  {unit:<14} {one['metric']:>18.12g}  {more}"
            )
    return "\n".join(lines)


def judge(found: Found) -> list[str]:
    """Return a line for each requirement that was measured."""
    lines = [""]

    def line(text: str, value: float, limit: float, *, least: bool) -> None:
        right = value >= limit if least else value <= limit
        lines.append(
            f"{'PASS' if right else 'FAIL'}  {text}: {value:.3g} (at {'least' if least else 'most'} {limit:g})"
        )

    def right(workload: str, *systems: str) -> list[dict[str, Any]] | None:
        some = [best(runs) for s in systems if (runs := found.get(workload, {}).get(s))]
        return None if len(some) < len(systems) or any("error" in s for s in some) else some

    for workload, peer, times in (
        ("sgd", "scikit-learn", 2.5),
        ("kmeans", "scikit-learn", 1.0),
        ("kmeans", "spark", 10.0),
        ("dense", "keras-fit", 100.0),
        ("network", "keras-fit", 1.0),
        ("network", "torch", 1.0),
        ("images", "keras-fit", 1.0),
        ("images", "torch", 1.0),
        ("search", "scikit-learn", 1.7),
    ):
        if right(workload, peer, "windrow-ranks"):
            both = zip(found[workload][peer], found[workload]["windrow-ranks"], strict=True)
            ratio = median(theirs["seconds"] / ours["seconds"] for theirs, ours in both)
            line(f"{workload}: times faster than {peer}", ratio, times, least=True)
    if pair := right("sgd", "scikit-learn", "windrow-ranks"):
        line("sgd: RMSE against scikit-learn's", pair[1]["metric"] / pair[0]["metric"], 1.01, least=False)
    if pair := right("kmeans", "scikit-learn", "windrow-ranks"):
        apart = abs(pair[1]["metric"] / pair[0]["metric"] - 1)
        line("kmeans: inertia apart from scikit-learn's, relative", apart, 1e-9, least=False)
    if one := right("dense", "windrow-one-shard"):
        told = one[0]["told"]
        line("dense: weights apart from fit's after 100 steps", told["after 100 steps"], 1e-6, least=False)
        line("dense: after an epoch, relative", told["after an epoch, relative"], 1e-4, least=False)
    for workload in ("network", "images"):
        for peer in ("keras-fit", "torch"):
            if pair := right(workload, peer, "windrow-ranks"):
                end, theirs = pair[0]["course"][-1]
                ours = [metric for at, metric in pair[1]["course"] if at <= end]
                text = f"{workload}: accuracy after {peer}'s {end:.2g} s, beside its {theirs:.4f}"
                line(text, ours[-1] if ours else 0.0, round(theirs, 4), least=True)
    return lines


def main() -> int:
    """Measure, print, and say by the exit status whether all workers came to an end."""
    options = arguments()
    print(machine())
    found = rounds(options)
    print(table(found))
    print("\n".join(judge(found)))
    failed = [runs[-1] for systems in found.values() for runs in systems.values() if runs and "error" in runs[-1]]
    return 1 if any("not installed" not in run["error"] for run in failed) else 0


if __name__ == "__main__":
    sys.exit(main())
