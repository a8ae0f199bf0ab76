"""Arrays in folders of Arrow files, as every rank maps them: chunks are read where they lie in the files.

Each file holds a run of consecutive chunks, a record batch for each, with one column "values": the chunk's elements in
C order. What Arrow has no type of the same bytes for is stored as binary of a fixed size; the array's own dtype is
known beside the files.
"""

from __future__ import annotations

import importlib
import math
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.errors import FileFormatError, SourceChanged
from ..graph.grid import Axis, Grid

if TYPE_CHECKING:
    from ..graph.expr import DType
    from ..graph.grid import Index

Array = np.ndarray[Any, Any]
OPEN_FILES = 512
"""So many files of a folder stay mapped."""

_ARROW_UNITS = ("s", "ms", "us", "ns")


def arrow(module: str = "") -> Any:
    """Return pyarrow or one of its modules, which is imported where files are touched first."""
    return importlib.import_module(f"pyarrow.{module}" if module else "pyarrow")


def arrow_type(dtype: DType) -> Any:
    """Return the Arrow type of a dtype's elements; binary where Arrow has none of the same bytes."""
    plain = dtype.kind in "iuf" and dtype.itemsize <= 8
    dated = dtype.kind in "mM" and np.datetime_data(dtype) in [(unit, 1) for unit in _ARROW_UNITS]
    if dtype.isnative and (plain or dated):
        return arrow().from_numpy_dtype(dtype)
    return arrow().uint8() if dtype == np.bool_ else arrow().binary(dtype.itemsize)


def arrow_column(values: Array) -> Any:
    """Return the elements of an array as an Arrow array of `arrow_type`, not copied where they lie in C order."""
    flat = np.ascontiguousarray(values).reshape(-1)
    buffer = arrow().py_buffer(flat.view(np.uint8))
    return arrow().Array.from_buffers(arrow_type(values.dtype), flat.size, [None, buffer])


@dataclass(frozen=True)
class Runs:
    """How chunks share files: so many along each axis, consecutive in C order, go to one."""

    grid: Grid
    groups: tuple[int, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of files along each axis."""
        return tuple(-(-n // g) for n, g in zip(self.grid.counts, self.groups, strict=True))

    @property
    def merged(self) -> Grid:
        """The grid on which the chunks of a file are one block."""
        axes = []
        for axis, group in zip(self.grid.axes, self.groups, strict=True):
            first = np.arange(0, axis.count, group)
            sizes = axis.stop(np.minimum(first + group, axis.count) - 1) - axis.start(first)
            axes.append(axis if group == 1 else Axis.of_sizes(sizes))
        return Grid(axes)

    def within(self, file: tuple[int, ...]) -> tuple[tuple[int, ...], list[Array]]:
        """Return the first chunk of a file, by its index, and the bounds of its chunks along each axis, from 0 on."""
        first = tuple(f * g for f, g in zip(file, self.groups, strict=True))
        bounds = []
        for axis, group, start in zip(self.grid.axes, self.groups, first, strict=True):
            stops = axis.stop(np.arange(start, min(start + group, axis.count)))
            bounds.append(np.concatenate([[0], stops - axis.start(start)]))
        return first, bounds

    def place(self, chunk: tuple[int, ...]) -> tuple[int, int]:
        """Return the file that a chunk lies in, and which of the chunks there it is."""
        file = tuple(k // g for k, g in zip(chunk, self.groups, strict=True))
        number = batch = 0
        for k, f, group, count, files in zip(chunk, file, self.groups, self.grid.counts, self.counts, strict=True):
            number = number * files + f
            batch = batch * min(group, count - f * group) + k - f * group
        return number, batch


def file_name(number: int, ending: str) -> str:
    """Return the name of a numbered file; names sort as numbers do."""
    return f"part-{number:07d}.{ending}"


@dataclass(frozen=True, eq=False)
class ArrowFolder:
    """A folder of Arrow files, and what the files looked like when the array was made."""

    path: str
    runs: Runs
    dtype: DType
    sizes: Index
    times: Index

    def check(self) -> None:
        """Each file is checked when it is read."""

    def open(self) -> OpenFolder:
        """Return what reads chunks."""
        return OpenFolder(self)


class OpenFolder:
    """Maps files as they are read."""

    def __init__(self, folder: ArrowFolder) -> None:
        self.folder = folder
        self._readers: OrderedDict[int, Any] = OrderedDict()
        self._guard = threading.Lock()

    def __getitem__(self, where: tuple[slice, ...]) -> Array:
        """Return one chunk, which `where` is the rectangle of, as it lies in the file."""
        folder, grid = self.folder, self.folder.runs.grid
        shape = tuple(s.stop - s.start for s in where)
        if 0 in shape:
            return np.empty(shape, folder.dtype)
        chunk = tuple(axis.find(s.start) for axis, s in zip(grid.axes, where, strict=True))
        number, batch = folder.runs.place(chunk)
        reader = self._reader(number)
        try:
            values = reader.get_batch(batch).column(0)
        except (arrow().ArrowException, OSError) as error:
            raise FileFormatError(f"load: {self._path(number)} is no Arrow file: {error}") from error
        expected = math.prod(shape)
        if len(values) != expected or values.type != arrow_type(folder.dtype):
            raise FileFormatError(
                f"load: {self._path(number)} has {len(values)} elements of {values.type} for chunk {chunk}; expected "
                f"{expected} of {arrow_type(folder.dtype)}"
            )
        first = values.offset * folder.dtype.itemsize
        return np.frombuffer(values.buffers()[1], folder.dtype, expected, first).reshape(shape)

    def _path(self, number: int) -> str:
        return os.path.join(self.folder.path, file_name(number, "arrow"))

    def _reader(self, number: int) -> Any:
        path = self._path(number)
        try:
            status = os.stat(path)
        except OSError as error:
            raise SourceChanged(f"load: the file {path} of the array is gone: {error}") from error
        expected = int(self.folder.sizes[number]), int(self.folder.times[number])
        if (status.st_size, status.st_mtime_ns) != expected:
            raise SourceChanged(
                f"load: the file {path} changed underneath the array: it was written anew since, and has "
                f"{status.st_size} bytes; it had {expected[0]}"
            )
        with self._guard:
            if number not in self._readers:
                try:
                    self._readers[number] = arrow("ipc").open_file(arrow().memory_map(path))
                except (arrow().ArrowException, OSError) as error:
                    raise FileFormatError(f"load: {path} is no Arrow file: {error}") from error
                if len(self._readers) > OPEN_FILES:
                    self._readers.popitem(last=False)
            self._readers.move_to_end(number)
            return self._readers[number]
