"""Built-in functions of whole blocks, by subject. A stage names one as "folder.module:name".

A function gets NumPy arrays that it may not write to, and the operation's params; it returns the result's block. One
that is `filling` gets the result's block to fill, as the keyword `out`, and returns that; it keeps nothing of its
arguments, whose memory may be used again when it has returned. One that is `piecewise` gets an argument of one axis
that was moved as a list of its pieces, in order, as they lie in their chunks: they aren't put together. `room` says
how much memory one takes while it runs.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["block_function", "filling", "fills", "piecewise", "room", "room_of", "takes_pieces"]


@cache
def block_function(name: str) -> Callable[..., Any]:
    """Return a function of blocks by its name, "folder.module:name"."""
    module, _, function = name.partition(":")
    kernel: Callable[..., Any] = getattr(importlib.import_module(f".{module}", __name__), function)
    return kernel


_FILLING: set[Callable[..., Any]] = set()
_PIECEWISE: set[Callable[..., Any]] = set()


def filling(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function of blocks that fills the result's block itself."""
    _FILLING.add(function)
    return function


def fills(function: Callable[..., Any]) -> bool:
    """Tell whether a function of blocks fills the result's block itself."""
    return function in _FILLING


def piecewise(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function of blocks that takes moved arguments as lists of pieces."""
    _PIECEWISE.add(function)
    return function


def takes_pieces(function: Callable[..., Any]) -> bool:
    """Tell whether a function of blocks takes moved arguments as lists of pieces."""
    return function in _PIECEWISE


ROOM = 3.0
"""What a function takes that says nothing else."""
_ROOMS: dict[Callable[..., Any], float] = {}


def room(factor: float) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a function of blocks: while it runs it takes so many times the bytes of its arguments and its result."""

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        _ROOMS[function] = factor
        return function

    return mark


def room_of(function: Callable[..., Any]) -> float:
    """Return how much a function of blocks takes while it runs, in bytes of its arguments and its result."""
    return _ROOMS.get(function, ROOM)
