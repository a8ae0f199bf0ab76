"""How a rank sleeps until there is something to do: a datagram socket that every rank of the host can ring.

MPI has no wait that leaves the core to others. So a rank that has found nothing in a few probes sleeps on its
socket; who sends it a message rings afterwards. A lost ring costs the wait's limit, never more.
"""

from __future__ import annotations

import contextlib
import select
import socket

_RING = b"."


class Bell:
    """A rank's wakeup socket, in the abstract name space: nothing to delete, whatever happens.

    The token is the job's random word, the same on all ranks: two jobs on a host never ring each other.
    """

    def __init__(self, token: str, rank: int) -> None:
        self._token = token
        self._own = self._address(rank)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(self._own)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._woken = False
        self._watched: dict[int, int] = {}
        self._ended: list[int] = []

    def _address(self, rank: int) -> bytes:
        return f"\0windrow-{self._token}-{rank}".encode()

    def ring(self, rank: int) -> None:
        """Wake a rank of this host; a full queue means that it is awake anyway."""
        with contextlib.suppress(OSError):
            self._socket.sendto(_RING, self._address(rank))

    def wake(self) -> None:
        """Wake the own rank, from any thread. The flag tells it from the rings of others."""
        self._woken = True
        with contextlib.suppress(OSError):
            self._socket.sendto(_RING, self._own)

    def take_wake(self) -> bool:
        """Tell whether `wake` was called since the last time."""
        if not self._woken:
            return False
        self._woken = False
        return True

    def watch(self, rank: int, pidfd: int) -> None:
        """Wake up when this process of a rank ends."""
        self._watched[pidfd] = rank
        self._poll.register(pidfd, select.POLLIN)

    def take_ended(self) -> list[int]:
        """Return the watched ranks whose processes have ended since the last time."""
        ended, self._ended = self._ended, []
        return ended

    def wait(self, seconds: float) -> bool:
        """Sleep until somebody rings or ends, or the time is over; tell which."""
        ready = self._poll.poll(seconds * 1000)
        for fd, _ in ready:
            if fd in self._watched:
                self._poll.unregister(fd)
                self._ended.append(self._watched.pop(fd))
        if not ready:
            return False
        with contextlib.suppress(OSError):
            while True:
                self._socket.recv(16)
        return True

    def close(self) -> None:
        """Give the address up."""
        self._socket.close()
