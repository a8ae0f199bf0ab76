"""What ranks ask about arrays that all of them read and write: owners of parts, and the driver, which keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .protocol import Array, RankMessage, Reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..shared.one_sided.local_parts import ArraySpec, PartLayout
    from ..shared.segment import SegmentName


class OneSidedMessage(RankMessage[Reply]):
    """To a rank's `ArraySite`."""

    __slots__ = ()


class CoordinatorMessage(RankMessage[Reply]):
    """To the driver's `Coordinator`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ArrayMessage(OneSidedMessage[Reply]):
    """About one array, named by its token. `number` is that of the death since which its memory counts."""

    token: bytes


@dataclass(frozen=True, slots=True)
class ApplyBatch(ArrayMessage[Array | None]):
    """Apply an operation to the rank's elements at these places of the array."""

    number: int
    operation: str
    places: Array
    values: Array
    others: Array


@dataclass(frozen=True, slots=True)
class ReadPart(ArrayMessage[Array]):
    """Give elements of the rank's part."""

    number: int
    part: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class WritePart(ArrayMessage[None]):
    """Write elements of the rank's part."""

    number: int
    part: int
    begin: int
    values: Array


@dataclass(frozen=True, slots=True)
class PutKept(ArrayMessage[None], CoordinatorMessage[None]):
    """Keep these elements, as `sync` number `kept` does."""

    kept: int
    begin: int
    values: Array


@dataclass(frozen=True, slots=True)
class TakeKept(ArrayMessage[Array], CoordinatorMessage[Array]):
    """Give elements that `sync` number `kept` has kept."""

    kept: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class SyncArrays(CoordinatorMessage[None]):
    """Keep arrays as they are; with `began` in a rank program that began after that death."""

    tokens: Sequence[bytes]
    began: int | None


@dataclass(frozen=True, slots=True)
class ReduceCopies(ArrayMessage[None], CoordinatorMessage[None]):
    """Make all copies of an array one, by `collective_reduce.fold`."""

    operation: str | int


@dataclass(frozen=True, slots=True)
class MakePart(OneSidedMessage["SegmentName"]):
    """From the driver: make the own part, of what `sync` number `kept` has kept, in `place` unless it is kept here."""

    spec: ArraySpec
    layout: PartLayout
    kept: int
    place: SegmentName | None


@dataclass(frozen=True, slots=True)
class MapParts(ArrayMessage[None]):
    """From the driver: map the parts of this host, and have the array be these from now on."""

    layout: PartLayout
    places: Sequence[SegmentName]


@dataclass(frozen=True, slots=True)
class KeepPart(ArrayMessage[None]):
    """From the driver: keep the own part as `sync` number `kept`, in `place` or here, and forget those but `before`."""

    number: int
    kept: int
    before: int
    place: SegmentName | None


@dataclass(frozen=True, slots=True)
class ReduceShare(ArrayMessage[None]):
    """From the driver: do one of several shares of a `ReduceCopies`."""

    number: int
    operation: str | int
    share: int
    shares: int


@dataclass(frozen=True, slots=True)
class DropArray(ArrayMessage[None]):
    """From the driver: let go of an array; `why` is for who still uses it."""

    why: str = "nothing refers to it in the driver any more"


@dataclass(frozen=True, slots=True)
class EnterEpoch(OneSidedMessage[None]):
    """From the driver: a death; memory from before doesn't count any more."""

    number: int
