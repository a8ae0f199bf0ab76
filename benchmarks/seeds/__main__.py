"""Measure rank programs, loops, shared and one-sided arrays beside their peers: `make bench seeds`.

Each module of this folder with a function `rows(quick)` is measured in a process of its own; it checks its results and
times its peers in the same run. ARGS="--only gangs" chooses, "--quick" takes small sizes.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
LIMIT = 900.0


def find() -> list[str]:
    """Return the names of the modules that measure something."""
    return sorted(path.stem for path in HERE.glob("*.py") if "\ndef rows(" in path.read_text(encoding="utf-8"))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help=f"some of {', '.join(find())}")
    parser.add_argument("--quick", action="store_true", help="small sizes, for trying")
    parser.add_argument("--module", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.only = [word.strip() for word in options.only.split(",") if word.strip()] or find()
    if unknown := [word for word in options.only if word not in find()]:
        parser.error(f"unknown modules {unknown}; expected some of {', '.join(find())}")
    return options


def line(row: dict[str, Any]) -> str:
    """Return a row of the table."""
    from row import Row

    found = Row(**row)
    peer = f"{found.peer:>10.4g} {found.unit:<3} {found.beside}" if found.peer else f"{'':>10} {'':<3} {found.beside}"
    met = "" if found.ratio <= found.most else "  MISSED"
    ratio = f"{found.ratio:.3g} (at most {found.most:.3g})" if found.peer else f"(at most {found.most:.3g})"
    return f"{found.name:<44} {found.value:>10.4g} {found.unit:<3} {peer:<46} {ratio}{met}"


def main() -> int:
    """Measure, print, and say by the exit status whether all results were right."""
    options = arguments()
    if options.module:
        found = importlib.import_module(options.module).rows(options.quick)
        print(json.dumps({"rows": [row.plain() for row in found]}))
        return 0
    from process import answer
    from report import machine

    print(machine())
    wrong = False
    for name in options.only:
        command = [sys.executable, str(HERE), "--module", name, *(["--quick"] if options.quick else [])]
        found = answer(command, {}, LIMIT)
        if "error" in found:
            wrong = True
            print(f"{name:<44} failed: {found['error']}", flush=True)
        for row in found.get("rows", ()):
            print(line(row), flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
