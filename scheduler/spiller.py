"""When arenas are full: spill what is held to disk, or say what is missing. Never wait for what can't come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..workers.protocol import Spill, Spilled
from .arena import Arena
from .failure import out_of_memory
from .record import State

if TYPE_CHECKING:
    from ..graph.grid import Index
    from .engine import Engine
    from .ledger import Ledger
    from .record import Record


class Spiller:
    """Makes room when nothing but gangs runs and nothing that is ready fits; what gangs read stays where it is."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.pending: dict[int, tuple[int, Record, Index, Index]] = {}
        self.why = ""
        """Why the disk refused the last that was to be spilled; empty where some of it was taken."""
        self._number = 0
        self._taken = False

    def relieve(self) -> None:
        """Act if the engine is stuck: spill on every rank that holds something, else fail the jobs that wait."""
        ledger = self.engine.ledger
        if not ledger.only_gangs or self.pending:
            return
        stuck = ledger.ready.first() or ledger.gangs.find_stuck(ledger)
        if stuck is None or ledger.gathering():
            return
        needed = int(stuck.bytes.max())
        room = Arena.pad_size(needed)
        sizes = [a.size for a, ok in zip(ledger.arenas, ledger.alive, strict=True) if ok]
        if room > max(sizes):
            rounded = "" if needed > max(sizes) else f", rounded up to {room:,} bytes,"
            self._give_up(stuck, needed, f"that{rounded} is more than the whole")
            return
        if ledger.evict():
            self.engine.transport.wake()
            return
        if self.why:
            self._give_up(
                stuck,
                needed,
                f"the disk refused what was to be spilled ({self.why}; setting 'spill_dir' names the folder)",
            )
            self.why = ""
            return
        self._taken = False
        for rank, alive in enumerate(ledger.alive):
            if alive and ledger.arenas[rank].size >= room:
                self._spill(rank, max(room, ledger.arenas[rank].size // 8))
        if not self.pending and not ledger.batches:
            self._give_up(stuck, needed, "nothing that could be spilled")

    def _spill(self, rank: int, nbytes: int) -> None:
        for record, tasks in victims(self.engine.ledger, rank, nbytes):
            self._number += 1
            offsets = record.offset[tasks].copy()
            self.pending[self._number] = (rank, record, tasks, offsets)
            sizes = record.bytes[tasks]
            self.engine.send(rank, Spill(self._number, record.stage.token, tasks, offsets, sizes))

    def on_spilled(self, event: Spilled) -> None:
        """Take a rank's answer."""
        found = self.pending.pop(event.number, None)
        if found is None:
            return
        rank, record, tasks, offsets = found
        if event.source < 0:
            self.why = event.why if not self._taken else ""
        else:
            self.why, self._taken = "", True
            self.engine.ledger.note_spilled(rank, record, tasks, offsets, event.source, event.offsets)

    def on_lost(self, ranks: tuple[int, ...]) -> None:
        """Forget what dead ranks were to spill."""
        self.pending = {n: p for n, p in self.pending.items() if p[0] not in ranks}

    def _give_up(self, record: Record, needed: int, why: str) -> None:
        ledger = self.engine.ledger
        alive = [a for a, ok in zip(ledger.arenas, ledger.alive, strict=True) if ok]
        best = max(alive, key=lambda a: a.free)
        error = out_of_memory(record.stage, needed, best.free, best.size, why)
        self.engine.fail(record, np.flatnonzero(record.state == State.READY), error)
        self.engine.transport.wake()  # the next one that is stuck, if any, is looked at without another event


def victims(ledger: Ledger, rank: int, nbytes: int) -> list[tuple[Record, Index]]:
    """Return about `nbytes` of stored slabs of a rank that could go to disk: held ones, oldest first.

    What is being gathered stays where it is: the user's thread copies it, and then it goes.
    """
    found = []
    read = {edge.record for batch in ledger.batches.values() for edge in batch.record.inputs}
    for record in sorted(ledger.holding, key=lambda r: (r.hold == 0, r.number)):
        if nbytes <= 0:
            break
        if record in read:
            continue
        unread = (record.gathers == 0) & (not record.viewed)
        mine = np.flatnonzero((record.owner == rank) & record.in_arena & unread)
        if not len(mine):
            continue
        total = np.cumsum(record.bytes[mine])
        some = mine[: int(np.searchsorted(total, nbytes)) + 1]
        found.append((record, some))
        nbytes -= int(record.bytes[some].sum())
    return found
