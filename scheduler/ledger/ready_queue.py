"""Which stage's ready tasks go next: records that have some, in the two orders in which they may go.

What somebody waits for goes before what is only held. Within each, the latest stages go first.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from heapq import merge
from itertools import chain
from typing import TYPE_CHECKING

from ..admission.turns import Turns
from .stage_record import AWAITED, BESIDE, StageRecord

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

SPARE = 4
"""Tasks in a rank's queue that are left to it while others have something to do."""
FEW = 4
"""A stage has few tasks when there are no more than so many for each thread that computes."""

_ALL, _LONG = -1, -2
_Entry = tuple[int, int, int, int, StageRecord]


class ReadyRecords:
    """Records with ready tasks: all of them, those with a long queue, and those with tasks for one rank.

    Each lies in two orders: the latest stages first, or as `leading` says. A change costs no more than finding a place.
    In the first, which is for scarce memory, what shares stages with something awaited goes along with it, so that
    what both read is freed. Tasks that have places in an order go by these in both, but for stages of few tasks.
    """

    def __init__(self, ranks: int) -> None:
        self._lists: dict[tuple[bool, int], list[_Entry]] = {
            (leading, kind): [] for leading in (False, True) for kind in (_ALL, _LONG, *range(ranks))
        }
        self._entries: dict[StageRecord, tuple[_Entry, _Entry]] = {}
        """By which each is listed."""
        self.pressing: dict[StageRecord, None] = {}
        """Records that somebody waits for, or beside, as long as they are busy."""
        self.turns = Turns()

    def update(self, record: StageRecord) -> None:
        """Note that a record's queues have changed."""
        now = {rank for rank, length in record.lengths.items() if length}
        if now:
            now.add(_ALL)
            if max(record.lengths.values()) > SPARE:
                now.add(_LONG)
        if record.admission is None:
            if now == record.listed:
                return
        elif now:
            self._unlist(record)  # its next task has another place
        entries = self._entries.get(record) or _entries_of(record)
        for leading in (False, True):
            for kind in now - record.listed:
                insort(self._lists[leading, kind], entries[leading])
            for kind in record.listed - now:
                self._remove(leading, kind, entries[leading])
        record.listed = now
        if now:
            self._entries[record] = entries
        else:
            self._entries.pop(record, None)

    def _unlist(self, record: StageRecord) -> None:
        """Take a record off all lists."""
        entries = self._entries.pop(record, None)
        for kind in record.listed if entries is not None else ():
            for leading in (False, True):
                self._remove(leading, kind, entries[leading])  # type: ignore[index]
        record.listed = set()

    def _remove(self, leading: bool, kind: int, entry: _Entry) -> None:
        entries = self._lists[leading, kind]
        del entries[bisect_left(entries, entry)]

    def press(self, records: Iterable[StageRecord]) -> None:
        """Note that records are awaited: so is all that they wait for, and what shares stages with it is beside."""
        awaited: list[StageRecord] = []
        reached = list(records)
        while reached:
            record = reached.pop()
            if record.busy and record.pressing != AWAITED:
                self._set_pressing(record, AWAITED)
                awaited.append(record)
                reached += [edge.record for edge in record.inputs]
        self.spread(awaited)

    def spread(self, records: Iterable[StageRecord]) -> None:
        """Note that what shares stages with records goes beside them."""
        reached = list(records)
        while reached:
            record = reached.pop()
            for other in chain((edge.record for edge in record.inputs), record.users):
                if other.busy and not other.pressing:
                    self._set_pressing(other, BESIDE)
                    reached.append(other)

    def press_planned(self, fresh: Collection[StageRecord], awaited: Iterable[StageRecord]) -> None:
        """Find what of records that were planned somebody waits for; readers come before their inputs."""
        self.turns.begin()
        self.press(awaited)
        for record in fresh:
            if record.awaited or any(user.pressing == AWAITED for user in record.users):
                self.press((record,))
        for record in fresh if self.pressing else ():
            if any(edge.record.pressing for edge in record.inputs):
                self.spread([edge.record for edge in record.inputs if edge.record.pressing])

    def deactivate(self, record: StageRecord) -> None:
        """Note that a record has no tasks to run."""
        record.pressing = 0
        self.turns.leave(record)
        self.pressing.pop(record, None)

    def _set_pressing(self, record: StageRecord, pressing: int) -> None:
        self._unlist(record)
        record.pressing = pressing
        if record.stage.gang is None:  # that takes no compute thread
            self.pressing[record] = None
            if pressing == AWAITED:
                self.turns.enter(record)
        self.update(record)

    def first(self, leading: bool = False) -> StageRecord | None:
        """Return the record that goes first, if there is any."""
        entries = self._lists[leading, _ALL]
        return entries[0][-1] if entries else None

    @property
    def light(self) -> bool:
        """Whether what goes first is waited for, and so light that no compute thread need be free."""
        first = self.first(leading=True)
        return first is not None and first.pressing == AWAITED and first.stage.light

    def candidates(self, rank: int, ahead: bool, leading: bool) -> Iterator[StageRecord]:
        """Yield records that a rank may take tasks from; nothing may change until it is through.

        What is run `ahead` comes from the rank's own queues, or from long ones. As long as something is waited for,
        nothing else is: its next task would stand behind that.
        """
        if not ahead:
            for *_, record in self._lists[leading, _ALL]:
                yield record
            return
        last = None
        for *_, record in merge(self._lists[leading, rank], self._lists[leading, _LONG]):
            if record is not last and (record.pressing or not self.pressing):
                yield record
            last = record


def _entries_of(record: StageRecord) -> tuple[_Entry, _Entry]:
    """Return a record's place in each order."""
    awaited, beside = -(record.pressing == AWAITED), -(record.pressing > 0)
    last, first, leading = -record.number, 0, record.leading
    if record.admission is not None:
        last, first = -record.admission.number, record.first_place
        leading = record.leading if record.few else last
    return (beside, last, first, record.number, record), (awaited, leading, first, record.number, record)


def set_leading(records: Sequence[StageRecord], slots: int) -> None:
    """Put records that are planned together, the latest first, into the order in which they lead on.

    Last come those that lead to no other, and share an input with one that does. Where stages have few tasks, the
    longest chain tells how long it takes: among these, its begin goes first. `slots` is the number of threads.
    """
    among = set(records)
    leads = {edge.record for r in records for edge in r.inputs} & among
    fed = {edge.record for r in leads for edge in r.inputs}
    last = {r for r in among - leads if any(edge.record in fed for edge in r.inputs)}
    height = find_heights(records)
    few = [r for r in records if r not in last and r.ntasks <= FEW * slots]
    longest = iter(sorted(few, key=height.__getitem__, reverse=True))
    chosen = set(few)
    order = [next(longest) if r in chosen else r for r in records if r not in last] + [r for r in records if r in last]
    for place, r in zip(records, order, strict=True):
        r.leading, r.few = -place.number, r in chosen


def find_heights(records: Sequence[StageRecord]) -> dict[StageRecord, int]:
    """Return how many of some records, the latest first, are on the longest chain from each to the end.

    networkx would do it, but takes 25 times as long to be imported as the first computation takes, and each plan would
    take six times as long.
    """
    height = dict.fromkeys(records, 1)
    for r in records:
        for edge in r.inputs:
            if edge.record in height:
                height[edge.record] = max(height[edge.record], height[r] + 1)
    return height
