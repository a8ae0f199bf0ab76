"""What mpi4py's programs pass as a buffer: an array, or a list of one with a count, a displacement and a type."""

from __future__ import annotations

import operator
from typing import Any, TypeAlias

import numpy as np

from ....graph.errors import ArgumentError, BadValue
from ..values import START_RANKS, is_datatype, numpy_type

Bytes: TypeAlias = "np.ndarray[Any, np.dtype[np.uint8]]"
Elements: TypeAlias = "np.ndarray[Any, Any]"


def elements(call: str, spec: Any, writable: bool, blocks: int = 1) -> Elements:
    """Return what a buffer holds, in place, as an array of one axis.

    `spec` is what was passed to a call: `array`, `[array, type]`, `[array, count]`, `[array, count, type]`, `[array,
    (count, displacement), type]` or `[array, count, displacement, type]`. It holds elements for `blocks` members,
    equally many: a count is that for one of them.
    """
    if type(spec) is np.ndarray:
        if blocks > 1 and spec.size % blocks:
            raise BadValue(f"{call}: a buffer of {spec.size} elements; expected a multiple of {blocks}, the members")
        return _flat(call, spec, writable)
    data, count, first, kind = _parts(call, spec)
    whole = _flat(call, data if isinstance(data, np.ndarray) else _array(call, data), writable)
    dtype = whole.dtype if kind is None else _dtype(call, kind)
    raw, size = whole.view(np.uint8), dtype.itemsize
    begin = _index(call, "displacement", first or 0) * size
    if count is None:
        length = len(raw) - begin
        if length < 0 or length % (size * blocks):
            raise BadValue(
                f"{call}: a buffer of {length} bytes from its displacement on; "
                f"expected a multiple of {size} bytes (one element) and of {blocks} (the members)"
            )
    else:
        length = _index(call, "count", count) * blocks * size
        if begin + length > len(raw):
            raise BadValue(
                f"{call}: {length // size} elements of {size} bytes from element {begin // size} on; "
                f"expected no more than the buffer's {len(raw)} bytes"
            )
    return raw[begin : begin + length].view(dtype)


def octets(call: str, spec: Any, writable: bool) -> Bytes:
    """Return the bytes of a buffer, in place."""
    return elements(call, spec, writable).view(np.uint8)


def shares(call: str, spec: Any, writable: bool, size: int) -> Bytes:
    """Return the bytes of a buffer that has equally many elements for each of `size` members: a row for each."""
    return elements(call, spec, writable, size).view(np.uint8).reshape(size, -1)


def _parts(call: str, spec: Any) -> tuple[Any, Any, Any, Any]:
    """Return the buffer, the count, the displacement, and the type; None for what isn't given."""
    if not isinstance(spec, list | tuple):
        return spec, None, None, None
    if not 2 <= len(spec) <= 4:
        raise ArgumentError(f"{call}: a buffer given as {len(spec)} items; expected the array and 1 to 3 more")
    data, *rest = spec
    kind = rest.pop() if is_datatype(rest[-1]) or rest[-1] is None else None
    if len(rest) > 2:
        raise ArgumentError(f"{call}: the buffer's last item is {rest[-1]!r}; expected a type, as MPI.DOUBLE")
    count, first, *_ = [*rest, None, None]
    if isinstance(count, tuple | list):
        count, first = count
    return data, count, first, kind


def _dtype(call: str, kind: Any) -> np.dtype[Any]:
    dtype = numpy_type(kind)
    if dtype is None:
        raise ArgumentError(f"{call}: a type that the program has derived, which threads don't take; {START_RANKS}")
    return dtype


def _array(call: str, data: Any) -> Elements:
    """Return an array over the memory of an object that isn't NumPy's."""
    try:
        return np.asarray(memoryview(data))
    except TypeError:
        if hasattr(data, "__dlpack__"):
            return np.from_dlpack(data)
        raise ArgumentError(
            f"{call}: a buffer of type {type(data).__name__}; expected an array, or a list of one and its type"
        ) from None


def _flat(call: str, array: Elements, writable: bool) -> Elements:
    flags = array.flags
    if not (flags.c_contiguous or flags.f_contiguous):
        raise BadValue(f"{call}: an array of shape {array.shape} with gaps; expected elements that lie together")
    if array.dtype.hasobject:
        raise ArgumentError(f"{call}: an array of Python objects; expected numbers, or the call in lower case")
    if writable and not flags.writeable:
        raise BadValue(f"{call}: an array that is read-only; expected one to receive into")
    return array.reshape(-1, order="A")


def _index(call: str, word: str, x: Any) -> int:
    number = operator.index(x)
    if number < 0:
        raise BadValue(f"{call}: a {word} of {number}; expected none below 0")
    return number
