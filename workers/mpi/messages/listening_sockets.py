"""Where processes of a job can be reached over the network, and keeping that to this host.

Open MPI and its launcher listen on all interfaces, whatever they are told to use. Where ranks meet over the loopback
interface alone their sockets are bound to it, as soon as all are there: from other hosts they are closed then. Between
ranks that a launcher has started on one host there are none at all (`environment.rank_settings`).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import ipaddress
import os
import socket
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..start.environment import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LISTENS = "0A"
_PIDFD_GETFD = 438  # on all architectures
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


@dataclass(frozen=True, slots=True)
class Door:
    """A socket on which a process listens; `device` is the interface that it is bound to, empty for all."""

    pid: int
    descriptor: int
    address: str
    port: int
    device: str

    @property
    def open(self) -> bool:
        """Whether other hosts can reach it."""
        return self.device != LOOPBACK and not ipaddress.ip_address(self.address).is_loopback


def doors(pids: Iterable[int]) -> list[Door]:
    """Return the sockets on which processes listen, as far as the kernel shows them to this user.

    A socket is asked itself where this user may have it: the kernel takes 10 ms and more to list those of a host.
    """
    sockets = []
    listed = functools.cache(_listed)
    for pid in pids:
        for descriptor, inode in _sockets(pid):
            try:
                with _duplicate_socket(pid, descriptor) as taken:
                    known = _listener(taken)
            except OSError:
                known = listed().get(inode)
            if known is not None:
                sockets.append(Door(pid, descriptor, *known))
    return sockets


def confine(found: Iterable[Door], device: str = LOOPBACK) -> None:
    """Bind sockets of this process or its launcher to an interface, as far as the kernel lets this user."""
    for door in found:
        if not door.device:
            with contextlib.suppress(OSError), _duplicate_socket(door.pid, door.descriptor) as taken:
                taken.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())


def _listener(taken: socket.socket) -> tuple[str, int, str] | None:
    """Return address, port and interface of a socket that listens to networks."""
    if taken.family not in (socket.AF_INET, socket.AF_INET6):
        return None
    if not taken.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        return None
    address, port = taken.getsockname()[:2]
    device = b""
    with contextlib.suppress(OSError):
        device = taken.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16)
    return address, port, device.rstrip(b"\0").decode()


def _listed() -> dict[str, tuple[str, int, str]]:
    """Return address and port by the inode of each socket of this host that listens; the interface isn't told."""
    listeners = {}
    for table in _TABLES:
        with contextlib.suppress(OSError), open(table, encoding="ascii") as file:
            for line in file.readlines()[1:]:
                words = line.split()
                if words[3] == _LISTENS:
                    address, _, port = words[1].partition(":")
                    listeners[words[9]] = (_address(bytes.fromhex(address)), int(port, 16), "")
    return listeners


def _address(raw: bytes) -> str:
    """Return an address that the kernel writes as words in the host's order."""
    words = [raw[i : i + 4] for i in range(0, len(raw), 4)]
    if sys.byteorder == "little":
        words = [word[::-1] for word in words]
    return str(ipaddress.ip_address(b"".join(words)))


def _sockets(pid: int) -> Iterator[tuple[int, str]]:
    """Yield descriptor and inode of a process's sockets."""
    folder = f"/proc/{pid}/fd"
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                target = os.readlink(f"{folder}/{name}")
                if target.startswith("socket:["):
                    yield int(name), target[8:-1]


@contextlib.contextmanager
def _duplicate_socket(pid: int, descriptor: int) -> Iterator[socket.socket]:
    """Give a socket of a process, as a descriptor of this one's."""
    if pid == os.getpid():
        mine = os.dup(descriptor)
    else:
        process = os.pidfd_open(pid)
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            mine = libc.syscall(_PIDFD_GETFD, process, descriptor, 0)
        finally:
            os.close(process)
        if mine < 0:
            raise OSError(ctypes.get_errno(), "pidfd_getfd")
    with socket.socket(fileno=mine) as duplicate:
        yield duplicate
