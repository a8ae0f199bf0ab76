"""Results on their way to another process: large ones are lent where both are on one host, others are sent.

Who has a result writes its pickle into memory without a name; who asks maps that privately, so that arrays are its own
to write, and no byte goes through MPI, nor through the threads that everybody waits for.
"""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ClusterError
from ...graph.expr.serialize import travelling
from ..shared import shared_objects
from ..wire.task_messages import FetchResult, ReturnLent
from .packing import size_of

if TYPE_CHECKING:
    from ..rank.rank import Rank
    from ..wire.rpc import Calls, Question

LIMIT = 600.0
"""Seconds in which a task's result comes from another rank."""
LARGE = 1 << 18
"""Bytes from which on a result is lent."""
_TOKEN = 16


@dataclass(frozen=True, slots=True)
class LentResult:
    """Where a result lies: a file descriptor of a process of the same host; the file begins with `token`."""

    token: bytes
    pid: int
    descriptor: int

    def map(self) -> Any:
        """Return the result; its arrays lie in private memory, filled when it is touched.

        Raises
        ------
        OSError
            The process can't be reached from here.
        """
        descriptor = os.open(f"/proc/{self.pid}/fd/{self.descriptor}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            if os.pread(descriptor, _TOKEN, 0) != self.token:
                raise OSError(f"process {self.pid} is another one here")
            memory = np.frombuffer(mmap.mmap(descriptor, 0, access=mmap.ACCESS_COPY), np.uint8)
        finally:
            os.close(descriptor)
        return shared_objects.read(memory, self.token)


class Lending:
    """Lends results; of who has them.

    Parameters
    ----------
    calls : Calls
        The rank's.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._lent: dict[int, int] = {}
        calls.serve(ReturnLent, lambda question: self._close(question.message.descriptor))
        calls.when_lost(self._lose)

    def answer(self, question: Question[FetchResult], value: Any) -> None:
        """Answer with a result."""
        with travelling():
            self._answer(question, value)

    def _answer(self, question: Question[FetchResult], value: Any) -> None:
        if question.message.near and (not size_of(value) or size_of(value) >= LARGE):
            token = os.urandom(_TOKEN)
            with suppress(Exception):  # what can't be pickled is told below, and where there is no memory it is sent
                descriptor, _ = shared_objects.write(value, token)
                self._lent[descriptor] = question.rank
                question.reply(LentResult(token, os.getpid(), descriptor))
                if self._calls.is_lost(question.rank):
                    self._close(descriptor)
                return
        question.reply(value)

    def _lose(self, ranks: tuple[int, ...]) -> None:
        for descriptor, rank in list(self._lent.items()):
            if rank in ranks:
                self._close(descriptor)

    def _close(self, descriptor: int) -> None:
        if self._lent.pop(descriptor, None) is not None:
            os.close(descriptor)

    def close(self) -> None:
        """Let go of all that is lent; who has mapped it keeps it."""
        for descriptor in list(self._lent):
            self._close(descriptor)


def fetch(rank: Rank, other: int, number: int) -> Any:
    """Return the result of a task by its number, from the rank that has it.

    Raises
    ------
    Unpicklable
        It can't leave that rank.
    ClusterError
        That rank is lost, or has it no more.
    """
    near = rank.transport.peers[other].same_node
    result = rank.calls.ask(other, FetchResult(number, near), LIMIT)
    if not isinstance(result, LentResult):
        return result
    try:
        return result.map()
    except OSError:
        return rank.calls.ask(other, FetchResult(number, False), LIMIT)
    finally:
        with suppress(ClusterError):
            rank.calls.tell(other, ReturnLent(result.descriptor))
