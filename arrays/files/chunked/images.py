"""Stacks of images, a file each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import ArgumentError, bad
from ....graph.expr import origin
from ....graph.expr.expr import Expr
from ....graph.kinds.source import Host, HostData
from ....workers.sources.formats.images import ImageStack, check_image, read_image
from ...base import check_dtype, check_grid, wrap
from ...creation.ranges import arange
from ...user_functions.map_blocks import map_blocks
from ..glob import find_files, need

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....workers.sources.formats.places import FilePlace
    from ...array import Array
    from ...typing import PathLike

__all__ = [
    "imread",
]


def imread(
    filename: PathLike,
    imread: Callable[[str], Any] | None = None,
    preprocess: Callable[[Any], Any] | None = None,
    *,
    storage_options: dict[str, Any] | None = None,
) -> Array:
    """Return images of one shape as an array, stacked along a new first axis; each file is a chunk.

    The first image is read now, for its shape and dtype; the others by the ranks that need them.

    Parameters
    ----------
    filename : str or os.PathLike, or a list of them
        A pattern such as ``day-*.png``, or a file; URLs that fsspec opens, too. Files are in the order of their names,
        in which numbers count as numbers: "day-9.png" comes before "day-10.png".
    imread : callable, optional
        A function that takes a path, or a URL, and returns an array. None: imageio's.
    preprocess : callable, optional
        A function of an image as it was read, which returns an array.
    storage_options : dict, optional
        For fsspec, beside a URL.

    Returns
    -------
    Array
        Lazy, of the shape of an image with one axis for the files before.

    Raises
    ------
    MissingFile
        There is no such file.
    ArgumentError
        `filename` is no path, or a function can't be called.
    ShapeError
        When it is read: an image hasn't the first one's shape and dtype.
    FileError
        A file can't be read.
    DTypeError
        An image has Python objects.
    ImportError
        imageio isn't installed.

    >>> import tempfile
    >>> import imageio.v3
    >>> import numpy as np
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i in range(3):
    ...         imageio.v3.imwrite(f"{folder}/{i}.png", np.full((4, 6), i, "u1"))
    ...     x = wr.imread(folder + "/*.png")
    ...     print(x.shape, x.chunks[0], x.sum(axis=(1, 2)).compute())
    (3, 4, 6) (1, 1, 1) [ 0 24 48]
    """
    for name, function in (("imread", imread), ("preprocess", preprocess)):
        if function is not None and not callable(function):
            raise ArgumentError(bad("imread", name, function, "a function, or None"))
    if imread is None:
        need("imread", "imageio", "an image")
    places = tuple(find_files("imread", filename, storage_options, argument="filename"))
    first = _read(places[0], imread, preprocess)
    dtype = check_dtype("imread", "filename", first.dtype)
    grid = Grid([Axis.regular(len(places), 1), *(Axis.whole(n) for n in first.shape)])
    check_grid("imread", grid)
    if imread is None and preprocess is None:
        images = ImageStack(places, first.shape, dtype)
        data = HostData(None, in_place=False, file=images, label="imread", chunks=(1, *first.shape))
        return wrap(Expr(Host(data), (), grid, dtype, origin.find_origin()))
    reads = _Reads(places, imread, preprocess, first.shape, dtype)
    new = list(range(1, grid.ndim))
    return map_blocks(reads, arange(len(places), chunks=1), dtype=dtype, chunks=grid.chunks(), new_axis=new)


def _read(place: FilePlace, imread: Callable[[str], Any] | None, preprocess: Callable[[Any], Any] | None) -> Any:
    if imread is None:
        image = read_image(place)
    else:
        place.check()
        image = np.asarray(imread(place.path))
        place.check()
    return image if preprocess is None else np.asarray(preprocess(image))


class _Reads:
    """Reads the images by number, with the user's functions."""

    __name__ = "imread"

    def __init__(
        self, places: tuple[FilePlace, ...], imread: Any, preprocess: Any, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self.places, self.functions, self.shape, self.dtype = places, (imread, preprocess), shape, dtype

    def __call__(self, numbers: Any) -> Any:
        place = self.places[int(numbers[0])]
        return check_image(place.path, "imread", _read(place, *self.functions), self.shape, self.dtype)[None]
