"""TIFF files as every rank reads them: of pages, strips and tiles what a task needs, decoded on the thread that asks.

A series whose elements lie one after the other is read as any strided array in a file is. Else the pages that are
asked for are looked up, and of them the strips or tiles.
"""

from __future__ import annotations

import itertools
import math
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import FileError, FileFormatError, WindrowError

if TYPE_CHECKING:
    from ....graph.expr.expr import DType
    from ..file_arrays import Array, OpenFile
    from ..source_reader import Picks
    from .places import FilePlace, OpenUrl


@dataclass(frozen=True, eq=False)
class TiffSeries:
    """One level of one series; `lead` axes number the pages. `offset` is where its elements lie if they do so at once.

    `others` are further files that the pages lie in.
    """

    place: FilePlace
    others: tuple[FilePlace, ...]
    series: int
    level: int
    shape: tuple[int, ...]
    lead: int
    dtype: DType
    offset: int | None

    @property
    def quick(self) -> bool:
        """Whether it is read as quickly as memory, nearly: it lies in a local file as it is."""
        return self.place.is_local and self.offset is not None

    def open(self) -> OpenTiff:
        return OpenTiff(self)

    def check(self) -> None:
        for place in (self.place, *self.others):
            place.check()


def open_tiff(place: FilePlace) -> Any:
    """Return tifffile's view of a file; raise where it is no TIFF file, or cut short."""
    import tifffile

    try:
        tiff = tifffile.TiffFile(place.stream(), name=place.path)
        if not (place.is_local and tiff.is_ome):
            return tiff
        tiff.filehandle.close()
        return tifffile.TiffFile(place.path)  # which looks for further files beside it
    except (tifffile.TiffFileError, ValueError, IndexError, OSError) as error:
        raise FileFormatError(f"{place.label}: {place.path} is no TIFF file that can be read: {error}") from error


def find_lead(shape: tuple[int, ...], pages: int, page: int) -> int | None:
    """Return how many axes of a series number its pages; None where axes and pages don't go together."""
    return next(
        (i for i in range(len(shape) + 1) if math.prod(shape[:i]) == pages and math.prod(shape[i:]) == page), None
    )


