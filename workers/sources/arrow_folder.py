"""Arrays in folders of Arrow files, as every rank reads them: chunks, or parts of them, from where they lie.

Each file holds a run of consecutive chunks, a record batch for each, with one column "values": the chunk's elements in
C order, of the type that has the same bytes (`workers.sources.arrow.stored_type`). The array's own dtype is known
beside the files.
"""

from __future__ import annotations

import math
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import FileFormatError
from .arrow import arrow, stored_type
from .file_arrays import OpenFile, Stamp

if TYPE_CHECKING:
    from ...graph.chunks.grid import Index
    from ...graph.expr.expr import DType
    from .source_reader import Picks

Array = np.ndarray[Any, Any]
OPEN_FILES = 512
"""So many files of a folder stay open."""
SHORT = 1 << 16
"""Bytes that may be Arrow's own words about a record batch, and are read when it asks."""

_ASKED = 8
_MAGIC = 10  # bytes behind the footer: its length, and what ends an Arrow file


@dataclass(frozen=True)
class ChunkRuns:
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

    quick: ClassVar[bool] = True
    path: str
    runs: ChunkRuns
    dtype: DType
    sizes: Index
    times: Index

    def open(self) -> OpenFolder:
        return OpenFolder(self)


class OpenFolder:
    """Opens files as they are read."""

    def __init__(self, folder: ArrowFolder) -> None:
        self.folder = folder
        self._files: OrderedDict[int, _ArrowFile] = OrderedDict()
        self._guard = threading.Lock()

    def read(self, where: tuple[slice, ...], picks: Picks) -> Array:
        """Return what is picked of one chunk, which `where` is the rectangle of."""
        folder, grid = self.folder, self.folder.runs.grid
        shape = tuple(s.stop - s.start for s in where)
        if 0 in shape:
            return np.empty([len(p) for p in picks], folder.dtype)
        chunk = tuple(axis.find(s.start) for axis, s in zip(grid.axes, where, strict=True))
        number, batch = folder.runs.place(chunk)
        strides = [folder.dtype.itemsize]
        for n in reversed(shape[1:]):
            strides.append(strides[-1] * n)
        file = self._file(number)
        offset = file.offset(batch, folder.dtype, math.prod(shape), chunk)
        return file.open.read(folder.dtype, offset, strides[::-1][-len(shape) or len(strides) :], picks)

    def _file(self, number: int) -> _ArrowFile:
        with self._guard:
            if number not in self._files:
                folder = self.folder
                path = os.path.join(folder.path, file_name(number, "arrow"))
                self._files[number] = _ArrowFile(
                    Stamp(path, int(folder.sizes[number]), int(folder.times[number]), "load"), int(folder.sizes.sum())
                )
                if len(self._files) > OPEN_FILES:
                    self._files.popitem(last=False)
            self._files.move_to_end(number)
            return self._files[number]


class _ArrowFile:
    """A file, and where its record batches lie: Arrow is asked once for each."""

    def __init__(self, stamp: Stamp, whole: int) -> None:
        self.open = OpenFile(stamp, whole)
        self._told = _Told(self.open)
        self._offsets: dict[int, int] = {}
        self._guard = threading.Lock()
        try:
            self._reader = arrow("ipc").open_file(arrow().PythonFile(self._told, "r"))
        except (arrow().ArrowException, OSError) as error:
            raise FileFormatError(f"load: {stamp.path} is no Arrow file: {error}") from error

    def offset(self, batch: int, dtype: DType, expected: int, chunk: tuple[int, ...]) -> int:
        """Return where a record batch's elements begin in the file."""
        with self._guard:
            if batch not in self._offsets:
                self._offsets[batch] = self._find(batch, dtype, expected, chunk)
            return self._offsets[batch]

    def _find(self, batch: int, dtype: DType, expected: int, chunk: tuple[int, ...]) -> int:
        path = self.open.stamp.path
        try:
            values = self._reader.get_batch(batch).column(0)
        except (arrow().ArrowException, OSError) as error:
            raise FileFormatError(f"load: {path} is no Arrow file: {error}") from error
        kind = stored_type(dtype)
        if len(values) != expected or values.type not in (kind, *_former_types(dtype)):
            raise FileFormatError(
                f"load: {path} has {len(values)} elements of {values.type} for chunk {chunk}; expected {expected} of "
                f"{kind}"
            )
        position = self._told.place(values.buffers()[-1].address)
        if position is None:
            raise FileFormatError(f"load: {path} doesn't hold the elements of chunk {chunk} as they are (compressed?)")
        return position + int(values.offset) * dtype.itemsize


def _former_types(dtype: DType) -> tuple[Any, ...]:
    """Return the types that a dtype had in folders before; the bytes are the same."""
    return {"b": (arrow().uint8(),), "c": (arrow().binary(dtype.itemsize),)}.get(dtype.kind, ())


class _Told:
    """A file as Arrow reads it when it is asked where elements lie: of these only their place is needed.

    So of what is long only the beginning is read, where Arrow's words are, unless it is the footer.
    """

    def __init__(self, file: OpenFile) -> None:
        self._file, self._at, self._asked = file, 0, list[tuple[int, Array]]()
        self.closed, self.mode = False, "rb"

    def read(self, count: int = -1) -> Array:
        """Return as many bytes, or what stands for them."""
        left = self._file.stamp.size - self._at
        target = np.empty(max(0, left if count < 0 else min(count, left)), np.uint8)
        footer = self._at + len(target) >= self._file.stamp.size - _MAGIC
        self._file.fill(target if footer else target[:SHORT], self._at)
        self._asked = [*self._asked[-_ASKED:], (self._at, target)]
        self._at += len(target)
        return target

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._file.stamp.size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        """Let go of what was answered."""
        self._asked.clear()

    def place(self, address: int) -> int | None:
        """Return where in the file lies what Arrow found at an address, and forget what was asked."""
        asked, self._asked = self._asked, []
        for at, target in asked:
            first = address - int(target.ctypes.data)
            if 0 <= first < len(target):
                return at + first
        return None
