"""What must stand in the environment before `MPI_Init`, and what it tells about the job. Imports no MPI.

Open MPI reads its settings once, at `MPI_Init`; its launcher reads some of them earlier still, when the job
starts. So there are three cases: a driver that starts MPI itself sets everything (`prepare_driver`), a rank
under a user's `mpirun` sets what each process decides alone (`rank_settings`), and what only the launcher can
decide is left to the user's shell (`exports`).

A rank's launcher speaks to the rank alone, but all that the rank starts inherits its words. So a rank leaves a
mark beside them (`mark_rank`), by which a process finds that they are meant for another.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..deaths.processes import words_of

if TYPE_CHECKING:
    from collections.abc import MutableMapping

# Containers run as root, and Open MPI refuses root unless it is told twice.
AS_ROOT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}
# A death is reported to the other ranks (the first), and the launcher lets the job go on (the second).
_FT_ENABLE = "OMPI_MCA_mpi_ft_enable"
FAULT_TOLERANCE = {_FT_ENABLE: "1", "PRTE_MCA_state_base_recoverable": "1"}
# btl/ofi alone takes a second of every MPI_Init; osc/ucx does not work with fault tolerance and says so each
# time. Where there are more processes than cores, ranks that meet at start must let each other have them.
BTL = "OMPI_MCA_btl"
QUICK = {BTL: "^ofi", "OMPI_MCA_osc": "^ucx", "OMPI_MCA_mpi_yield_when_idle": "1"}
# Without network cards where all ranks are on one host: a window would have them pin every arena, whole.
_ONE_HOST = "^ofi,uct"
NO_NETWORK = "^ofi,uct,tcp"
LOOPBACK = "lo"
# Which network interface ranks use, and which the launcher, between hosts; it refuses the loopback interface.
_INTERFACE, _LAUNCHER_INTERFACE = "OMPI_MCA_btl_tcp_if_include", "PRTE_MCA_prte_if_include"
_NOT_INTERFACE = "OMPI_MCA_btl_tcp_if_exclude"
# Where several hosts were asked for: numbers of nodes, lists of hosts, and the words that give `mpirun` such a list.
_NODES = ("SLURM_JOB_NUM_NODES", "SLURM_NNODES")
_HOST_LISTS = (
    "PRTE_MCA_prte_default_hostfile",
    "PRTE_MCA_default_hostfile",
    "LSB_DJOB_HOSTFILE",
    "LSB_HOSTS",
    "PBS_NODEFILE",
    "PE_HOSTFILE",
    "FLUX_JOB_ID",
)
_HOST_WORDS = ("host", "H", "hostfile", "machinefile", "default-hostfile", "add-host", "add-hostfile")
# More ranks than cores are the user's decision, not an error.
OVERSUBSCRIBE = {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
# The process that is the rank, and which rank: a job that was launched inside of this one has another name.
_MARK = "WINDROW_RANK"
# What Open MPI's launcher tells a rank, but for the settings of all jobs.
_TOLD, _KEPT = ("OMPI_", "PMIX_", "PRTE_"), ("OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_", *AS_ROOT)
_mpi_before_fork = False


@dataclass(frozen=True, slots=True)
class LaunchedJob:
    """The job this process is a rank of, as its launcher's variables tell it."""

    launcher: str
    rank: int
    size: int
    name: str


def under_mpirun(environ: MutableMapping[str, str] | None = None) -> LaunchedJob | None:
    """Tell which job this process is a rank of, as its environment says, or None when nobody launched it as a rank."""
    env = os.environ if environ is None else environ
    job = _read_job(env)
    return None if job is None or _is_anothers(env, job) else job


