"""The table, and the requirements with their figures."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from typing import Any


@dataclass
class Results:
    """Times by system and workload."""

    times: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    chunks: dict[str, int] = field(default_factory=dict)
    errors: dict[tuple[str, str], str] = field(default_factory=dict)
    once: set[tuple[str, str]] = field(default_factory=set)

    def add(self, system: str, workload: str, found: dict[str, Any]) -> None:
        """Enter what a worker printed."""
        if "error" in found:
            self.errors[system, workload] = found["error"]
            return
        self.times.setdefault((system, workload), []).extend(found["times"])
        self.chunks[workload] = found["chunks"]
        if found["once"]:
            self.once.add((system, workload))

    def copy(self, system: str, workload: str, to: str) -> None:
        """Enter what a system did in one workload as what it does in another."""
        if (system, workload) in self.errors:
            self.errors[system, to] = self.errors[system, workload]
        elif times := self.times.get((system, workload)):
            self.times[system, to] = list(times)
            self.chunks.setdefault(to, self.chunks[workload])
            self.once |= {(system, to)} if (system, workload) in self.once else set()

    def settled(self, system: str, workload: str) -> bool:
        """Whether it is not to be measured again."""
        return (system, workload) in self.once or (system, workload) in self.errors

    def best(self, system: str, *workloads: str) -> float | None:
        """Return the least time of some workloads whose names begin so, in seconds; W1's for a chunk."""
        found = [
            min(times) / (self.chunks[name] or 1)
            for (who, name), times in self.times.items()
            if who == system and name.startswith(workloads)
        ]
        return min(found) if found else None

    def least(self, system: str, workload: str) -> float | None:
        """Return the least time of one workload, in seconds."""
        times = self.times.get((system, workload))
        return min(times) if times else None

    def plain(self) -> dict[str, dict[str, list[float]]]:
        """Return all times, for JSON."""
        found: dict[str, dict[str, list[float]]] = {}
        for (system, workload), times in self.times.items():
            found.setdefault(workload, {})[system] = times
        return found


def machine() -> str:
    """Say where and with what this runs."""
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    parts = [f"{cores} cores, load {load:.1f}, Python {platform.python_version()}"]
    for name in ("numpy", "numba", "dask", "distributed"):
        try:
            parts.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            parts.append(f"no {name}")
    return ", ".join(parts)


def table(
    results: Results,
    systems: list[str],
    workloads: list[str],
    left_out: dict[tuple[str, str], str],
    limits: dict[str, float],
) -> str:
    """Return workloads by systems: least (median) time and the limit; below it what has no time, and why."""
    shown = [s for s in systems if any(who == s for who, _ in [*results.times, *results.errors])]
    rows = [["ms, least (median)", *shown, *(["limit (times it)"] if limits else [])]]
    for workload in workloads:
        per_chunk = results.chunks.get(workload, 0)
        row = [workload + (", us a chunk" if per_chunk else "")]
        for system in shown:
            times = results.times.get((system, workload))
            if (system, workload) in results.errors:
                row.append("failed")
            elif not times:
                row.append("")
            else:
                unit = 1e6 / per_chunk if per_chunk else 1e3
                star = "*" if (system, workload) in results.once else ""
                row.append(f"{_short(min(times) * unit)} ({_short(median(times) * unit)}){star}")
        if limits:
            row.append(_limit(limits.get(workload), results.least("windrow", workload)))
        rows.append(row)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(r, widths, strict=True))) for r in rows
    ]
    lines.insert(1, "-" * len(lines[0]))
    if results.once:
        lines.append("* measured once, since it takes long")
    lines += [
        f"left out: {system}, {workload}: {why}"
        for (system, workload), why in left_out.items()
        if system in systems and workload in workloads
    ]
    lines += [f"failed: {system}, {workload}: {why}" for (system, workload), why in results.errors.items()]
    return "\n".join(lines)


def _limit(limit: float | None, mine: float | None) -> str:
    """Return the least time that memory or multiplication takes, and how many times it Windrow takes."""
    if limit is None:
        return ""
    return _short(limit * 1e3) + (f" ({_short(mine / limit)})" if mine is not None else "")


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


