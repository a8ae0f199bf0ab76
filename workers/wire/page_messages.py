"""What ranks ask about shared arrays: the driver, holders of pages, and the keeper of a host's copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .protocol import Array, RankMessage, Reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..shared.pages.additions import Noted
    from ..shared.pages.mirrors import MirrorPages
    from ..shared.segment import SegmentName


class PageMessage(RankMessage[Reply]):
    """To a rank's `PageService`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class AddNoted(PageMessage[bool]):
    """To the driver: a block has added this, or what a segment has; False: that can't be mapped."""

    key: str
    block: int
    attempt: int
    noted: Noted | SegmentName


@dataclass(frozen=True, slots=True)
class LocatePages(PageMessage[list[int]]):
    """To the driver: which ranks are to be asked for these pages, which this one has from now on?"""

    numbers: Sequence[int]


@dataclass(frozen=True, slots=True)
class ReadPages(PageMessage[Array]):
    """To a holder: give these pages of one array, one after the other."""

    wanted: Sequence[MirrorPages]


@dataclass(frozen=True, slots=True)
class OpenMirrors(PageMessage["list[tuple[SegmentName, SegmentName]]"]):
    """To the keeper: name its copies of these files of the driver's, and the files that say what is in them."""

    page: int
    files: Sequence[SegmentName]


@dataclass(frozen=True, slots=True)
class EnsurePages(PageMessage[None]):
    """To the keeper: answer when these pages are in its copies."""

    wanted: Sequence[MirrorPages]


@dataclass(frozen=True, slots=True)
class DropMirror(PageMessage[None]):
    """From the driver: one of its files is gone."""

    token: bytes


@dataclass(frozen=True, slots=True)
class FreePages(PageMessage[None]):
    """From the driver: no version has these pages of a file."""

    token: bytes
    slots: Array
