"""Messages over a communicator, without ever waiting for the other side; and the news of deaths.

A send is an `Isend` from a buffer that is kept until it has gone: a blocking one would wait until the
receiver enters MPI, which is as long as a kernel runs. A message is received in the background too, since a
large one needs its sender until the end. What comes from one rank is handed out in the order of sending.
"""

from __future__ import annotations

import contextlib
import functools
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from mpi4py import MPI

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...wire.transport import Bytes

_MOST = 2**31 - 1  # what MPI counts of anything
_UNIT = 1 << 20
LARGE = 1 << 16  # above it a message needs both sides until it is through
_TRIES = 3


@dataclass(slots=True)
class _Sending:
    request: MPI.Request
    rank: int
    buffer: object
    large: bool


@dataclass(slots=True)
class Message:
    """A message on its way in, or here."""

    source: int
    tag: int
    request: MPI.Request | None
    buffer: Bytes


class Mailbox:
    """Sends and receives of one rank over one communicator."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self.comm = comm
        self.dead: set[int] = set()
        self.ended: set[int] = set()  # those of the dead whose processes are known to have ended
        self._sending: list[_Sending] = []
        self._arriving: dict[int, deque[Message]] = {}
        self._abandoned: list[_Sending] = []
        self._status = MPI.Status()

    def send(self, rank: int, tag: int, data: bytes | Bytes) -> None:
        """Send bytes, which must not change until they have gone; dropped when the rank is dead."""
        if rank in self.dead:
            return
        try:
            request = self.comm.Isend(count_as_mpi(data), rank, tag)
            if not request.Test():
                self._sending.append(_Sending(request, rank, data, len(data) > LARGE))
        except MPI.Exception:  # it died: the next probe tells
            return

    def take_messages(self) -> Iterator[Message]:
        """Take every message that is here; notices deaths on the way."""
        self._sweep()
        for _ in range(256):  # enough for a batch; deaths and fetches want their turn as well
            message = self._match()
            if message is None:
                break
            queue = self._arriving.get(message.source)
            if not queue and _complete(message):
                yield message
            else:
                self._arriving.setdefault(message.source, deque()).append(message)
        for source, queue in list(self._arriving.items()):
            while queue and source not in self.dead and _complete(queue[0]):
                yield queue.popleft()
            if not queue or source in self.dead:
                self._arriving.pop(source, None)

    def _match(self) -> Message | None:
        """Match the next message and start its receive; None when there is none."""
        for _ in range(_TRIES):  # a death raises before what the dead rank said last
            try:
                handle = self.comm.Improbe(MPI.ANY_SOURCE, MPI.ANY_TAG, self._status)
                if handle is None:
                    return None
                buffer: Bytes = np.empty(self._status.Get_elements(MPI.BYTE), np.uint8)
                request = handle.Irecv(count_as_mpi(buffer))
                return Message(self._status.Get_source(), self._status.Get_tag(), request, buffer)
            except MPI.Exception:
                self._learn()
        return None

    def _learn(self) -> None:
        """Ask who has died; until that is acknowledged every probe raises."""
        with contextlib.suppress(MPI.Exception):
            self.comm.Ack_failed()
            failed = self.comm.Get_failed()
            ranks = MPI.Group.Translate_ranks(failed, None, self.comm.Get_group())
            failed.Free()
            for rank in ranks:
                self.has_ended(rank)

    def has_ended(self, rank: int) -> None:
        """Count a rank as dead whose process has ended."""
        self.ended.add(rank)
        self.bury(rank)

    def bury(self, rank: int) -> None:
        """Count a rank as dead: nothing more goes to it, nothing from it is handed out."""
        if rank in self.dead:
            return
        self.dead.add(rank)
        # MPI may still read these buffers (a rank declared dead may live on elsewhere): keep them.
        self._abandoned += [x for x in self._sending if x.rank == rank]
        self._sending = [x for x in self._sending if x.rank != rank]

    def _sweep(self) -> None:
        """Let go of the buffers that have been sent."""
        if self._sending:
            self._sending = [x for x in self._sending if not _is_sent(x.request)]

    @property
    def under_way(self) -> bool:
        """Tell whether something large is on its way, which may need this rank inside MPI."""
        return bool(self._arriving) or any(x.large for x in self._sending)

    @property
    def idle(self) -> bool:
        """Tell whether all that was sent has gone."""
        return not self._sending


def count_as_mpi(data: bytes | Bytes) -> tuple[bytes | Bytes, int, MPI.Datatype]:
    """Return bytes as MPI takes them: beyond what it counts, as one item of a type that big."""
    size = len(data)
    return (data, size, MPI.BYTE) if size <= _MOST else (data, 1, _huge(size))


@functools.lru_cache(maxsize=64)
def _huge(size: int) -> MPI.Datatype:
    """Return a type of more bytes than MPI counts."""
    units, rest = divmod(size, _UNIT)
    whole = MPI.BYTE.Create_contiguous(_UNIT).Create_contiguous(units)
    return MPI.Datatype.Create_struct([1, rest], [0, units * _UNIT], [whole, MPI.BYTE]).Commit()


def _is_sent(request: MPI.Request) -> bool:
    """Test a send; one to a dead rank is over too."""
    try:
        return request.Test()
    except MPI.Exception:
        return True


def _complete(message: Message) -> bool:
    """Test a receive; when its sender died half way it never completes, and the rank is buried soon."""
    if message.request is None:
        return True
    try:
        if not message.request.Test():
            return False
    except MPI.Exception:
        return False
    message.request = None
    return True
