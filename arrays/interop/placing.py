"""Functions of ours before those of another package, where that has no protocol for arrays which aren't NumPy's."""

from __future__ import annotations

import importlib
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_placing = threading.Lock()
_placed: set[str] = set()


def place(module: str, name: str, before: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put in place of a function what is made of it, once; nothing where another version has no such function."""
    with _placing:
        if f"{module}:{name}" in _placed:
            return
        _placed.add(f"{module}:{name}")
        try:
            holder: Any = importlib.import_module(module)
            *path, last = name.split(".")
            for part in path:
                holder = getattr(holder, part)
            setattr(holder, last, before(getattr(holder, last)))
        except (ImportError, AttributeError):
            return
