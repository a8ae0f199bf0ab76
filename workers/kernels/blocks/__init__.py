"""Built-in functions of whole blocks, by subject. A stage names one as "module:name".

A function gets NumPy arrays that it may not write to, and the operation's params; it returns the result's block. One
that is `filling` gets the result's block to fill, as the keyword `out`, and returns that; it keeps nothing of its
arguments, whose memory may be used again when it has returned.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["block_function", "filling", "fills"]


@cache
def block_function(name: str) -> Callable[..., Any]:
    """Return a function of blocks by its name, "module:name"."""
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(f".{module}", __name__), function)
    return found


_FILLING: set[Callable[..., Any]] = set()
"""Functions that are marked so."""


def filling(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function of blocks that fills the result's block itself."""
    _FILLING.add(function)
    return function


def fills(function: Callable[..., Any]) -> bool:
    """Tell whether a function of blocks fills the result's block itself."""
    return function in _FILLING
