"""One copy a host of what the driver shares: another host's first living rank fetches it, and the others map it.

Where the driver's memory can be mapped nothing is copied. A rank that dies takes its copy along, but for who has mapped
it; the next rank of the host fetches another then.
"""

from __future__ import annotations

import mmap
import os
import threading
from typing import TYPE_CHECKING

import numpy as np

from ...graph.errors import ClusterError
from ..wire.shared_messages import CopyShared
from ..wire.transport import Region

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..wire.rpc import Calls, Question
    from ..wire.transport import Bytes, Transport
    from .shared_objects import SharedName

    Fetch = Callable[[int, Region, Bytes, Callable[[bool], None]], None]

LIMIT = 60.0
"""Seconds in which a shared object comes from another host."""


class HostCopies:
    """How a rank reads what the driver shares, and its copies, from which other ranks of its host read.

    Parameters
    ----------
    transport : Transport
        The rank's.
    calls : Calls
        Its questions to others.
    fetch : callable
        Reads a region of a rank's memory, for any thread: `Rank.fetch`.
    """

    def __init__(self, transport: Transport, calls: Calls, fetch: Fetch) -> None:
        self._transport, self._calls, self._fetch = transport, calls, fetch
        self._copies: dict[bytes, int] = {}
        self._fetching: dict[bytes, list[Question[CopyShared]]] = {}
        self._dead: set[int] = set()
        self.fetched = 0
        calls.serve(CopyShared, self._give)
        calls.when_lost(self._dead.update)

    def map_own(self, name: SharedName) -> Bytes | None:
        """Return the driver's own bytes, where they can be mapped."""
        memory = self._transport.map_spill_file(0, name.descriptor)
        if memory is not None:
            self._transport.forget(0, name.descriptor)  # what was read keeps the mapping, and no longer
        return memory

    def read(self, name: SharedName) -> Bytes:
        """Return an object's bytes: in place on the driver's host, else in a copy of this host; from any thread.

        Raises
        ------
        ClusterError
            The driver didn't give them in time.
        """
        memory = self.map_own(name)
        while memory is None:
            holder = self._find_holder()
            if self._transport.peers[holder].route not in ("own", "map") or holder == 0:
                return self.fetch(name)
            try:
                descriptor = self._calls.ask(holder, CopyShared(name), LIMIT)
            except ClusterError:
                if holder not in self._dead:
                    raise
                continue
            memory = self._transport.map_spill_file(holder, descriptor)
            self._transport.forget(holder, descriptor)
        return memory

    def fetch(self, name: SharedName) -> Bytes:
        """Return a copy of this thread's own.

        Raises
        ------
        ClusterError
            The driver didn't give it in time.
        """
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
        descriptor = self._copies.pop(token, None)
        if descriptor is not None:
            os.close(descriptor)

    def close(self) -> None:
        """Let go of all copies."""
        for token in list(self._copies):
            self.forget(token)

    def _find_holder(self) -> int:
        """Return the first rank of this host that lives."""
        host = self._transport.peers[self._transport.rank].host
        return min(peer.rank for peer in self._transport.peers if peer.host == host and peer.rank not in self._dead)

    def _give(self, question: Question[CopyShared]) -> None:
        """Answer with the descriptor of this rank's copy, once it is there; on the I/O thread."""
        name = question.message.name
        if name.token in self._copies:
            question.reply(self._copies[name.token])
            return
        waiting = self._fetching.setdefault(name.token, [])
        waiting.append(question)
        if len(waiting) > 1:
            return
        descriptor = os.memfd_create("windrow-shared-copy", os.MFD_CLOEXEC)
        os.truncate(descriptor, name.nbytes)
        into = np.frombuffer(mmap.mmap(descriptor, name.nbytes), np.uint8)

        def done(ok: bool) -> None:
            if ok:
                self._copies[name.token] = descriptor
                self.fetched += 1
            else:
                os.close(descriptor)
            for each in self._fetching.pop(name.token):
                each.reply(descriptor) if ok else each.fail(_missing(name))

        self._transport.fetch(0, _whole(name), into, done)


def _whole(name: SharedName) -> Region:
    return Region(0, (name.nbytes,), (1,), 1, name.descriptor)


def _missing(name: SharedName) -> ClusterError:
    return ClusterError(f"a shared object of {name.nbytes:,} bytes was not to be had from the driver")
