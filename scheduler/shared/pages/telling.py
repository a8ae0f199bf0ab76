"""Telling other hosts which of the driver's pages are gone."""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

from ....workers.wire.page_messages import DropMirror, FreePages
from ...session.cluster import engines
from ...session.job import post

if TYPE_CHECKING:
    import numpy as np

    from ....workers.shared.pages.files import PageFile
    from ....workers.wire.page_messages import PageMessage
    from ...engine.engine import Engine


def watch(file: PageFile) -> None:
    """Have other hosts give back their copies of a file when it goes."""
    weakref.finalize(file, _request, DropMirror(file.name.token)).atexit = False


def tell_freed(file: PageFile, slots: np.ndarray[Any, Any]) -> None:
    """Have other hosts give back their copies of pages."""
    _request(FreePages(file.name.token, slots))


def forget_pages(numbers: np.ndarray[Any, Any]) -> None:
    """Forget who holds pages that nobody needs any more."""
    for engine in _reaching():
        post(engine, lambda engine: engine.local.pages.directory.forget(numbers.tolist()))


def far() -> bool:
    """Whether there are other hosts."""
    return bool(_reaching())


def _reaching() -> list[Engine]:
    return [each for each in engines() if any(not peer.in_place for peer in each.transport.peers)]


def _request(message: PageMessage[None]) -> None:
    for engine in _reaching():
        post(engine, partial(_tell, message=message))


def _tell(engine: Engine, message: PageMessage[None]) -> None:
    for peer in engine.transport.peers:
        if engine.ledger.alive[peer.rank] and not peer.in_place:
            engine.local.calls.tell(peer.rank, message)
