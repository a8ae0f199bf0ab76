"""Measure one training workload on one system in this process, and print one line of JSON."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

import dense
import kmeans
import networks
import search
import sgd
from measured import Asked, Measured

if TYPE_CHECKING:
    from collections.abc import Callable

WORKLOADS: dict[str, dict[str, Callable[[Asked], Measured]]] = {
    "sgd": sgd.SYSTEMS,
    "kmeans": kmeans.SYSTEMS,
    "dense": dense.SYSTEMS,
    "network": networks.systems(networks.SMALL),
    "images": networks.systems(networks.IMAGES),
    "search": search.SYSTEMS,
}


def main() -> None:
    """Do as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("system")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--until", type=float, default=0.0, help="seconds that a course takes at least")
    options = parser.parse_args()
    found = WORKLOADS[options.workload][options.system](Asked(options.quick, options.until))
    print(json.dumps(found.plain()))


if __name__ == "__main__":
    main()
