"""When memory is full: spill what is held to disk, or say what is missing. Never wait for what can't come.

An arena is full when nothing that is ready fits. Held chunks go to disk beside what computes as soon as it is known
that they won't all fit. A rank whose processes get near a limit takes one task after the other, spills, and gives back
to the system the pages of what is free, until there is memory again.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...workers.memory.pressure import FAR
from ...workers.wire.protocol import Exceeded, Pressed, Spill, Spilled, Trim
from ..ledger.arena import ArenaAllocator
from ..ledger.stage_record import ChunkState
from ..session.html import size_text
from .failure import out_of_memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...graph.chunks.grid import Index
    from ...workers.memory.pressure import Shortage
    from ...workers.wire.protocol import Command
    from ...workers.wire.transport import Transport
    from ..ledger.ledger import Ledger
    from ..ledger.stage_record import Batch, StageRecord

log = logging.getLogger("windrow")
PART = 8
"""An eighth of an arena is spilled at a time."""
PAUSE = 0.01
"""Seconds between two looks at what could be spilled ahead."""
TRIMMING = 0.5
"""Seconds after which a rank that is short of memory is told again what is free."""
COPYING = 0.1
"""Seconds for which everything waits until a user's thread has copied results, so that there is room."""
REFUSED = 5.0
"""Seconds for which nothing is spilled beside what computes after the disk has refused it."""


@dataclass(frozen=True, slots=True)
class _Pending:
    """What a rank is writing to disk; `urgent`: nothing runs until it is there."""

    rank: int
    record: StageRecord
    tasks: Index
    offsets: Index
    urgent: bool


