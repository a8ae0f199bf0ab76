"""Run one workload on one system in this process, and print one line of JSON; control_group.py limits it."""

from __future__ import annotations

import json
import os
import resource
import sys
import traceback
from contextlib import suppress
from pathlib import Path


def peak() -> int:
    """Return the most bytes until now: the group's, else the largest process's."""
    with suppress(KeyError, OSError):
        return int(Path(os.environ["ARENA_PEAK"]).read_text())
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(each).ru_maxrss for each in who) * 1024


def leave() -> int:
    """Return the peak, and leave the group: what checks the result takes memory of its own."""
    most = peak()
    Path(os.environ["ARENA_MEASURED"]).touch()
    if (file := os.environ.get("ARENA_PEAK")) is not None:
        with suppress(OSError):  # version 2 lets nobody into a group that has groups
            Path(file).parents[1].joinpath("cgroup.procs").write_text(str(os.getpid()))
    return most


def main() -> None:
    """Do as the command line says: a system, a workload, and how."""
    from arena.measuring import Order, measure

    try:
        found = measure(Order(**json.loads(sys.argv[1])), leave)
    except Exception as error:
        found = {"failed": f"{type(error).__name__}: {error}", "stack": traceback.format_exc()[-3000:], "peak": peak()}
    print("\n" + json.dumps(found), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main()
