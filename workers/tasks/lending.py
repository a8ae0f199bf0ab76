"""Results on their way to another process: large ones are lent where both are on one host, others are sent.

Who has a result writes its pickle into memory without a name; who asks maps that privately, so that arrays are its own
to write, and no byte goes through MPI, nor through the threads that everybody waits for.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...graph.errors import ClusterError
from ...graph.expr.serialize import travelling
from ..shared.object_segments import read, write
from ..shared.segment import SegmentName
from ..wire.task_messages import FetchResult, ReturnLent
from .packing import size_of

if TYPE_CHECKING:
    from ..rank.rank import Rank
    from ..shared.segment import SharedSegment
    from ..wire.rpc import Calls, Question

LIMIT = 600.0
"""Seconds in which a task's result comes from another rank."""
LARGE = 1 << 18
"""Bytes from which on a result is lent."""


class Lending:
    """Lends results; of who has them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._lent: dict[bytes, tuple[SharedSegment, int]] = {}
        calls.serve(ReturnLent, lambda question: self._take_back(question.message.token))
        calls.when_lost(self._lose)

    def answer(self, question: Question[FetchResult], value: Any) -> None:
        with travelling():
            self._answer(question, value)

    def _answer(self, question: Question[FetchResult], value: Any) -> None:
        if question.message.near and (not size_of(value) or size_of(value) >= LARGE):
            with suppress(Exception):  # what can't be pickled is told below, and where there is no memory it is sent
                segment = write(value)
                self._lent[segment.name.token] = segment, question.rank
                question.reply(segment.name)
                if self._calls.is_lost(question.rank):
                    self._take_back(segment.name.token)
                return
        question.reply(value)

    def _lose(self, ranks: tuple[int, ...]) -> None:
        for token, (_, rank) in list(self._lent.items()):
            if rank in ranks:
                self._take_back(token)

    def _take_back(self, token: bytes) -> None:
        self._lent.pop(token, None)

    def close(self) -> None:
        """Let go of all that is lent; who has mapped it keeps it."""
        self._lent.clear()


def fetch(rank: Rank, other: int, number: int) -> Any:
    """Return the result of a task by its number, from the rank that has it.

    Unpicklable: it can't leave that rank. ClusterError: that rank is lost, or has it no more.
    """
    near = rank.transport.peers[other].same_node
    result = rank.calls.ask(other, FetchResult(number, near), LIMIT)
    if not isinstance(result, SegmentName):
        return result
    try:
        return read(result.map(private=True), result.token)
    except OSError:
        return rank.calls.ask(other, FetchResult(number, False), LIMIT)
    finally:
        with suppress(ClusterError):
            rank.calls.tell(other, ReturnLent(result.token))
