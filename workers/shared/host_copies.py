"""One copy a host of what the driver shares: another host's first living rank fetches it, and the others map it.

Where the driver's memory can be mapped nothing is copied. A rank that dies takes its copy along, but for who has mapped
it; the next rank of the host fetches another then.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from ...graph.errors import ClusterError
from ..wire.shared_messages import CopyShared
from ..wire.transport import Region
from .segment import SharedSegment

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..wire.rpc import Calls, Question
    from ..wire.transport import Bytes, Transport
    from .segment import SegmentName

    Fetch = Callable[[int, Region, Bytes, Callable[[bool], None]], None]

LIMIT = 60.0
"""Seconds in which a shared object comes from another host."""


class HostCopies:
    """How a rank reads what the driver shares, and its copies, from which other ranks of its host read.

    `fetch` reads a region of a rank's memory, for any thread: `Rank.fetch`.
    """

    def __init__(self, transport: Transport, calls: Calls, fetch: Fetch) -> None:
        self._transport, self._calls, self._fetch = transport, calls, fetch
        self._copies: dict[bytes, SharedSegment] = {}
        self._fetching: dict[bytes, list[Question[CopyShared]]] = {}
        self.fetched = 0
        calls.serve(CopyShared, self._give)

    def map_own(self, name: SegmentName) -> Bytes | None:
        """Return the driver's own bytes, where they can be mapped."""
        return name.map_from(self._transport.peers[0])

    def read(self, name: SegmentName) -> Bytes:
        """Return an object's bytes: in place on the driver's host, else in a copy of this host; from any thread."""
        memory = self.map_own(name)
        while memory is None:
            keeper = find_keeper(self._transport, self._calls)
            if keeper == 0:
                return self.fetch(name)
            try:
                memory = self._calls.ask(keeper, CopyShared(name), LIMIT).map()
            except OSError:  # the keeper has just died, say
                return self.fetch(name)
            except ClusterError:
                if not self._calls.is_lost(keeper):
                    raise
        return memory

    def fetch(self, name: SegmentName) -> Bytes:
        """Return a copy of this thread's own, or raise where the driver doesn't give it in time."""
        into, ended, outcomes = np.empty(name.nbytes, np.uint8), threading.Event(), []

        def done(ok: bool) -> None:
            outcomes.append(ok)
            ended.set()

        self._fetch(0, _whole(name), into, done)
        if not ended.wait(LIMIT) or not outcomes[0]:
            raise _missing(name)
        into.flags.writeable = False
        return into

    def forget(self, token: bytes) -> None:
        """Let go of a copy; who has mapped it keeps it."""
        self._copies.pop(token, None)

    def close(self) -> None:
        self._copies.clear()

    def _give(self, question: Question[CopyShared]) -> None:
        """Answer with the name of this rank's copy, once it is there; on the I/O thread."""
        name = question.message.name
        if name.token in self._copies:
            question.reply(self._copies[name.token].name)
            return
        if name.token in self._fetching:
            self._fetching[name.token].append(question)
            return
        copy = SharedSegment.create(name.kind, name.nbytes, name.token)
        into = copy.map(write=True)
        self._fetching[name.token] = [question]

        def done(ok: bool) -> None:
            if ok:
                self._copies[name.token] = copy
                self.fetched += 1
            for each in self._fetching.pop(name.token):
                each.reply(copy.name) if ok else each.fail(_missing(name))

        self._transport.fetch(0, _whole(name), into, done)


def find_keeper(transport: Transport, calls: Calls) -> int:
    """Return the first living rank whose memory is read in place here: it keeps the host's copies."""
    return min(peer.rank for peer in transport.peers if peer.in_place and not calls.is_lost(peer.rank))


def _whole(name: SegmentName) -> Region:
    return Region(0, (name.nbytes,), (1,), 1, name.descriptor)


def _missing(name: SegmentName) -> ClusterError:
    return ClusterError(f"a shared object of {name.nbytes:,} bytes was not to be had from the driver")
