"""Errors of gangs' members that may come from a death of which nobody has told yet.

A collective call may leave garbage where a member has died, and no error: then the function fails in its own way. So
an error is believed when all other members have answered since; if one of them is lost instead, the gang is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...workers.wire.protocol import Command, Failed, Ping, Pong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..ledger.gangs import GangRun


class UnconfirmedErrors:
    """Keeps such errors until they can be believed; asks ranks by `send(rank, command)`."""

    def __init__(self, send: Callable[[int, Command], None]) -> None:
        self._send = send
        self._open: dict[int, tuple[Failed, set[int]]] = {}
        self._number = 0

    def confirm(self, event: Failed, run: GangRun) -> bool:
        """Tell whether a member's error is believed at once; else the others are asked."""
        others = {rank for rank in run.ranks if rank not in (0, event.rank)}
        if not others:
            return True
        self._number += 1
        self._open[self._number] = event, others
        for rank in others:
            self._send(rank, Ping(self._number))
        return False

    def answer(self, pong: Pong) -> Failed | None:
        """Take a rank's answer; return the error that is believed now, if it is one."""
        event, others = self._open.get(pong.number, (None, set[int]()))
        others.discard(pong.rank)
        if event is not None and not others:
            del self._open[pong.number]
            return event
        return None

    def lose(self, ranks: Iterable[int]) -> list[int]:
        """Note that ranks are lost; return the batches whose errors come from that."""
        lost = set(ranks)
        numbers = [number for number, (event, others) in self._open.items() if lost & {event.rank, *others}]
        return [self._open.pop(number)[0].batch for number in numbers]
