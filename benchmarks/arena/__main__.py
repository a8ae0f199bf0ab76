"""Run the arena: `make arena ARGS="--only vorticity,dot --memory 2GiB"`.

Each workload runs on each system in a process of its own under a limit of memory. What was measured is kept in a file
of results, one line a cell, so that a run that was ended goes on where it was; the table is made from that file.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path[:] = [each for each in sys.path if each != str(Path(__file__).parent)]

from process import ended_in_order  # noqa: E402
from report import machine  # noqa: E402

from arena.cells import keep, measure, read, ready  # noqa: E402
from arena.comparison import comparison  # noqa: E402
from arena.options import arguments, revision  # noqa: E402
from arena.registry import load  # noqa: E402
from arena.table import UNEXPLAINED, line_of, table, text  # noqa: E402

if TYPE_CHECKING:
    from argparse import Namespace

    from arena.cells import Cell


def measure_all(names: list[str], cells: dict[Any, Cell], options: Namespace) -> None:
    """Measure what isn't yet, and keep and show each cell at once."""
    now = revision()
    for name, system in product(names, ready(options.systems)):
        old = cells.get((name, system, options.memory, options.small, options.cores))
        if system in load()[name].without:
            continue
        if old is not None and old.stands(now, options.limit) and not options.again:
            continue
        cell = measure(name, system, options, now)
        keep(options.results, cell)
        cells[cell.key] = cell
        why = line_of(cell.detail) if cell.error in UNEXPLAINED else ""
        print(f"{name:<24} {system:<12} {text(cell)}  {why}".rstrip(), flush=True)


def main() -> int:
    """Measure what isn't yet, print the table, and say by the exit status whether Windrow was right."""
    options = arguments()
    workloads = load()
    if options.list:
        print("\n".join(name for name in workloads if ("/" in name) == options.climate))
        return 0
    if unknown := [name for name in options.only if name not in workloads]:
        sys.exit(f"make arena: unknown workloads {unknown}; expected some of {', '.join(workloads)}")
    names = options.only or [name for name in workloads if ("/" in name) == options.climate]
    cells = read(options.results)
    if not options.table:
        with ended_in_order():
            measure_all(names, cells, options)
    print(machine(), revision())
    sort = options.memory, options.small, options.cores
    shown = [
        cell for cell in cells.values() if (cell.memory, cell.small, cell.cores) == sort and cell.workload in names
    ]
    print(comparison(shown, options.systems) if options.climate else table(shown, options.systems, names))
    return int(any(cell.error == "wrong" for cell in shown if cell.system.startswith("windrow")))


if __name__ == "__main__":
    sys.exit(main())
