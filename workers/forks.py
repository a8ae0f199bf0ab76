"""What a process sees to when it forks."""

from __future__ import annotations

import os
from typing import Any, Protocol


class _Lock(Protocol):
    def acquire(self) -> Any: ...

    def release(self) -> Any: ...


def hold_while_forking(lock: _Lock) -> None:
    """See to it that no other thread has a lock when the process forks: the child hasn't got that thread."""
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
