"""Operations on many positions at once: in place on a host, in messages to the owners elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .atomics import atomics

if TYPE_CHECKING:
    from .held import Generation, Held

Array = np.ndarray[Any, Any]
PIECE = 1 << 18
"""Positions in one message: an I/O thread is at them for some milliseconds."""
NONE = np.empty(0, np.uint8)


def gives(name: str) -> bool:
    """Tell whether an operation has results."""
    return name in ("get", "compare_and_swap") or name.startswith("fetch_")


def apply(held: Held, generation: Generation, name: str, places: Array, values: Array, others: Array) -> Array | None:
    """Apply an operation to the elements at flat positions; values are one for all, or one for each position."""
    if len(generation.parts) == len(generation.layout.ranks):
        return apply_near(held, generation, name, places, values, others)
    owners = places // generation.run
    is_near = generation.bases[owners] != 0
    found = np.empty(len(places), held.spec.dtype) if gives(name) else None
    near = np.flatnonzero(is_near)
    _some(held, generation, name, near, places, values, others, found, -1)
    far = np.flatnonzero(~is_near)
    far = far[np.argsort(owners[far], kind="stable")]
    borders = np.searchsorted(owners[far], np.arange(len(generation.layout.ranks) + 1))
    for part, (begin, end) in enumerate(zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)):
        for at in range(begin, end, PIECE):
            _some(held, generation, name, far[at : min(at + PIECE, end)], places, values, others, found, part)
    return found


def _some(
    held: Held,
    generation: Generation,
    name: str,
    which: Array,
    places: Array,
    values: Array,
    others: Array,
    found: Array | None,
    part: int,
) -> None:
    """Apply an operation to some of the positions, all of them one part's, or near (-1)."""
    if not len(which):
        return
    given = [x[which] if len(x) == len(places) and len(x) > 1 else x for x in (values, others)]
    if part < 0:
        told = apply_near(held, generation, name, places[which], *given)
    else:
        rank, token = generation.layout.ranks[part], held.spec.token
        told = held.site.ask(rank, "apply", token, generation.number, name, places[which], *given)
    if found is not None:
        found[which] = told


def apply_near(
    held: Held, generation: Generation, name: str, places: Array, values: Array, others: Array
) -> Array | None:
    """Apply an operation to elements that are mapped."""
    dtype = held.spec.dtype
    found = np.empty(len(places), dtype) if gives(name) else None
    atomics(dtype).many[name](
        generation.bases.ctypes.data,
        generation.run,
        places.ctypes.data,
        len(places),
        values.ctypes.data,
        int(len(values) > 1),
        others.ctypes.data,
        int(len(others) > 1),
        None if found is None else found.ctypes.data,
    )
    return found
