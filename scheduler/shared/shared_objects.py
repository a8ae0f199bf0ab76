"""Objects that all ranks see, as the driver shares them and lets go of them."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING

from ...workers.shared.shared_objects import Borrowed, Shared, forget
from ...workers.wire.protocol import Unshare
from ..session.cluster import engines, running
from ..session.job import post
from .handles import HandleKeeper

if TYPE_CHECKING:
    from ...workers.shared.segment import SegmentName
    from ..engine.engine import Engine


def share(value: object) -> Shared:
    """Put an object where all ranks see it, as long as somebody refers to what is returned; in SPMD mode rank 0's."""
    current_session = running()
    if current_session is None or current_session.place[1] == 1:
        return _put(value)

    def make() -> tuple[SegmentName, HandleKeeper]:
        shared = _put(value)
        return shared._name, HandleKeeper(shared)

    return Borrowed(*current_session.hold_once("shared.object", make))


def _put(value: object) -> Shared:
    shared = Shared(value)
    weakref.finalize(shared, _let_go, shared._name)
    return shared


def _let_go(name: SegmentName) -> None:
    # A finalizer runs anywhere, so perhaps within a lock that `forget` takes: an engine's thread calls it.
    living = engines()
    for engine in living:
        post(engine, partial(_tell, name=name))
    if not living:
        forget(name.token)


def _tell(engine: Engine, name: SegmentName) -> None:
    forget(name.token)
    engine.transport.forget(0, name.descriptor)  # mapped, where it was sent to others
    for rank, alive in enumerate(engine.ledger.alive):
        if alive and rank:
            engine.send(rank, Unshare(name.token))
