"""Rows of numbers in order, in whatever way is the fastest on this processor; the bits are those of a stable sort.

How fast NumPy's sort is differs tenfold between processors, by the instructions that it takes. So it is tried at first
use beside the compiled one (`compiled/spreading.py`), or, for integers of one or two bytes, beside its own sort by
digits; what won is remembered by this process for the dtype. The ways differ in nothing but time: equal integers have
equal bits, and zeros of both signs, and NaN, stay in the order in which they came.
"""

from __future__ import annotations

import itertools
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from .buffers import ARGUMENTS
from .compiled.fixed import spreading
from .compiled.fixed.dealing import BUCKETS, deal_numbers, find_buckets

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray[Any, Any]

LONG = 1 << 11
"""Rows of fewer elements are sorted by NumPy in less time than anything else takes."""

TRIED, TIMES = 1 << 14, 3
"""Ways are tried on so many elements, so often."""

SAMPLE = 16 * BUCKETS
"""So many elements of a row tell the borders of its buckets."""

ROOM = -8
"""The number of the scratch memory for what is dealt into buckets."""

_won: dict[tuple[str, np.dtype[Any]], bool] = {}
_lock = threading.Lock()


def sort_pieces(pieces: list[Array], out: Array, ahead: int = 0, *, joined: bool = False) -> None:
    """Fill a row with the numbers of pieces, in order; about so many more are known to come to this process.

    A row that is `joined` already has the pieces, one after the other.
    """
    if joined:
        pass
    elif len(pieces) == 1:
        np.copyto(out, pieces[0])
    else:
        np.concatenate(pieces, out=out)
    run = _find(out.dtype, len(out), ahead) if out.flags.c_contiguous and out.flags.aligned else None
    if run is None or not _spread(run, out):
        put_in_order(out)
        if out.dtype.kind == "f":
            _restore_bits(out, pieces)


def put_in_order(x: Array, axis: int = -1) -> None:
    """Sort in place by NumPy: zeros of both signs, and NaN, come in any order.

    float16 goes by its bits: NumPy's vectorised sort (2.4) leaves it out of order where there are zeros of both signs.
    """
    if x.dtype.kind != "f" or x.dtype.itemsize != 2:
        x.sort(axis, kind="stable" if _has_digits(x, axis) else None)
        return
    bits = x.astype(np.float16).view(np.int16)
    bits[np.isnan(x)] = 0x7FFF
    bits ^= (bits >> 15) & 0x7FFF
    put_in_order(bits, axis)
    bits ^= (bits >> 15) & 0x7FFF
    x[...] = bits.view(np.float16)


def order_row(x: Array) -> Array:
    """Return the stable order of a row, in C order, of numbers of 4 or 8 bytes."""
    run = _find(x.dtype, len(x), places=True)
    order = np.empty(len(x), np.int64)
    status = spreading.UNENDED if run is None else spreading.order_numbers(run, x, order)
    if status == spreading.LOST:
        lost = np.isnan(x)
        kept = np.flatnonzero(~lost)
        return np.concatenate([kept[order_row(x[kept])], np.flatnonzero(lost)])
    if status == spreading.DONE:
        return order
    dealt = None if run is None else _order_buckets(run, x)
    return _order_by_numpy(x) if dealt is None else dealt


def pays(x: Array, axis: int = -1) -> bool:
    """Tell whether lines along an axis are sorted faster one by one than together, by NumPy."""
    return _find(x.dtype, x.shape[axis], x.size) is not None


def _find(dtype: np.dtype[Any], n: int, ahead: int = 0, *, places: bool = False) -> Any:
    """Return the compiled function for rows of so many elements if it is there, and faster than NumPy's."""
    run = spreading.kernel(dtype, n, ahead, places=places) if n >= LONG and spreading.takes(dtype) else None
    if run is None:
        return None
    name, numpy = ("order", np.argsort) if places else ("sort", np.sort)
    ours, out = (
        spreading.order_numbers if places else spreading.sort_numbers,
        np.empty(TRIED, "i8" if places else dtype),
    )
    return run if _is_faster(name, dtype, lambda x: ours(run, x, out), numpy) else None


