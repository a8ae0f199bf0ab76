"""The command loop of a rank other than the driver: take commands, report events, leave when told to."""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections import deque
from typing import TYPE_CHECKING, NoReturn

from ..mpi.deaths.reachability import Reach
from ..wire.protocol import Answered, Command, Output, Pong, RpcRequest, Setup, Stop
from ..wire.transport import RanksLost, Transport
from . import task_context
from .output import name_tasks
from .rank import Rank
from .urgency import request_short_timeslices

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..mpi.messages.link import MpiLink

POLL = 0.05
SETUP_LIMIT = 60.0


def serve(transport: Transport, begun: Callable[[Rank], None] | None = None) -> bool:
    """Run until rank 0 says stop, or is gone or out of reach, which False tells.

    `begun` is called before any command is taken; what this process prints itself is its own then.
    """
    inbox: deque[object] = deque()
    setup = _setup(transport, inbox)
    if not isinstance(setup, Setup):
        return setup is not None
    _adopt(setup)
    rank = Rank(transport, setup.threads, setup.spill_folder)
    task_context.serve(rank)
    request_short_timeslices()  # the threads that compute have begun, and don't inherit it
    if begun is not None:
        name_tasks(rank.rank)
        begun(rank)
    else:
        name_tasks(rank.rank, lambda stream, text: rank.emit(Output(rank.rank, stream, text)))
    reach = None if transport.peers[0].same_node else Reach(setup.heartbeat)
    while True:
        while inbox:
            message = inbox.popleft()
            stop = isinstance(message, Stop)
            if stop or (isinstance(message, RanksLost) and 0 in message.ranks):
                sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
                return stop
            if isinstance(message, RanksLost):
                rank.lose(message.ranks)
            elif isinstance(message, Command):
                if reach is not None and not isinstance(message, RpcRequest | Answered):  # those may be others'
                    reach.heard()
                rank.handle(message)
        if reach is not None and reach.check(lambda: transport.send(0, Pong(rank.rank))):
            return False
        for event in rank.events():
            transport.send(0, event)
        inbox.extend(transport.poll(POLL))


def work(link: MpiLink) -> NoReturn:
    """Serve as one of the other ranks until the end of this process."""
    from ..mpi.deaths.exits import die
    from ..mpi.start.environment import ulfm_enabled
    from ..mpi.start.start import leave

    was_stopped = False
    try:
        was_stopped = serve(link)
        if not was_stopped:
            print(f"rank 0 was lost: rank {link.rank} ends with it", file=sys.stderr, flush=True)
    except BaseException:  # the driver recovers from a rank that is gone; but somebody should learn why
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
        traceback.print_exc()
        if ulfm_enabled():
            die()
    leave(link, 0 if was_stopped else 1)  # a launcher that lives on shall not call the job a success


class IoThread:
    """A rank's I/O loop on a thread of its own, beside a script that the main thread runs.

    The process ends with rank 0, or when rank 0 says stop before the script is over. `begun` is called with the `Rank`
    on the thread, before it takes any command.
    """

    def __init__(self, link: MpiLink, begun: Callable[[Rank], None]) -> None:
        self._link, self._begun = link, begun
        self._over = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="windrow-rank", daemon=True)
        self._thread.start()

    def end(self, tell: Callable[[], None]) -> NoReturn:
        """Tell rank 0 that the script is over, and end the process when it says so."""
        from ..mpi.start.start import leave

        self._over.set()
        tell()
        self._stopped.wait()
        leave(self._link)

    def _run(self) -> None:
        from ..mpi.deaths.exits import die
        from ..mpi.start.environment import ulfm_enabled
        from ..mpi.start.start import leave

        was_stopped = False
        try:
            was_stopped = serve(self._link, self._begun)
            if not was_stopped:
                print(f"rank 0 was lost: rank {self._link.rank} ends with it", file=sys.stderr, flush=True)
        except BaseException:
            traceback.print_exc()
            if ulfm_enabled():
                die()
        if was_stopped and self._over.is_set():
            self._stopped.set()
        else:
            leave(self._link, 1)


def _setup(transport: Transport, inbox: deque[object]) -> Setup | Stop | None:
    """Wait for the driver's first command, or its end; what comes behind it stays in the inbox."""
    deadline = time.monotonic() + SETUP_LIMIT
    while time.monotonic() < deadline:
        inbox.extend(transport.poll(POLL))
        while inbox:
            message = inbox.popleft()
            if isinstance(message, Setup | Stop):
                return message
            if isinstance(message, RanksLost) and 0 in message.ranks:
                return None
    raise TimeoutError(f"rank {transport.rank} waited {SETUP_LIMIT} s for the driver's setup")


def _adopt(setup: Setup) -> None:
    """Find modules where the driver finds them, and files too; see the words that its script was given."""
    sys.argv = list(setup.argv)
    sys.path[:] = [*setup.path, *(p for p in sys.path if p not in setup.path)]
    try:
        os.chdir(setup.folder)
    except OSError as error:
        print(f"windrow: the driver's folder {setup.folder} can't be entered here: {error}", file=sys.stderr)
