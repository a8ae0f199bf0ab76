"""Messages from one member to another: which receive takes which message, and who copies the bytes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from ....graph.errors import ArgumentError, BadValue
from ..payloads import Frozen
from .group import Waitable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .buffers import Bytes
    from .group import Group
    from .meetings import MemberPart

T = TypeVar("T")
EAGER = 65536
"""Bytes up to which a send doesn't wait for its receive: it leaves a copy, as MPI does."""


class Context:
    """What a communicator's members share: nothing of one is seen in another.

    The group may have more threads than these members, whose places in it are told. `boxes` has the messages to each
    rank, `meetings` the collective calls that some have begun, by number.
    """

    def __init__(self, group: Group, members: Sequence[int], name: str) -> None:
        self.group = group
        self.members = tuple(members)
        self.name = name
        self.boxes = [MemberMailbox() for _ in members]
        self.meetings: dict[int, list[MemberPart | None]] = {}

    @property
    def label(self) -> str:
        """What messages add to a call that isn't on the first communicator."""
        return f" on {self.name}" if self.name else ""


@dataclass(eq=False, repr=False, slots=True)
class Sending(Waitable):
    """A message on its way; over when it was received or, up to `EAGER` bytes, when its owner waits for it."""

    call: str
    dest: int
    tag: int
    content: Bytes | Frozen

    def needs(self) -> Sequence[int]:
        return (self.context.members[self.dest],)

    def describe(self) -> str:
        return f"{self.call}(dest={self.dest}, tag={self.tag}){self.context.label}"

    def start(self) -> None:
        """Give the message to the receive that waits for it, or leave it in the box."""
        group, box = self.context.group, self.context.boxes[self.dest]
        with group.lock:
            group.check()
            receiving = box.posted.pop((self.rank, None), lambda posted: posted.takes(self))
            if receiving is None:
                box.arrived.add(self.rank, self)
                return
            receiving.busy = True
        receiving.deliver(self)
        with group.lock:
            self.done = True
            group.complete(receiving)

    def settle(self) -> None:
        """Leave a copy where nobody has taken the message yet, so that the owner needn't wait."""
        if self.done or not (isinstance(self.content, Frozen) or self.content.nbytes <= EAGER):
            return
        with self.context.group.lock:
            if not self.busy and not self.done:
                if not isinstance(self.content, Frozen):
                    self.content = self.content.copy()
                self.done = True


@dataclass(eq=False, repr=False, slots=True)
class Receiving(Waitable):
    """A receive, of an object or into a target; `source` and `tag` of None are any."""

    call: str
    source: int | None
    tag: int | None
    target: Bytes | None
    message: Sending | None = field(default=None, init=False)

    @property
    def any_will_do(self) -> bool:  # type: ignore[override]
        """Whether it takes messages of all."""
        return self.source is None

    def needs(self) -> Sequence[int]:
        members = self.context.members
        if self.source is None:
            return [x for x in members if x != self.owner]
        return (members[self.source],)

    def describe(self) -> str:
        words = [f"{x}={getattr(self, x)}" for x in ("source", "tag") if getattr(self, x) is not None]
        return f"{self.call}({', '.join(words)}){self.context.label}"

    def takes(self, message: Sending) -> bool:
        """Tell whether a message is one of those wanted."""
        return self.source in (None, message.rank) and self.tag in (None, message.tag)

    def start(self) -> None:
        """Take the first message that fits, or wait in the box for one."""
        group, box = self.context.group, self.context.boxes[self.rank]
        with group.lock:
            group.check()
            message = box.arrived.pop(None if self.source is None else (self.source,), self.takes)
            if message is None:
                box.posted.add(self.source, self)
                return
            message.busy = self.busy = True
        self.deliver(message)
        self.done = True
        if not message.done:
            with group.lock:
                group.complete(message)

    def deliver(self, message: Sending) -> None:
        """Bring a message's content to its place. The lock is not held; errors are the receiver's."""
        self.message = message
        content = message.content
        try:
            if isinstance(content, Frozen):
                if self.target is not None:
                    raise ArgumentError(f"{self.describe()}: an object has come, sent in lower case; expected a buffer")
            elif self.target is None:
                raise ArgumentError(f"{self.describe()}: a buffer has come; expected an object sent in lower case")
            elif len(content) > len(self.target):
                raise BadValue(
                    f"{self.describe()}: a message of {len(content)} bytes; "
                    f"expected no more than the buffer's {len(self.target)} bytes"
                )
            else:
                np.copyto(self.target[: len(content)], content)
        except (ArgumentError, BadValue) as error:
            self.error = error


class WaitingByRank(Generic[T]):
    """What waits, by the rank it is from or wants (None: any), in the order in which it came; with the lock held.

    To take something looks at what those ranks have alone: a member may have thousands of messages from others.
    """

    __slots__ = ("_items", "_turns")

    def __init__(self) -> None:
        self._items: dict[int | None, deque[tuple[int, T]]] = {}
        self._turns = count()

    def add(self, rank: int | None, item: T) -> None:
        self._items.setdefault(rank, deque()).append((next(self._turns), item))

    def pop(self, ranks: Iterable[int | None] | None, fits: Callable[[T], bool]) -> T | None:
        """Return, and remove, the first item of some ranks, or of all, that fits."""
        first: tuple[int, int, deque[tuple[int, T]]] | None = None
        for rank in self._items if ranks is None else ranks:
            items = self._items.get(rank, deque())
            position = next((i for i, (_, item) in enumerate(items) if fits(item)), None)
            if position is not None and (first is None or items[position][0] < first[0]):
                first = items[position][0], position, items
        if first is None:
            return None
        _, position, items = first
        item = items[position][1]
        del items[position]
        return item


@dataclass(slots=True)
class MemberMailbox:
    """The receives of one rank of a communicator that wait, and the messages that have come."""

    posted: WaitingByRank[Receiving] = field(default_factory=WaitingByRank)
    arrived: WaitingByRank[Sending] = field(default_factory=WaitingByRank)
