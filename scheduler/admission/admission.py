"""How far tasks may run ahead of the order in which one thread would compute them, so that memory has a bound.

The task at the head of the order may always run: what lives of those before it is what one thread would hold then, or
less. Others may run as long as what lies in arenas of tasks behind the head, with theirs, is no more than `allowance`.
So never more lives than the order's peak and the allowance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .sequence import SequenceStep, best_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...graph.chunks.grid import Index
    from ..ledger.stage_record import StageRecord
    from .sequence import Order

PLENTY = 3 << 26
"""Bytes up to which it doesn't matter in which order they are used, and that tasks may always run ahead."""


class Admission:
    """Counts what runs ahead in one order.

    Tasks behind the head may hold `allowance` bytes. `number` is that of the last stage; a later one goes first.
    """

    def __init__(self, order: Order, allowance: int, number: int) -> None:
        count = len(order.sizes)
        self.allowance, self.number = allowance, number
        self.ahead = self.head = 0
        self._sizes = order.sizes
        self._brief = order.ends <= np.arange(count)
        """What nobody reads but the user, who takes his time: it counts until it is freed."""
        self._ended = np.zeros(count, bool)
        self._counted = np.zeros(count, bool)

    @property
    def over(self) -> bool:
        """Whether all tasks have been."""
        return self.head == len(self._ended)

    def admit(self, places: Index) -> int:
        """Return how many of some tasks, the first ones, may run now."""
        if not len(places):
            return 0
        sizes = np.where(places <= self.head, 0, self._sizes[places])
        head = self._sizes[self.head] if not self.over and self._counted[self.head] else 0
        return int(np.searchsorted(np.cumsum(sizes), max(0, self.allowance - self.ahead + head), "right"))

    def begin(self, places: Index) -> None:
        """Note that tasks are given out."""
        self._counted[places] = True
        self.ahead += int(self._sizes[places].sum())

    def free(self, places: Index) -> None:
        """Note that what tasks made, or were to make, lies in an arena no longer."""
        mine = places[self._counted[places]]
        self._counted[mine] = False
        self.ahead -= int(self._sizes[mine].sum())

    def end(self, places: Index) -> None:
        """Note that tasks are stored, or aren't to run any more."""
        self._ended[places] = True
        self.free(places[(places < self.head) & ~self._brief[places]])
        while self.head < len(self._ended) and self._ended[self.head]:
            if self._counted[self.head] and not self._brief[self.head]:
                self.free(np.array([self.head]))
            self.head += 1


def find_allowance(order: Order, room: int, slots: int, ranks: int) -> int:
    """Return how many bytes tasks behind the head of an order may hold.

    Each thread has a slab that it makes and one that it is given ahead, and each rank goes through a part of the order
    of its own. Where there is no room for it, memory goes before speed; where the order itself has none, what lies
    longest goes to disk in any case.
    """
    each = slots * int(order.sizes.max(initial=0))
    wanted = min(PLENTY, room // 16) + 2 * each + (ranks - 1) * order.peak
    most = room - room // 8 - order.peak  # arenas have gaps
    return min(wanted, most) if most >= 0 else each


def arrange(fresh: Mapping[StageRecord, Index], room: int, slots: int, ranks: int) -> None:
    """Put tasks that are planned together in order, where what they make matters to memory."""
    sizes = sum(int(record.bytes[tasks].sum()) for record, tasks in fresh.items() if record.admission is None)
    if sizes <= min(PLENTY, room // 2):
        return
    records = sorted((r for r in fresh if r.admission is None or r.admission.over), key=lambda r: r.number)
    numbers = {record: number for number, record in enumerate(records)}
    steps: list[SequenceStep] = []
    for record in records:
        wanted = np.zeros(record.ntasks, bool)
        wanted[fresh[record]] = True
        inputs = tuple((numbers[e.record], e.reads) for e in record.inputs if e.record in numbers)
        steps.append(
            SequenceStep(record.bytes, inputs, record.kept or bool(record.gathers_owed and record.users), wanted)
        )
    if not any(step.inputs for step in steps):
        return
    order = best_order(steps)
    admission = Admission(order, find_allowance(order, room, slots, ranks), records[-1].number)
    for record, places in zip(records, order.places, strict=True):
        record.admission, record.places = admission, places
