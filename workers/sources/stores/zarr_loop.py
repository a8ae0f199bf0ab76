"""Windrow's threads read zarr's arrays in an event loop of their own, never in the one where zarr writes.

zarr runs all that it does in one event loop. In `z[...] = lazy` it asks for the elements within that loop, which then
stands still until they are computed; so who reads zarr's arrays for them must not need it. The loop of readers never
waits for a computation.
"""

from __future__ import annotations

import functools
import importlib
import io
import os
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ....graph.errors import ClusterError
from ...rank.output import in_task

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

BOUND = b"FsspecStore"
"""What pickles have in them whose file system may hold connections of the event loop that used it first."""


class _Thread(threading.local):
    depth = 0
    """How many readings the thread is within."""


_guard = threading.Lock()
_thread = _Thread()
_loops: list[asyncio.AbstractEventLoop] = []


def part_loops() -> None:
    """Have zarr run what Windrow's threads ask for in the loop of readers, once it is loaded."""
    sync: Any = sys.modules.get("zarr.core.sync")
    choose = getattr(sync, "_get_loop", None)
    if choose is None or hasattr(choose, "__wrapped__"):
        return

    @functools.wraps(choose)
    def chosen() -> asyncio.AbstractEventLoop:
        if in_task() or _thread.depth:
            return _readers_loop()
        usual: asyncio.AbstractEventLoop = choose()
        return _readers_loop() if _running_loop() is usual else usual

    with _guard:
        if sync._get_loop is choose:
            sync._get_loop = chosen


@contextmanager
def reading() -> Iterator[None]:
    """What the calling thread reads meanwhile it reads in the loop of readers."""
    part_loops()
    _thread.depth += 1
    try:
        yield
    finally:
        _thread.depth -= 1


def check_loop() -> None:
    """Raise where the calling thread is that of the loop of readers, which may not wait for a computation."""
    running = _running_loop()
    if running is None:
        return
    part_loops()
    if running in _loops:
        raise ClusterError(
            "compute: zarr asks for a lazy array within a function of blocks or a task, or while Windrow reads from "
            "it; these can't compute arrays: compute() it before"
        )


class _Apart(pickle.Unpickler):
    """Makes file systems of fsspec anew, where fsspec itself would find the one that the user's script has."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what a pickle names."""
        member = super().find_class(module, name)
        return _make_anew if (module, name) == ("fsspec.spec", "make_instance") else member


def _make_anew(kind: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    return kind(*args, **kwargs, skip_instance_cache=True)


def own_copy(pickled: bytes) -> Any:
    """Unpickle a source for the loop of readers: no connection of its file system belongs to another loop."""
    return _Apart(io.BytesIO(pickled)).load()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs in this thread: none before asyncio, which takes long to import, is there."""
    loaded: Any = sys.modules.get("asyncio")
    return None if loaded is None else loaded._get_running_loop()


def _readers_loop() -> asyncio.AbstractEventLoop:
    with _guard:
        if not _loops:
            loop: asyncio.AbstractEventLoop = importlib.import_module("asyncio").new_event_loop()
            threads = sys.modules["zarr"].config.get("threading.max_workers", None) if "zarr" in sys.modules else None
            if threads is not None:
                loop.set_default_executor(ThreadPoolExecutor(threads, "windrow-zarr"))
            threading.Thread(target=loop.run_forever, name="windrow-zarr", daemon=True).start()
            _loops.append(loop)
        return _loops[0]


def _begin_anew() -> None:
    global _guard
    _guard = threading.Lock()
    _loops.clear()


os.register_at_fork(after_in_child=_begin_anew)