class Spiller:
    """Makes room; what running batches and gangs read stays where it is.

    What the engine has ranks do, takes back from them and gives up are `send`, `recall` and `fail`.
    """

    def __init__(
        self,
        ledger: Ledger,
        transport: Transport,
        send: Callable[[int, Command], None],
        recall: Callable[[list[Batch], bool], None],
        fail: Callable[[StageRecord, Index, BaseException], None],
    ) -> None:
        self._ledger, self._transport = ledger, transport
        self._send, self._recall, self._fail = send, recall, fail
        self.pending: dict[int, _Pending] = {}
        self.pressed: dict[int, Shortage] = {}
        """Ranks that are short of memory beside their arenas, and how much."""
        self.why = ""
        """Why the disk refused the last that was to be spilled; empty where some of it was taken."""
        self._number = 0
        self._taken = self._warned = False
        self._looked = self._stirred = 0.0
        self._trimmed: dict[int, float] = {}

    def most(self, rank: int, usual: int) -> int:
        """Return how many batches a rank may have beside others: one alone where memory is short."""
        return usual if rank not in self.pressed else int(not self._ledger.busy(rank))

    def relieve(self) -> None:
        """Act if memory is short, or if the engine is stuck: spill, else fail the jobs that wait."""
        ledger = self._ledger
        self._ease()
        if not ledger.only_gangs or self.pending:
            if ledger.batches and not self.pending:
                self._spill_ahead()
            return
        stuck = ledger.ready.turns.held_up or ledger.ready.first() or ledger.find_stuck_gang()
        if stuck is None:
            return
        if ledger.gathering():
            self._let_copy()
            return
        needed = int(stuck.bytes.max())
        room = ArenaAllocator.pad_size(needed)
        sizes = [a.size for a, ok in zip(ledger.arenas, ledger.alive, strict=True) if ok]
        if room > max(sizes):
            rounded = "" if needed > max(sizes) else f", rounded up to {room:,} bytes,"
            self._give_up(stuck, needed, f"that{rounded} is more than the whole")
            return
        if ledger.evict():
            self._transport.wake()
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
                self._spill(rank, max(room, ledger.arenas[rank].size // PART))
        if not self.pending and not ledger.batches:
            self._give_up(stuck, needed, "nothing that could be spilled")

    def _let_copy(self) -> None:
        """Wait for what is being gathered; but the user's thread may wait for what is held up before it copies more."""
        turns, now = self._ledger.ready.turns, time.monotonic()
        if turns.held_up is None or now - self._stirred > 2 * COPYING:
            self._stirred = now
        elif now - self._stirred > COPYING:
            turns.let_go()
            self._transport.wake()

    def _spill_ahead(self) -> None:
        """Spill what is held and nobody waits to read, where what is still to be held won't fit beside it."""
        ledger, now = self._ledger, time.monotonic()
        if now - self._looked < PAUSE:
            return
        self._looked = now
        full = [rank for rank, arena in enumerate(ledger.arenas) if ledger.alive[rank] and arena.free < arena.size // 4]
        if not full:
            return
        coming = sum(int(record.bytes[record.is_waiting].sum()) for record in ledger.active if record.hold)
        if coming <= sum(arena.free for arena, alive in zip(ledger.arenas, ledger.alive, strict=True) if alive):
            return
        for rank in full:
            self._spill(rank, ledger.arenas[rank].size // PART, urgent=False, idle=True)

    def _spill(self, rank: int, nbytes: int, urgent: bool = True, idle: bool = False) -> None:
        for record, tasks in victims(self._ledger, rank, nbytes, idle):
            self._number += 1
            offsets = record.offset[tasks].copy()
            self.pending[self._number] = _Pending(rank, record, tasks, offsets, urgent)
            # Whatever becomes of them, nothing else comes to their places while they are being written.
            self._ledger.slabs.lend(-self._number, ((rank, offset) for offset in offsets.tolist()), ())
            sizes = record.bytes[tasks]
            self._send(rank, Spill(self._number, record.stage.token, tasks, offsets, sizes))

    def take(self, event: Spilled | Pressed | Exceeded) -> None:
        """Take a rank's answer, or its word that memory is short, or that a function takes more than was said."""
        if isinstance(event, Pressed):
            self._press(event)
            return
        if isinstance(event, Exceeded):
            self._restrain(event)
            return
        pending = self.pending.pop(event.number, None)
        if pending is None:
            return
        ledger = self._ledger
        ledger.slabs.restore(-event.number, ledger.batches)
        if event.source >= 0:
            self.why, self._taken = "", True
            ledger.note_spilled(
                pending.rank, pending.record, pending.tasks, pending.offsets, event.source, event.offsets
            )
            self._trimmed.pop(pending.rank, None)
        elif pending.urgent:
            self.why = event.why if not self._taken else ""
        else:
            self._looked = self._trimmed[pending.rank] = time.monotonic() + REFUSED

    # ---------------------------------------------------------------- memory beside the arenas

    def _press(self, event: Pressed) -> None:
        self._trimmed.pop(event.rank, None)
        if event.shortage is None:
            self.pressed.pop(event.rank, None)
            return
        self.pressed[event.rank] = event.shortage
        batches = list(self._ledger.given[event.rank].values())
        self._recall([batch for batch in batches if batch.record.stage.gang is None][1:], False)
        if self._warned:
            return
        self._warned = True
        limit, peer = event.shortage.limit, self._transport.peers[event.rank]
        stages = ", ".join(dict.fromkeys(batch.record.stage.name for batch in batches)) or "nothing"
        log.warning(
            f"rank {event.rank} (host {peer.host}, pid {peer.pid}) is short of memory: "
            f"{size_text(event.shortage.used)} of the {size_text(limit.nbytes)} of {limit.who} are in use, while it "
            f"computes {stages}; until there is more it runs one task at a time and spills what it holds. Smaller "
            "chunks, or less memory= for chunks, leave more"
        )

    def _restrain(self, event: Exceeded) -> None:
        """Have fewer tasks of a function at once, and those given back that are too many and haven't begun."""
        ledger = self._ledger
        if (batch := ledger.batches.get(event.batch)) is None:
            return
        ledger.promises.break_(event, batch.record.stage)
        for rank, batches in enumerate(ledger.given):
            mine = [b for b in batches.values() if b.record.stage.functions == batch.record.stage.functions]
            self._recall(mine[ledger.promises.most(batch.record, ledger.threads[rank]) :], False)

    def _ease(self) -> None:
        """Have ranks that are short of memory spill, and give back what is free."""
        ledger, now = self._ledger, time.monotonic()
        if not self.pressed:
            self._warned &= bool(ledger.active)
            return
        for rank, shortage in self.pressed.items():
            if now - self._trimmed.get(rank, 0.0) < TRIMMING:
                continue
            self._trimmed[rank] = now
            arena = ledger.arenas[rank]
            if all(
                peer.same_node for peer in self._transport.peers
            ):  # pages that a network card knows stay where they are
                holes = np.array(arena.holes(), np.int64)
                self._send(rank, Trim(holes[:, 0], holes[:, 1]))
            if not any(pending.rank == rank for pending in self.pending.values()):
                missing = shortage.used - shortage.limit.nbytes + shortage.limit.nbytes // FAR
                self._spill(rank, max(missing, arena.size // PART), urgent=False)

    def on_lost(self, ranks: tuple[int, ...]) -> None:
        """Forget what dead ranks were to spill."""
        ledger = self._ledger
        for number in [n for n, p in self.pending.items() if p.rank in ranks]:
            del self.pending[number]
            ledger.slabs.restore(-number, ledger.batches)
        for rank in ranks:
            self.pressed.pop(rank, None)

    def _give_up(self, record: StageRecord, needed: int, why: str) -> None:
        ledger = self._ledger
        alive = [a for a, ok in zip(ledger.arenas, ledger.alive, strict=True) if ok]
        best = max(alive, key=lambda a: a.free)
        if ledger.ready.turns.held_up is record and ArenaAllocator.pad_size(needed) <= best.size:  # others can go on
            ledger.ready.turns.let_go()
            self._transport.wake()
            return
        error = out_of_memory(record.stage, needed, best.free, best.size, why)
        self._fail(record, np.flatnonzero(record.state == ChunkState.READY), error)
        self._transport.wake()  # the next one that is stuck, if any, is looked at without another event


def victims(ledger: Ledger, rank: int, nbytes: int, idle: bool = False) -> list[tuple[StageRecord, Index]]:
    """Return about `nbytes` of stored slabs of a rank that could go to disk: held ones, oldest first.

    `idle`: only what no task waits to read. What is being gathered stays where it is: the user's thread copies it, and
    then it goes.
    """
    slabs: list[tuple[StageRecord, Index]] = []
    read = {edge.record for batch in ledger.batches.values() for edge in batch.record.inputs}
    for record in sorted(ledger.holding, key=lambda r: (r.hold == 0, r.number)):
        if nbytes <= 0:
            break
        if record in read:
            continue
        unread = record.is_unviewed
        if idle:
            unread &= (record.readers_left <= 0) & (record.hold > 0)
        mine = np.flatnonzero((record.owner == rank) & record.in_arena & unread)
        if not len(mine):
            continue
        total = np.cumsum(record.bytes[mine])
        some = mine[: int(np.searchsorted(total, nbytes)) + 1]
        slabs.append((record, some))
        nbytes -= int(record.bytes[some].sum())
    return slabs
