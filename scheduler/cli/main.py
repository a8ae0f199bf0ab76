"""`python -m windrow`: run a script, a module, a command or a prompt on ranks; show the environment."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ...graph.errors import WindrowError
from ...workers.config import config
from ...workers.mpi.start.environment import LaunchedJob, exports, ranks_here, ulfm_enabled, under_mpirun
from ...workers.rank.output import name_tasks
from ..session.cluster import Cluster, adopt_ranks
from .options import Options, parse
from .script import FAILED, INTERRUPTED, MISUSED, check, die_by_interrupt, execute, wind_up
from .spmd import run_member, start_by_launcher

Names = Callable[[], dict[str, Any]]
PROGRAM = "python -m windrow"


def main(arguments: Sequence[str] | None = None, names: Names = dict) -> int:
    """Do what the command line says and return the exit status; under mpirun the process ends here.

    `names` returns what the prompt has from the start.
    """
    job = under_mpirun()
    job = job if job is not None and job.size > 1 else None
    first = job is None or job.rank == 0
    # One rank speaks for all of them.
    with contextlib.nullcontext() if first else _silence():
        options = parse(list(sys.argv[1:] if arguments is None else arguments), version())
        status = _refuse(options, job)
    if status is not None:
        return status
    if options.words == ["env"]:
        return _print_exports() if first else 0
    if options.words == ["doctor"] and job is None:
        return _doctor()
    if job is not None:
        return _as_rank(options, job, names)
    if options.spmd and (options.ranks or 1) > 1:
        start_by_launcher(options.ranks or 1, options.again())
        return FAILED
    return _as_driver(options, names)


def version() -> str:
    return str(sys.modules[__name__.partition(".")[0]].__version__)


@contextlib.contextmanager
def _silence() -> Any:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def _say(text: str) -> None:
    print(f"{PROGRAM}: {text}", file=sys.stderr)


def _refuse(options: Options, job: LaunchedJob | None) -> int | None:
    """Say what is wrong before any rank is started, and return the exit status; None when all is well."""
    if job is not None and options.ranks is not None:
        _say(f"-n starts ranks, and {job.size} are there already: leave out one of the two")
        return MISUSED
    if options.spmd and options.words in ([], ["-"]):
        _say("--spmd needs a script, a module or a command that each rank can run; a prompt has one rank that reads")
        return MISUSED
    if job is not None and not options.words:
        _say(f"no script to run; a prompt on {job.size} ranks is {PROGRAM} -n {job.size}, without a launcher")
        return MISUSED
    if options.words == ["doctor"]:  # tells it among others
        return None
    try:
        options.arena(1)
    except WindrowError as error:
        _say(str(error))
        return MISUSED
    return check(options.words) if job is None and options.words != ["env"] else None


def _print_exports() -> int:
    for name, value in exports(config.interface).items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def _doctor(launched: bool = False) -> int:
    from .doctor import report

    for line in report(version(), launched):
        print(line, flush=True)
    return 0


def _as_driver(options: Options, names: Names) -> int:
    """Run the words in this process, with the ranks that are asked for."""

    def start() -> None:
        if options.given:
            cluster = Cluster(options.ranks, options.memory, options.threads, options.transport)
            if cluster.size > 1:
                name_tasks(0)

    status = execute(options.words, start, names)
    if status == INTERRUPTED:
        wind_up()
        die_by_interrupt()
    return status


def _as_rank(options: Options, job: LaunchedJob, names: Names) -> NoReturn:
    """Be a rank of the job that mpirun or srun started; rank 0 runs the script."""
    from ...workers.mpi.start.private_folders import remove_mapped_segments
    from ...workers.mpi.start.start import leave, world
    from ...workers.rank.loop import work
    from ...workers.wire.protocol import Stop

    arena = options.arena(ranks_here(job.size) or job.size)
    try:
        link = world(arena, options.transport or config.transport)
    except WindrowError as error:
        _say(str(error))
        os._exit(FAILED)  # Python's own end would wait for MPI
    if link.size == 1 < job.size:
        _say(
            f"the launcher has started {job.size} processes, of which MPI knows this one alone: they would all run the "
            f"script, unconnected. Use the mpirun that belongs to this Python's MPI library (srun needs --mpi=pmix); "
            f"{PROGRAM} doctor tells which that is"
        )
        remove_mapped_segments()
        leave(link, FAILED)
    member = options.spmd and options.words not in (["env"], ["doctor"])
    if link.rank and not member:
        work(link)
    if link.rank == 0 and not ulfm_enabled():
        _say(
            "the death of a rank will end this job; to go on after it start with mpirun --with-ft ulfm, "
            f'or run eval "$({PROGRAM} env)" before'
        )
    if member:
        run_member(options, link, arena, names)

    def start() -> None:
        adopt_ranks(link, arena, options.threads or 1)
        name_tasks(0)

    doctor = options.words == ["doctor"]
    status = None if doctor else check(options.words)
    if doctor:
        adopt_ranks(link, arena, options.threads or 1)
        status = _doctor(launched=True)
    elif status is None:
        status = execute(options.words, start, names)
    else:
        for rank in range(1, link.size):
            link.send(rank, Stop())
    wind_up()
    leave(link, status)
