"""What comes of tasks that don't end well, for their futures."""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import TYPE_CHECKING

from ...graph.errors import ClusterError, WindrowError
from ...workers.tasks.packing import unpack_error

if TYPE_CHECKING:
    from ...workers.wire.transport import Peer
    from .record import TaskRecord


MOST_NOTES = 48
"""Notes from which on tasks add none: an error may come out of tasks that are within each other by the hundred."""


def cancelled(record: TaskRecord) -> BaseException:
    """Return the exception of a task that was cancelled, for those that take its result."""
    return CancelledError(f"task {record.title} was cancelled")


def deadly(record: TaskRecord) -> BaseException:
    """Return the exception of a task at which ranks died."""
    count = max(len(record.killed), record.suspect)
    if not count:
        return _noted(
            ClusterError(
                f"{record.name}: no rank is left that has what task {record.label} needs: "
                f"{record.demand.cores} cores, {record.demand.memory:,} bytes"
            ),
            record,
        )
    ranks = f"{count} rank{'s' * (count != 1)}"
    return _noted(
        ClusterError(f"{record.name}: {ranks} died while task {record.label} ran; it is not tried again"), record
    )


def unread(record: TaskRecord) -> BaseException:
    """Return the exception of a task whose arguments are not to be had."""
    return _noted(
        ClusterError(f"{record.name}: an argument of task {record.label} can't be read from the other ranks"), record
    )


def read_error(record: TaskRecord, packed: bytes, peer: Peer) -> BaseException:
    """Return what a task raised, with notes: the task, the rank, the user's line, the remote traceback."""
    error, text = unpack_error(packed, f"{record.name}: what task {record.label} raised can't be read here")
    if not isinstance(error, Exception):  # an exit, or a KeyboardInterrupt of the function's own
        error = WindrowError(f"{record.name}: the task raised {type(error).__name__}: {error}")
    if len(getattr(error, "__notes__", ())) >= MOST_NOTES:
        return error
    error.add_note(f"in task {record.title} on rank {peer.rank} (host {peer.host}, pid {peer.pid})")
    _noted(error, record)
    if text:
        error.add_note("remote traceback:\n" + text.rstrip())
    return error


def _noted(error: BaseException, record: TaskRecord) -> BaseException:
    if record.origin:
        error.add_note(f"the task was submitted at {record.origin}")
    return error
