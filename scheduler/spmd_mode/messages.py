"""What the other ranks' scripts ask of rank 0, and the word with which it lets them begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ...workers.wire.protocol import RankMessage
from ..session.chunk_locations import Columns
from .reports import Answer, RankReport

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..engine.engine import Engine

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class BeginScript(RankMessage[None]):
    """From rank 0: run the script; so large are the ranks' arenas, and so many threads has each."""

    arenas: tuple[int, ...]
    threads: int


@dataclass(frozen=True, slots=True)
class CallTogether(RankMessage[Answer]):
    """This rank has come to a collective call."""

    report: RankReport


@dataclass(frozen=True, slots=True)
class ResultRead(RankMessage[None]):
    """This rank has read the result of a collective call."""

    number: int


@dataclass(frozen=True, slots=True)
class AskEngine(RankMessage[Any]):
    """Call a function on the engine's thread."""

    function: Callable[[Engine], Any]


@dataclass(frozen=True, slots=True)
class ScriptEnded(RankMessage[None]):
    """This rank's script is over: its exit status, how it ended, and whether its traceback was shown."""

    status: int
    how: str
    shown: bool


class SlowMessage(RankMessage[tuple[Value | None, bytes]]):
    """Answered by a thread that may wait: a value, or a pickled error, so that the script's classes are its own."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class AwaitPersisted(SlowMessage[bool]):
    """Wait so many seconds until a persisted array is there; say whether it is."""

    token: str
    seconds: float | None


@dataclass(frozen=True, slots=True)
class LocateChunks(SlowMessage[Columns]):
    """Say where the chunks lie of an array that is persisted, or is call `number`'s result: all, a rank's, or one."""

    token: str
    rank: int | None
    block: int | None
    number: int


@dataclass(frozen=True, slots=True)
class AnotherFailed(SlowMessage[bool]):
    """Say whether a script has shown its traceback."""
