"""Messages from one member to another: which receive takes which message, and who copies the bytes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, BadValue
from .group import Waitable
from .payloads import Frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .buffers import BufferRegion, Bytes
    from .group import Group

EAGER = 65536
"""Bytes up to which a send doesn't wait for its receive: it leaves a copy, as MPI does."""


class Context:
    """What a communicator's members share: nothing of one is seen in another.

    Attributes
    ----------
    group
        The threads, which may be more than the communicator's members.
    members
        The position in the group of each rank.
    boxes
        The messages to each rank.
    meetings
        The collective calls that some have begun, by number.
    """

    def __init__(self, group: Group, members: Sequence[int], name: str) -> None:
        self.group = group
        self.members = tuple(members)
        self.name = name
        self.boxes = [MemberMailbox() for _ in members]
        self.meetings: dict[int, Any] = {}

    @property
    def label(self) -> str:
        """What messages add to a call that isn't on the first communicator."""
        return f" on {self.name}" if self.name else ""


class Sending(Waitable):
    """A message on its way; over when it was received or, if `copies`, when its owner waits for it."""

    __slots__ = ("call", "content", "context", "copies", "dest", "source", "tag", "turn")

    def __init__(
        self, context: Context, call: str, source: int, dest: int, tag: int, content: Bytes | Frozen, copies: bool
    ) -> None:
        super().__init__(context.members[source])
        self.context = context
        self.call = call
        self.source = source
        self.dest = dest
        self.tag = tag
        self.content = content
        self.copies = copies
        self.turn = 0

    def needs(self) -> Sequence[int]:
        return (self.context.members[self.dest],)

    def describe(self) -> str:
        return f"{self.call}(dest={self.dest}, tag={self.tag}){self.context.label}"

    def start(self) -> None:
        """Give the message to the receive that waits for it, or leave it in the box."""
        group = self.context.group
        with group.lock:
            group.check()
            receiving = self.context.boxes[self.dest].offer(self, group)
            if receiving is None:
                return
            receiving.busy = True
        receiving.deliver(self)
        with group.lock:
            self.done = True
            group.complete(receiving)

    def settle(self) -> None:
        """Leave a copy where nobody has taken the message yet, so that the owner needn't wait."""
        if self.copies and not self.done:
            with self.context.group.lock:
                if not self.busy and not self.done:
                    if not isinstance(self.content, Frozen):
                        self.content = self.content.copy()
                    self.done = True

    @property
    def nbytes(self) -> int:
        """The message's size."""
        return self.content.nbytes


@dataclass(frozen=True, slots=True)
class ReceiveFilter:
    """Which messages a receive takes; None for any."""

    source: int | None
    tag: int | None

    def takes(self, message: Sending) -> bool:
        """Tell whether it takes a message."""
        return (self.source is None or self.source == message.source) and (self.tag is None or self.tag == message.tag)


class Receiving(Waitable):
    """A receive, or a look at what could be received.

    Attributes
    ----------
    region
        Where bytes go; None for an object, which `value` is then.
    message
        What was taken or seen.
    """

    __slots__ = ("call", "context", "message", "rank", "region", "value", "wanted")

    def __init__(
        self, context: Context, call: str, rank: int, wanted: ReceiveFilter, region: BufferRegion | None = None
    ) -> None:
        super().__init__(context.members[rank])
        self.context = context
        self.call = call
        self.rank = rank
        self.wanted = wanted
        self.region = region
        self.message: Sending | None = None
        self.value: Any = None

    @property
    def any_will_do(self) -> bool:  # type: ignore[override]
        """Whether it takes messages of all."""
        return self.wanted.source is None

    def needs(self) -> Sequence[int]:
        members = self.context.members
        if self.wanted.source is None:
            return [x for x in members if x != self.owner]
        return (members[self.wanted.source],)

    def describe(self) -> str:
        words = [f"{x}={getattr(self.wanted, x)}" for x in ("source", "tag") if getattr(self.wanted, x) is not None]
        return f"{self.call}({', '.join(words)}){self.context.label}"

    def start(self) -> None:
        """Take the first message that fits, or wait in the box for one."""
        group, box = self.context.group, self.context.boxes[self.rank]
        with group.lock:
            group.check()
            message = box.find(self.wanted, take=True)
            if message is None:
                box.posted.append(self)
                return
            message.busy = self.busy = True
        self.deliver(message)
        self.done = True
        if not message.done:
            with group.lock:
                group.complete(message)

    def look(self) -> None:
        """See the first message that fits, or wait for one."""
        group, box = self.context.group, self.context.boxes[self.rank]
        with group.lock:
            group.check()
            self.message = box.find(self.wanted, take=False)
            if self.message is None:
                box.looking.append(self)
            else:
                self.done = True

    def withdraw(self) -> bool:
        """Take the receive back where no message has come; return whether it was."""
        with self.context.group.lock:
            posted = self.context.boxes[self.rank].posted
            if self not in posted:
                return False
            posted.remove(self)
            self.done = True
            return True

    def deliver(self, message: Sending) -> None:
        """Bring a message's content to its place. The lock is not held; errors are the receiver's."""
        self.message = message
        content = message.content
        try:
            if self.region is None:
                if not isinstance(content, Frozen):
                    raise ArgumentError(f"{self.describe()}: a buffer has come; expected an object sent in lower case")
                self.value = content
            elif isinstance(content, Frozen):
                raise ArgumentError(f"{self.describe()}: an object has come, sent in lower case; expected a buffer")
            else:
                copy_bytes(self.describe, content, self.region.flat)
        except (ArgumentError, BadValue) as error:
            self.error = error


class MemberMailbox:
    """The messages that have come to one rank of a communicator, and what it waits for. Used with the lock held."""

    __slots__ = ("_arrived", "_turn", "looking", "posted")

    def __init__(self) -> None:
        self.posted: list[Receiving] = []
        self.looking: list[Receiving] = []
        self._arrived: dict[int, deque[Sending]] = {}
        self._turn = 0

    def offer(self, message: Sending, group: Group) -> Receiving | None:
        """Return the first receive that takes a message; else keep the message, and show it to who looks for it."""
        for i, receiving in enumerate(self.posted):
            if receiving.wanted.takes(message):
                del self.posted[i]
                return receiving
        self._turn += 1
        message.turn = self._turn
        self._arrived.setdefault(message.source, deque()).append(message)
        for looking in [x for x in self.looking if x.wanted.takes(message)]:
            self.looking.remove(looking)
            looking.message = message
            group.complete(looking)
        return None

    def find(self, wanted: ReceiveFilter, take: bool) -> Sending | None:
        """Return the message that came first of those wanted, and remove it with `take`."""
        sources = self._arrived if wanted.source is None else (wanted.source,)
        firsts = []
        for source in sources:
            for place, message in enumerate(self._arrived.get(source, ())):
                if wanted.takes(message):
                    firsts.append((message.turn, place, message))
                    break
        if not firsts:
            return None
        _, place, message = min(firsts, key=lambda x: x[0])
        if take:
            del self._arrived[message.source][place]
        return message


def copy_bytes(describe: Any, source: Bytes, target: Bytes) -> None:
    """Copy a message to the begin of where it was asked to go."""
    if len(source) > len(target):
        raise BadValue(
            f"{describe()}: a message of {len(source)} bytes; expected no more than the buffer's {len(target)} bytes"
        )
    np.copyto(target[: len(source)], source)
