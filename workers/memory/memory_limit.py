"""How much memory the processes of this job may use on this host, who says so, and how much of it is in use."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ...graph.errors import OutOfMemory
from .control_groups import ROOT, folders

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

UNLIMITED = 1 << 60
"""Bytes from which on a control group has no limit: version 1 writes the greatest multiple of a page."""


@dataclass(frozen=True)
class Limit:
    """Bytes that may be used, and who says so, in words."""

    nbytes: int
    who: str


@dataclass(frozen=True)
class _Version:
    """Names in a version of control groups: files with limits and with what is used, and of cache."""

    limits: tuple[str, ...]
    usage: str
    cache: tuple[str, ...]


_VERSIONS = {
    "cgroup2": _Version(("memory.max", "memory.high"), "memory.current", ("active_file", "inactive_file")),
    "cgroup": _Version(
        ("memory.limit_in_bytes",), "memory.usage_in_bytes", ("total_active_file", "total_inactive_file")
    ),
}


@dataclass(frozen=True)
class ControlGroup:
    """A group of processes that share a limit of memory."""

    folder: Path
    version: _Version
    limit: Limit

    def used(self) -> int | None:
        """Return the bytes in use that the kernel can't take back at once: all but files' pages; None: it is gone."""
        try:
            used = int((self.folder / self.version.usage).read_text())
            lines = (self.folder / "memory.stat").read_text().splitlines()
        except (OSError, ValueError):
            return None
        pages = (line.partition(" ") for line in lines)
        return used - sum(int(count) for name, _, count in pages if name in self.version.cache)


@dataclass(frozen=True)
class Machine:
    """All of this machine's memory, whoever uses it."""

    @property
    def limit(self) -> Limit:
        return Limit(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), "this machine")

    def used(self) -> int:
        """Return the bytes in use, without the kernel's cache."""
        return self.limit.nbytes - _available()


def control_groups(root: Path = ROOT) -> tuple[ControlGroup, ...]:
    """Return the memory control groups with a limit that this process is in: its own and those above."""
    groups = (_read_group(folder, _VERSIONS[system]) for folder, system in folders("memory", root))
    return tuple(group for group in groups if group is not None)


def memory_limit(root: Path = ROOT, environment: Mapping[str, str] = os.environ) -> Limit:
    """Return what the processes of this job may use on this host, together: the least that anybody says."""
    groups = [group.limit for group in control_groups(root)]
    return min([Machine().limit, *groups, *_of_slurm(environment)], key=lambda limit: limit.nbytes)


def room() -> int:
    """Return about how many bytes of memory are left, for the kernel's cache of files among others."""
    left = [_available(), *(group.limit.nbytes - (group.used() or 0) for group in own_groups())]
    return max(0, min(left))


@cache
def own_groups() -> tuple[ControlGroup, ...]:
    """Return the control groups of this process, looked up once."""
    return control_groups()


def _available() -> int:
    """Return the bytes of the machine's memory that aren't in use, or are the kernel's cache."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) << 10
    except (OSError, ValueError):
        pass
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def address_room() -> Limit | None:
    """Return how many bytes more this process may map; None where it may map any number."""
    rooms = []
    for kind, name, line in (
        (resource.RLIMIT_AS, "RLIMIT_AS", "VmSize"),
        (resource.RLIMIT_DATA, "RLIMIT_DATA", "VmData"),
    ):
        most, _ = resource.getrlimit(kind)
        if most != resource.RLIM_INFINITY:
            rooms.append(Limit(max(0, most - read_status(line)), f"{name}, which is {most:,} bytes"))
    return min(rooms, key=lambda room: room.nbytes, default=None)


def unmappable(nbytes: int, error: OSError) -> OutOfMemory:
    """Return the error of an arena that the system doesn't map."""
    room = address_room()
    why = f"a process may map {room.nbytes:,} bytes more ({room.who})" if room else error.strerror
    return OutOfMemory(
        f"Cluster: memory of {nbytes:,} bytes for chunks can't be mapped: {why}; give less "
        "(Cluster(memory=), --memory, WINDROW_MEMORY)"
    )


def read_status(name: str) -> int:
    """Return the bytes that the kernel tells of this process under a name, such as VmSize; 0 where it doesn't."""
    try:
        with open("/proc/self/status", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(f"{name}:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0


def _read_group(folder: Path, version: _Version) -> ControlGroup | None:
    limits = []
    for name in version.limits:
        try:
            text = (folder / name).read_text().strip()
        except OSError:
            continue
        if text.isdigit() and int(text) < UNLIMITED:
            limits.append(Limit(int(text), f"the control group {folder} ({name})"))
    return ControlGroup(folder, version, min(limits, key=lambda limit: limit.nbytes)) if limits else None


def _of_slurm(environment: Mapping[str, str]) -> Iterator[Limit]:
    """Yield what Slurm grants the job on this host; it counts MiB, and 0 is all."""
    for name, count in (
        ("SLURM_MEM_PER_NODE", None),
        ("SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE"),
        ("SLURM_MEM_PER_GPU", "SLURM_GPUS_ON_NODE"),
    ):
        each, times = environment.get(name, ""), "1" if count is None else environment.get(count, "")
        if each.isdigit() and times.isdigit() and int(each) * int(times):
            yield Limit(int(each) * int(times) << 20, f"Slurm ({name}{f' x {count}' if count else ''})")