def _has_digits(x: Array, axis: int) -> bool:
    """Tell whether NumPy's sort by digits, which it has for small integers, is faster than its other one."""
    if x.dtype.kind not in "biu" or x.dtype.itemsize > 2 or x.shape[axis] < LONG:
        return False
    return _is_faster("digits", x.dtype, lambda row: np.sort(row, kind="stable"), np.sort)


def _is_faster(name: str, dtype: np.dtype[Any], one: Callable[[Array], Any], other: Callable[[Array], Any]) -> bool:
    """Tell which of two ways to sort is faster; found once a process."""
    with _lock:
        if (name, dtype) not in _won:
            row = np.random.default_rng(0).random(TRIED)
            row = (row * 100 if dtype.itemsize == 1 else row * 30_000).astype(dtype)
            _won[name, dtype] = _time(one, row) < _time(other, row)
    return _won[name, dtype]


def _time(way: Callable[[Array], Any], row: Array) -> float:
    seconds = []
    for _ in range(TIMES):
        begin = time.perf_counter()
        way(row)
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def _spread(run: Any, row: Array) -> bool:
    """Sort in place, stably; False where the elements are still in some order, equal ones in their own."""
    status = spreading.UNENDED if len(row) > spreading.MOST else spreading.sort_numbers(run, row, row)
    if status != spreading.LOST:
        return status == spreading.DONE or _sort_buckets(run, row)
    lost = np.isnan(row)
    kept, last = row[~lost], row[lost]
    row[len(kept) :] = last
    sort_pieces([kept], row[: len(kept)])
    return True


def _sort_buckets(run: Any, row: Array) -> bool:
    """Sort in place by way of buckets, whose borders come from a sample; False where there are no good ones."""
    dealt = ARGUMENTS.lend(ROOM, row.shape, row.dtype)
    counts = deal_numbers(row, _split(row), len(row), dealt)
    if counts is None:
        return False
    ends = np.cumsum(counts)
    for begin, end in zip((ends - counts).tolist(), ends.tolist(), strict=True):
        bucket, came = row[begin:end], dealt[begin:end]
        np.copyto(bucket, came)
        small = spreading.LEAST <= len(bucket) <= spreading.MOST
        if not small or spreading.sort_numbers(run, bucket, bucket) != spreading.DONE:
            put_in_order(bucket)
            if row.dtype.kind == "f":
                _restore_bits(bucket, [came])
    return True


def _order_buckets(run: Any, x: Array) -> Array | None:
    """Return the stable order of a row by way of buckets; None where there are no good ones."""
    splitters = _split(x)
    buckets = find_buckets(x, splitters, len(x))
    if buckets is None:
        return None
    ends = np.cumsum(np.bincount(buckets, minlength=len(splitters) + 1))
    order = np.argsort(buckets, kind="stable")  # NumPy sorts these by their digits
    dealt = x[order]
    for begin, end in itertools.pairwise([0, *ends.tolist()]):
        came = dealt[begin:end]
        inner_order, status = np.empty(end - begin, np.int64), spreading.UNENDED
        if end - begin >= spreading.LEAST:
            status = spreading.order_numbers(run, came, inner_order)
        if status != spreading.DONE:
            inner_order = order_row(came) if status == spreading.LOST else _order_by_numpy(came)
        order[begin:end] = order[begin:end][inner_order]
    return order


def _split(row: Array) -> Array:
    """Return borders between buckets of about equal size: elements of a sample, all of them different."""
    sample = np.sort(row[:: len(row) // SAMPLE + 1])
    sample = sample[sample == sample]
    return np.unique(sample[np.arange(1, BUCKETS) * len(sample) // BUCKETS]) if len(sample) else sample


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


def _order_by_numpy(x: Array) -> Array:
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
