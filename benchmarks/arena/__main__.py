"""Run the arena: `make arena ARGS="--only vorticity,dot --memory 2GiB"`.

Each workload runs on each system in a process of its own under a limit of memory. What was measured is kept in a file
of results, one line a cell, so that a run that was ended goes on where it was; the table is made from that file.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path[:] = [each for each in sys.path if each != str(Path(__file__).parent)]

from report import machine  # noqa: E402

from arena.cells import keep, measure, read, ready  # noqa: E402
from arena.comparison import comparison  # noqa: E402
from arena.options import arguments, revision  # noqa: E402
from arena.registry import load  # noqa: E402
from arena.table import UNEXPLAINED, line_of, table, text  # noqa: E402


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
    now = revision()
    for name in names if not options.table else ():
        for system in ready(options.systems):
            old = cells.get((name, system, options.memory, options.small))
            if system in workloads[name].without or (old is not None and old.stands(now) and not options.again):
                continue
            cell = measure(name, system, options, now)
            keep(options.results, cell)
            cells[cell.key] = cell
            print(
                f"{name:<24} {system:<12} {text(cell)}  {line_of(cell.detail) if cell.error in UNEXPLAINED else ''}",
                flush=True,
            )
    print(machine(), now)
    shown = [
        c for c in cells.values() if (c.memory, c.small) == (options.memory, options.small) and c.workload in names
    ]
    print(comparison(shown, options.systems) if options.climate else table(shown, options.systems, names))
    return int(any(cell.error == "wrong" for cell in shown if cell.system.startswith("windrow")))


if __name__ == "__main__":
    sys.exit(main())
