"""Objects that all ranks see, as the driver shares them and lets go of them."""

from __future__ import annotations

import weakref
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from ..workers.protocol import Unshare
from ..workers.shared_objects import Borrowed, Shared, forget
from .cluster import engines, running
from .job import Ask

if TYPE_CHECKING:
    from ..workers.shared_objects import SharedName
    from .engine import Engine


class _Keeper:
    """Keeps an object for all ranks that run the script."""

    def __init__(self, made: Shared) -> None:
        self._made: Shared | None = made

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