class OpenTiff:
    """Reads a series; the file is opened, and its pages are looked for, when the first is needed."""

    def __init__(self, series: TiffSeries) -> None:
        self._series = series
        self._lock = threading.RLock()
        self._tiff: Any = None
        self._level: Any = None
        self._raw: OpenFile | OpenUrl | None = None

    def __del__(self) -> None:
        if self._tiff is not None:
            self._tiff.close()

    def read(self, where: tuple[slice, ...], picks: Picks) -> Array:
        series = self._series
        if 0 in map(len, picks):
            return np.empty([len(p) for p in picks], series.dtype)
        if series.offset is not None:
            return self._read_at_once(series.offset, where, picks)
        wanted = [np.asarray(p, np.int64) + s.start for p, s in zip(picks, where, strict=True)]
        lead, inner = wanted[: series.lead], wanted[series.lead :]
        out = np.empty([len(w) for w in wanted], series.dtype)
        try:
            for index in itertools.product(*(range(len(w)) for w in lead)):
                numbers = tuple(int(w[k]) for w, k in zip(lead, index, strict=True))
                self._read_page(numbers, inner, out[index])
        except WindrowError:
            raise
        except Exception as error:
            series.check()
            raise FileError(
                f"{series.place.label}: {series.place.path} can't be read: series {series.series}, level "
                f"{series.level}: {type(error).__name__}: {error}"
            ) from error
        series.check()
        return out

    def _read_at_once(self, offset: int, where: tuple[slice, ...], picks: Picks) -> Array:
        series = self._series
        with self._lock:
            if self._raw is None:
                self._raw = series.place.open()
        strides = [series.dtype.itemsize]
        for n in reversed(series.shape[1:]):
            strides.append(strides[-1] * n)
        strides = strides[::-1]
        first = sum(s.start * step for s, step in zip(where, strides, strict=True))
        return self._raw.read(series.dtype, offset + first, strides, picks)

    def _page(self, numbers: tuple[int, ...]) -> Any:
        """Return a page; None for one that the file leaves out."""
        series = self._series
        with self._lock:
            if self._level is None:
                series.check()
                self._tiff = open_tiff(series.place)
                self._level = self._tiff.series[series.series].levels[series.level]
            number = int(np.ravel_multi_index(numbers, series.shape[: series.lead])) if numbers else 0
            return self._level[number]

    def _read_page(self, numbers: tuple[int, ...], wanted: list[Array], out: Array) -> None:
        page = self._page(numbers)
        if page is None:
            out[...] = self._level.keyframe.nodata
            return
        keyframe, shape = page.keyframe, self._series.shape[self._series.lead :]
        axes = _normal_axes(shape, keyframe.shaped)
        whole = keyframe.is_contiguous or (keyframe.jpegheader is not None and 273 in keyframe.tags)
        if axes is None or whole:
            with self._lock:
                samples = page.asarray(maxworkers=1)
            out[...] = samples.reshape(shape)[np.ix_(*wanted)]
            return
        spans = [(0, n) for n in keyframe.shaped]
        for axis, positions in zip(axes, wanted, strict=True):
            if axis is not None:
                spans[axis] = (int(positions.min()), int(positions.max()) + 1)
        part = self._read_segments(page, spans)
        part = part.reshape([1 if a is None else spans[a][1] - spans[a][0] for a in axes])
        inside = [w - (0 if a is None else spans[a][0]) for a, w in zip(axes, wanted, strict=True)]
        out[...] = part[np.ix_(*inside)]

    def _read_segments(self, page: Any, spans: list[tuple[int, int]]) -> Array:
        """Return a rectangle of a page in its normal shape (samples, depth, length, width, samples)."""
        keyframe = page.keyframe
        depth, length, width = _segment_shape(keyframe)
        sizes = (1, depth, length, width)
        counts = [math.ceil(n / size) for n, size in zip(keyframe.shaped, sizes, strict=False)]
        touched = [range(a // size, (b - 1) // size + 1) for (a, b), size in zip(spans, sizes, strict=False)]
        arguments = {"jpegtables": page.jpegtables, "jpegheader": keyframe.jpegheader}
        if keyframe.compression not in (6, 7, 34892, 33007):  # those of JPEG
            arguments = {}
        with self._lock:
            decode = keyframe.decode
        out = np.empty([b - a for a, b in spans], keyframe.dtype)
        for place in itertools.product(*touched):
            number = int(np.ravel_multi_index(place, counts))
            segment, (s, d, h, w, _), shape = decode(self._bytes(page, number), number, **arguments)
            begin = (s, d, h, w)
            ends = (s + 1, *(b + n for b, n in zip(begin[1:], shape, strict=False)))
            lows = [max(a, b) for (a, _), b in zip(spans, begin, strict=False)]
            highs = [min(a, b) for (_, a), b in zip(spans, ends, strict=False)]
            target = tuple(slice(lo - a, hi - a) for lo, hi, (a, _) in zip(lows, highs, spans, strict=False))
            source = tuple(slice(lo - b, hi - b) for lo, hi, b in zip(lows, highs, begin, strict=True))
            out[target] = keyframe.nodata if segment is None else segment[*source[1:], slice(*spans[-1])]
        return out

    def _bytes(self, page: Any, number: int) -> bytes | None:
        """Return a strip or tile as it is stored; None for one that the file leaves out."""
        offset, count = page.dataoffsets[number], page.databytecounts[number]
        if not offset or not count:
            return None
        handle = page.parent.filehandle
        with self._lock:
            further = handle.closed  # tifffile keeps the first of several files open
            if further:
                handle.open()
            try:
                handle.seek(offset)
                raw: bytes = handle.read(count)
            finally:
                if further:
                    handle.close()
        if len(raw) < count:
            raise FileError(
                f"{self._series.place.label}: {self._series.place.path} is truncated: {count} bytes of page "
                f"{page.index}, segment {number}, at {offset}; it ends after {len(raw)} of them"
            )
        return raw


def _segment_shape(keyframe: Any) -> tuple[int, int, int]:
    if keyframe.is_tiled:
        return keyframe.tiledepth, keyframe.tilelength, keyframe.tilewidth
    return 1, keyframe.rowsperstrip, keyframe.imagewidth


def _normal_axes(shape: tuple[int, ...], shaped: tuple[int, ...]) -> list[int | None] | None:
    """Return for each axis of a page the one of its normal shape; None for one of length 1, or where they differ."""
    longer = [i for i, n in enumerate(shaped) if n != 1]
    if [n for n in shape if n != 1] != [shaped[i] for i in longer]:
        return None
    left = iter(longer)
    return [None if n == 1 else next(left) for n in shape]
