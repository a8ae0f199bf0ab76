"""Requirements of the table as a whole: each row against its best peer, and means over the rows."""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from report import Results

PEERS = ("dask-threads", "dask-distributed", "numpy", "scikit-learn")
ROW = 1.2
"""How many times faster than the best peer each row is to be."""

MEANS = (("dask-threads", 4.0), ("numpy", 5.0))
EVEN = "W5"
"""BLAS on both cores in every system."""

OVERHEAD = "W1 "
"""Rows of overhead alone, whose ratios go into the hundreds: left out of the means that are judged."""


def geometric(ratios: Iterable[float]) -> float:
    """Return the geometric mean."""
    found = [log(ratio) for ratio in ratios]
    return exp(sum(found) / len(found))


def ratios(results: Results, peer: str, mine: str = "windrow") -> dict[str, float]:
    """Return how many times faster than a peer each row is that both have."""
    found = {}
    for name in dict.fromkeys(name for _, name in results.times):
        own, other = results.least(mine, name), results.least(peer, name)
        if own is not None and other is not None:
            found[name] = other / own
    return found


def judge(results: Results) -> list[str]:
    """Return a line for each row and mean."""
    lines = []
    against = {peer: ratios(results, peer) for peer in PEERS}
    by_hand = ratios(results, "numba")
    for name in dict.fromkeys(name for found in against.values() for name in found):
        peer = min((p for p in PEERS if name in against[p]), key=lambda p: against[p][name])
        ratio = against[peer][name]
        verdict = "    " if name.startswith(EVEN) else "PASS" if ratio >= ROW else "FAIL"
        limit = "" if name.startswith(EVEN) else f" (at least {ROW:g})"
        hand = f"; than by hand: {by_hand[name]:.3g}" if name in by_hand else ""
        lines.append(f"{verdict}  {name}: faster than its best peer, {peer}: {ratio:.3g} times{limit}{hand}")
    for peer, least in MEANS:
        for mine in ("windrow", "windrow-ranks"):
            found = ratios(results, peer, mine)
            judged = [ratio for name, ratio in found.items() if not name.startswith(OVERHEAD)]
            if not judged:
                continue
            mean, whole = geometric(judged), geometric(found.values())
            verdict = "    " if mine != "windrow" else "PASS" if mean >= least else "FAIL"
            lines.append(
                f"{verdict}  geometric mean of {len(judged)} rows, {mine} against {peer}: {mean:.3g} times"
                f" (at least {least:g}); with {OVERHEAD.strip()}: {whole:.3g}"
            )
    return lines
