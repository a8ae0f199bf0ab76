"""Rows of numbers in order by NumPy's fastest sorts; the bits are those of a stable sort.

Equal integers have equal bits. Zeros of both signs, and NaN, are put back in the order in which they came.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def sort_pieces(pieces: list[Array], out: Array) -> None:
    """Fill a row with the numbers of pieces, in order."""
    if len(pieces) == 1:
        np.copyto(out, pieces[0])
    else:
        np.concatenate(pieces, out=out)
    put_in_order(out)
    if out.dtype.kind == "f":
        _restore_bits(out, pieces)


def put_in_order(x: Array, axis: int = -1) -> None:
    """Sort in place by NumPy: zeros of both signs, and NaN, come in any order.

    Integers of one or two bytes are sorted by their digits, which NumPy does where a stable sort is asked for. float16
    goes by its bits: NumPy's vectorised sort (2.4) leaves it out of order where there are zeros of both signs.
    """
    if x.dtype.kind != "f" or x.dtype.itemsize != 2:
        x.sort(axis, kind="stable" if x.dtype.kind in "biu" and x.dtype.itemsize <= 2 else None)
        return
    bits = x.astype(np.float16).view(np.int16)
    bits[np.isnan(x)] = 0x7FFF
    bits ^= (bits >> 15) & 0x7FFF
    put_in_order(bits, axis)
    bits ^= (bits >> 15) & 0x7FFF
    x[...] = bits.view(np.float16)


def order_row(x: Array) -> Array:
    """Return the stable order of a row: a fast one, then sorted positions within each run of equal elements."""
    order = np.argsort(x)
    ordered = x[order]
    changes = ordered[1:] != ordered[:-1]
    if x.dtype.kind == "f":
        changes[np.searchsorted(ordered, np.nan) :] = False
    if changes.all():
        return order
    run = np.zeros(len(x), np.int64)
    np.cumsum(changes, out=run[1:])
    run <<= 32
    run |= order
    put_in_order(run)
    run &= 0xFFFFFFFF
    return run


def _restore_bits(found: Array, came: list[Array]) -> None:
    """Put back into a sorted row zeros of both signs, and NaN, as they came."""
    if (
        not len(found) or (found[0] > 0 and found[-1] == found[-1]) or found[-1] < 0
    ):  # a search would let go of Python's lock
        return
    zero, after = np.searchsorted(found, 0, "left"), np.searchsorted(found, 0, "right")
    lost = np.searchsorted(found, np.nan)
    if after > zero:
        found[zero:after] = np.concatenate([x[x == 0] for x in came])
    if lost < len(found):
        found[lost:] = np.concatenate([x[np.isnan(x)] for x in came])
