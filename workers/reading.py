"""I/O threads: they read sources that may be slow, so that neither compute threads nor the engine wait for these.

They are begun when the first such source is read, and are the process's: sources are read as many at a time whatever
computes with them.
"""

from __future__ import annotations

import os
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

READERS = 8
"""Threads of a process."""
_queue: SimpleQueue[Callable[[], None]] = SimpleQueue()
_threads: list[threading.Thread] = []
_lock = threading.Lock()


def read_soon(act: Callable[[], None]) -> None:
    """Have an I/O thread do something, which raises nothing."""
    _queue.put(act)
    if len(_threads) < READERS:
        with _lock:
            if len(_threads) < READERS:
                _threads.append(threading.Thread(target=_loop, name=f"windrow-reader-{len(_threads)}", daemon=True))
                _threads[-1].start()


def _loop() -> None:
    while True:
        _queue.get()()


def _begin_anew() -> None:
    global _queue, _lock
    _queue, _lock = SimpleQueue(), threading.Lock()
    _threads.clear()


os.register_at_fork(after_in_child=_begin_anew)
