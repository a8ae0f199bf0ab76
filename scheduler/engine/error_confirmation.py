"""Errors of gangs' members that may come from a death of which nobody has told yet.

A collective call may leave garbage where a member has died, and no error: then the function fails in its own way. So
an error is believed when all other members have answered since; if one of them is lost instead, the gang is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...workers.wire.protocol import Failed, Ping, Pong

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .engine import Engine


class Doubts:
    """Keeps such errors until they can be believed."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._open: dict[int, tuple[Failed, set[int]]] = {}
        self._number = 0

    def weigh(self, event: Failed) -> bool:
        """Tell whether an error is believed at once; else others are asked, or it is known to come from a loss."""
        run = self.engine.ledger.gangs.of(event.batch)
        if run is None:
            return True
        if run.broken:
            self._refuse(event)
            return False
        others = {rank for rank in run.ranks if rank not in (0, event.rank)}
        if not others:
            return True
        self._number += 1
        self._open[self._number] = event, others
        for rank in others:
            self.engine.send(rank, Ping(self._number))
        return False

    def answer(self, pong: Pong) -> Failed | None:
        """Take a rank's answer; return the error that is believed now, if it is one."""
        event, others = self._open.get(pong.number, (None, set[int]()))
        others.discard(pong.rank)
        if event is not None and not others:
            del self._open[pong.number]
            return event
        return None

    def lose(self, ranks: Iterable[int]) -> None:
        """Note that ranks are lost: errors that have been doubted come from that."""
        lost = set(ranks)
        for number in [n for n, (event, others) in self._open.items() if lost & {event.rank, *others}]:
            self._refuse(self._open.pop(number)[0])

    def _refuse(self, event: Failed) -> None:
        self.engine.ledger.note_refused(event.batch)
        self.engine.ledger.plan()
