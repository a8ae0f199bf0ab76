"""The command loop of a rank that isn't the driver: take commands, report events, leave when told or left alone."""

from __future__ import annotations

import io
import os
import sys
import warnings
from typing import Any, TextIO

from .protocol import Command, Output, Setup, Stop
from .rank import Rank
from .transport import RanksLost, Transport

POLL = 0.05
SETUP_LIMIT = 60.0


class _Remote(io.TextIOBase):
    """A text stream whose lines appear at the driver, with the rank's name before them."""

    def __init__(self, rank: Rank, stream: str) -> None:
        self._rank, self._stream, self._rest = rank, stream, ""

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, text: str) -> int:
        """Send complete lines, keep the rest."""
        *lines, self._rest = (self._rest + text).split("\n")
        if lines:
            self._send(lines)
        return len(text)

    def flush(self) -> None:
        """Send an unfinished line."""
        if self._rest:
            self._send([self._rest])
            self._rest = ""

    def _send(self, lines: list[str]) -> None:
        name = f"[rank {self._rank.rank}] "
        self._rank.emit(Output(self._rank.rank, self._stream, "".join(f"{name}{line}\n" for line in lines)))


def serve(transport: Transport) -> None:
    """Run until rank 0 says stop or is gone."""
    setup = _setup(transport)
    if setup is None:
        return
    _adopt(setup)
    rank = Rank(transport, setup.threads, setup.spill_folder)
    sys.stdout, sys.stderr = _stream(rank, "stdout"), _stream(rank, "stderr")
    warnings.simplefilter("default")
    while True:
        for message in transport.poll(POLL):
            if isinstance(message, Stop) or (isinstance(message, RanksLost) and 0 in message.ranks):
                sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
                return
            if isinstance(message, Command):
                rank.handle(message)
        for event in rank.events():
            transport.send(0, event)


def _stream(rank: Rank, name: str) -> TextIO:
    stream: Any = _Remote(rank, name)
    return stream  # type: ignore[no-any-return]


def _setup(transport: Transport) -> Setup | None:
    waited = 0.0
    while waited < SETUP_LIMIT:
        for message in transport.poll(POLL):
            if isinstance(message, Setup):
                return message
            if isinstance(message, Stop | RanksLost):
                return None
        waited += POLL
    raise TimeoutError(f"rank {transport.rank} waited {SETUP_LIMIT} s for the driver's setup")


def _adopt(setup: Setup) -> None:
    """Find modules where the driver finds them, and files too."""
    sys.path[:] = [*setup.path, *(p for p in sys.path if p not in setup.path)]
    try:
        os.chdir(setup.folder)
    except OSError as error:
        print(f"windrow: the driver's folder {setup.folder} can't be entered here: {error}", file=sys.stderr)
