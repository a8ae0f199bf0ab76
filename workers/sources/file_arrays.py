"""Arrays that lie in files, read so that a file which shrinks meanwhile is an error: memory maps would end the process.

What a task needs of a block is read into memory of its own. That costs a copy from the system's cache, but a map would
cost page faults; and nothing that is read goes through a map.
"""

from __future__ import annotations

import itertools
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ...graph.errors import SourceChanged
from ..memory.page_cache import RUN, drop, fits, read_exactly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .source_reader import Picks

Array = np.ndarray[Any, Any]
GAP = 1 << 14
"""Bytes between two runs that are read too, since asking again takes longer."""
SPAN = 1 << 20
"""Bytes that are read at once where there are gaps."""


@dataclass(frozen=True)
class Stamp:
    """A file, and what it looked like when the array was made; `label` names what made it."""

    path: str
    size: int
    time: int
    label: str

    def check(self) -> None:
        """Raise where the file isn't what it was."""
        try:
            status = os.stat(self.path)
        except OSError as error:
            raise SourceChanged(f"{self.label}: the file {self.path} of the array is gone: {error}") from error
        if (status.st_size, status.st_mtime_ns) != (self.size, self.time):
            how = "truncated" if status.st_size < self.size else "written to"
            raise SourceChanged(
                f"{self.label}: the file {self.path} changed underneath the array: it was {how} since, and has "
                f"{status.st_size} bytes; it had {self.size}"
            )


