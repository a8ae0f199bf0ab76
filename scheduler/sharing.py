"""Objects that all ranks see, as the driver shares them and lets go of them."""

from __future__ import annotations

import weakref
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from ..workers.protocol import Unshare
from ..workers.shared_objects import Shared
from .cluster import engines
from .job import Ask

if TYPE_CHECKING:
    from .engine import Engine


def share(value: Any) -> Shared:
    """Put an object where all ranks see it, as long as somebody refers to what is returned."""
    made = Shared(value)
    weakref.finalize(made, _let_go, made.token)
    return made


def _let_go(token: bytes) -> None:
    for engine in engines():
        engine.request(Ask(partial(_tell, token=token), SimpleQueue()))


def _tell(engine: Engine, token: bytes) -> None:
    for rank, alive in enumerate(engine.ledger.alive):
        if alive and rank:
            engine.send(rank, Unshare(token))
