"""How many tasks go into a batch: what it costs to hand one out, against what threads do side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..ledger.stage_record import StageRecord

BATCH_SECONDS = 0.02
FIRST_BYTES = 1 << 25
BATCH_BYTES = 1 << 24
HANDING_SECONDS = 5e-5
"""What a batch costs for each thread of its rank: all of these take turns with Python's lock (16 threads: .7 ms)."""


def batch_size(record: StageRecord, slots: int, threads: int) -> int:
    """Return how many ready tasks of a stage go into a batch for a rank of `threads`, of `slots` threads in all.

    Batches are handed out one after the other, tasks run side by side: n tasks of s seconds in k batches that cost
    c each end after about k c + n s / k, which is least where a batch has sqrt(n c / s) tasks.
    """
    most = max(1, BATCH_BYTES // max(1, int(record.bytes[0]), record.bytes_read))
    fair = -(-record.nready // (2 * slots))
    if record.seconds:
        fair = max(fair, int(math.sqrt(record.nready * (HANDING_SECONDS * threads) / record.seconds)))
        return max(1, min(fair, most, int(BATCH_SECONDS / record.seconds)))
    stage = record.stage
    if stage.costly:
        return 1
    work = stage.domain.largest * stage.dtype.itemsize * math.prod(stage.groups) * stage.blocks_per_task
    return max(1, min(fair, most, FIRST_BYTES // max(1, work)))
