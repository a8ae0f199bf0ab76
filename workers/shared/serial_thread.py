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
        self._runs = False

    def put(self, work: Callable[[], None]) -> None:
        """Have something done, which must not raise."""
        with self._lock:
            self._works.append(work)
            if self._runs:
                return
            self._runs = True
        threading.Thread(target=self._loop, name=self._name, daemon=True).start()

    def _loop(self) -> None:
        while True:
            with self._lock:
                if not self._works:
                    self._runs = False
                    return
                work = self._works.popleft()
            work()
            del work
