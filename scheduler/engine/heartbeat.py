"""Watching for ranks that are silent: a stopped process or a dead link, which MPI doesn't notice.

A rank whose I/O thread is well answers a ping within milliseconds, whatever its compute threads do. One that stays
silent for the limit is killed, unless it is seen, on this host, to be computing (a call that keeps Python's lock).
Ranks of other hosts are spoken to though they speak: they end when they hear nothing.
"""

from __future__ import annotations

import contextlib
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ...workers.wire.protocol import Ping

if TYPE_CHECKING:
    from ...workers.wire.transport import Transport

log = logging.getLogger("windrow")


class Heartbeat:
    """When each rank was last heard of."""

    def __init__(self, transport: Transport, limit: float) -> None:
        self.transport = transport
        self.limit = limit
        now = time.monotonic()
        self._heard = [now] * transport.size
        self._looked = now
        self._asked = [now] * transport.size
        self._named: set[int] = set()
        self._cpu: dict[int, int] = {}

    def heard(self, rank: int, now: float) -> None:
        self._heard[rank] = now
        self._named.discard(rank)

    def check(self, now: float, alive: list[bool]) -> None:
        """Ask the quiet ranks, and kill those that have been silent for too long; the transport reports them lost."""
        missed = now - self._looked
        self._looked = now
        if missed > self.limit / 6:  # we did not listen ourselves (stopped, or a call kept Python's lock)
            self._heard = [heard + missed for heard in self._heard]
        for rank in range(1, self.transport.size):
            if not alive[rank]:
                continue
            quiet, spoken = now - self._heard[rank], now - self._asked[rank]
            far = not self.transport.peers[rank].same_node
            if spoken > self.limit / 6 and (quiet >= self.limit / 3 or (far and spoken > self.limit / 3)):
                self._asked[rank] = now
                self._cpu[rank] = self._ticks(rank)
                self.transport.send(rank, Ping())
            if quiet > self.limit and rank not in self._named:
                self._judge(rank, quiet)

    def _judge(self, rank: int, quiet: float) -> None:
        peer = self.transport.peers[rank]
        name = f"rank {rank} (host {peer.host}, pid {peer.pid}) has been silent for {quiet:.1f} s"
        if peer.same_node and self._computing(rank) and self._ticks(rank) > self._cpu.get(rank, 0):
            log.warning("%s; it is computing in a call that keeps Python's lock", name)
            self._named.add(rank)
            return
        killer = self.transport.declare_dead(rank)
        what = "it is not listened to any more; nobody is left who could kill it"
        if killer is not None:
            what = f"rank {killer}, on its host, is asked to kill it" if killer else "it is killed"
        log.warning("%s and counts as hung; %s", name, what)

    def _stat(self, rank: int) -> list[str]:
        try:
            return Path(f"/proc/{self.transport.peers[rank].pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return []

    def _computing(self, rank: int) -> bool:
        """Tell whether some thread of a rank runs: the one that answers waits for Python's lock meanwhile."""
        for path in Path(f"/proc/{self.transport.peers[rank].pid}/task").glob("*/stat"):
            with contextlib.suppress(OSError):
                if path.read_text().rpartition(")")[2].split()[0] == "R":
                    return True
        return False

    def _ticks(self, rank: int) -> int:
        stat = self._stat(rank)
        return int(stat[11]) + int(stat[12]) if stat else 0
