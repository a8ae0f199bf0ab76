"""Which pages an index of an array touches."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....graph.errors import IndexingError

Array = np.ndarray[Any, Any]


def integers(index: Any) -> Any:
    """Return an index with lists as arrays; NumPy's own rules for everything else."""
    if isinstance(index, list):
        array = np.asarray(index)
        return array.astype(np.intp) if not array.size else array
    if isinstance(index, tuple):
        return tuple(integers(part) for part in index)
    return index


def pages_of(index: Any, shape: tuple[int, ...], itemsize: int, page: int) -> Array:
    """Return the numbers of the pages that an index touches, sorted; or raise an IndexingError."""
    row = int(np.prod(shape[1:], dtype=np.int64)) * itemsize
    if not shape[0] or not row:
        return np.empty(0, np.int64)
    parts = index if isinstance(index, tuple) else (index,)
    if len(parts) == len(shape) and all(_is_integers(part) for part in parts):
        begins = _flat(parts, shape) * itemsize
        return _touched(begins, itemsize, page)
    first = parts[0] if parts else slice(None)
    if first is Ellipsis or first is None:
        first = slice(None)
    if isinstance(first, slice):
        start, stop, step = first.indices(shape[0])
        if step == 1:
            return np.arange(start * row // page, -(-stop * row // page)) if stop > start else np.empty(0, np.int64)
        first = np.arange(start, stop, step)
    elif isinstance(first, np.ndarray) and first.dtype == bool:
        first = np.unique(np.nonzero(first)[0])
    elif not _is_integers(first):
        raise IndexingError(f"an index is {first!r}; expected integers, slices, or arrays of integers or booleans")
    return _touched(_within(first, shape[0], 0) * row, row, page)


def picked(operation: str, index: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of what an index picks from an array, in which it must lie; or raise an IndexingError."""
    try:
        if isinstance(index, np.ndarray) and index.dtype.kind in "iu" and shape:
            _check(index, shape[0], 0)
            return (*index.shape, *shape[1:])
        return tuple(np.broadcast_to(np.uint8(0), shape)[index].shape)  # NumPy's own rules
    except IndexError as error:
        raise IndexingError(f"{operation}: argument 'index': {error}") from None


def _check(found: Array, length: int, axis: int) -> None:
    if found.size and (found.min() < -length or found.max() >= length):
        wrong = int(found[(found < -length) | (found >= length)].flat[0])
        raise IndexingError(f"index {wrong} is out of bounds for axis {axis} with size {length}")


def _is_integers(part: Any) -> bool:
    if isinstance(part, bool | np.bool_):
        return False
    return isinstance(part, int | np.integer) or (isinstance(part, np.ndarray) and part.dtype.kind in "iu")


def _within(part: Any, length: int, axis: int) -> Array:
    """Return positions counted from the beginning."""
    positions = np.asarray(part, np.int64).reshape(-1)
    _check(positions, length, axis)
    return np.where(positions < 0, positions + length, positions)


def _flat(parts: tuple[Any, ...], shape: tuple[int, ...]) -> Array:
    flat = [
        _within(part, length, axis).reshape(np.shape(part))
        for axis, (part, length) in enumerate(zip(parts, shape, strict=True))
    ]
    return np.atleast_1d(np.ravel_multi_index(tuple(np.broadcast_arrays(*flat)), shape)).reshape(-1)


def _touched(begins: Array, nbytes: int, page: int) -> Array:
    """Return the pages of pieces of so many bytes."""
    first, last = begins // page, (begins + nbytes - 1) // page
    touched = np.zeros(int(last.max()) + 1, bool) if begins.size else np.zeros(0, bool)
    span = int((last - first).max()) if begins.size else 0
    if span <= 1:
        touched[first] = True
        touched[last] = True
    else:
        for a, b in zip(first.tolist(), last.tolist(), strict=True):
            touched[a : b + 1] = True
    return np.flatnonzero(touched)
