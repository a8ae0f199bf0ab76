"""All ranks' copies become one: their sum, their least or greatest, or one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .local_parts import Generation, LocalArray

_UFUNCS = {"sum": np.add, "min": np.minimum, "max": np.maximum}
_BLOCK = 1 << 16


def fold(held: LocalArray, generation: Generation, operation: str | int, share: int, shares: int) -> None:
    """Make one share of the elements the same in all copies; others do the other shares.

    The operation is "sum", "min" or "max", in the order of ranks, or the number of the copy that all become.
    """
    size = held.spec.size
    begin, end = size * share // shares, size * (share + 1) // shares
    near = len(generation.parts) == len(generation.layout.ranks)
    block = _BLOCK if near else 8 * _BLOCK
    for at in range(begin, end, block):
        till = min(at + block, end)
        combined = _combine(held, generation, operation, at, till)
        for part in range(len(generation.layout.ranks)):
            held.write(generation, part, at, combined)
        for copy in held.more:
            copy[at:till] = combined


def _combine(held: LocalArray, generation: Generation, operation: str | int, begin: int, end: int) -> Any:
    ranks = len(generation.layout.ranks)

    def copy(number: int) -> Any:
        if number < ranks:
            return held.read(generation, number, begin, end)
        return held.more[number - ranks][begin:end]

    if isinstance(operation, int):
        return copy(operation).copy()
    ufunc = _UFUNCS[operation]
    combined = copy(0).copy()
    for number in range(1, ranks + len(held.more)):
        ufunc(combined, copy(number), out=combined)
    return combined
