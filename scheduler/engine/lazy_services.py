"""What answers ranks' questions on the driver, loaded when the first one comes: few jobs need it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ...workers.wire.one_sided_messages import CoordinatorMessage
from ...workers.wire.shared_messages import SpaceMessage
from ...workers.wire.task_messages import BoardMessage

if TYPE_CHECKING:
    from .engine import Engine


def offer_services(engine: Engine) -> None:
    """Have each of the services begin when it is first asked for."""
    calls = engine.local.calls
    calls.offer(CoordinatorMessage, lambda: _load("..shared.symmetric").Coordinator(engine))
    calls.offer(SpaceMessage, lambda: _load("..shared.spaces").Spaces(engine))
    calls.offer(BoardMessage, lambda: _load("..tasks.dispatcher").Dispatcher(engine))


def _load(module: str) -> Any:
    return importlib.import_module(module, __package__)
