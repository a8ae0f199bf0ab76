"""Writes that vanish: `x[0][1] = 5` sets an element of `x[0]`, an array of its own that nothing refers to.

NumPy's views make such writes reach `x`. There are no views here, so the user is warned where Python tells that
nothing else refers to the array: by counts of references, which are taken from a tiny class at import. Where Python
doesn't tell (its later versions lend local variables without counting), there is no warning.
"""

from __future__ import annotations

import sys
from typing import Any

from ..graph.errors import LostWrite
from ..workers.boundary import warn


class _Probe:
    """Counts references to itself when an element of it is set."""

    def __init__(self) -> None:
        self.seen = 0
        self.held: Any = None

    def __setitem__(self, key: Any, value: Any) -> None:
        _seen.append(sys.getrefcount(self))


_seen: list[int] = []
_named = _Probe()


def _calibrated() -> int:
    """Return how many references `__setitem__` sees of what nothing refers to; 0 where that can't be told."""
    _Probe()[0] = 0
    local, several, enclosed, holder = _Probe(), [_Probe()], _Probe(), _Probe()
    holder.held = _Probe()
    local[0] = several[0][0] = holder.held[0] = _named[0] = 0

    def inner() -> None:
        enclosed[0] = 0

    inner()
    for each in several:
        each[0] = 0
    lost, *kept = _seen
    _seen.clear()
    return lost if lost < min(kept) else 0


LOST = _calibrated()


def warn_lost() -> None:
    """Warn at the line that set elements."""
    warn(
        "elements are set in an array that nothing refers to, so they are lost: arrays of Windrow have no views; "
        "write x[0, 1] = 5 instead of x[0][1] = 5",
        LostWrite,
    )
