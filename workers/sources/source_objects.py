"""Objects with shape, dtype and slicing that pickle: each rank reads its own copy; and who reads what at a time."""

from __future__ import annotations

import contextlib
import io
import pickle
import threading
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np

from ...graph.errors import WindrowError
from .stores.zarr_loop import BOUND, own_copy

if TYPE_CHECKING:
    from .source_reader import Picks

Array = np.ndarray[Any, Any]
MOST = 1 << 20
"""Bytes of an object that travels; larger ones have their elements with them, likely."""
_UNSAFE = frozenset(["netCDF4"])
"""Libraries whose objects end the process when two threads read."""


def lock_for(source: Any, lock: Any) -> Any:
    """Return what is held while a source is read: a lock, or nothing.

    `lock` is a lock, True for one of our own, False for none, None for one where the source is known to need it.
    """
    if lock is None:
        lock = type(source).__module__.partition(".")[0] in _UNSAFE
    if isinstance(lock, bool):
        return threading.Lock() if lock else contextlib.nullcontext()
    return lock


class _Full(Exception):
    pass


class _Bounded(io.BytesIO):
    def write(self, data: Any, /) -> int:
        if self.tell() + len(data) > MOST:
            raise _Full
        return super().write(data)


class PickledSource:
    """A source that any rank can read: what `HostData.file` is. The driver reads the object itself."""

    agreed = False  # pickles of one object may differ from process to process: they don't name it

    def __init__(self, packed: bytes, locked: bool | None, label: str, source: Any = None) -> None:
        self._packed, self._locked, self._label, self._source = packed, locked, label, source

    def open(self) -> OpenSource:
        own = self._source is None or BOUND in self._packed
        source = own_copy(self._packed) if own else self._source
        return OpenSource(source, self._locked, self._label)

    def __reduce__(self) -> tuple[Any, ...]:
        return PickledSource, (self._packed, self._locked, self._label)


class OpenSource:
    """Reads an object with shape, dtype and slicing."""

    def __init__(self, source: Any, lock: Any, label: str) -> None:
        self._source, self._lock, self._label = source, lock_for(source, lock), label

    def read(self, where: tuple[slice, ...], picks: Picks) -> Array:
        from .source_reader import read_slices  # which knows what is opened by this

        spans, rest = [], []
        for at, pick in zip(where, picks, strict=True):
            first, last = (int(min(pick)), int(max(pick))) if len(pick) else (0, -1)
            spans.append(slice(at.start + first, at.start + last + 1))
            within = pick if isinstance(pick, np.ndarray) else np.arange(pick.start, pick.stop, pick.step)
            whole = isinstance(pick, range) and pick.step == 1
            rest.append(slice(None) if whole else within - first)
        values = read_slices(self._source, self._lock, self._label, tuple(spans))
        for axis, chosen in enumerate(rest):
            if isinstance(chosen, np.ndarray):
                values = np.take(values, chosen, axis)
        return values


def travelling(source: Any, lock: Any, label: str) -> PickledSource | None:
    """Return how ranks read a source themselves; None where it doesn't pickle, or not small."""
    if not (lock is None or isinstance(lock, bool)):
        return None
    file = _Bounded()
    try:
        cloudpickle.Pickler(file, protocol=5).dump(source)
        pickle.loads(file.getvalue())
    except (KeyboardInterrupt, WindrowError):
        raise
    except BaseException:  # whatever a class of the user's raises
        return None
    return PickledSource(file.getvalue(), lock, label, source)
