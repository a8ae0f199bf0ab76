"""The table of the arena, as text for people and for docs/arena.md."""

from __future__ import annotations

from math import exp, log
from statistics import median
from typing import TYPE_CHECKING

from .options import gib

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .cells import Cell

MINE = ("windrow", "windrow2")
UNEXPLAINED = ("fails", "wrong", "refused", "no end")
"""Errors of cells whose reason is told below the table."""
FIGURE_DIFFERS = 0.1 * 2**30
"""Bytes of files' pages from which on a cell tells what is held without them."""


def text(cell: Cell | None) -> str:
    """Return a cell's figures: the least time, the median, the first task's, the peak."""
    if cell is None:
        return ""
    if cell.error:
        return cell.error
    return f"{short(min(cell.times))} ({short(median(cell.times))}){once(cell)} · {memory(cell)}"


def once(cell: Cell) -> str:
    """Return a star for what ran once: it is no least time, and has the first run's imports and plans."""
    return "*" if len(cell.times) == 1 else ""


def memory(cell: Cell) -> str:
    """Return the peak, and what of it isn't files' pages; and whether processes died of it on the way."""
    if cell.kills:
        return f"{gib(cell.peak)}, {cell.kills} killed"
    if cell.held and cell.peak - cell.held > FIGURE_DIFFERS:
        return f"{gib(cell.peak)} ({gib(cell.held)})"
    return gib(cell.peak)


def short(seconds: float) -> str:
    """Return seconds with as many digits as they have meaning."""
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.2g}"


def best(cells: Iterable[Cell | None]) -> Cell | None:
    """Return the fastest of those that have a figure."""
    right = [cell for cell in cells if cell is not None and not cell.error]
    return min(right, key=lambda cell: min(cell.times), default=None)


def table(cells: Sequence[Cell], systems: Sequence[str], workloads: Sequence[str]) -> str:
    """Return the rows, the means, and where Windrow isn't ahead."""
    by = {(cell.workload, cell.system): cell for cell in cells}
    shown = [system for system in systems if any(name == system for _, name in by)]
    head = ["workload", *shown, "first task, s", "ahead"]
    lines = ["| " + " | ".join(head) + " |", "| --- " * len(head) + "|"]
    behind = []
    for name in workloads:
        row = [by.get((name, system)) for system in shown]
        if not any(row):
            continue
        mine = best(by.get((name, system)) for system in MINE)
        peer = best(by.get((name, system)) for system in shown if system not in MINE)
        ahead = ""
        if mine and peer:
            ratio = min(peer.times) / min(mine.times) if min(mine.times) else 0.0
            ahead = f"{ratio:.2g}"
            behind += [f"- {name}: {reason}" for reason in _reasons(mine, peer, row)]
        firsts = [f"{c.system} {short(c.first_task)}" for c in row if c and c.first_task is not None and not c.error]
        lines.append("| " + " | ".join([name, *map(text, row), ", ".join(firsts), ahead]) + " |")
    return "\n".join(
        [*lines, "", "  \n".join(_means(by, workloads)), "", "Not ahead in:", "", *behind, "", *_failures(cells)]
    )


def _reasons(mine: Cell, peer: Cell, row: Sequence[Cell | None]) -> list[str]:
    found = []
    if min(mine.times) > min(peer.times):
        found.append(f"{short(min(mine.times))} s, {peer.system} {short(min(peer.times))} s")
    least = min((c for c in row if c and not c.error and c.system not in MINE), key=lambda c: c.peak)
    if mine.peak > least.peak:
        found.append(f"{gib(mine.peak)} GiB, {least.system} {gib(least.peak)} GiB")
    return found


def _means(by: dict[tuple[str, str], Cell], workloads: Sequence[str]) -> list[str]:
    """Return the geometric means of how many times faster than each peer."""
    lines = []
    for peer in dict.fromkeys(system for _, system in by if system not in MINE):
        ratios = []
        for name in workloads:
            mine, other = best(by.get((name, system)) for system in MINE), best([by.get((name, peer))])
            if mine and other:
                ratios.append(min(other.times) / max(min(mine.times), 1e-9))
        if ratios:
            mean = exp(sum(map(log, ratios)) / len(ratios))
            lines.append(f"{mean:.2g} times as fast as {peer} in the geometric mean of {len(ratios)} rows.")
    return lines


def _failures(cells: Sequence[Cell]) -> list[str]:
    """Return what the cells without figures said, one line each."""
    wrong = [cell for cell in cells if cell.error]
    return [f"- {c.workload}, {c.system}: {c.error}: {line_of(c.detail)}" for c in wrong if c.error in UNEXPLAINED]


def line_of(detail: str) -> str:
    """Return the line of a traceback that names the error, or the first of another text."""
    lines = detail.strip().splitlines() or [""]
    named = [line for line in lines if line[:1].isalpha() and "Error" in line.partition(":")[0]]
    return (named or lines)[-1 if named else 0][:160]
