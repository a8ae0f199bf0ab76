"""TIFF files as every rank reads them: of pages, strips and tiles what a task needs.

A series whose elements lie one after the other is read as any strided array in a file is. Else it is read as a zarr
array, whose chunks are the strips or tiles that tifffile looks up and decodes.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import FileError, FileFormatError, WindrowError
from ..stores.libraries import library
from ..stores.picking import read_picked

if TYPE_CHECKING:
    from ....graph.expr.expr import DType
    from ..file_arrays import Array, OpenFile
    from ..source_reader import Picks
    from .places import FilePlace, OpenUrl

DECODERS = 2
"""More than one: strips and tiles are decoded beside zarr's thread."""


@dataclass(frozen=True, eq=False)
class TiffSeries:
    """One level of one series; `offset` is where its elements lie if they do so at once.

    `others` are further files that the pages lie in.
    """

    place: FilePlace
    others: tuple[FilePlace, ...]
    series: int
    level: int
    shape: tuple[int, ...]
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
        self._array: Any = None
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
        try:
            array = self._open()
            values = read_picked(array.__getitem__, where, picks, array.chunks, series.dtype)
        except WindrowError:
            raise
        except Exception as error:
            series.check()
            raise FileError(
                f"{series.place.label}: {series.place.path} can't be read: series {series.series}, level "
                f"{series.level}: {type(error).__name__}: {error}"
            ) from error
        series.check()
        return values

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

    def _open(self) -> Any:
        """Return the series as a zarr array, whose chunks are the strips or tiles that tifffile decodes."""
        with self._lock:
            if self._array is None:
                series = self._series
                series.check()
                self._tiff = open_tiff(series.place)
                store = self._tiff.series[series.series].aszarr(level=series.level, maxworkers=DECODERS, read_only=True)
                self._array = library("zarr", "zarr").open_array(store, mode="r")
            return self._array
