"""Turns of computations: of any two batches one is of the computation that somebody has waited longest for.

The other is of the latest, so that a few numbers are there at once beside long work. So a computation waits for no more
than twice the work of those that came before it, however many come later. Where it finds no room for what it has ready,
others go on for a while; then nothing else is given out until it has room: what runs ends, and where that doesn't do,
what is stored goes to disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ledger.stage_record import BESIDE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..ledger.stage_record import StageRecord

PATIENCE = 16
"""Batches that are given to others while the computation that waits longest has no room."""


class Turns:
    """Tells whose turn it is. Computations are numbered in the order in which somebody begins to wait for them."""

    def __init__(self) -> None:
        self.number = 0
        """Of the latest computation; 0 is none."""
        self._busy: dict[int, int] = {}
        """How many records of each computation are busy, the oldest first."""
        self._due = False
        self._oldest = 0
        """The computation that waits longest of those that a rank may take tasks from."""
        self._short: StageRecord | None = None
        """A record of the oldest computation that has found no room, and has had none since."""
        self._passed = 0

    def begin(self) -> None:
        """Note that what is awaited from now on is another computation."""
        self.number += 1

    def enter(self, record: StageRecord) -> None:
        """Note that somebody waits for a record."""
        record.turn = self.number
        self._busy[record.turn] = self._busy.get(record.turn, 0) + 1

    def leave(self, record: StageRecord) -> None:
        """Note that nobody waits for a record any more, or that it has nothing to run."""
        if record.turn:
            self._busy[record.turn] -= 1
            if not self._busy[record.turn]:
                del self._busy[record.turn]
            record.turn = 0

    @property
    def short(self) -> StageRecord | None:
        """What waits for room, though it is its turn."""
        record = self._short
        return record if record is not None and record.turn and record.nready else None

    @property
    def held_up(self) -> StageRecord | None:
        """What alone may be given out now: others have been for long enough."""
        return self.short if self._passed >= PATIENCE else None

    def arrange(self, candidates: Iterable[StageRecord]) -> Iterable[StageRecord]:
        """Put the computation that waits longest first, if it is its turn; else leave all as they are."""
        if len(self._busy) < 2 or not self._due:
            self._oldest = next(iter(self._busy)) if len(self._busy) == 1 else 0
            return candidates
        every = list(candidates)
        self._oldest = min((record.turn for record in every if record.turn), default=0)
        return sorted(every, key=lambda record: record.turn != self._oldest)

    def lack(self, record: StageRecord) -> None:
        """Note that there is no room for a record's next task."""
        if record.turn and record.turn == self._oldest and ((short := self.short) is None or record.turn < short.turn):
            self._short, self._passed = record, 0

    def holds_up(self, record: StageRecord) -> bool:
        """Tell whether a record has to wait until one that waits longer has room."""
        return (first := self.held_up) is not None and record.turn != first.turn

    def note(self, record: StageRecord) -> None:
        """Note that tasks of a record have been given out."""
        self._due = not record.turn or record.turn != self._oldest
        if (short := self.short) is None or record.turn == short.turn:
            self._short = None
        elif record.pressing != BESIDE:
            self._passed += 1

    def let_go(self) -> None:
        """Let others go on again: no room can be made."""
        self._passed = 0
