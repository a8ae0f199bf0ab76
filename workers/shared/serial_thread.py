"""A thread that does one thing after the other, as long as there is something to do."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class SerialThread:
    """Does what it is given, in that order, each thing for itself."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._works: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def put(self, work: Callable[[], None]) -> None:
        """Have something done. Should it raise, what comes after it waits for the next call of this method."""
        with self._lock:
            self._works.append(work)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._loop, name=self._name, daemon=True)
                self._thread.start()

    def _loop(self) -> None:
        while True:
            with self._lock:
                if not self._works:
                    self._thread = None
                    return
                work = self._works.popleft()
            work()
            del work