class OpenFile:
    """A file that is open for reading; closed when nobody reads it any more. `whole`: of all the files."""

    def __init__(self, stamp: Stamp, whole: int | None = None) -> None:
        self.stamp = stamp
        self._fits = fits(stamp.size if whole is None else whole)
        stamp.check()
        try:
            self._descriptor = os.open(stamp.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise SourceChanged(f"{stamp.label}: the file {stamp.path} can't be opened any more: {error}") from error
        self._exact = False

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            os.close(self._descriptor)

    def fill(self, target: Array, at: int) -> None:
        """Read as many bytes as a contiguous target has."""
        left, begin = target.reshape(-1).data, at
        passing = not self._fits and len(left) >= RUN
        if passing and not self._exact:
            self._exact = True
            drop(self._descriptor, 0, 0)
            read_exactly(self._descriptor)
        while left:
            try:
                count = os.preadv(self._descriptor, [left], at)
            except OSError as error:
                raise SourceChanged(f"{self.stamp.label}: {self.stamp.path} can't be read: {error}") from error
            if not count:
                self.stamp.check()
                raise SourceChanged(f"{self.stamp.label}: the file {self.stamp.path} ends before the array does")
            left, at = left[count:], at + count
        if passing:
            drop(self._descriptor, begin, at - begin)

    def read(self, dtype: np.dtype[Any], offset: int, strides: Sequence[int], picks: Picks) -> Array:
        """Return elements of a strided array in the file, and make sure that the file is still what it was.

        The offset of the first element and the strides, none of them negative, are in bytes.
        """
        array = elements(self, dtype, offset, strides, picks)
        self.stamp.check()
        return array


def elements(source: Any, dtype: np.dtype[Any], offset: int, strides: Sequence[int], picks: Picks) -> Array:
    """Return elements of a strided array that `source.fill` reads contiguous bytes of."""
    if not dtype.itemsize:
        return np.empty([len(p) for p in picks], dtype)
    array: Array = gather_bytes(source, dtype.itemsize, offset, strides, picks).view(dtype)[..., 0]
    return array


def gather_bytes(source: Any, itemsize: int, offset: int, strides: Sequence[int], picks: Picks) -> Array:
    """Return bytes (*picked, itemsize) by as few reads as make sense; `source.fill` reads contiguous bytes."""
    order = sorted(range(len(picks)), key=lambda a: -strides[a])  # as they lie in the file
    counts = [len(picks[a]) for a in order]
    if 0 in counts:
        return np.empty((*(len(p) for p in picks), itemsize), np.uint8)
    steps: list[int | None] = []  # None: each position for itself
    places: list[Any] = []
    flips = []
    for axis in order:
        pick = picks[axis]
        if isinstance(pick, range):
            flips.append(pick.step < 0)
            pick = pick[::-1] if pick.step < 0 else pick
            offset += pick.start * strides[axis]
            step = pick.step * strides[axis]
            steps.append(step)
            places.append(np.arange(len(pick)) * step)
        else:
            flips.append(False)
            steps.append(None)
            places.append(np.asarray(pick, np.int64) * strides[axis])
    run, inner = itemsize, len(order)
    while inner and (steps[inner - 1] == run or (counts[inner - 1] == 1 and steps[inner - 1] is not None)):
        inner -= 1
        run *= counts[inner]
    out = np.empty((*counts[:inner], run), np.uint8)
    apart = steps[inner - 1] if inner else None
    if apart is not None and run <= apart <= run + GAP:
        for index in np.ndindex(*counts[: inner - 1]):
            at = offset + sum(int(places[a][k]) for a, k in enumerate(index))
            _fill_spans(source, out[index], at, apart)
    elif inner and steps[inner - 1] is None:
        for index in np.ndindex(*counts[: inner - 1]):
            at = offset + sum(int(places[a][k]) for a, k in enumerate(index))
            _fill_places(source, out[index], at + places[inner - 1])
    else:
        for index in np.ndindex(*counts[:inner]):
            source.fill(out[index], offset + sum(int(places[a][k]) for a, k in enumerate(index)))
    gathered = out.reshape(*counts, itemsize)
    gathered = gathered[tuple(slice(None, None, -1 if flip else 1) for flip in flips)]
    back = np.argsort(order, kind="stable").tolist()
    return gathered.transpose(*back, len(order))


def _fill_spans(source: Any, out: Array, at: int, step: int) -> None:
    """Read runs (count, run) that lie at equal distances, with what is between them, some at a time."""
    count, run = out.shape
    most = max(1, SPAN // step)
    span = np.empty((min(count, most) - 1) * step + run, np.uint8)
    for first in range(0, count, most):
        now = min(most, count - first)
        source.fill(span[: (now - 1) * step + run], at + first * step)
        out[first : first + now] = np.lib.stride_tricks.as_strided(span, (now, run), (step, 1))


def _fill_places(source: Any, out: Array, places: Array) -> None:
    """Read runs (count, run) at any places; those that lie near each other with what is between them."""
    count, run = out.shape
    order = np.argsort(places, kind="stable")
    places = places[order]
    part = np.append(0, np.cumsum(np.diff(places) > run + GAP))
    first = np.searchsorted(part, part)
    far = (places - places[first]) // SPAN
    cuts = np.flatnonzero((np.diff(part) > 0) | (np.diff(far) > 0)) + 1
    for lo, hi in itertools.pairwise([0, *cuts.tolist(), count]):
        span = np.empty(int(places[hi - 1] - places[lo]) + run, np.uint8)
        source.fill(span, int(places[lo]))
        windows = np.lib.stride_tricks.sliding_window_view(span, run)
        out[order[lo:hi]] = windows[places[lo:hi] - places[lo]]


@dataclass(frozen=True)
class FileArray:
    """A strided array in a file that any rank can open."""

    quick = True  # read by the threads that compute: the system's cache is as quick as they are
    stamp: Stamp
    offset: int
    dtype: np.dtype[Any]
    strides: tuple[int, ...]

    def open(self) -> OpenArray:
        return OpenArray(self)


class OpenArray:
    """Reads a `FileArray`."""

    def __init__(self, array: FileArray) -> None:
        self._array = array
        self._file: OpenFile | None = None

    def read(self, where: tuple[slice, ...], picks: Picks) -> Array:
        if self._file is None:
            self._file = OpenFile(self._array.stamp)
        array = self._array
        first = sum(s.start * stride for s, stride in zip(where, array.strides, strict=True))
        return self._file.read(array.dtype, array.offset + first, array.strides, picks)


def file_of(array: Any) -> FileArray | None:
    """Return where an array lies that is a view of a file's memory map; None for one that isn't, or isn't only read."""
    base = _map_of(array)
    if base is None or base.filename is None or base.mode not in ("r", "r+") or any(s < 0 for s in array.strides):
        return None
    path = os.path.abspath(str(base.filename))
    try:
        status = os.stat(path)
    except OSError:
        return None
    if _is_replaced(base, path, status.st_ino):
        return None
    shift = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    stamp = Stamp(path, status.st_size, status.st_mtime_ns, "from_array")
    return FileArray(stamp, base.offset + shift, array.dtype, array.strides)


_mapped: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
"""Numbers of the inodes of what maps show: looking one up takes half a millisecond."""


def _is_replaced(base: np.memmap[Any, Any], path: str, number: int) -> bool:
    """Tell whether a path leads to another file, of an inode's number, than the one that a memory map shows.

    Either the number or the path may differ for the same file, where file systems are stacked.
    """
    key: Any = base._mmap  # type: ignore[attr-defined]
    if _mapped.get(key) == number:
        return False
    map_entry = _look_up(base.__array_interface__["data"][0])
    if map_entry is None:
        return False
    _mapped[key], shown = map_entry
    return map_entry[0] != number and shown != os.fsencode(os.path.realpath(path)).replace(b"\n", rb"\012")


def _look_up(address: int) -> tuple[int, bytes] | None:
    """Return the number of the inode and the path of what is mapped at an address; None where that isn't told."""
    with suppress(OSError), open("/proc/self/maps", "rb") as table:
        for line in table:
            span, _, _, _, inode, *name = line.rstrip(b"\n").split(maxsplit=5)
            first, last = span.split(b"-")
            if int(first, 16) <= address < int(last, 16):
                return int(inode), b"".join(name)
    return None


def _map_of(array: Any) -> np.memmap[Any, Any] | None:
    """Return the memory map that an array is a view of, or that it is."""
    memory_map = None
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            memory_map = array
        array = array.base
    return memory_map


class MapView:
    """A view of a memory map that this process alone sees as it is: a copy-on-write one, say, or one it writes to.

    It is read as the kernel would read it for another process: what the file has no more is an error then, no signal.
    """

    def __init__(self, array: Array, path: str) -> None:
        self._array, self._path, self.quick = array, path, True
        self.shape, self.dtype = array.shape, array.dtype

    def fill(self, target: Array, at: int) -> None:
        """Read as many bytes as a contiguous target has from an address."""
        left = target.reshape(-1).data
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            while left:
                try:
                    count = os.preadv(memory.fileno(), [left], at)
                except OSError:
                    count = 0
                if not count:
                    raise SourceChanged(
                        f"from_array: the file {self._path} behind the array was truncated: what is mapped is gone"
                    )
                left, at = left[count:], at + count

    def __getitem__(self, where: tuple[slice, ...]) -> Array:
        inside: tuple[Any, ...] = (..., *where)
        part = self._array[inside]
        flips: tuple[Any, ...] = tuple(slice(None, None, -1 if s < 0 else 1) for s in part.strides)
        flips = (..., *flips)
        forward = part[flips]  # the lowest address first
        address = forward.__array_interface__["data"][0]
        picks = tuple(range(n) for n in part.shape)
        values = elements(self, self.dtype, address, forward.strides, picks)
        turned: Array = values[flips]
        return turned


def source_of(array: Any) -> tuple[Any, FileArray | None]:
    """Return what to read in place of an array of the user's, and where it lies if any rank can read it there."""
    base = _map_of(array)
    if base is None or 0 in array.shape:
        return array, None
    file = file_of(array)
    return (array if file is not None else MapView(array, str(base.filename or "(without a name)"))), file
