"""The table of xarray's operations: processor time and memory on Windrow over those on dask."""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING

from .options import gib
from .table import line_of, once, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .cells import Cell

SOURCES = ("zarr", "memory")
LEAST = 1e-3
"""Seconds that count as some."""


def comparison(cells: Sequence[Cell], systems: Sequence[str]) -> str:
    """Return a row for each operation and source, and the geometric means."""
    mine, *peers = systems
    peer = peers[0] if peers else mine
    by = {(cell.workload, cell.system): cell for cell in cells if "/" in cell.workload}
    names = dict.fromkeys(name.partition("/")[2] for name, _ in by)
    head = ["operation", *(f"{source}: {what}" for source in SOURCES for what in (mine, peer, "×")), "chunks decoded"]
    lines = ["| " + " | ".join(head) + " |", "| --- " * len(head) + "|"]
    ratios: dict[str, list[float]] = {source: [] for source in SOURCES}
    walls: dict[str, list[float]] = {source: [] for source in SOURCES}
    peaks: list[str] = []
    for name in names:
        row = [name]
        for source in SOURCES:
            own, other = (by.get((f"{source}/{name}", system)) for system in (mine, peer))
            row += [_text(own), _text(other), ""]
            if own is None or other is None or own.error or other.error:
                continue
            ratios[source].append(max(min(own.cpu), LEAST) / max(min(other.cpu), LEAST))
            walls[source].append(max(min(own.times), LEAST) / max(min(other.times), LEAST))
            row[-1] = f"{ratios[source][-1]:.2f}"
            if own.peak > 1.25 * other.peak:
                peaks.append(f"- {source}/{name}: {gib(own.peak)} GiB, {peer} {gib(other.peak)} GiB")
        read = by.get((f"zarr/{name}", mine))
        lines.append("| " + " | ".join([*row, str(read.decoded) if read is not None and not read.error else ""]) + " |")
    for source in SOURCES:
        if ratios[source]:
            worse = sum(ratio > 1 for ratio in ratios[source])
            lines += [
                "",
                f"From {source}: processor time {_mean(ratios[source]):.2f} times that of {peer} in the geometric",
            ]
            lines[-1] += (
                f" mean of {len(ratios[source])} operations, {worse} above 1; seconds {_mean(walls[source]):.2f} times."
            )
    lines += ["", "Peaks of more than 1.25 times the peer's:", "", *(peaks or ["- none"])] if peers else []
    failed = [c for c in by.values() if c.error]
    return "\n".join([*lines, "", *(f"- {c.workload}, {c.system}: {c.error}: {line_of(c.detail)}" for c in failed)])


def _mean(values: Sequence[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


def _text(cell: Cell | None) -> str:
    """Return processor time, wall time and peak."""
    if cell is None:
        return ""
    return cell.error or f"{short(min(cell.cpu))} cpu, {short(min(cell.times))} s{once(cell)} · {gib(cell.peak)}"
