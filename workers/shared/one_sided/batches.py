"""Operations on many positions at once: in place on a host, in messages to the owners elsewhere."""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...wire.one_sided_messages import ApplyBatch
from .atomics import atomics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .local_parts import Generation, LocalArray

Array = np.ndarray[Any, Any]
PIECE = 1 << 18
"""Positions in one message: an I/O thread is at them for some milliseconds."""
AT_ONCE = 8
"""Messages that are under way at a time."""
NONE = np.empty(0, np.uint8)


def gives(name: str) -> bool:
    """Tell whether an operation has results."""
    return name in ("get", "compare_and_swap") or name.startswith("fetch_")


def apply(
    held: LocalArray, generation: Generation, name: str, places: Array, values: Array, others: Array
) -> Array | None:
    """Apply an operation to the elements at flat positions; values are one for all, or one for each position."""
    if len(generation.parts) == len(generation.layout.ranks):
        return apply_near(held, generation, name, places, values, others)

    def take(which: Array) -> list[Array]:
        return [places[which], *(x[which] if len(x) == len(places) and len(x) > 1 else x for x in (values, others))]

    owners = places // generation.run
    is_near = generation.bases[owners] != 0
    fetched = np.empty(len(places), held.spec.dtype) if gives(name) else None
    far = np.flatnonzero(~is_near)
    far = far[np.argsort(owners[far], kind="stable")]
    asked: deque[tuple[Array, Callable[[], Any]]] = deque()

    def settle() -> None:
        which, answer = asked.popleft()
        reply = answer()
        if fetched is not None:
            fetched[which] = reply

    for which in _pieces(far, owners[far]):
        if len(asked) == AT_ONCE:
            settle()
        rank = generation.layout.ranks[owners[which[0]]]
        message = ApplyBatch(held.spec.token, generation.number, name, *take(which))
        asked.append((which, held.site.begin(rank, message)))
    near = np.flatnonzero(is_near)
    if len(near):
        near_values = apply_near(held, generation, name, *take(near))
        if fetched is not None:
            fetched[near] = near_values
    while asked:
        settle()
    return fetched


def _pieces(far: Array, owners: Array) -> Iterator[Array]:
    """Cut what is sorted by owner into what goes in one message."""
    borders = [0, *(np.flatnonzero(np.diff(owners)) + 1).tolist(), len(far)]
    for begin, end in pairwise(borders):
        for at in range(begin, end, PIECE):
            yield far[at : min(at + PIECE, end)]


def apply_near(
    held: LocalArray, generation: Generation, name: str, places: Array, values: Array, others: Array
) -> Array | None:
    """Apply an operation to elements that are mapped."""
    dtype = held.spec.dtype
    fetched = np.empty(len(places), dtype) if gives(name) else None
    atomics(dtype).many[name](
        generation.bases.ctypes.data,
        generation.run,
        places.ctypes.data,
        len(places),
        values.ctypes.data,
        int(len(values) > 1),
        others.ctypes.data,
        int(len(others) > 1),
        None if fetched is None else fetched.ctypes.data,
    )
    return fetched
