"""What callers name elements by, and the values they bring: checked once, as whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....graph.errors import ArgumentError, BadValue, IndexingError, bad
from ..castable import is_castable

Array = np.ndarray[Any, Any]


def find_positions(operation: str, index: Any, shape: tuple[int, ...]) -> tuple[Array, tuple[int, ...]]:
    """Return the flat positions that an index names, in C order, and the shape of what it names.

    An IndexingError tells of what are no integers, or out of bounds, too many or too few, or don't fit together.
    """
    indices = index if isinstance(index, tuple) else (index,)
    if len(indices) != len(shape):
        what = "an integer or an array of them" if len(shape) == 1 else f"a tuple of {len(shape)}"
        raise IndexingError(bad(operation, "i", index, f"{what}, for shape {shape}"))
    parts = [_check(operation, index, part, axis, shape) for axis, part in enumerate(indices)]
    if len(parts) == 1:
        return np.ascontiguousarray(parts[0]).reshape(-1), parts[0].shape
    try:
        wide = np.broadcast_shapes(*(part.shape for part in parts))
    except ValueError:
        shapes = " and ".join(str(part.shape) for part in parts)
        raise IndexingError(
            f"{operation}: argument 'i' has arrays of shapes {shapes}; expected what broadcasts"
        ) from None
    flat = np.zeros(wide, np.int64)
    for part, length in zip(parts, shape, strict=True):
        flat *= length
        flat += part
    return flat.reshape(-1), wide


def _check(operation: str, index: Any, part: Any, axis: int, shape: tuple[int, ...]) -> Array:
    """Return one axis' positions, none of them negative."""
    positions = np.asarray(part)
    if positions.dtype.kind not in "iu" and (positions.size or positions.dtype.kind == "b"):
        what = f"dtype {positions.dtype}" if positions.ndim else repr(part)
        raise IndexingError(f"{operation}: argument 'i' has {what}; expected integers")
    positions = positions.astype(np.int64, copy=False)
    if not positions.size:
        return positions
    length, least, most = shape[axis], int(positions.min()), int(positions.max())
    if least < -length or most >= length:
        wrong = least if least < -length else most
        where = f" along axis {axis}" if len(shape) > 1 else ""
        raise IndexingError(
            f"{operation}: argument 'i' has {wrong}{where}; expected positions from {-length} to {length - 1}"
        )
    return np.where(positions < 0, positions + length, positions) if least < 0 else positions


def find_values(operation: str, argument: str, value: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Return what is brought for some positions: one value for all, or one for each, in their order.

    What isn't of the array's kind is an ArgumentError; what doesn't fit its type, or the positions, a BadValue.
    """
    try:
        if isinstance(value, int | float) and not isinstance(value, np.generic):
            if isinstance(value, float) and dtype.kind in "iub":
                raise TypeError
            values = np.array(value, dtype)
        else:
            values = np.asarray(value)
            if not hasattr(value, "dtype") and values.dtype.kind in "iu" and dtype.kind in "iu":
                values = np.array(value, dtype)  # Python's integers have no type of their own, but must fit
            if not is_castable(operation, argument, values, dtype):
                raise TypeError
            values = values.astype(dtype, copy=False)
    except OverflowError:
        raise BadValue(bad(operation, argument, value, f"what fits {dtype}")) from None
    except BadValue:
        raise
    except (TypeError, ValueError):
        raise ArgumentError(bad(operation, argument, value, f"what can be cast to {dtype}")) from None
    if values.size == 1 and values.ndim <= len(shape):
        return np.ascontiguousarray(values).reshape(-1)
    if values.shape == shape:
        return np.ascontiguousarray(values).reshape(-1)
    try:
        return np.ascontiguousarray(np.broadcast_to(values, shape)).reshape(-1)
    except ValueError:
        raise BadValue(
            f"{operation}: argument {argument!r} has shape {values.shape}; expected one that broadcasts to that of "
            f"the positions, {shape}"
        ) from None
