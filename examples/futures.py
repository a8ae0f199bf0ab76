"""A search by futures: successive halving of many random settings of a simulation, each a call on some rank.

An epidemic runs through a population in three groups: susceptible, infected, recovered. Its two rates are sought that
explain a curve of infections. Each round runs the settings that are left for more days, goes on from where they were,
takes what comes of it as it comes, and keeps the best third. States stay with the ranks between rounds: a future among
the arguments stands for them. A program counts the processors beside it, since programs are calls, too.

    python examples/futures.py
    mpirun -n 3 python -m windrow examples/futures.py --settings 400
"""

from __future__ import annotations

import argparse
import concurrent.futures
from typing import Any, NamedTuple

import numpy as np

import windrow as wr

SPREAD, RECOVERY = 0.31, 0.12
STEPS = 24
"""Of Euler's method, a day."""


class State(NamedTuple):
    """Where a run is: the groups' shares, and the share of infected on each day so far."""

    groups: np.ndarray
    curve: np.ndarray


def simulate(rates: tuple[float, float], days: int, before: State | None = None) -> State:
    """Return the state after some more days."""
    spread, recovery = rates
    groups, curve = (np.array([0.999, 0.001, 0.0]), []) if before is None else (before.groups.copy(), [*before.curve])
    for _ in range(days):
        for _ in range(STEPS):
            new, gone = spread * groups[0] * groups[1] / STEPS, recovery * groups[1] / STEPS
            groups += [-new, new - gone, gone]
        curve.append(groups[1])
    return State(groups, np.array(curve))


def misfit(state: State, seen: Any) -> float:
    """Return how far a run is from what was seen, in its own days."""
    return float(np.abs(state.curve - seen[: len(state.curve)]).mean())


def search(settings: np.ndarray, seen: np.ndarray, days: int) -> tuple[int, float]:
    """Return which setting is best, and its misfit."""
    left: list[int] = list(range(len(settings)))
    states: dict[int, wr.Future] = {}
    observed = wr.scatter(seen)
    while True:
        states = {k: wr.submit(simulate, tuple(settings[k]), days, states.get(k)) for k in left}
        errors: dict[Any, int] = {wr.submit(misfit, states[k], observed, priority=1): k for k in left}
        found = {errors[future]: future.result() for future in concurrent.futures.as_completed(errors)}
        left = sorted(found, key=found.__getitem__)[: max(1, len(found) // 3)]
        if len(found) == 1:
            return left[0], found[left[0]]


def main() -> None:
    """Search, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--settings", type=int, default=81)
    parser.add_argument("--days", type=int, default=12)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    seen = simulate((SPREAD, RECOVERY), 12 * options.days).curve
    settings = np.column_stack([rng.uniform(0.1, 0.6, options.settings), rng.uniform(0.05, 0.3, options.settings)])
    processors = wr.submit(["nproc"])
    number, error = search(settings, seen, options.days)
    best = settings[number]
    print(f"{int(processors.result())} processors, {wr.cluster().size} ranks")
    print(f"of {options.settings} settings, spread {best[0]:.3f} and recovery {best[1]:.3f} fit best")
    print(f"true ones are {SPREAD} and {RECOVERY}; mean misfit {error:.2e}")


if __name__ == "__main__":
    main()
