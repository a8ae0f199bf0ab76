"""Large arrays among the arguments of calls: each is placed once, and goes to a rank with the first call there."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...workers.tasks.snapshots import TaskSnapshot
from .record import Demand, TaskRecord

if TYPE_CHECKING:
    from .future import Future, Runner

Values = np.ndarray[Any, Any]
MOST, MOST_BYTES = 16, 1 << 30
"""Arrays, and their bytes, that are remembered at most, but for the last one."""
TILE = 1 << 15


class _Placed(NamedTuple):
    """A snapshot, where it is placed, and what forgets it with the memory that it was taken of."""

    snapshot: TaskSnapshot
    future: Future
    end: weakref.finalize[..., Values]


class PlacedSnapshots:
    """What the driver has placed of arrays, as they were when a call took them.

    A call sees an array as it is when the call is submitted, as if it were pickled then: one whose bytes have changed
    since is placed anew. A snapshot is forgotten with the memory that it was taken of.
    """

    def __init__(self, dispatcher: Runner) -> None:
        self._dispatcher = weakref.ref(dispatcher)
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[Any, ...], _Placed] = OrderedDict()

    def find(self, array: Values, number: int) -> Future:
        """Return a future of an array's elements; of `number` where they are placed now."""
        key = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)
        with self._lock:
            placed = self._known.pop(key, None)
            if placed is None or not _same_bytes(placed.snapshot.kept, array):
                snapshot, future = self._take(array, number)
                end = placed.end if placed is not None and placed.end.alive else self._forget_with(array, key)
                placed = _Placed(snapshot, future, end)
            self._known[key] = placed  # the latest
            while len(self._known) > 1 and (len(self._known) > MOST or self._count_bytes() > MOST_BYTES):
                self._forget_oldest()
        return placed.future

    def close(self) -> None:
        """Forget all, since the arrays may live on; without the lock, under which the driver may be waited for."""
        while self._forget_oldest():
            pass

    def _take(self, array: Values, number: int) -> tuple[TaskSnapshot, Future]:
        snapshot = TaskSnapshot(array)
        dispatcher = self._dispatcher()
        assert dispatcher is not None
        record = TaskRecord(number, "argument", b"", None, (), (), (), Demand(), "argument")
        return snapshot, dispatcher.place(record, snapshot)

    def _forget_with(self, array: Values, key: tuple[Any, ...]) -> weakref.finalize[..., Values]:
        end = weakref.finalize(_owner(array), self._known.pop, key, None)
        end.atexit = False
        return end

    def _forget_oldest(self) -> bool:
        """Forget the one that was used before all others; tell whether there was one."""
        try:
            _, oldest = self._known.popitem(last=False)
        except KeyError:
            return False
        oldest.end.detach()
        return True

    def _count_bytes(self) -> int:
        return sum(each.snapshot.nbytes for each in list(self._known.values()))


def _owner(array: Values) -> Values:
    """Return the array that an array is a view of, itself where it is none."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _same_bytes(one: Values, other: Values) -> bool:
    left, right = _bytes_of(one), _bytes_of(other)
    return all(np.array_equal(left[at : at + TILE], right[at : at + TILE]) for at in range(0, len(left), TILE))


def _bytes_of(array: Values) -> Values:
    turned = array.T if array.flags.f_contiguous else array
    raw = np.ascontiguousarray(turned).reshape(-1).view(np.uint8)
    return raw if len(raw) % 8 else raw.view(np.uint64)