def _read_job(env: MutableMapping[str, str]) -> LaunchedJob | None:
    """Return the job that the launcher's variables tell of, to whomever they were told."""
    for launcher, rank, size, name in (
        ("openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"),
        ("pmi", "PMI_RANK", "PMI_SIZE", "PMI_JOBID"),
        ("mvapich", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "SLURM_JOB_ID"),
        ("pmix", "PMIX_RANK", "SLURM_NTASKS", "PMIX_NAMESPACE"),
    ):
        if rank in env and size in env:
            return LaunchedJob(launcher, int(env[rank]), int(env[size]), env.get(name, ""))
    # A batch script and `salloc` carry SLURM_PROCID too: only a step of several tasks is a job of ranks.
    if env.get("SLURM_STEP_ID", "").isdigit() and int(env.get("SLURM_STEP_NUM_TASKS", "1")) > 1:
        name = f"{env.get('SLURM_JOB_ID', '')}.{env['SLURM_STEP_ID']}"
        return LaunchedJob("slurm", int(env["SLURM_PROCID"]), int(env["SLURM_STEP_NUM_TASKS"]), name)
    return None


def local_rank() -> int | None:
    """Return which rank of its host this process is, as its launcher tells it; None where that isn't told."""
    for name in ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"):
        text = os.environ.get(name, "")
        if text.isdigit():
            return int(text)
    return None


def ranks_here(size: int) -> int | None:
    """Return how many ranks of a launched job of this size share this host; None where nobody tells."""
    for name in ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"):
        text = os.environ.get(name, "")
        if text.isdigit() and int(text) > 0:
            return min(size, int(text))
    # "2(x3),1": two on each of three nodes, one on another
    matches = re.findall(r"(\d+)(?:\(x(\d+)\))?", os.environ.get("SLURM_STEP_TASKS_PER_NODE", ""))
    counts = [int(count) for count, nodes in matches for _ in range(int(nodes or 1))]
    node = os.environ.get("SLURM_NODEID", "")
    if node.isdigit() and int(node) < len(counts):
        return counts[int(node)]
    return max(counts, default=None)


def mark_rank() -> None:
    """Leave the mark that this process is the rank of which the launcher's variables tell, if they do.

    To be called where MPI is initialised: a launcher takes one process for each rank.
    """
    job = _read_job(os.environ)
    if job is not None:
        os.environ[_MARK] = f"{os.getpid()} {_identity(job)}"


def _is_anothers(env: MutableMapping[str, str], job: LaunchedJob) -> bool:
    """Tell whether the launcher's variables were told to another process, from which this one inherits them."""
    pid, _, identity = env.get(_MARK, "").partition(" ")
    return identity == _identity(job) and pid != str(os.getpid())


def _identity(job: LaunchedJob) -> str:
    return f"{job.launcher} {job.rank}/{job.size} {job.name}"


def find_inherited_job() -> LaunchedJob | None:
    """Return the job of the rank that this process descends from, where it is no rank itself; else None."""
    job = _read_job(os.environ)
    return job if job is not None and _is_anothers(os.environ, job) else None


def leave_job() -> None:
    """Drop what Open MPI's launcher told the rank that this process descends from: it starts an MPI of its own."""
    for name in [x for x in os.environ if x.startswith(_TOLD) and not x.startswith(_KEPT)]:
        del os.environ[name]


def mpi_before_fork() -> bool:
    """Tell whether this process was forked from one in which MPI had been initialised: it can't be used here."""
    return _mpi_before_fork


def _forked() -> None:
    global _mpi_before_fork
    module = sys.modules.get("mpi4py.MPI")
    _mpi_before_fork = _mpi_before_fork or (module is not None and module.Is_initialized())


os.register_at_fork(after_in_child=_forked)


def ulfm_enabled() -> bool:
    """Tell whether this job survives the death of a rank, as far as the environment says."""
    return os.environ.get(_FT_ENABLE, "").lower() in ("1", "true", "yes", "t")


