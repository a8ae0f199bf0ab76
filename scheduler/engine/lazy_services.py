"""What answers ranks' questions on the driver, loaded when the first one comes: few jobs need it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from .engine import Engine

BOARD = "task board: "
_OFFERS = {"space.": ("..shared.spaces", "Spaces"), BOARD: ("..tasks.dispatcher", "Dispatcher")}


def offer_services(engine: Engine) -> None:
    """Have each of the services begin when it is first asked for."""
    for prefix, (module, name) in _OFFERS.items():
        engine.local.calls.offer(prefix, _beginner(engine, module, name))


def _beginner(engine: Engine, module: str, name: str) -> Callable[[], Any]:
    return lambda: getattr(importlib.import_module(module, __package__), name)(engine)
