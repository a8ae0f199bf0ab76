"""Objects that all ranks see, as the driver shares them and lets go of them."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import pickle
import weakref
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from ...workers.shared.shared_objects import Borrowed, Shared, forget
from ...workers.wire.protocol import Unshare
from ..session.cluster import engines, running, session
from ..session.job import Ask

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...workers.shared.shared_objects import SharedName
    from ..engine.engine import Engine

Made = TypeVar("Made")


class _Keeper:
    """Keeps an object for all ranks that run the script."""

    def __init__(self, made: object) -> None:
        self._made: object = made

    def release(self) -> None:
        """Let go of it."""
        self._made = None


def share(value: object) -> Shared:
    """Put an object where all ranks see it, as long as somebody refers to what is returned; in SPMD mode rank 0's."""
    current_session = running()
    if current_session is None or current_session.place[1] == 1:
        return _put(value)

    def make() -> tuple[SharedName, _Keeper]:
        shared = _put(value)
        return shared._name, _Keeper(shared)

    return Borrowed(*current_session.hold_once("shared.object", make))


def make_once(what: str, make: Callable[[], Made]) -> Made:
    """Make what all ranks know by a name; in SPMD mode rank 0 makes it, as long as any rank's script refers to it."""
    current_session = session()
    if current_session.place[1] == 1:
        return make()

    def create() -> tuple[bytes, _Keeper]:
        original = make()
        return pickle.dumps(original, 5), _Keeper(original)

    packed, pin = current_session.hold_once(what, create)
    handle: Made = pickle.loads(packed)
    weakref.finalize(handle, pin.release)
    return handle


def _put(value: object) -> Shared:
    shared = Shared(value)
    weakref.finalize(shared, _let_go, shared._name)
    return shared


def _let_go(name: SharedName) -> None:
    # A finalizer runs anywhere, so perhaps within a lock that `forget` takes: an engine's thread calls it.
    living = engines()
    for engine in living:
        engine.request(Ask(partial(_tell, name=name), SimpleQueue()))
    if not living:
        forget(name.token)


def _tell(engine: Engine, name: SharedName) -> None:
    forget(name.token)
    engine.transport.forget(0, name.descriptor)  # mapped, where it was sent to others
    for rank, alive in enumerate(engine.ledger.alive):
        if alive and rank:
            engine.send(rank, Unshare(name.token))
