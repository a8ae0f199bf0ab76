"""Spaces: objects under tags, kept by the driver, got by one or read by many, by functions on ranks and the driver.

What a batch puts and gets is noted until it ends. Comes it to nothing, since its rank dies, say, or a member of its
gang, that is undone: what it got is put back in its place, what it put is taken back where nobody has got it. So a
function that runs again finds what it found the first time.

All of it runs on the engine's thread.
"""

from __future__ import annotations

import itertools
import os
from bisect import insort
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...graph.errors import ClusterError
from ...workers.shared.segment import SegmentName, SharedSegment
from ...workers.shared.space import Space
from ...workers.wire.shared_messages import (
    SpaceAnswer,
    SpaceBack,
    SpaceCame,
    SpaceFind,
    SpaceMessage,
    SpacePut,
    SpaceTags,
    SpaceWithdraw,
)
from .handles import make_handle

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from ...workers.wire.rpc import Question
    from ..engine.engine import Engine
    from ..session.session import Session


class _Item:
    """An object: its pickle, or the segment that holds it. They are in the order in which they were put."""

    def __init__(self, number: int, content: bytes | SharedSegment) -> None:
        self.number, self._content, self.withdrawn = number, content, False

    @property
    def packed(self) -> bytes | SegmentName:
        """What is answered to who gets or reads it."""
        return self._content.name if isinstance(self._content, SharedSegment) else self._content

    @property
    def nbytes(self) -> int:
        return self._content.name.nbytes if isinstance(self._content, SharedSegment) else len(self._content)

    def __lt__(self, other: _Item) -> bool:
        return self.number < other.number


@dataclass(eq=False)
class _Loan:
    """An item that was given to somebody who may not have mapped it yet, or whose batch may come to nothing."""

    store: _Store
    item: _Item
    question: Question[SpaceFind]


@dataclass(eq=False)
class _Store:
    items: dict[Hashable, list[_Item]] = field(default_factory=lambda: {})
    waiting: list[Question[SpaceFind]] = field(default_factory=lambda: [])
    named: list[Any] = field(default_factory=lambda: [])
    """What objects name that were put here, such as shared ones: they are to be there as long as the space is."""

    def add(self, tag: Hashable, item: _Item) -> None:
        insort(self.items.setdefault(tag, []), item)

    def remove(self, tag: Hashable, item: _Item) -> bool:
        """Take an item out; tell whether it was there."""
        mine = self.items.get(tag, [])
        if item not in mine:
            return False
        mine.remove(item)
        if not mine:
            del self.items[tag]
        return True


