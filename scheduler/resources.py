"""How much memory and how many cores a process may use: the machine's, its control group's, Slurm's."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from ..graph.chunks import parse_bytes
from ..graph.errors import ArgumentError, OutOfMemory, bad
from ..workers.config import ConfigError, config
from .html import size_text

log = logging.getLogger("windrow")

SHARE = 0.5
LEAST_MEMORY = 1 << 16
"""Bytes of the smallest arena."""


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


def refuse_larger(operation: str, nbytes: int, argument: str = "shape") -> None:
    """Raise where something can't be held by this node's memory, whatever else is there.

    Raises
    ------
    OutOfMemory
        It is larger.
    """
    most = usable_memory()
    if nbytes > most:
        raise OutOfMemory(
            f"{operation}: argument {argument!r} asks for {nbytes:,} bytes; expected at most the memory, {most:,} bytes"
        )


def arena_bytes(ranks_on_node: int) -> int:
    """Return the bytes of an arena when none are given: a share of what the node's ranks may use."""
    return int(usable_memory() * SHARE / ranks_on_node) // 4096 * 4096


def read_memory(operation: str, memory: int | str | None, ranks_on_node: int) -> int:
    """Return the bytes of an arena: what is asked for, or is set, or a share of what the node's ranks may use."""
    memory = memory if memory is not None else config.memory
    if memory is None:
        return arena_bytes(ranks_on_node)
    try:
        found = parse_bytes(memory)
    except ValueError as error:
        raise ArgumentError(bad(operation, "memory", memory, "bytes, such as '2 GiB'")) from error
    if found < LEAST_MEMORY:
        raise ArgumentError(bad(operation, "memory", memory, f"at least {LEAST_MEMORY >> 10} KiB"))
    return found


def check_memory(operation: str, arena: int, ranks_here: int) -> None:
    """Say that the arenas of a machine's ranks are larger than its memory; until they fill they do no harm."""
    most = usable_memory()
    if arena * ranks_here > most:
        each = f" for each of {ranks_here} ranks" if ranks_here > 1 else ""
        log.warning(
            f"{operation}: memory={size_text(arena)!r}{each} is more than the {size_text(most)} of this machine: when "
            "it fills the system may end a process, where less memory would spill to disk"
        )


def check_spill_folder(operation: str, folder: str | None) -> None:
    """Raise where spill files can't be written.

    Raises
    ------
    ConfigError
        The folder isn't there, or can't be written to.
    """
    if folder is not None and not (os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)):
        why = "can't be written to" if os.path.isdir(folder) else "is no folder"
        raise ConfigError(f"{operation}: setting 'spill_dir' is {folder!r}, which {why}")
