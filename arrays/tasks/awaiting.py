"""Computing an array while an event loop goes on: `await x`."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

from ...scheduler.session.result_collector import given_up
from ..execution import compute as execution

if TYPE_CHECKING:
    from ..base import ArrayBase


async def compute(x: ArrayBase) -> Any:
    """Compute an array on a thread; who stops waiting (a timeout, a task that is cancelled) cancels the computation."""
    ending = threading.Event()
    before = given_up.set(ending)  # the thread has a copy of this context
    try:
        return await asyncio.to_thread(execution.compute_array, x)
    finally:
        given_up.reset(before)
        ending.set()
