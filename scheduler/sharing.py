"""Objects that all ranks see, as the driver shares them and lets go of them."""

from __future__ import annotations

import weakref
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from ..workers.protocol import Unshare
from ..workers.shared_objects import Shared, forget
from .cluster import engines
from .job import Ask

if TYPE_CHECKING:
    from ..workers.shared_objects import SharedName
    from .engine import Engine


def share(value: Any) -> Shared:
    """Put an object where all ranks see it, as long as somebody refers to what is returned."""
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
