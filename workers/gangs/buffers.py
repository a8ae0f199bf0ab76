"""What mpi4py's programs pass as a buffer: an array, or a list of one with counts, displacements and a type.

Here each becomes bytes that lie together: those of the buffer itself or, for types that a program has derived with
gaps between the elements, a copy that is packed before it is sent and unpacked after it was received.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...graph.errors import ArgumentError, BadValue
from .values import is_datatype, mpi, numpy_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Bytes: TypeAlias = "np.ndarray[Any, np.dtype[np.uint8]]"


@dataclass(slots=True)
class BufferRegion:
    """Bytes that are sent or received.

    Attributes
    ----------
    flat
        The bytes.
    dtype
        What their elements are; None where a program has derived it.
    datatype
        The type of mpi4py that the program has named, if any.
    unpack
        What brings received bytes to their places.
    """

    flat: Bytes
    dtype: np.dtype[Any] | None = None
    datatype: Any = None
    unpack: Callable[[], None] | None = None

    def close(self) -> None:
        """Finish what was received."""
        if self.unpack is not None:
            self.unpack()


@dataclass(frozen=True, slots=True)
class _Elements:
    """A buffer's bytes and its type: `size` bytes are sent of each element, which lie `extent` apart."""

    flat: Bytes
    dtype: np.dtype[Any] | None
    datatype: Any
    size: int
    extent: int

    def region(self, first: int, count: int, writable: bool) -> BufferRegion:
        """Return `count` elements from an offset of `first` elements."""
        begin = first * self.extent
        if self.dtype is not None:
            return BufferRegion(self.flat[begin : begin + count * self.extent], self.dtype, self.datatype)
        packed = np.empty(count * self.size, np.uint8)
        if writable:
            return BufferRegion(packed, None, self.datatype, partial(self._unpack, packed, begin, count))
        for i, place in self._places(begin, count):
            self.datatype.Pack(place, packed, i * self.size, mpi().COMM_SELF)  # type: ignore[union-attr]
        return BufferRegion(packed, None, self.datatype)

    def _unpack(self, packed: Bytes, begin: int, count: int) -> None:
        for i, place in self._places(begin, count):
            self.datatype.Unpack(packed, i * self.size, place, mpi().COMM_SELF)  # type: ignore[union-attr]

    def _places(self, begin: int, count: int) -> Iterator[tuple[int, Any]]:
        """Yield memory of one extent for each element: what an element takes up may be more, or less."""
        address = self.flat.ctypes.data + begin
        for i in range(count):
            yield i, mpi().buffer.fromaddress(address + i * self.extent, self.extent)  # type: ignore[union-attr]


def region(call: str, spec: Any, writable: bool, blocks: int = 1) -> BufferRegion:
    """Return what a buffer holds, of `blocks` parts of equal counts that lie together.

    Parameters
    ----------
    call
        The operation, for messages.
    spec
        What was passed: `array`, `[array, type]`, `[array, count]`, `[array, count, type]`,
        `[array, (count, displacement), type]` or `[array, count, displacement, type]`.
    writable
        Whether bytes will be received.
    blocks
        For how many members it holds elements: a count is that for one of them.
    """
    if type(spec) is np.ndarray:
        flat = _bytes(call, spec, writable)
        if blocks > 1 and spec.size % blocks:
            raise BadValue(f"{call}: a buffer of {spec.size} elements; expected a multiple of {blocks}, the members")
        return BufferRegion(flat, spec.dtype)
    data, counts, displs, kind = _parts(call, spec)
    if isinstance(counts, tuple | list):
        counts, displs = counts
    held = _elements(call, data, kind, writable)
    first = _index(call, "displacement", displs or 0)
    if counts is None:
        length = len(held.flat) - first * held.extent
        if length < 0 or length % (held.extent * blocks):
            raise BadValue(
                f"{call}: a buffer of {length} bytes from its displacement on; "
                f"expected a multiple of {held.extent} bytes (one element) and of {blocks} (the members)"
            )
        count = length // held.extent
    else:
        count = _index(call, "count", counts) * blocks
    _check_end(call, held, first, count)
    return held.region(first, count, writable)


