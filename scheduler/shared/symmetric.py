"""The driver's part in arrays that all ranks read and write: to make and keep them, to bring them back after deaths.

All of it is done by one thread, one thing after the other. What `sync` keeps lies in the driver's memory, where no
other rank's death takes it; copies, of which every rank has a whole one, are kept by each rank for itself.

After a death every array is made anew on the ranks that are left, from what was kept. Computations that used it and
aren't through fail, since what they have done is gone; but a rank program that began with what was kept runs again.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import contextlib
import logging
import os
import time
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...graph.errors import ClusterError, WaitTimeout
from ...workers.shared.one_sided.base import OneSided
from ...workers.shared.one_sided.local_parts import ArraySpec, LocalArray, PartLayout, Undone
from ...workers.shared.one_sided.replicated import Replicated
from ...workers.shared.one_sided.site import held
from ...workers.shared.segment import SharedSegment
from ...workers.shared.serial_thread import SerialThread
from ...workers.wire.one_sided_messages import (
    CoordinatorMessage,
    DropArray,
    EnterEpoch,
    KeepPart,
    MakePart,
    MapParts,
    PutKept,
    ReduceCopies,
    ReduceShare,
    SyncArrays,
    TakeKept,
)
from ...workers.wire.rpc import LOOK
from ..ledger.planning import find_dependents
from ..ledger.stage_record import ChunkState
from .handles import make_handle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ...graph.chunks.grid import Index
    from ...graph.lowering.stage import Stage
    from ...workers.shared.segment import SegmentName
    from ...workers.wire.protocol import RankMessage, Reply
    from ...workers.wire.rpc import PendingQuestion, Question, Sent
    from ..engine.engine import Engine
    from ..ledger.stage_record import StageRecord

log = logging.getLogger("windrow")
Array = np.ndarray[Any, Any]
Kind = TypeVar("Kind", bound=OneSided)
T = TypeVar("T")


@dataclass(eq=False)
class _Entry:
    """An array: what `sync` number `kept` has kept, and where; why it is not what it was, until the next `sync`."""

    spec: ArraySpec
    layout: PartLayout | None = None
    kept: int = 0
    parts: dict[int, SharedSegment] = field(default_factory=lambda: {})
    undone: str = ""

    @property
    def ranks(self) -> tuple[int, ...]:
        return () if self.layout is None else self.layout.ranks

    @property
    def number(self) -> int:
        """That of the death since which it lies as it does."""
        return -1 if self.layout is None else self.layout.number

    @property
    def place(self) -> SegmentName | None:
        """Where the driver keeps it."""
        return self.parts[self.kept].name if self.kept in self.parts else None


class Coordinator:
    """See the module's docstring."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.calls = engine.local.calls
        self.entries: dict[bytes, _Entry] = {}
        self.number = 0
        """That of the last death, as the ledger counts what has harmed gangs."""
        self._worker = SerialThread("windrow-arrays")
        engine.on_submit.append(note_use)
        self.calls.when_lost(self._on_lost)
        engine.on_gang_retry.append(self._on_retry)
        self.calls.serve(SyncArrays, lambda question: self._answer(question, self._sync))
        self.calls.serve(ReduceCopies, lambda question: self._answer(question, self._reduce))
        self.calls.serve(PutKept, self._put)
        self.calls.serve(TakeKept, self._give)

    # ---------------------------------------------------------------- the thread

    def work(self, what: Callable[[], T], done: Callable[[T | None, BaseException | None], None]) -> None:
        """Have the thread do something, and tell."""

        def attempt() -> None:
            try:
                result = what()
            except BaseException as error:
                done(None, error)
            else:
                done(result, None)

        self._worker.put(attempt)

    def do(self, what: Callable[[], T]) -> T:
        """Have the thread do something, and return what it found."""
        outcomes: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        value: T
        self.work(what, lambda value, error: outcomes.put((value, error)))
        while True:  # an interrupt that came just before a wait began is seen at the next
            with contextlib.suppress(Empty):
                value, error = outcomes.get(timeout=LOOK)
                break
        if error is not None:
            raise error
        return value

    def _ask_all(self, ranks: Sequence[int], messages: Iterable[RankMessage[Reply]], limit: float) -> list[Reply]:
        """Ask several ranks at once, and return their answers."""
        asked: list[PendingQuestion[Reply]] = []
        try:
            for rank, message in zip(ranks, messages, strict=False):
                asked.append(self.calls.begin(rank, message))
            return [pending.result(limit) for pending in asked]
        except WaitTimeout as error:
            raise ClusterError(str(error)) from None
        finally:
            for pending in asked:
                pending.drop()

    def _tell_all(self, message: RankMessage[None]) -> None:
        for rank, alive in enumerate(self.engine.ledger.alive):
            if alive:
                self.calls.tell(rank, message)

    def close(self) -> None:
        self.entries.clear()

    # ---------------------------------------------------------------- making and letting go

    def add(self, spec: ArraySpec) -> None:
        """Make an array on all ranks."""
        entry = self.entries[spec.token] = _Entry(spec)
        try:
            self._make(entry)
        except BaseException:
            self.drop(spec.token)
            raise

    def _make(self, entry: _Entry) -> None:
        """Make an array's memory, from what was kept of it; where a rank dies meanwhile, on the others."""
        spec = entry.spec
        while True:
            ranks = [rank for rank, alive in enumerate(self.engine.ledger.alive) if alive]
            layout = PartLayout.deal(spec, self.number, ranks)
            limit = 60 + spec.nbytes * (len(ranks) if spec.copies else 1) / 1e8
            try:
                places = self._ask_all(ranks, repeat(MakePart(spec, layout, entry.kept, entry.place)), limit)
                self._ask_all(ranks, repeat(MapParts(spec.token, layout, places)), 60)
            except ClusterError:
                if self.engine.over or not self._has_lost(layout):
                    raise
            else:
                entry.layout = layout
                if layout.number == self.number:
                    return

    def drop(self, token: bytes) -> None:
        """Let go of an array on all ranks."""
        if token in self.entries:
            with contextlib.suppress(ClusterError):  # closed
                self._tell_all(DropArray(token))
            del self.entries[token]  # now that ranks hear of it: who sees it counted no more finds it gone there, too

    # ---------------------------------------------------------------- what is done together

    def _answer(self, question: Question[Sent], act: Callable[[Sent], None]) -> None:
        """Have the thread do what is asked, and answer."""
        self.work(
            partial(act, question.message),
            lambda _, error: question.fail(error) if error is not None else question.reply(None),
        )

    def _sync(self, message: SyncArrays) -> None:
        entries = [self._entry(token) for token in message.tokens]
        if message.began is not None and message.began != self.number:
            raise Undone(f"{entries[0].spec.text} is back at what its last sync() has kept: a rank was lost")
        self._keep(entries, message.began is not None)

    def _reduce(self, message: ReduceCopies) -> None:
        entry = self._entry(message.token)
        count, number = len(entry.ranks), entry.number
        shares = [ReduceShare(message.token, number, message.operation, k, count) for k in range(count)]
        self._ask_all(entry.ranks, shares, 60 + entry.spec.nbytes * count / 1e8)

    def _entry(self, token: bytes) -> _Entry:
        entry = self.entries.get(token)
        if entry is None or entry.layout is None:
            raise ClusterError("an array that all ranks write is gone: nothing refers to it in the driver any more")
        return entry

    def _keep(self, entries: list[_Entry], within: bool) -> None:
        """Keep arrays as they are, all or none; `within` a rank program, which goes on.

        What isn't kept is as it was kept before.
        """
        undone = [entry.undone for entry in entries if entry.undone]
        if undone:
            for entry in entries:
                entry.undone, held(entry.spec.token).wrote = "", False
                self._make(entry)
            raise ClusterError(f"sync: {'; '.join(undone)}; what was written since then is gone, too")
        layouts = [entry.layout for entry in entries]
        mine = [held(entry.spec.token) for entry in entries]
        before = [each.wrote for each in mine]
        for each in mine:
            each.wrote = within
        try:
            for entry in entries:
                self._copy(entry)
        except BaseException as error:
            for entry in entries:
                entry.parts.pop(entry.kept + 1, None)
            if isinstance(error, ClusterError) and any(map(self._has_lost, layouts)):
                text = f"{entries[0].spec.text} is back at what the last one has kept: {error}"
                raise Undone(text) if within else ClusterError(f"sync: {text}") from error
            for each, wrote in zip(mine, before, strict=True):
                each.wrote = wrote
            raise
        for entry, each in zip(entries, mine, strict=True):  # on the thread that brings arrays back: all at once
            entry.parts.pop(entry.kept, None)
            entry.kept += 1
            each.clean |= within

    def _copy(self, entry: _Entry) -> None:
        """Copy an array aside, as what is kept next."""
        spec, kept, place = entry.spec, entry.kept + 1, None
        if not spec.copies:
            entry.parts[kept] = SharedSegment.create("symmetric", spec.nbytes)
            place = entry.parts[kept].name
        limit = 60 + spec.nbytes / 1e8
        self._ask_all(entry.ranks, repeat(KeepPart(spec.token, entry.number, kept, entry.kept, place)), limit)

    def _has_lost(self, layout: PartLayout | None) -> bool:
        """Tell whether a rank that has a part is lost; wait until the array counts as undone then."""
        assert layout is not None
        deadline = time.monotonic() + 10
        while any(self.calls.is_lost(rank) for rank in layout.ranks) and time.monotonic() < deadline:
            if layout.number != self.number:
                return True
            time.sleep(0.002)
        return layout.number != self.number

    def _put(self, question: Question[PutKept]) -> None:
        """Keep what a rank sends that can't write here itself."""
        message, begin = question.message, question.message.begin
        self._find_kept(message.token, message.kept)[begin : begin + len(message.values)] = message.values
        question.reply(None)

    def _give(self, question: Question[TakeKept]) -> None:
        message = question.message
        question.reply(self._find_kept(message.token, message.kept)[message.begin : message.end].copy())

    def _find_kept(self, token: bytes, kept: int) -> Array:
        entry = self.entries[token]
        return entry.parts[kept].memory.view(entry.spec.dtype)

    def count_bytes(self, rank: int) -> int:
        """Return how many bytes of arrays a rank has, and of what was kept of them."""
        total = 0
        for entry in list(self.entries.values()):
            if entry.layout is not None and rank in entry.ranks:
                begin, end = entry.layout.bounds(entry.spec, entry.layout.ranks.index(rank))
                kept = entry.spec.copies and entry.kept > 0
                total += (end - begin) * entry.spec.dtype.itemsize * (2 if kept else 1)
            if rank == 0:
                total += sum(part.name.nbytes for part in list(entry.parts.values()))
        return total

    # ---------------------------------------------------------------- deaths

    def _on_lost(self, ranks: tuple[int, ...]) -> None:
        """On the engine's thread: end what used arrays that are undone, and have these made anew."""
        if self.entries:
            self.engine.losses += self._take_back(f"rank {', '.join(map(str, ranks))} was lost")

    def _on_retry(self, record: StageRecord) -> None:
        """On the engine's thread: what a rank program has done that is to run again is undone."""
        if self.entries and used(record.stage):
            self._take_back(f"{record.stage.name} came to nothing and runs again")

    def _take_back(self, why: str) -> list[str]:
        """Have all arrays be as they were kept; return what is said of each."""
        ledger, gangs = self.engine.ledger, self.engine.ledger.gangs
        for run in gangs.runs:
            if not run.broken and used(run.record.stage):
                ledger.break_up(run)
        single = (batch for batch in ledger.batches.values() if batch.record.stage.gang is None)
        ledger.void.update(batch.number for batch in single if used(batch.record.stage))
        self.number = max(self.number + 1, gangs.epoch)
        gangs.epoch = self.number
        messages = [self._undo(entry, why) for entry in list(self.entries.values()) if entry.layout is not None]
        self._tell_all(EnterEpoch(self.number))
        self.calls.send()  # before ranks are given anything else to do
        self.work(partial(self._restore, self.number), lambda _, error: None)
        return messages

    def _undo(self, entry: _Entry, why: str) -> str:
        """Say that an array goes back, and end the computations that this spoils."""
        what = f"what sync() number {entry.kept} has kept" if entry.kept else "what it was filled with"
        text = f"{entry.spec.text} is back at {what}, since {why}"
        log.warning(text)
        mine = held(entry.spec.token)
        wrote, mine.wrote = mine.wrote, False  # before anybody hears of it, and writes again
        engine = self.engine
        spoilt: list[tuple[StageRecord, Index]] = []
        for record in list(engine.ledger.records.values()):
            if record.complete or not any(each._held is mine for each in used(record.stage)):
                continue
            tasks = np.flatnonzero(record.state != ChunkState.STORED)
            if record.stage.gang is not None and mine.clean:
                jobs = engine.jobs.find_affected(find_dependents(record, tasks))
                if any(job in engine.jobs for job in jobs):  # it is under way, and not made again for somebody else
                    mine.wrote = True
                    continue
            spoilt.append((record, tasks))
        if wrote and not mine.wrote:
            entry.undone = text
        for record, tasks in spoilt:
            engine.fail(record, tasks, ClusterError(text))
        return text

    def _restore(self, number: int) -> None:
        """Make all arrays anew, unless another death has asked for that again."""
        for entry in list(self.entries.values()):
            if number != self.number:
                return
            try:
                if entry.layout is not None and entry.layout.number != number:
                    self._make(entry)
            except BaseException as error:
                if not self.engine.over:
                    self._give_up(entry, error)

    def _give_up(self, entry: _Entry, error: BaseException) -> None:
        text = f"it could not be made again after a rank's loss: {type(error).__name__}: {error}"
        log.error("%s: %s", entry.spec.text, text)
        self._tell_all(DropArray(entry.spec.token, text))


