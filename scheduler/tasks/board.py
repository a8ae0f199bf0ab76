"""The rules of tasks: which may run, on which rank, and what comes of a rank's death. No I/O: events in, orders out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from .record import NOBODY, CallState, TaskRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .record import PlacedArgument

AHEAD = 0.004
"""Seconds of work that a rank is given beyond what its cores are at."""
MOST_AHEAD = 256
UNKNOWN = 1
"""How many are sent ahead of a function of which nobody knows how long it takes."""
LONG = 0.002
"""Seconds from which on a task may run on rank 0 beside the script, where other ranks are busy."""
PATIENCE = 64
"""How many smaller tasks may go before one that needs more cores than are free."""
STALE = 0.05
"""Seconds without an end after which a rank gives back what waits there, to one that idles."""
ENOUGH = 3
"""So many ranks, or two where there are no more than three, may die of a task."""


@dataclass(slots=True)
class RankCores:
    """A rank: its cores, and what it is at."""

    cores: int
    memory: int
    alive: bool = True
    used: int = 0
    bytes: int = 0
    moved: float = 0.0
    at: dict[int, TaskRecord] = field(default_factory=lambda: {})


class Board:
    """Which tasks there are, and where they run; see the module's docstring.

    `find_holder` returns of an argument that lies with ranks the rank, and how many bytes.
    """

    def __init__(
        self,
        cores: Sequence[int],
        memory: Sequence[int],
        find_holder: Callable[[PlacedArgument], tuple[int, int]],
    ) -> None:
        self._find_holder = find_holder
        self.sites = [RankCores(c, m) for c, m in zip(cores, memory, strict=True)]
        self.records: dict[int, TaskRecord] = {}
        self.seconds: dict[str, float] = {}
        """How long calls of a function have taken lately; it has ended well once where it is here."""
        self.freed: list[TaskRecord] = []
        """Whose results nobody wants any more, to be dropped where they are."""
        self.hopeless: list[TaskRecord] = []
        """What no rank is left for that may run it."""
        self.orphans: list[TaskRecord] = []
        """What was submitted by a task that ended without a result, and nobody else takes: to be cancelled."""
        self._ready: list[tuple[float, int, int, TaskRecord]] = []
        self._ready_here: list[tuple[float, int, int, TaskRecord]] = []
        self._passed = 0
        self._orders = count()

    # ---------------------------------------------------------------- tasks come

    def add(self, record: TaskRecord, parent: TaskRecord | None = None) -> None:
        """Enter a task, whose needs are entered already; `parent` is the one that submits it, and runs."""
        record.enter_below(parent)
        self._await_needs(record)

    def _await_needs(self, record: TaskRecord) -> None:
        """Have a task wait for what it takes; what was dropped of that is made again."""
        pending = [record]
        while pending:
            each = pending.pop()
            self.records[each.number] = each
            each.state, each.missing = CallState.WAITING, 0
            for need in each.needs:
                need.note_waiting(each)
                if need.state is CallState.DROPPED:
                    pending.append(need)
                    need.state = CallState.WAITING
                each.missing += not need.there
            if not each.missing:
                self._make_ready(each)

    def _make_ready(self, record: TaskRecord) -> None:
        record.state = CallState.READY
        heap = self._ready_here if record.demand.here else self._ready
        # The deepest of nested tasks go first, so that few have begun at a time and wait.
        heappush(heap, (-record.priority, -record.depth, record.number, record))

    # ---------------------------------------------------------------- tasks go out

    def assign(self) -> Iterator[tuple[int, TaskRecord]]:
        """Give out what may run: (rank, task), as long as ranks have room."""
        here, site = self._ready_here, self.sites[0]
        while here and site.used < site.cores:
            record = heappop(here)[3]
            if record.state is CallState.READY:
                self._send(record, 0)
                yield 0, record
        kept: list[tuple[float, int, int, TaskRecord]] = []
        while self._ready:
            item = heappop(self._ready)
            record = item[3]
            if record.state is not CallState.READY:  # cancelled meanwhile
                continue
            rank = self._choose(record)
            if rank is None and self._is_hopeless(record):
                self.hopeless.append(record)
                continue
            if rank is None:
                kept.append(item)
                self._passed += 1
                if record.demand.cores == 1 or self._passed > PATIENCE or len(kept) > PATIENCE:
                    break
                continue
            self._passed = 0 if not kept else self._passed
            self._send(record, rank)
            yield rank, record
        for item in kept:
            heappush(self._ready, item)

    def _send(self, record: TaskRecord, rank: int) -> None:
        site = self.sites[rank]
        record.state, record.rank, record.run, record.order = CallState.SENT, rank, record.run + 1, next(self._orders)
        site.used += record.demand.cores
        site.bytes += record.demand.memory
        site.at[record.number] = record

    def _choose(self, record: TaskRecord) -> int | None:
        """Return the rank for a task: one that has what it takes, else one that idles; None while none has room."""
        demand, likely = record.demand, self.seconds.get(record.same)
        free = [
            rank
            for rank, site in enumerate(self.sites)
            if site.alive and site.used + demand.cores <= site.cores and site.bytes + demand.memory <= site.memory
        ]
        others = [rank for rank in free if rank]
        if not others and 0 in free and not self._may_run_here(record, likely):
            free = []
        chosen = others or free
        if chosen:
            nearby = self._weigh(record) if len(chosen) > 1 else {}
            return max(chosen, key=lambda rank: (nearby.get(rank, 0), -self.sites[rank].used, -rank))
        if demand.cores > 1 or demand.memory or record.suspect:
            return None
        depth = UNKNOWN if likely is None else min(MOST_AHEAD, int(AHEAD / max(likely, 1e-6)))
        room = [
            rank
            for rank, site in enumerate(self.sites)
            if site.alive and site.used < site.cores + depth and (rank or self._may_queue_here(record, likely))
        ]
        return min(room, key=lambda rank: self.sites[rank].used - self.sites[rank].cores) if room else None

    def _no_other(self, record: TaskRecord) -> bool:
        """Tell whether no rank but the driver's is large enough for a task."""
        return not any(_fits(site, record) for site in self.sites[1:])

    def _is_hopeless(self, record: TaskRecord) -> bool:
        if not self._no_other(record):
            return False
        return not _fits(self.sites[0], record) or not self._may_run_here(record, self.seconds.get(record.same))

    def _may_queue_here(self, record: TaskRecord, likely: float | None) -> bool:
        return self._no_other(record) and self._may_run_here(record, likely)

    def _may_run_here(self, record: TaskRecord, likely: float | None) -> bool:
        """Tell whether rank 0 takes a task: when it is alone, or with long ones of a function that ended well."""
        if self._no_other(record):
            return record.suspect < 2 and (not record.killed or likely is not None)
        return likely is not None and likely >= LONG

    def _weigh(self, record: TaskRecord) -> dict[int, int]:
        """Return how many bytes of what a task takes ranks have."""
        nearby: Counter[int] = Counter()
        for _, argument in record.arrays:
            rank, nbytes = self._find_holder(argument)
            nearby[rank] += nbytes
        for need in record.needs:
            nearby.update(dict.fromkeys(need.holders, need.nbytes + 1))
        return nearby

    def hold_back(self, record: TaskRecord) -> None:
        """Have a task wait until `resume`, beside what it takes."""
        self.leave(record)
        self._await_needs(record)
        record.state, record.missing = CallState.WAITING, record.missing + 1

    def resume(self, record: TaskRecord) -> None:
        """Go on with a task that was held back."""
        if record.state is CallState.WAITING:
            record.missing -= 1
            if not record.missing:
                self._make_ready(record)

    def find_stuck(self, now: float) -> dict[int, list[int]]:
        """Return what waits behind other tasks on a rank that moves slowly, while another one idles."""
        if self._ready or not any(s.alive and s.used < s.cores for s in self.sites[1:] or self.sites):
            return {}
        stuck_by_rank: dict[int, list[int]] = {}
        for rank, site in enumerate(self.sites):
            if site.used <= site.cores or now - site.moved < STALE:
                continue
            ahead = _in_order(site)[site.cores :]
            stuck = [r for r in ahead if r.recalled != r.run]
            for record in stuck:
                record.recalled = record.run
            if stuck:
                stuck_by_rank[rank] = [record.number for record in stuck]
        return stuck_by_rank

    # ---------------------------------------------------------------- tasks wait for tasks

    def pause(self, record: TaskRecord) -> None:
        """Note that a task waits for others: what it needs of its rank is free for these."""
        if not record.paused:
            self._vacate(record)
            record.paused = True

    def go_on(self, record: TaskRecord) -> None:
        """Note that a task waits no more; it goes on at once, beside what its rank has begun meanwhile."""
        if record.paused:
            record.paused = False
            site = self.sites[record.rank]
            site.used += record.demand.cores
            site.bytes += record.demand.memory

    def _vacate(self, record: TaskRecord) -> None:
        site = self.sites[record.rank]
        site.used -= record.demand.cores
        site.bytes -= record.demand.memory

    def _abandon_inner(self, record: TaskRecord) -> None:
        """Give up what a task has submitted that is to be run again, or never; but what others take goes on."""
        inner, record.inner = record.inner, NOBODY
        alone: set[TaskRecord] = set()
        for each in sorted(inner, key=lambda each: each.number, reverse=True):  # who takes a result comes later
            each.parent = None
            if each.waiting <= alone:
                alone.add(each)
                self.orphans.append(each)

    # ---------------------------------------------------------------- tasks end

    def leave(self, record: TaskRecord) -> None:
        """Take a task from its rank."""
        if self.sites[record.rank].at.pop(record.number, None) is not None and not record.paused:
            self._vacate(record)
        record.paused = False

    def find(self, number: int, run: int) -> TaskRecord | None:
        """Return a task that a rank tells of; None when that run doesn't count any more."""
        record = self.records.get(number)
        return record if record is not None and record.state is CallState.SENT and record.run == run else None

    def done(self, record: TaskRecord, value: bytes | None, nbytes: int, seconds: float) -> None:
        """Note that a task's result is there: with the driver, or on its rank."""
        self.leave(record)
        before = self.seconds.get(record.same)
        self.seconds[record.same] = seconds if before is None else 0.8 * before + 0.2 * seconds
        record.killed = frozenset()
        record.value, record.nbytes = value, nbytes
        record.holders = frozenset() if value is not None else frozenset((record.rank,))
        for need in record.needs:
            if need.value is None:
                need.holders |= {record.rank}
        self.settle(record)
        if value is not None:  # it can't be lost, so it never runs again
            record.forget_call()

    def settle(self, record: TaskRecord) -> None:
        """Note that a result is there."""
        record.state = CallState.DONE
        record.leave_parent()
        for each in record.inner:
            each.parent = None
        record.inner = NOBODY
        for need in record.needs:
            need.note_through(record)
            self._drop_unwanted(need)
        for other in list(record.waiting):
            if other.state is CallState.WAITING:
                other.missing -= 1
                if not other.missing:
                    self._make_ready(other)
        self._drop_unwanted(record)

    def again(self, record: TaskRecord) -> None:
        """Have a task run again: it was taken back, an argument was gone, it may fail more often."""
        self.leave(record)
        self._abandon_inner(record)
        self._await_needs(record)

    def fail(self, record: TaskRecord, error: BaseException, state: CallState = CallState.FAILED) -> list[TaskRecord]:
        """End a task, and all that take its result; return them."""
        ended: list[TaskRecord] = []
        pending = [record]
        while pending:
            each = pending.pop()
            if each.state in (CallState.FAILED, CallState.CANCELLED):
                continue
            if each.state is CallState.SENT:
                self.leave(each)
            each.state, each.error = state, error
            each.leave_parent()
            self._abandon_inner(each)
            ended.append(each)
            pending += [other for other in each.waiting if other.state is not CallState.DONE]
            for need in each.needs:
                need.note_through(each)
                self._drop_unwanted(need)
            each.forget_call()
        for each in ended:  # an error's traceback may hold the user's futures: nothing here may hold the error
            self.records.pop(each.number, None)
        return ended

    def release(self, record: TaskRecord) -> None:
        """Note that no future of a task lives."""
        record.wanted = False
        self._drop_unwanted(record)

    def _drop_unwanted(self, record: TaskRecord) -> None:
        """Forget a result that nobody wants; a task that is still to run runs, as the user said."""
        if (
            record.wanted
            or record.waiting
            or record.state not in (CallState.DONE, CallState.FAILED, CallState.CANCELLED)
        ):
            return
        self.records.pop(record.number, None)
        if record.state is CallState.DONE and not record.placed and record.value is None:
            record.state = CallState.DROPPED
            self.freed.append(record)

    # ---------------------------------------------------------------- ranks go

    def lose(self, rank: int) -> list[TaskRecord]:
        """Take a rank out: what it was at runs elsewhere, what it had is made again. Return what killed too many."""
        site = self.sites[rank]
        site.alive = False
        paused, others = [r for r in site.at.values() if r.paused], _in_order(site)
        at = paused + others
        for record in at:  # those that wait may have begun too: run again, none waits behind another
            record.suspect += 1
        for record in paused + others[: site.cores]:  # what can have begun; a call is to blame for what it submits, too
            record.killed |= {rank}
        few = len(self.sites) <= ENOUGH
        most = 2 if few else ENOUGH
        deadly = [r for r in at if len(r.killed) >= most or self._is_hopeless(r)]
        for record in at:
            if record not in deadly:
                self.again(record)
        self._make_again(rank)
        return deadly

    def _make_again(self, rank: int) -> None:
        """Have results made again that were on a lost rank alone, and are wanted."""
        lost: list[TaskRecord] = []
        for record in list(self.records.values()):
            if rank in record.holders:
                record.holders -= {rank}
                if record.there and not record.holders and record.value is None:
                    lost.append(record)
        for record in lost:
            for other in record.waiting:
                if other.state is CallState.READY:
                    other.state, other.missing = CallState.WAITING, 0
                if other.state is CallState.WAITING:
                    other.missing += 1
            self._await_needs(record)


def _in_order(site: RankCores) -> list[TaskRecord]:
    """Return what a rank was given and what doesn't wait for other tasks, in that order."""
    return sorted((record for record in site.at.values() if not record.paused), key=lambda record: record.order)


def _fits(site: RankCores, record: TaskRecord) -> bool:
    return site.alive and record.demand.cores <= site.cores and record.demand.memory <= site.memory
