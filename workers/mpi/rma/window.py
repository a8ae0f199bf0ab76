"""The MPI window that exposes each rank's arena: made at start, locked by all for reading until the end.

A Get whose target has died may never return, so how it is used follows from what was tried: see `gets_alone` and
`gets_are_safe` here, and `fetch`.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from mpi4py import MPI

from ...wire.transport import MpiWindow
from ..start.environment import allows_btl, ulfm_enabled
from ..start.warnings_of_mpi import untested_quietly

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...shared.segment import SharedSegment

_SETTLE = 0.02  # until the sleeping half of the self-test surely sleeps
_PATIENCE = 0.1  # for the Get of the self-test
_SLEEP = 0.2
_MODELS = {MPI.WIN_UNIFIED: "unified", MPI.WIN_SEPARATE: "separate"}
_FLAVORS = {
    MPI.WIN_FLAVOR_CREATE: "create",
    MPI.WIN_FLAVOR_ALLOCATE: "allocate",
    MPI.WIN_FLAVOR_DYNAMIC: "dynamic",
    MPI.WIN_FLAVOR_SHARED: "shared",
}


@dataclass(frozen=True, slots=True)
class Exposure:
    """The window, and what each rank's MPI says of it."""

    window: MPI.Win
    ranks: tuple[MpiWindow, ...]

    @property
    def unified(self) -> bool:
        """Whether what an owner stores is what a Get reads, without a call of MPI between."""
        return all(each.model == "unified" for each in self.ranks)


def expose(comm: MPI.Intracomm, arena: SharedSegment) -> Exposure | None:
    """Expose the arena to all ranks; None where MPI can't, on all ranks alike. Collective."""
    begin = time.perf_counter()
    window = _create(comm, arena)
    own = None if window is None else _describe(window, time.perf_counter() - begin)
    ranks = cast("list[MpiWindow | None]", comm.allgather(own))
    windows = tuple(each for each in ranks if each is not None)
    if window is None or len(windows) < len(ranks):
        return None
    window.Set_errhandler(MPI.ERRORS_RETURN)
    window.Lock_all(MPI.MODE_NOCHECK)
    return Exposure(window, windows)


def _create(comm: MPI.Intracomm, arena: SharedSegment) -> MPI.Win | None:
    memory = MPI.memory.fromaddress(int(arena.memory.ctypes.data), arena.name.nbytes)
    with untested_quietly(), contextlib.suppress(MPI.Exception):
        return MPI.Win.Create(memory, 1, MPI.INFO_NULL, comm)
    return None


def _describe(window: MPI.Win, seconds: float) -> MpiWindow:
    base, size, unit, model, flavor = (
        int(window.Get_attr(key) or 0)
        for key in (MPI.WIN_BASE, MPI.WIN_SIZE, MPI.WIN_DISP_UNIT, MPI.WIN_MODEL, MPI.WIN_CREATE_FLAVOR)
    )
    return MpiWindow(base, size, unit, _MODELS.get(model, str(model)), _FLAVORS.get(flavor, str(flavor)), seconds)


def gets_are_safe() -> bool:
    """Tell whether a rank that Gets outlives the death of its target, as far as it is known.

    Where a death ends the whole job it makes no difference. Open MPI's libfabric module ends the process whose Get
    fails.
    """
    return not ulfm_enabled() or not allows_btl("ofi")


def gets_alone(comm: MPI.Intracomm, window: MPI.Win, others: set[int]) -> bool:
    """Tell whether a Get from each of these ranks completes while they sleep outside MPI, on all ranks alike.

    Even ranks try, then odd ones. Where it does not, the Get may hold its caller until the target wakes, which it does.
    """
    passed = True
    for half in (0, 1):
        comm.Barrier()
        if comm.rank % 2 != half:
            time.sleep(_SLEEP)
            continue
        targets = sorted(r for r in others if r % 2 != half)
        if targets:
            time.sleep(_SETTLE)
            begin = time.monotonic()
            passed = passed and get_bytes(window, targets[comm.rank // 2 % len(targets)])
            passed = passed and time.monotonic() - begin < _PATIENCE
    return bool(comm.allreduce(passed, MPI.LAND))


def meet(comm: MPI.Intracomm, window: MPI.Win, others: Iterable[int]) -> bool:
    """Get from each of these ranks once, while all live; tell whether it went well on all ranks.

    The first Get from a rank asks others where its memory lies, and waits for them, whether they live or not.
    """
    return bool(comm.allreduce(all(get_bytes(window, rank) for rank in others), MPI.LAND))


def get_bytes(window: MPI.Win, target: int) -> bool:
    """Get eight bytes; tell whether they came."""
    buffer = np.empty(8, np.uint8)
    try:
        request = window.Rget([buffer, MPI.BYTE], target)
        while not request.Test():
            os.sched_yield()
    except MPI.Exception:
        return False
    return True
