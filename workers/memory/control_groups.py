"""Control groups: where the kernel tells of those that this process is in, and how much of the cores they grant."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path("/")
SYSTEMS = "cgroup2", "cgroup"
"""File systems of the versions of control groups: 2 and 1."""


@dataclass(frozen=True)
class Quota:
    """How many cores' time may be used, and who says so, in words."""

    cores: float
    who: str


def folders(controller: str, root: Path = ROOT) -> Iterator[tuple[Path, str]]:
    """Yield the folders of the groups that this process is in, each before those above it, and their file system."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
        mounts = (root / "proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return
    for wanted in SYSTEMS:
        own = _own_path(lines, wanted, controller)
        for mount in mounts if own is not None else ():
            before, _, after = mount.partition(" - ")
            system, _, options = after.split(" ", 2)
            if system != wanted or (system == "cgroup" and controller not in options.split(",")):
                continue
            above, top = (_unescape(word) for word in before.split()[3:5])
            folder = root / top.lstrip("/")
            inside = os.path.relpath(own or "/", above)
            if inside != "." and not inside.startswith(".."):  # in a container the path may be that outside
                yield from ((each, system) for each in _between(folder / inside, folder))
            yield folder, system
            break


def cpu_quota(root: Path = ROOT) -> Quota | None:
    """Return the least of the cores' time that the own group and those above grant; None: no group has a quota."""
    quotas = [quota for folder, system in folders("cpu", root) if (quota := _read_quota(folder, system)) is not None]
    return min(quotas, key=lambda quota: quota.cores, default=None)


def _read_quota(folder: Path, system: str) -> Quota | None:
    names = ("cpu.max",) if system == "cgroup2" else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    try:
        quota, period = " ".join((folder / name).read_text() for name in names).split()
        cores = int(quota) / int(period) if quota not in ("max", "-1") else 0.0
    except (OSError, ValueError, ZeroDivisionError):
        return None
    return Quota(cores, f"the control group {folder} ({names[0]})") if cores > 0 else None


def _own_path(lines: list[str], system: str, controller: str) -> str | None:
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if (not controllers) if system == "cgroup2" else (controller in controllers.split(",")):
            return path
    return None


def _between(folder: Path, top: Path) -> Iterator[Path]:
    while folder != top:
        yield folder
        folder = folder.parent


def _unescape(word: str) -> str:
    return word.encode().decode("unicode_escape")