def regions(call: str, spec: Any, writable: bool, blocks: int) -> list[BufferRegion]:
    """Return what a buffer holds for each of `blocks` members, of counts and displacements of their own.

    `spec` is as for `region`, with sequences as counts and displacements; without counts the elements are dealt out
    evenly, without displacements they lie one after the other.
    """
    data, counts, displs, kind = _parts(call, spec)
    if isinstance(counts, tuple) and displs is None and len(counts) == 2:
        counts, displs = counts
    held = _elements(call, data, kind, writable)
    if counts is None:
        total = len(held.flat) // held.extent
        counts = [total // blocks + (total % blocks > i) for i in range(blocks)]
    elif np.ndim(counts) == 0:
        counts = [counts] * blocks
    if displs is None:
        displs = np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else []
    elif np.ndim(displs) == 0:
        displs = [displs * i for i in range(blocks)]
    for word, numbers in (("counts", counts), ("displacements", displs)):
        if len(numbers) != blocks:
            raise BadValue(f"{call}: {len(numbers)} {word} for a buffer; expected {blocks}, one for each member")
    parts = [(_index(call, "displacement", d), _index(call, "count", c)) for d, c in zip(displs, counts, strict=True)]
    for first, count in parts:
        _check_end(call, held, first, count)
    return [held.region(first, count, writable) for first, count in parts]


def split(whole: BufferRegion, blocks: int) -> list[BufferRegion]:
    """Return the equal parts of a region; close the whole after they were received."""
    size = len(whole.flat) // blocks
    return [BufferRegion(whole.flat[i * size : (i + 1) * size], whole.dtype, whole.datatype) for i in range(blocks)]


def _parts(call: str, spec: Any) -> tuple[Any, Any, Any, Any]:
    """Return the buffer, the count or counts, the displacements, and the type; None for what isn't given."""
    if not isinstance(spec, list | tuple):
        return spec, None, None, None
    if not 2 <= len(spec) <= 4:
        raise ArgumentError(f"{call}: a buffer given as {len(spec)} items; expected the array and 1 to 3 more")
    data, *rest = spec
    kind = rest.pop() if rest and (is_datatype(rest[-1]) or rest[-1] is None) else None
    counts, displs, *more = [*rest, None, None]
    if len(more) > 2 or len(rest) > 2:
        raise ArgumentError(f"{call}: the buffer's last item is {rest[-1]!r}; expected a type, as MPI.DOUBLE")
    return data, counts, displs, kind


def _elements(call: str, data: Any, kind: Any, writable: bool) -> _Elements:
    array = data if isinstance(data, np.ndarray) else _array(call, data)
    flat = _bytes(call, array, writable)
    if kind is None:
        return _Elements(flat, array.dtype, None, array.itemsize, array.itemsize)
    dtype: np.dtype[Any] | None = numpy_type(kind)
    if dtype is None:
        return _Elements(flat, None, kind, kind.Get_size(), kind.Get_extent()[1])
    return _Elements(flat, dtype, None if isinstance(kind, str | np.dtype) else kind, dtype.itemsize, dtype.itemsize)


def _array(call: str, data: Any) -> np.ndarray[Any, Any]:
    """Return an array over the memory of an object that isn't NumPy's."""
    try:
        return np.asarray(memoryview(data))
    except TypeError:
        if hasattr(data, "__dlpack__"):
            return np.from_dlpack(data)
        raise ArgumentError(
            f"{call}: a buffer of type {type(data).__name__}; expected an array, or a list of one and its type"
        ) from None


def _bytes(call: str, array: np.ndarray[Any, Any], writable: bool) -> Bytes:
    flags = array.flags
    if not (flags.c_contiguous or flags.f_contiguous):
        raise BadValue(f"{call}: an array of shape {array.shape} with gaps; expected elements that lie together")
    if array.dtype.hasobject:
        raise ArgumentError(f"{call}: an array of Python objects; expected numbers, or the call in lower case")
    if writable and not flags.writeable:
        raise BadValue(f"{call}: an array that is read-only; expected one to receive into")
    return array.reshape(-1, order="A").view(np.uint8)


def _index(call: str, word: str, x: Any) -> int:
    number = operator.index(x)
    if number < 0:
        raise BadValue(f"{call}: a {word} of {number}; expected none below 0")
    return number


def _check_end(call: str, held: _Elements, first: int, count: int) -> None:
    """Refuse elements beyond the buffer's end; those of derived types may have gaps there."""
    end = (first + count) * held.extent
    if held.dtype is None and count:
        low, length = held.datatype.Get_true_extent()
        end += low + length - held.extent
    if end > len(held.flat):
        raise BadValue(
            f"{call}: {count} elements of {held.extent} bytes from element {first} on; "
            f"expected no more than the buffer's {len(held.flat)} bytes"
        )
