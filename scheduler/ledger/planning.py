"""The walks over stages: back from what is wanted to what is stored already, and on to what waits for something.

No walk goes further than to what is stored, or waits already: what it takes follows from what changes.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from ...graph.few import add_each, distinct
from .stage_record import ChunkState, StageRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ...graph.chunks.grid import Index

    Mask = NDArray[np.bool_]


class Stopped(Exception):
    """Nobody waits any more for what was about to be planned."""


def never() -> bool:
    """Say that planning goes on."""
    return False


def demand(
    need: dict[StageRecord, Mask], active: dict[StageRecord, None], stop: Callable[[], bool]
) -> tuple[dict[StageRecord, Index], list[StageRecord]]:
    """Plan the tasks that are needed, and what they read; return them, and those of their records that had no others.

    This picks what is computed, the first time and again after a death: of what is needed, tasks that are `RELEASED` or
    `LOST` become `WAITING`, and what these read is needed, too. The walk ends at tasks that are `STORED`, and at those
    that are planned already: `WAITING`, `READY` or `RUNNING`.

    `need` is used up, `active` gets the records. Readers come before their inputs. Stopped is raised when `stop` says
    so.
    """
    fresh: dict[StageRecord, Index] = {}
    begun: list[StageRecord] = []
    order = [(-record.number, record) for record in need]
    heapify(order)
    while order:
        _, record = heappop(order)
        mask = need.pop(record)
        if record.stage.gang is not None:
            mask |= mask.any()
        absent = (record.state == ChunkState.RELEASED) | (record.state == ChunkState.LOST)
        tasks = np.flatnonzero(mask & absent)
        if not len(tasks):
            continue
        if stop():
            raise Stopped
        fresh[record] = tasks
        if not record.busy:
            begun.append(record)
        active[record] = None
        record.nwaiting += len(tasks)
        record.state[tasks] = ChunkState.WAITING
        record.inputs_missing[tasks] = 0
        for edge in record.inputs:
            other, items = edge.record, edge.reads.of(tasks)
            add_each(other.readers_left, items, 1)
            missing = other.state[items] != ChunkState.STORED
            if missing.any():
                row = np.repeat(np.arange(len(tasks)), edge.reads.lengths[tasks])
                add_each(record.inputs_missing, tasks[row[missing]], 1)
                if other not in need:
                    need[other] = np.zeros(other.ntasks, bool)
                    heappush(order, (-other.number, other))
                need[other][items[missing]] = True
    return fresh, begun


def find_dependents(record: StageRecord, tasks: Index) -> dict[StageRecord, Index]:
    """Return the tasks that wait for some tasks, these among them."""
    dependents: dict[StageRecord, Index] = {}
    next_ = {record: tasks}
    order = [(record.number, record)]
    while order:
        _, record = heappop(order)
        dependents[record] = tasks = next_.pop(record)
        for user, edge in record.users.items():
            if user.nwaiting:
                readers = user.waiting_of(distinct(edge.readers.of(tasks)))
                if len(readers):
                    if user in next_:
                        readers = distinct(np.concatenate([next_[user], readers]))
                    else:
                        heappush(order, (user.number, user))
                    next_[user] = readers
    return dependents
