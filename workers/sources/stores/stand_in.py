"""What stands for arrays of other libraries that users hand in."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError, bad

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....graph.expr.expr import DType
    from ..source_reader import Files

HOMES = ("zarr", "h5py", "netCDF4")


@dataclass(frozen=True)
class StandIn:
    """An array in a store: what it looks like, and what reads it: `file` on any rank, `source` on the driver alone."""

    source: Any
    file: Files | None
    shape: tuple[int, ...]
    dtype: DType
    chunks: tuple[int, ...] | None
    shards: tuple[int, ...] | None = None

    def __getitem__(self, where: Any) -> Any:
        return self.source[where]


class _Read:
    """An array that is read by a function, under a lock."""

    def __init__(self, array: Any, getitem: Callable[[Any, Any], Any], lock: Any) -> None:
        self._array, self._getitem, self._lock = array, getitem, lock
        self.shape, self.dtype = array.shape, array.dtype

    def __getitem__(self, where: Any) -> Any:
        if self._lock is None or isinstance(self._lock, bool):
            return self._getitem(self._array, where)
        with self._lock:
            return self._getitem(self._array, where)

    def __reduce__(self) -> Any:
        raise TypeError("an array that is read by a function of the driver's doesn't travel")


def read_by(label: str, array: Any, getitem: Callable[[Any, Any], Any] | None, lock: Any) -> StandIn:
    """Return what stands for an array that only the driver reads, by a function, or under a lock."""
    if getitem is not None and not callable(getitem):
        raise ArgumentError(bad(label, "getitem", getitem, "a function of an array and slices"))
    if not (lock is None or isinstance(lock, bool) or (hasattr(lock, "acquire") and hasattr(lock, "__enter__"))):
        raise ArgumentError(bad(label, "lock", lock, "a bool, or a lock: with lock: …"))
    if not all(hasattr(array, each) for each in ("shape", "dtype", "__getitem__")):
        raise ArgumentError(bad(label, "x", type(array).__name__, "something with shape, dtype and slicing"))
    inner = array.source if isinstance(array, StandIn) else array
    source = _Read(inner, getitem or operator.getitem, lock)
    known = [getattr(array, each, None) for each in ("chunks", "shards")]
    return StandIn(source, None, tuple(array.shape), np.dtype(array.dtype), *known)


def stand_in(label: str, array: Any) -> Any:
    """Return what stands for an array; what needs no such thing is returned as it is."""
    if not any(kind.__module__.partition(".")[0] in HOMES for kind in type(array).__mro__):
        return array
    from .sources import stand_in_for

    return stand_in_for(label, array)
