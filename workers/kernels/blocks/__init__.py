"""Built-in functions of whole blocks, by subject. A stage names one as "module:name".

A function gets NumPy arrays that it may not write to, and the operation's params; it returns the result's block.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["block_function"]


@cache
def block_function(name: str) -> Callable[..., Any]:
    """Return a function of blocks by its name, "module:name"."""
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(f".{module}", __name__), function)
    return found
