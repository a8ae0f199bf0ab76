"""Rank 0's list of who has come to which collective call, who has ended, and who is missing."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...graph.errors import ClusterError
from .reports import different, dump_error, name_ranks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .reports import Answer, RankReport

    Reply = Callable[[Answer | bytes], None]

log = logging.getLogger("windrow")
LATE = 10.0
"""Seconds after which ranks that others wait for are named in the log."""
PATIENCE = 0.5
"""Seconds for which ranks that differ wait for the others, so that the error names them all."""


@dataclass(eq=False)
class CollectiveCall:
    """A collective call: who has come with what, until all have, or it fails."""

    begun: float
    reports: dict[int, RankReport] = field(default_factory=lambda: {})
    replies: dict[int, Reply] = field(default_factory=lambda: {})
    decided: threading.Event = field(default_factory=threading.Event)
    error: ClusterError | None = None
    packed: bytes | None = None
    named: bool = False
    differ_since: float | None = None


class Roll:
    """Who has come, from any thread; `limit` returns the seconds after which a rank that is late is an error."""

    def __init__(self, size: int, limit: Callable[[], float]) -> None:
        self._living = set(range(size))
        self._limit = limit
        self._meetings: dict[int, CollectiveCall] = {}
        self._ended: dict[int, str] = {}
        self._shown: set[int] = set()
        self._lock = threading.Condition()

    @property
    def living(self) -> tuple[int, ...]:
        return tuple(sorted(self._living))

    def come(self, rank: int, told: RankReport, reply: Reply) -> CollectiveCall:
        """Note what a rank asks for; `reply` is called with the answer, or with a pickled error."""
        with self._lock:
            meeting = self._meetings.setdefault(told.number, CollectiveCall(time.monotonic()))
            meeting.reports[rank], meeting.replies[rank] = told, reply
            self._decide(meeting)
            return meeting

    def leave(self, number: int) -> None:
        """Forget a call that was answered; one that failed is known until all have come."""
        with self._lock:
            self._meetings.pop(number, None)

    def lose(self, ranks: Iterable[int]) -> None:
        """Go on without ranks."""
        with self._lock:
            self._living.difference_update(ranks)
            for meeting in list(self._meetings.values()):
                self._decide(meeting)
            self._lock.notify_all()

    def end(self, rank: int, how: str, shown: bool = False) -> None:
        """Note that a rank's script is over, and whether it has shown its traceback."""
        with self._lock:
            self._ended[rank] = how
            if shown:
                self._shown.add(rank)
            for meeting in list(self._meetings.values()):
                self._decide(meeting)
            self._lock.notify_all()

    def another_failed(self, seconds: float) -> bool:
        """Wait until a script is over that has shown its traceback, at most so long; tell whether there is one."""
        with self._lock:
            return self._lock.wait_for(lambda: bool(self._shown), seconds)

    def missing(self) -> list[int]:
        """Return the living ranks whose scripts aren't over."""
        with self._lock:
            return sorted(self._living - set(self._ended))

    def wait_for_ends(self, seconds: float) -> bool:
        """Wait until all scripts are over, at most so long; tell whether they are."""
        with self._lock:
            return self._lock.wait_for(lambda: self._living <= set(self._ended), seconds)

    def _decide(self, meeting: CollectiveCall, now: float | None = None) -> None:
        """Let a call go on when all have come, or fail it; `now` is by the monotonic clock."""
        if meeting.packed is not None:
            self._refuse(meeting, meeting.packed)
            return
        if meeting.decided.is_set() and meeting.error is None:
            return
        if meeting.error is None:
            reports = {rank: report for rank, report in meeting.reports.items() if rank in self._living}
            left = self._living - set(reports)
            over = sorted(left & set(self._ended))
            if len({report.key for report in reports.values()}) > 1:
                now = time.monotonic() if now is None else now
                meeting.differ_since = now if meeting.differ_since is None else meeting.differ_since
                if left - set(over) and now - meeting.differ_since < PATIENCE:
                    return
                meeting.error = different(reports)
            elif over and reports:
                meeting.error = self._unable(reports, over)
            elif left or not reports:
                return
        if meeting.error is not None:
            self._refuse(meeting, dump_error(meeting.error))
        meeting.decided.set()

    def fail(self, number: int, packed: bytes) -> None:
        """Have a call come to nothing for all ranks, by an error that is pickled already."""
        with self._lock:
            meeting = self._meetings[number]
            meeting.packed = packed
            self._refuse(meeting, packed)

    def _refuse(self, meeting: CollectiveCall, packed: bytes) -> None:
        """Answer those that have come; the call is known until all have."""
        for reply in meeting.replies.values():
            reply(packed)
        meeting.replies.clear()
        if self._living <= set(meeting.reports) | set(self._ended):
            self._meetings = {n: each for n, each in self._meetings.items() if each is not meeting}

    def _unable(self, reports: dict[int, RankReport], over: list[int]) -> ClusterError:
        first_report = reports[min(reports)]
        how = "; ".join(f"that of rank {rank} {self._ended[rank]}" for rank in over)
        error = ClusterError(
            f"{first_report.describe()}: not all ranks come to it, since some scripts have ended: {how}"
        )
        error.follows = bool(self._shown.intersection(over))  # type: ignore[attr-defined]
        return error

    def look(self, now: float) -> None:
        """Name ranks that are late; fail calls for which others have waited too long."""
        limit = self._limit()
        with self._lock:
            for meeting in list(self._meetings.values()):
                self._decide(meeting, now)
                waited, left = now - meeting.begun, self._living - set(meeting.reports)
                if meeting.decided.is_set() or not left:
                    continue
                first = meeting.reports[min(meeting.reports)]
                if waited > limit:
                    meeting.error = ClusterError(
                        f"{first.describe()}: {name_ranks(left)} didn't come within {limit:g} s (the setting "
                        f"late_limit); {name_ranks(meeting.reports)} waited"
                    )
                    self._decide(meeting)
                elif waited > LATE and not meeting.named:
                    meeting.named = True
                    log.warning(
                        f"{first.describe()}: {name_ranks(left)} hadn't come after {waited:.0f} s, for which "
                        f"{name_ranks(meeting.reports)} waited"
                    )