def coordinator(engine: Engine) -> Coordinator:
    provided: Coordinator = engine.local.calls.provided(CoordinatorMessage)
    return provided


def make(
    engine: Engine, kind: type[Kind], shape: tuple[int, ...], dtype: np.dtype[Any], fill: object, text: str
) -> Kind:
    """Make an array, which is let go of when nothing refers to what is returned."""
    driver = engine.ask(coordinator)
    spec = ArraySpec(os.urandom(16), kind is Replicated, shape, dtype, fill, text)

    def add() -> Kind:
        driver.do(partial(driver.add, spec))
        return kind._of(spec.token)

    return make_handle(engine, add, partial(_drop, spec.token))


def _drop(token: bytes, engine: Engine) -> None:
    driver = coordinator(engine)
    driver.work(partial(driver.drop, token), lambda _, error: None)


def used(stage: Stage) -> list[OneSided]:
    """Return the arrays that a stage's functions name, each once."""
    payloads = [getattr(getattr(value, "op", None), "payload", None) for value in stage.program.values]
    named = [each for p in payloads if p is not None for each in p.used if isinstance(each, OneSided)]
    return list({id(each._held): each for each in named}.values())


def note_use(stages: Sequence[Stage]) -> None:
    """Note which arrays a computation may write."""
    for stage in stages:
        if stage.foreign:
            for each in used(stage):
                note(each._held, stage.gang is not None)


def note(mine: LocalArray, gang: bool) -> None:
    """Note that an array may be written; a rank program that finds it as it was kept can run again."""
    mine.clean = gang and not mine.wrote
    mine.wrote = True
