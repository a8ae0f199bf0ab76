"""News of a rank's death, kept from Open MPI while it makes a communicator.

Open MPI (5.0.11) marks a dead rank in every communicator that it finds. One that is just being made is found, but has
no collectives yet: the process ends by a segmentation fault, and a driver that ends takes all with it. Who makes a
communicator waits for the dead rank in that very moment, so that this is no rare meeting: of 40 jobs in which a rank
was killed amid `Comm_split` by all ranks, 5 ended so.

The news comes through PMIx, whose handlers are called one after the other; one for a single kind of event comes before
Open MPI's, and the next is called when it says so. Ours does so at once, unless a communicator is in the making: then
what it is made of is revoked, on a thread of ours, which ends the making with an error, and the news goes on. News of
a broken connection between hosts comes on other ways, and is not held.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import threading
from typing import TYPE_CHECKING, Any

from ..start.environment import ulfm_enabled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LIBRARY = "libpmix.so.2"
_CODES = (-200, -402, -7)  # PMIX_ERR_PROC_TERM_WO_SYNC, PMIX_ERR_PROC_ABORTED_BY_SIG, PMIX_ERR_PROC_ABORTED
_NO_ACTION_TAKEN = -331

_GO_ON = ctypes.CFUNCTYPE(
    None, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)
_HANDLER = ctypes.CFUNCTYPE(
    None,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_void_p,
    ctypes.c_size_t,
    _GO_ON,
    ctypes.c_void_p,
)


class Obituaries:
    """Holds news of deaths back; where there is no PMIx of Open MPI's in this process, it does nothing.

    Call `begin` before the first communicator is made.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.made = 0.0
        """When a communicator was last made here."""
        self._making: list[Callable[[], object]] = []
        self._held: list[Callable[[], object]] = []
        self._handler = _HANDLER(self._told)
        self._library: ctypes.CDLL | None = None
        self._numbers: list[int] = []

    def begin(self) -> None:
        """Hear of deaths from now on."""
        if not ulfm_enabled():
            return
        try:
            library = ctypes.CDLL(_LIBRARY, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
            register = library.PMIx_Register_event_handler
        except (OSError, AttributeError):
            return
        if not library.PMIx_Initialized():
            return
        for code in _CODES:
            codes = (ctypes.c_int * 1)(code)
            number = register(codes, ctypes.c_size_t(1), None, ctypes.c_size_t(0), self._handler, None, None)
            if number >= 0:
                self._numbers.append(number)
        self._library = library
        atexit.register(self.close)  # Python isn't called once it has ended

    def close(self) -> None:
        """Hear of nothing any more."""
        numbers, self._numbers = self._numbers, []
        for number in numbers:
            assert self._library is not None
            self._library.PMIx_Deregister_event_handler(ctypes.c_size_t(number), None, None)
        atexit.unregister(self.close)

    @contextlib.contextmanager
    def held(self, end: Callable[[], object]) -> Iterator[None]:
        """Hold news back while a communicator is made; `end` makes that end with an error, and is called at a death."""
        with self._lock:
            self._making.append(end)
        try:
            yield
        finally:
            with self._lock:
                self._making.remove(end)
                notices = [] if self._making else self._held
                if notices:
                    self._held = []
            for tell in notices:
                tell()

    def _told(self, *given: Any) -> None:
        """Be told of a death, on PMIx's thread."""
        go_on, data = given[7], given[8]

        def tell() -> None:
            go_on(_NO_ACTION_TAKEN, None, 0, None, None, data)

        with self._lock:
            ends = list(self._making)
            if ends:
                self._held.append(tell)
        if not ends:
            tell()
            return
        threading.Thread(target=_end, args=(ends,), name="windrow-obituary", daemon=True).start()


def _end(ends: list[Callable[[], object]]) -> None:
    for end in ends:
        with contextlib.suppress(Exception):
            end()
