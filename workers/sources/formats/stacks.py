"""Stacks of `.npy` files, which follow each other along one axis of an array."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import FileFormatError

if TYPE_CHECKING:
    from ....graph.expr.expr import DType
    from ..file_arrays import Array, OpenFile
    from ..source_reader import Picks
    from .places import FilePlace, OpenUrl

OPEN_FILES = 256
"""So many files of a stack stay open."""


def read_header(place: FilePlace) -> tuple[tuple[int, ...], bool, DType, int]:
    """Return shape, whether it is in Fortran order, dtype and the elements' offset, as a `.npy` file tells them.

    What is no such file, has Python objects, or is shorter than it tells, is a FileFormatError.
    """
    try:
        with place.stream() as file:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, fortran, dtype = read(file)
            offset = file.tell()
    except (ValueError, EOFError) as error:
        raise FileFormatError(f"{place.label}: {place.path} is no .npy file: {error}") from error
    if dtype.hasobject:
        raise FileFormatError(f"{place.label}: {place.path} has Python objects; expected numbers, texts or records")
    whole = offset + int(np.prod(shape, dtype=object)) * dtype.itemsize
    if place.size < whole:
        raise FileFormatError(f"{place.label}: {place.path} is truncated: it has {place.size} bytes; expected {whole}")
    return shape, fortran, dtype, offset


@dataclass(frozen=True, eq=False)
class NpyStack:
    """The files, the axis along which they follow each other, where each begins along it, and what each should be."""

    places: tuple[FilePlace, ...]
    axis: int
    bounds: Array
    shape: tuple[int, ...]
    dtype: DType

    @property
    def quick(self) -> bool:
        """Whether they are read as quickly as memory, nearly: local files."""
        return all(place.is_local for place in self.places[:1])

    def open(self) -> OpenStack:
        return OpenStack(self)


class OpenStack:
    """Opens files as they are read."""

    def __init__(self, stack: NpyStack) -> None:
        self._stack = stack
        self._files: OrderedDict[int, tuple[OpenFile | OpenUrl, int, tuple[int, ...]]] = OrderedDict()
        self._guard = threading.Lock()

    def read(self, where: tuple[slice, ...], picks: Picks) -> Array:
        """Return what is picked of a rectangle within one file."""
        stack, axis = self._stack, self._stack.axis
        if 0 in map(len, picks):
            return np.empty([len(p) for p in picks], stack.dtype)
        number = int(np.searchsorted(stack.bounds, where[axis].start, "right")) - 1
        file, offset, strides = self._file(number)
        first = [s.start for s in where]
        first[axis] -= int(stack.bounds[number])
        offset += sum(f * s for f, s in zip(first, strides, strict=True))
        return file.read(stack.dtype, offset, strides, picks)

    def _file(self, number: int) -> tuple[OpenFile | OpenUrl, int, tuple[int, ...]]:
        with self._guard:
            if number not in self._files:
                self._files[number] = self._open(number)
                if len(self._files) > OPEN_FILES:
                    self._files.popitem(last=False)
            self._files.move_to_end(number)
            return self._files[number]

    def _open(self, number: int) -> tuple[OpenFile | OpenUrl, int, tuple[int, ...]]:
        stack, place = self._stack, self._stack.places[number]
        shape, fortran, dtype, offset = read_header(place)
        wanted: list[Any] = list(stack.shape)
        wanted[stack.axis] = int(stack.bounds[number + 1] - stack.bounds[number])
        if list(shape) != wanted or dtype != stack.dtype:
            raise FileFormatError(
                f"{place.label}: {place.path} has shape {shape} and dtype {dtype}; expected {tuple(wanted)} and "
                f"{stack.dtype}, as the stack's info tells"
            )
        sizes = shape if fortran else shape[::-1]
        steps = [dtype.itemsize]
        for n in sizes[:-1]:
            steps.append(steps[-1] * n)
        return place.open(), offset, tuple(steps if fortran else steps[::-1])
