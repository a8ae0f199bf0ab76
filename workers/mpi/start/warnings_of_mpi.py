"""Open MPI's warnings that nobody can heed."""

from __future__ import annotations

import contextlib
import ctypes
from typing import TYPE_CHECKING

from mpi4py import MPI

if TYPE_CHECKING:
    from collections.abc import Iterator

_UNTESTED = b"module:untested:failundef"
# int opal_show_help(file, topic, header, ...): what follows are the words of the message, at most so many
_HELP = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, *[ctypes.c_void_p] * 9)


@contextlib.contextmanager
def untested_quietly() -> Iterator[None]:
    """Leave out Open MPI's warning that what it makes isn't tested after failures; other messages are shown.

    With fault tolerance it comes at each window and each Cartesian communicator, and no parameter turns it off. Its
    messages go through a pointer that it keeps for others to set.
    """
    try:
        pointer = ctypes.c_void_p.in_dll(ctypes.CDLL(MPI.__file__), "opal_show_help")
    except (OSError, ValueError):  # another MPI
        yield
        return
    before = pointer.value
    show = _HELP(before or 0)

    def pass_on(file: bytes, topic: bytes, *rest: int) -> int:
        return 0 if topic == _UNTESTED else int(show(file, topic, *rest))

    instead = _HELP(pass_on)
    pointer.value = ctypes.cast(instead, ctypes.c_void_p).value
    try:
        yield
    finally:
        pointer.value = before