class Spaces:
    """The spaces of a cluster."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._stores: dict[bytes, _Store] = {}
        self._put: dict[int, list[tuple[_Store, Hashable, _Item]]] = {}
        self._loans: dict[int, _Loan] = {}
        self._numbers = itertools.count(1)
        calls = engine.local.calls
        calls.serve(SpacePut, self._on_put)
        calls.serve(SpaceFind, self._on_find)
        calls.serve(SpaceWithdraw, self._on_withdraw)
        calls.serve(SpaceBack, self._on_back)
        calls.serve(SpaceCame, self._on_came)
        calls.serve(SpaceTags, self._on_tags)
        calls.when_lost(self._on_lost)
        engine.on_batch_end.append(self._settle)

    def make(self, token: bytes) -> None:
        self._stores[token] = _Store()

    def end(self, token: bytes) -> None:
        """Let go of a space, and tell those who wait there."""
        store = self._stores.pop(token, None)
        for question in store.waiting if store is not None else ():
            question.fail(ClusterError("get: the space is gone: the driver has let go of it"))

    def count_bytes(self) -> int:
        stores = list(self._stores.values())
        return sum(item.nbytes for store in stores for items in list(store.items.values()) for item in items)

    def close(self) -> None:
        for token in list(self._stores):
            self.end(token)

    def _settle(self, ended: Sequence[tuple[int, bool]]) -> None:
        """Note how batches have ended: what they put and got counts, or is undone."""
        if not (self._put or self._loans or any(each.waiting for each in self._stores.values())):
            return
        for batch, counts in ended:
            for store in self._stores.values():
                store.waiting = [each for each in store.waiting if each.message.batch != batch]
            for store, tag, item in self._put.pop(batch, ()):
                if not counts and not store.remove(tag, item):
                    item.withdrawn = True
            for number, loan in list(self._loans.items()):
                if loan.question.message.batch == batch:
                    self._end_loan(number, back=not counts)
        for store in self._stores.values():
            self._serve(store)

    def _find(self, token: bytes) -> _Store:
        store = self._stores.get(token)
        if store is None:
            raise ClusterError("the space is gone: the driver has let go of it, or it is another cluster's")
        return store

    # ---------------------------------------------------------------- questions

    def _on_put(self, question: Question[SpacePut]) -> None:
        message, packed = question.message, question.message.packed
        store = self._find(message.token)
        taken = _take_over(packed, message.content) if isinstance(packed, SegmentName) else packed
        if taken is None:
            question.reply(False)
            return
        item = _Item(next(self._numbers), taken)
        store.named += message.named
        store.add(message.tag, item)
        if self._runs(message.batch):
            self._put.setdefault(message.batch, []).append((store, message.tag, item))
        question.reply(True)
        self._serve(store)

    def _on_find(self, question: Question[SpaceFind]) -> None:
        store = self._find(question.message.token)
        if not self._give(store, question):
            if question.message.now:
                question.reply(None)
            else:
                store.waiting.append(question)

    def _on_withdraw(self, question: Question[SpaceWithdraw]) -> None:
        store, ticket = self._find(question.message.token), question.message.ticket
        for each in [each for each in store.waiting if each.message.ticket == ticket]:
            store.waiting.remove(each)
            each.reply(None)
        question.reply(None)

    def _on_back(self, question: Question[SpaceBack]) -> None:
        store, ticket = self._find(question.message.token), question.message.ticket
        store.waiting = [each for each in store.waiting if each.message.ticket != ticket]
        for number, loan in list(self._loans.items()):
            if loan.question.message.ticket == ticket:
                self._end_loan(number, back=True)
        self._serve(store)

    def _on_came(self, question: Question[SpaceCame]) -> None:
        number = question.message.number
        if number in self._loans and not self._runs(question.message.batch):
            self._end_loan(number, back=False)

    def _on_tags(self, question: Question[SpaceTags]) -> None:
        store = self._find(question.message.token)
        question.reply({tag: len(items) for tag, items in store.items.items()})

    def _on_lost(self, ranks: tuple[int, ...]) -> None:
        for store in self._stores.values():
            store.waiting = [each for each in store.waiting if each.rank not in ranks]
        for number, loan in list(self._loans.items()):
            if loan.question.rank in ranks and not self._runs(loan.question.message.batch):
                self._end_loan(number, back=True)
        for store in self._stores.values():
            self._serve(store)

    # ---------------------------------------------------------------- giving

    def _runs(self, batch: int) -> bool:
        return batch in self.engine.ledger.batches

    def _serve(self, store: _Store) -> None:
        store.waiting = [each for each in store.waiting if not self._give(store, each)]

    def _give(self, store: _Store, question: Question[SpaceFind]) -> bool:
        tag, take = question.message.tag, question.message.take
        items = store.items.get(tag)
        if not items:
            return False
        item = items[0]
        if take:
            store.remove(tag, item)
        number = next(self._numbers)
        self._loans[number] = _Loan(store, item, question)
        question.reply(SpaceAnswer(number, item.packed))
        return True

    def _end_loan(self, number: int, back: bool) -> None:
        loan = self._loans.pop(number)
        if back and loan.question.message.take and not loan.item.withdrawn:
            loan.store.add(loan.question.message.tag, loan.item)


def _take_over(name: SegmentName, content: bytes) -> SharedSegment | None:
    """Take over a segment of another process, or what it has sent of it; None where it can't be reached from here."""
    if content:
        segment = SharedSegment.create(name.kind, name.nbytes, name.token)
        segment.write(memoryview(content))
        return segment
    try:
        return SharedSegment.adopt(name)
    except OSError:
        return None


def spaces(engine: Engine) -> Spaces:
    provided: Spaces = engine.local.calls.provided(SpaceMessage)
    return provided


def make_space(session: Session) -> Space:
    """Return a new space of a cluster; it goes when nothing refers to it any more."""
    session.check_open()
    token = os.urandom(16)
    engine = session.engine

    def begin() -> Space:
        engine.ask(lambda engine: spaces(engine).make(token))
        return Space(token, engine.local.calls)

    return make_handle(engine, begin, lambda engine: spaces(engine).end(token))
