"""Measure one workload on one system in this process, and print one line of JSON.

Each system is a file in `systems/` with a context manager `opened(variant)` that gives the `System`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys

from rows import cases
from workloads import QUICK, Sizes, measure


def main() -> None:
    """Do as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", help="a file of systems/, and a variant: windrow:2, dask:threads, …")
    parser.add_argument("workload")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    name, _, variant = options.system.partition(":")
    module = importlib.import_module(f"systems.{name}_")
    sizes = QUICK if options.quick else Sizes()
    case = cases(sizes)[options.workload]
    with module.opened(variant) as system:
        found = measure(case(system), options.repeats, system.compiles)
    windrow = sys.modules.get("windrow")
    print(json.dumps(found | {"source": getattr(windrow, "__file__", None)}))


if __name__ == "__main__":
    main()