def allows_btl(name: str) -> bool:
    """Tell whether MPI may use one of its modules for bytes between ranks; those that we leave out, if it was asked."""
    listed = os.environ.get(BTL, QUICK[BTL])
    return (name in listed.lstrip("^").split(",")) is not listed.startswith("^")


def exports(interface: str | None = None) -> dict[str, str]:
    """Return what a user exports so that a plain `mpirun`, and ranks over an interface, go on after a rank's death."""
    variables = FAULT_TOLERANCE | OVERSUBSCRIBE
    if interface is not None:  # ranks of other hosts know nothing else of the setting
        variables |= {_INTERFACE: interface} | ({} if interface == LOOPBACK else {_LAUNCHER_INTERFACE: interface})
    if os.geteuid() == 0:
        variables |= AS_ROOT
    return variables


def rank_settings(alone: bool, interface: str | None) -> dict[str, str]:
    """Return what a rank decides for itself under somebody's `mpirun`, for `MPI_Init` only; what is set already stays.

    Fault tolerance is left alone: switched on here, its launcher would not know, and end the job. Where all ranks are
    `alone` on this host none listens on the network, unless an interface is asked for.
    """
    settings = dict(QUICK)
    if interface is not None:
        settings[_INTERFACE] = interface
    elif alone and _INTERFACE not in os.environ:
        settings[BTL] = NO_NETWORK
    return {name: value for name, value in settings.items() if name not in os.environ}


def spawn_settings(interface: str | None) -> dict[str, str]:
    """Return what a driver that spawns ranks decides of the network, for itself and for them, who inherit it."""
    settings = {} if interface is None else {_INTERFACE: interface}
    if interface not in (None, LOOPBACK):
        settings[_LAUNCHER_INTERFACE] = interface
    settings = {name: value for name, value in settings.items() if name not in os.environ}
    if interface == LOOPBACK and os.environ.get(BTL) == QUICK[BTL]:
        settings[BTL] = _ONE_HOST
    return settings


def choose_interface(asked: str | None) -> str | None:
    """Return the interface over which a driver and the ranks that it spawns meet; None for what MPI finds.

    On one host that is the loopback interface alone, unless another is asked for: of several networks MPI would use
    all, and sockets that are bound to the loopback interface later don't hear all of them.
    """
    interface = os.environ.get(_INTERFACE, asked)
    if interface is not None:
        return interface
    return None if _NOT_INTERFACE in os.environ or _several_hosts() else LOOPBACK


def interface_in_force() -> str | None:
    """Return the interface that MPI is told to use, if it is initialised now."""
    return os.environ.get(_INTERFACE)


def _several_hosts() -> bool:
    """Tell whether ranks that are spawned may come to lie on other hosts: somebody has given a list of them."""
    if any(os.environ.get(name, "1") not in ("", "1") for name in _NODES) or any(x in os.environ for x in _HOST_LISTS):
        return True
    launched = _read_job(os.environ) is not None
    return launched and any(word.lstrip("-") in _HOST_WORDS for word in words_of(os.getppid()) if word.startswith("-"))


def prepare_driver() -> None:
    """Set what a process needs that starts MPI itself, spawns ranks or is spawned; what is set already stays."""
    env = os.environ
    _set_missing(env, AS_ROOT | FAULT_TOLERANCE | QUICK)
    wheel = Path(sys.prefix) / "lib" / "libmpi.so"
    if wheel.exists():  # MPI came as a wheel: it finds its own files only when told where
        env.setdefault("OPAL_PREFIX", sys.prefix)
    scripts = str(Path(sys.prefix) / "bin")
    path = env.get("PATH", os.defpath).split(os.pathsep)
    if scripts not in path:  # Spawn looks for `prte` on PATH and nowhere else
        env["PATH"] = os.pathsep.join([scripts, *path])


def _set_missing(env: MutableMapping[str, str], wanted: dict[str, str]) -> None:
    """Set the variables that are not there yet."""
    for key, value in wanted.items():
        env.setdefault(key, value)
