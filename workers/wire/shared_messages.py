"""What ranks ask about spaces, shared objects, and files that Windrow has added to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .protocol import RankMessage, Reply

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from ..shared.segment import SegmentName
    from ..sources.formats.successors import Version


@dataclass(frozen=True, slots=True)
class SpaceAnswer:
    """What the driver answers who gets or reads: the pickle, or where it lies; told when it has come, by its number."""

    number: int
    packed: bytes | SegmentName


class SpaceMessage(RankMessage[Reply]):
    """To the driver's `Spaces`; `batch` is what the asking thread computes."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class SpacePut(SpaceMessage[bool]):
    """Put an object, which names others that the space then keeps.

    What is large is a segment that the driver takes over; False: it can't, and is to be sent the segment's `content`.
    """

    token: bytes
    batch: int
    tag: Hashable
    packed: bytes | SegmentName
    named: Sequence[Any]
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class SpaceFind(SpaceMessage[SpaceAnswer | None]):
    """Give the oldest object under a tag when there is one, or None at once: `now`; `take` it out, or leave it."""

    token: bytes
    batch: int
    ticket: bytes
    tag: Hashable
    take: bool
    now: bool


@dataclass(frozen=True, slots=True)
class SpaceWithdraw(SpaceMessage[None]):
    """End a wait that has lasted long enough; who was given something meanwhile has it."""

    token: bytes
    ticket: bytes


@dataclass(frozen=True, slots=True)
class SpaceBack(SpaceMessage[None]):
    """End a wait that was interrupted; what was given goes back."""

    token: bytes
    ticket: bytes


@dataclass(frozen=True, slots=True)
class SpaceCame(SpaceMessage[None]):
    """What was given has come."""

    number: int
    batch: int


@dataclass(frozen=True, slots=True)
class SpaceTags(SpaceMessage[dict[Any, int]]):
    """Say how many objects there are under each tag."""

    token: bytes


@dataclass(frozen=True, slots=True)
class CopyShared(RankMessage["SegmentName"]):
    """To a host's first living rank: name its copy of a shared object."""

    name: SegmentName


@dataclass(frozen=True, slots=True)
class FindSuccessor(RankMessage["Version | None"]):
    """To the driver: give the last version of a file, if its part is that of this version."""

    path: str
    version: Version
    part: str
