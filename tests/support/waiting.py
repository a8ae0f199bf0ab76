"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def until(condition: Callable[[], object], what: object, limit: float = 20.0, pause: float = 0.005):
    """Wait until a condition holds, and return what it gave.

    After `limit` seconds the test fails, and says `what` wasn't so; called then, where it is a function. The condition
    is asked every `pause` seconds.
    """
    deadline = time.monotonic() + limit
    while not (outcome := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {limit} s: {what() if callable(what) else what}")
        time.sleep(pause)
    return outcome
