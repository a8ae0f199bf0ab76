"""Starting ranks, and telling how this process was started."""

from __future__ import annotations

import os
import sys

from ..graph.errors import ClusterError
from ..workers.transport import Transport


def check_launch() -> None:
    """Refuse to run the embedded engine in each of several processes of an MPI job.

    Raises
    ------
    ClusterError
        With the command that does what was meant.
    """
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"):
        size = os.environ.get(name, "")
        if size.isdigit() and int(size) > 1:
            script = sys.argv[0] or "script.py"
            raise ClusterError(
                f"this process is one of {size} in an MPI job, but was not started as a rank of Windrow; "
                f"use: mpirun -n {size} python -m windrow {script}"
            )


def start_ranks(ranks: int, arena: int, threads: int, transport: str) -> Transport:
    """Start `ranks - 1` more processes and return rank 0's transport."""
    raise NotImplementedError
