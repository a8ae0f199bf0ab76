"""Batches that wait for I/O threads to read sources: how many a rank has, beside those its compute threads need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...workers.sources.io_pool import READERS
from ..ledger.stage_record import AWAITED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ledger.arena import ArenaAllocator
    from ..ledger.ledger import Ledger
    from ..ledger.stage_record import Batch, StageRecord

NEAR_BYTES = 32 << 20
"""Bytes of files on this host that a rank reads at a time, if these are more than a piece for each thread.

Decoding keeps a processor busy, so that more would only fill memory; allocators keep as much again for who decodes.
"""


def most_read(room: int, threads: int, near: bool) -> tuple[int, int]:
    """Return how many batches of a rank may read at any rate, or compute with it, and how many bytes more may.

    `room` is the bytes of its arena, `near` whether they read files on this host.
    """
    return max(2, threads + (not near)), min(room // 4, NEAR_BYTES if near else room)


class Readings:
    """Counts them."""

    def __init__(self, arenas: Sequence[ArenaAllocator], threads: Sequence[int]) -> None:
        self._arenas, self._threads = arenas, threads
        self.counts, self.bytes = [0] * len(arenas), [0] * len(arenas)

    def allows(self, rank: int, record: StageRecord) -> bool:
        """Tell whether a rank may have one more of a stage: what it reads has no place in its arena."""
        if not record.slow:
            return True
        read = [edge.record.stage.data for edge in record.inputs if edge.record.slow]
        near = bool(read) and all(
            data is not None and data.near for data in read
        )  # what the driver reads has no inputs
        few, most = most_read(self._arenas[rank].size, self._threads[rank], near)
        count = self.counts[rank]
        return count < few or (count < READERS and self.bytes[rank] + record.bytes_read <= most)

    def begin(self, batch: Batch) -> None:
        self._count(batch, 1)

    def end(self, batch: Batch) -> None:
        self._count(batch, -1)

    def _count(self, batch: Batch, more: int) -> None:
        if batch.record.slow:
            self.counts[batch.rank] += more
            self.bytes[batch.rank] += more * batch.record.bytes_read * len(batch.tasks)

    def lose(self, rank: int) -> None:
        self.counts[rank] = self.bytes[rank] = 0

    def siblings(self, record: StageRecord) -> set[StageRecord]:
        """Return the stages that read the same sources as one does, where these are slow."""
        users = (
            {user for edge in record.inputs if edge.record.slow for user in edge.record.users} if record.slow else ()
        )
        return {user for user in users if user.slow and user.nready} | {record}

    def pick_sibling(self, rank: int, record: StageRecord) -> StageRecord:
        """Return which stage's task goes first of those that read the same source: what they read is read once."""
        if not record.slow:
            return record
        ready = [each for each in self.siblings(record) if each.lengths.get(rank)]
        return min(ready, key=lambda each: (each.queues[rank][0][0] / each.ntasks, -each.number), default=record)


def find_ahead(ledger: Ledger, late: Sequence[bool]) -> list[Batch]:
    """Return what ranks have been given ahead and give back: from late ones as much as idle ones can begin at once.

    What is only held is also given back by as many as there are tasks that somebody waits for, and no rank could take.
    """
    first = ledger.ready.first(leading=True)
    places = first.nready if first is not None and first.pressing == AWAITED else 0
    free = sum(max(0, t - ledger.load(rank)) for rank, t in enumerate(ledger.threads) if ledger.alive[rank])
    ahead: list[Batch] = []
    for rank, is_late in enumerate(late) if places or (free and any(late)) else ():
        # gangs have threads of their own, and so have readings
        quick = [b for b in ledger.given[rank].values() if b.record.stage.gang is None and not b.record.slow]
        for batch in quick[ledger.threads[rank] :]:
            if free > 0 and is_late:
                free -= 1
            elif places > 0 and not batch.record.pressing:
                places -= 1
            else:
                continue
            ahead.append(batch)
    return ahead
