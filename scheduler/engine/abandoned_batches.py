"""Batches that nobody wants any more, and that can't be interrupted: each is left to its thread until that is through.

No task counts as running then, and none waits for it. But the call still reads and writes: its memory stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..ledger.ledger import Ledger
    from ..ledger.stage_record import Batch


class Strays:
    """The batches of a ledger that are left to their threads."""

    def __init__(self) -> None:
        self.batches: dict[int, Batch] = {}

    def __len__(self) -> int:
        return len(self.batches)

    def add(self, ledger: Ledger, number: int) -> None:
        """Note that nobody waits for a batch any more; a gang that is to run again waits for its members."""
        batch = ledger.batches.get(number)
        if batch is None or (batch.record.stage.gang is not None and not ledger.is_unwanted(batch)):
            return
        if (run := ledger.gangs.of(number)) is not None:
            ledger.gangs.break_up(ledger, run)
        ledger.end_batch(number)
        self.batches[number] = batch
        record, tasks = batch.record, batch.tasks
        read: dict[tuple[int, int], None] = {}
        for edge in record.inputs:
            other, items = edge.record, edge.reads.of(tasks)
            items = items[other.in_arena[items] & (other.owner[items] >= 0)]
            read |= dict.fromkeys(zip(other.owner[items].tolist(), other.offset[items].tolist(), strict=True))
        sizes = record.bytes[tasks].tolist()
        own = [(batch.rank, *each) for each in zip(batch.offsets.tolist(), sizes, strict=True)]
        ledger.slabs.lend(number, read, own)
        ledger.put_off(record, tasks)
        ledger.gangs.rest(ledger)
        ledger.plan()

    @property
    def have_members(self) -> bool:
        """Whether there are members of gangs among them."""
        return any(batch.record.stage.gang is not None for batch in self.batches.values())

    def end(self, ledger: Ledger, number: int) -> bool:
        """Note that one has ended, however it did; tell whether the batch is one."""
        if self.batches.pop(number, None) is None:
            return False
        ledger.ended.append((number, False))
        ledger.slabs.restore(number, ledger.batches)
        return True

    def lose(self, ledger: Ledger, rank: int) -> None:
        """Note that those of a rank have ended with it."""
        for number in [number for number, batch in self.batches.items() if batch.rank == rank]:
            self.end(ledger, number)
