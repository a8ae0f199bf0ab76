"""Starting ranks, and telling how this process was started."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ...graph.errors import ClusterError
from ...workers.mpi.start.environment import under_mpirun

if TYPE_CHECKING:
    from ...workers.wire.transport import Transport


def check_launch() -> None:
    """Refuse to run the embedded engine in each of several processes of an MPI job.

    The ClusterError has the command that does what was meant.
    """
    job = under_mpirun()
    if job is not None and job.size > 1:
        raise ClusterError(
            f"this process is one of {job.size} of an MPI job, but was not started as a rank of Windrow; "
            f"use: mpirun -n {job.size} python -m windrow {sys.argv[0] or 'script.py'}, "
            "with your other options of mpirun, such as --with-ft ulfm"
        )


def start_ranks(ranks: int, arena: int, transport: str) -> Transport:
    """Start `ranks - 1` more processes and return rank 0's transport."""
    from ...workers.mpi.start.start import spawn

    return spawn(ranks, arena, transport, [*(f"-W{option}" for option in sys.warnoptions), "-c", _joining()])


def _joining() -> str:
    """Return the program of a started rank; it finds the package even if only our sys.path leads there."""
    package, _, _ = __name__.partition(".")
    folder = str(Path(__file__).parents[3])
    return f"import sys; sys.path.append({folder!r}); from {package}.workers.__main__ import main; main()"


def end_ranks(transport: Transport) -> None:
    """See to it that the ranks that were started are gone."""
    from ...workers.mpi.messages.link import MpiLink
    from ...workers.mpi.start.start import end_ranks

    if isinstance(transport, MpiLink):
        end_ranks(transport)
