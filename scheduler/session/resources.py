"""How much memory and how many cores a process may use: the machine's, its control group's, Slurm's."""

from __future__ import annotations

import logging
import math
import os
from functools import cache
from typing import TYPE_CHECKING

from ...graph.arguments import check_integer
from ...graph.chunks.normalize import parse_bytes
from ...graph.errors import ArgumentError, OutOfMemory, bad
from ...workers.config import ConfigError, config
from ...workers.memory.control_groups import ROOT, cpu_quota
from ...workers.memory.memory_limit import address_room, memory_limit
from .html import size_text

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger("windrow")

SHARE = 0.5
LEAST_MEMORY = 1 << 16
"""Bytes of the smallest arena."""


CORES_OF_A_RANK = 4
LEAST_MEMORY_OF_A_RANK = 1 << 30


def usable_cores(root: Path = ROOT) -> int:
    """Return the number of cores that this process may keep busy: it may run on them, and its groups grant the time."""
    cores, quota = len(os.sched_getaffinity(0)), cpu_quota(root)
    return max(1, cores if quota is None else min(cores, math.ceil(quota.cores)))


def default_threads() -> int:
    """Return how many compute threads the embedded engine has, unless a cluster says so."""
    return config.threads or _cores_at_first()


_cores_at_first = cache(usable_cores)


def spread_over_cores() -> tuple[int, int]:
    """Return how many ranks make good use of this host's cores and memory, and how many threads each has.

    One rank for each four cores or part of four, since Python's lock lets a few threads pass and not sixteen; fewer
    where a rank would have less than 1 GiB.
    """
    cores = usable_cores()
    ranks = max(1, min(-(-cores // CORES_OF_A_RANK), usable_memory() // LEAST_MEMORY_OF_A_RANK))
    return ranks, -(-cores // ranks)


def read_ranks(operation: str, ranks: int | str) -> tuple[int, int]:
    """Return how many ranks are asked for, and how many threads each has, where "auto" says so; else 1."""
    if isinstance(ranks, str) and ranks == "auto":
        return spread_over_cores()
    return check_integer(operation, "ranks", ranks, 1, expected="a positive integer or 'auto'"), 1


def read_bytes(operation: str, argument: str, value: int | str) -> int:
    """Return a number of bytes: an integer, or text with a unit; what is none is an ArgumentError."""
    try:
        return parse_bytes(value)
    except (ValueError, TypeError) as error:
        how = "a whole number of bytes, or text with a unit, such as '2 GiB'"
        raise ArgumentError(bad(operation, argument, value, how)) from error


def usable_memory() -> int:
    """Return the bytes of memory that the processes of this job may use on this node."""
    return memory_limit().nbytes


def refuse_larger(operation: str, nbytes: int, argument: str = "shape") -> None:
    """Raise OutOfMemory where something can't be held by this node's memory, whatever else is there."""
    most = usable_memory()
    if nbytes > most:
        raise OutOfMemory(
            f"{operation}: argument {argument!r} asks for {nbytes:,} bytes; expected at most the memory, {most:,} bytes"
        )


def arena_bytes(ranks_on_node: int) -> int:
    """Return the bytes of an arena when none are given: a share of what the node's ranks may use, and may map."""
    share = int(usable_memory() * SHARE / ranks_on_node)
    room = address_room()
    if room is not None:  # each rank maps the arenas of all, and needs as much for files, stacks and what it computes
        share = max(LEAST_MEMORY, min(share, int(room.nbytes * SHARE / ranks_on_node)))
    return share // 4096 * 4096


def read_memory(operation: str, memory: int | str | None, ranks_on_node: int) -> int:
    """Return the bytes of an arena: what is asked for, or is set, or a share of what the node's ranks may use."""
    memory = memory if memory is not None else config.memory
    if memory is None:
        return arena_bytes(ranks_on_node)
    nbytes = read_bytes(operation, "memory", memory)
    if nbytes < LEAST_MEMORY:
        raise ArgumentError(bad(operation, "memory", memory, f"at least {LEAST_MEMORY >> 10} KiB"))
    room = address_room()
    if room is not None and nbytes * ranks_on_node > room.nbytes:
        times = f" for each of {ranks_on_node} ranks, which map each other's," if ranks_on_node > 1 else ""
        raise OutOfMemory(
            f"{operation}: argument 'memory' is {memory!r}{times} but a process may map {size_text(room.nbytes)} more "
            f"({room.who}); expected less"
        )
    return nbytes


def check_memory(operation: str, arena: int, ranks_here: int) -> None:
    """Say that the arenas of a host's ranks are larger than what they may use; until they fill they do no harm."""
    limit = memory_limit()
    if arena * ranks_here > limit.nbytes:
        each = f" for each of {ranks_here} ranks" if ranks_here > 1 else ""
        most = f"{size_text(limit.nbytes)} of {limit.who}"
        log.warning(
            f"{operation}: memory={size_text(arena)!r}{each} is more than the {most}: "
            "when it fills the system may end a process, where less memory would spill to disk"
        )


def check_spill_folder(operation: str, folder: str | None) -> None:
    """Raise ConfigError where spill files can't be written."""
    if folder is not None and not (os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)):
        why = "can't be written to" if os.path.isdir(folder) else "is no folder"
        raise ConfigError(f"{operation}: setting 'spill_dir' is {folder!r}, which {why}")
