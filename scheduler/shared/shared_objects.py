"""Objects that all ranks see, as the driver shares them and lets go of them."""

from __future__ import annotations

import pickle
import weakref
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

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


def share(value: Any) -> Shared:
    """Put an object where all ranks see it, as long as somebody refers to what is returned; in SPMD mode rank 0's."""
    found = running()
    if found is None or found.place[1] == 1:
        return _put(value)

    def make() -> tuple[SharedName, _Keeper]:
        made = _put(value)
        return made._name, _Keeper(made)

    return Borrowed(*found.hold_once("shared.object", make))


def make_once(what: str, make: Callable[[], Made]) -> Made:
    """Make what all ranks know by a name; in SPMD mode rank 0 makes it, as long as any rank's script refers to it."""
    found = session()
    if found.place[1] == 1:
        return make()

    def create() -> tuple[bytes, _Keeper]:
        made = make()
        return pickle.dumps(made, 5), _Keeper(made)

    packed, pin = found.hold_once(what, create)
    handle: Made = pickle.loads(packed)
    weakref.finalize(handle, pin.release)
    return handle


def _put(value: Any) -> Shared:
    made = Shared(value)
    weakref.finalize(made, _let_go, made._name)
    return made


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
