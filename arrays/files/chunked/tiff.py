"""TIFF files, OME's and ImageJ's too, by tifffile: pages, strips and tiles are read where they are needed."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import check_integer
from ....graph.errors import DTypeError, FileFormatError
from ....graph.expr import origin
from ....graph.expr.expr import Expr
from ....graph.kinds.source import Host, HostData
from ....workers.sources.formats.places import describe
from ....workers.sources.formats.tiff import TiffSeries, find_lead, open_tiff
from ...base import wrap
from ..glob import find_one, need
from .stored_chunks import grid_of_stored

if TYPE_CHECKING:
    from ....workers.sources.formats.places import FilePlace
    from ...array import Array
    from ...typing import ChunksLike, PathLike

__all__ = [
    "from_tiff",
]


def from_tiff(
    path: PathLike,
    series: int = 0,
    level: int = 0,
    *,
    chunks: ChunksLike = "auto",
    storage_options: dict[str, Any] | None = None,
) -> Array:
    """Return an array of a TIFF file's pages: of one series, at one level of its pyramid.

    Parameters
    ----------
    path : str or os.PathLike
        The file, or a URL that fsspec opens; of an OME-TIFF in several files, the one that is opened first.
    series : int
        Which series, as `tifffile.TiffFile(path).series` counts them: pages of one shape that belong together.
    level : int
        Which level of the series' pyramid; 0 is the largest.
    chunks : int, str, tuple, dict or None
        Chunks of the result; "auto": whole strips, tiles or pages, as many as fit `config.chunk_bytes`.
    storage_options : dict, optional
        For fsspec, beside a URL.

    Returns
    -------
    Array
        Lazy, of the shape that tifffile gives the series: leading axes count pages. The rank that needs a strip or tile
        reads and decodes it. Pages that the file leaves out are its "no data" value, 0 unless it says otherwise.

    Raises
    ------
    MissingFile
        There is nothing at `path`.
    ArgumentError
        `path` is not a path, or there is no such series or level.
    FileFormatError
        The file is no TIFF file, is cut short, or is compressed by a codec that isn't installed (many need
        imagecodecs).
    DTypeError
        NumPy has no dtype for its samples.
    ChunksError
        `chunks` can't be read or doesn't fit the shape.
    ImportError
        tifffile isn't installed.

    >>> import tempfile
    >>> import numpy as np
    >>> import tifffile
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tifffile.imwrite(folder + "/x.tif", np.ones((64, 48), "u2"), tile=(16, 16), compression="zlib")
    ...     x = wr.from_tiff(folder + "/x.tif")
    ...     print(x.shape, x.dtype, x.sum().compute())
    (64, 48) uint16 3072
    """
    need("from_tiff", "tifffile", "a TIFF file")
    place = find_one("from_tiff", path, storage_options)
    with open_tiff(place) as tiff:
        number = check_integer("from_tiff", "series", series, 0, len(tiff.series) - 1)
        levels = tiff.series[number].levels
        depth = check_integer("from_tiff", "level", level, 0, len(levels) - 1)
        source, stored = _describe(place, levels[depth], number, depth)
    grid = grid_of_stored("from_tiff", chunks, source.shape, stored, source.dtype)
    data = HostData(None, in_place=False, file=source, label="from_tiff", chunks=stored)
    return wrap(Expr(Host(data), (), grid, source.dtype, origin.find_origin()))


def _describe(place: FilePlace, level: Any, number: int, depth: int) -> tuple[TiffSeries, tuple[int, ...]]:
    """Return how a level is read, and the shape of the pieces that it is stored in."""
    if level.dtype is None:
        raise DTypeError(f"from_tiff: {place.path}: NumPy has no dtype for the samples of series {number}")
    keyframe, shape = level.keyframe, tuple(level.shape)
    if getattr(level, "transform", None) is not None:
        raise FileFormatError(f"from_tiff: {place.path}: series {number} needs a transform; expected plain pages")
    order = keyframe.parent.byteorder
    at_once = level.dataoffset if keyframe.is_final and keyframe.fillorder == 1 else None
    if at_once is not None:
        dtype = np.dtype(level.dtype).newbyteorder(order)
        source = TiffSeries(place, (), number, depth, shape, len(shape), dtype, at_once)
        return source, (*(1,) * max(0, len(shape) - 2), *shape[-2:])
    _check_codec(place, keyframe)
    _check_pages(place, level, number)
    lead = find_lead(shape, len(level), keyframe.size)
    if lead is None:
        raise FileFormatError(
            f"from_tiff: {place.path}: series {number} has shape {shape}, and {len(level)} pages of {keyframe.shape}; "
            "expected axes that number pages; tifffile.imread() may read it"
        )
    others = {os.path.abspath(p.parent.filehandle.path) for p in level if p is not None} if place.is_local else set()
    more = tuple(describe("from_tiff", each) for each in sorted(others - {place.path}))
    source = TiffSeries(place, more, number, depth, shape, lead, np.dtype(level.dtype), None)
    inner = shape[lead:]
    return source, (*(1,) * lead, *_stored(inner, keyframe))


def _check_pages(place: FilePlace, level: Any, number: int) -> None:
    """Raise for pages in other files that are missing: tifffile reads zeros for them."""
    lost = sum(page is None for page in level)
    metadata = level.keyframe.parent.ome_metadata or ""
    names = sorted(set(re.findall(r'FileName="([^"]+)"', metadata)) - {os.path.basename(place.path)})
    if lost and names:
        raise FileFormatError(
            f"from_tiff: {place.path}: {lost} pages of series {number} are missing; expected them in the files beside "
            f"it that it names: {', '.join(names[:5])}"
        )


def _stored(shape: tuple[int, ...], keyframe: Any) -> tuple[int, ...]:
    """Return the shape of a page's strips or tiles along its axes; whole pages if they aren't divided along its
    axes."""
    pieces = {keyframe.imagelength: keyframe.rowsperstrip}
    if keyframe.is_tiled:
        pieces = {keyframe.imagelength: keyframe.tilelength, keyframe.imagewidth: keyframe.tilewidth}
    return tuple(min(n, pieces.get(n, n)) for n in shape)


def _check_codec(place: FilePlace, keyframe: Any) -> None:
    """Raise if the decoder of the pages isn't installed, before anything is read."""
    tifffile = need("from_tiff", "tifffile", "a TIFF file")
    try:
        if keyframe.compression != 1:
            tifffile.TIFF.DECOMPRESSORS[keyframe.compression]
        if keyframe.predictor != 1:
            tifffile.TIFF.UNPREDICTORS[keyframe.predictor]
    except (KeyError, ValueError, ImportError) as error:
        raise FileFormatError(
            f"from_tiff: {place.path} is compressed by {keyframe.compression!s}, which can't be decoded: {error}; "
            'pip install "imagecodecs" may bring it'
        ) from error