NUMERICS = ("W7", "W10 histogram", "W10 bincount", "W11 percentiles", "W11 sort", "W12", "W13 qr", "W13 svd")
NUMERICS += ("fft2", "mask", "cholesky")
LAPACK = ("cholesky",)
"""Where NumPy's LAPACK uses both cores itself."""


def _numerics(results: Results) -> list[str]:
    """Two ranks against both of dask's schedulers and NumPy: faster, or as fast as NumPy's own LAPACK on both cores."""
    lines = []
    for name in NUMERICS:
        mine = results.best("windrow-ranks", name)
        for other in ("dask-threads", "dask-distributed", "numpy"):
            theirs = results.best(other, name)
            if mine is None or theirs is None:
                continue
            least = 1 / 1.1 if name in LAPACK and other == "numpy" else 1.0
            verdict = "PASS" if theirs / mine >= least else "FAIL"
            lines.append(
                f"{verdict}  {name}, 2 ranks: faster than {other}: {theirs / mine:.3g} times (at least {least:.2g})"
            )
    return lines


def judge(results: Results, extras: dict[str, dict[str, float]]) -> list[str]:
    """Return a line for each requirement that was measured."""
    lines = [""]

    def below(text: str, value: float | None, limit: float, unit: str, scale: float = 1.0) -> None:
        if value is not None:
            verdict = "PASS" if value <= limit else "FAIL"
            lines.append(f"{verdict}  {text}: {value * scale:.3g} {unit} (at most {limit * scale:.4g})")

    def faster(text: str, mine: float | None, other: float | None, limit: float) -> None:
        if mine is not None and other is not None:
            verdict = "PASS" if other / mine >= limit else "FAIL"
            lines.append(f"{verdict}  {text}: {other / mine:.3g} times (at least {limit:g})")

    best = results.best
    for name in [w for w in results.chunks if w.startswith("W1 ") and "map" not in w]:
        below(f"{name} chunks: a chunk", best("windrow", name), 2e-6, "us", 1e6)
    first = next((w for w in results.chunks if w.startswith("W1 ")), "W1 ")
    faster(f"{first} chunks: less than dask threads", best("windrow", first), best("dask-threads", first), 100)
    distributed = best("dask-distributed", first)
    faster(f"{first} chunks: less than dask distributed", best("windrow", first), distributed, 500)
    below("W1 with a user's function: a chunk", best("windrow", "W1 map"), 20e-6, "us", 1e6)
    for text, workload, system, limit in (
        ("W2 with jit: faster than dask threads", "W2", "windrow", 6),
        ("W2 without jit: faster than dask threads", "W2", "windrow-nojit", 2.5),
        ("W3: faster than dask threads", "W3", "windrow", 2),
        ("W4: faster than dask threads", "W4", "windrow", 1.2),
        ("W5, better chunks of each: against dask threads", "W5", "windrow", 0.97),
        ("W6: faster than dask threads", "W6", "windrow", 1.2),
        ("W6 kept: faster than dask threads", "W6 kept", "windrow", 1.2),
    ):
        faster(text, best(system, workload), best("dask-threads", workload), limit)
    mine, hand = best("windrow", "W2"), best("numba", "W2")
    if mine is not None and hand is not None:
        below("W2 with jit: against a loop by hand", mine / hand, 2.5, "times its time")
    lines += _numerics(results)
    for name, limit, unit, scale in (
        ("build 1-D", 0.05, "ms", 1e3),
        ("build 2-D", 0.05, "ms", 1e3),
        ("build 1-D, memory", 20e6, "MB", 1e-6),
        ("build 2-D, memory", 20e6, "MB", 1e-6),
        ("start, embedded", 0.45, "s", 1),
        ("start, mpirun -n 2", 0.7, "s", 1),
        ("import beside numpy and pyarrow", 0.3, "s", 1),
        ("idle, 4 ranks", 0.03, "% of a core", 100),
    ):
        found = {k: v for values in extras.values() for k, v in values.items()}
        below(name, found.get(name), limit, unit, scale)
    for name, values in extras.items():
        others = {k: v for k, v in values.items() if k.startswith("(")}
        lines += [f"      {name} {k}: {v:.3g} s" for k, v in others.items()]
        lines += [f"      {k}: {v * 1e6:,.0f} us" for k, v in values.items() if k.startswith("step, ")]
    return lines
