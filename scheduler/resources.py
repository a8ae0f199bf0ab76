"""How much memory and how many cores a process may use: the machine's, its control group's, Slurm's."""

from __future__ import annotations

import os
from pathlib import Path

SHARE = 0.5


def usable_cores() -> int:
    """Return the number of cores that this process may run on."""
    return max(1, len(os.sched_getaffinity(0)))


def usable_memory() -> int:
    """Return the bytes of memory that the processes of this job may use on this node."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(path).read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            found.append(int(text))
    slurm = os.environ.get("SLURM_MEM_PER_NODE", "")
    if slurm.isdigit() and int(slurm) > 0:
        found.append(int(slurm) << 20)
    return min(found)


def arena_bytes(ranks_on_node: int) -> int:
    """Return the bytes of an arena when none are given: a share of what the node's ranks may use."""
    return int(usable_memory() * SHARE / ranks_on_node) // 4096 * 4096
