"""A thread that does one thing after the other, as long as there is something to do."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class SerialThread:
    """Does what it is given, in that order, each thing for itself: what raises keeps no other from being done."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._works: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def put(self, work: Callable[[], None]) -> None:
        """Have something done."""
        self._works.append(work)
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._start()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._loop, name=self._name, daemon=True)
        self._thread.start()

    def _loop(self) -> None:
        try:
            while self._works:
                self._works.popleft()()
        finally:
            with self._lock:  # what is put in from now on is done by another thread
                self._thread = None
                if self._works:
                    self._start()
